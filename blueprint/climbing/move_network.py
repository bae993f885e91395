"""The network in torch, as it is trained: V(I) by a tower, A(I, a) by a head for each move.

Q(I, a) = V(I) + A(I, a). The tower runs once a decision; the head takes a move's inputs and what the tower
makes of the seat's view. The critic sees all hands and is used in training alone.
"""

from __future__ import annotations

from torch import Tensor, nn

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import MoveInputs
from blueprint.layers.fused import MoveHead, Tower
from blueprint.paper_parts import paper_part

__all__ = ["HandCritic", "MoveNetwork", "move_network"]


class MoveNetwork(MoveHead):
    """V and A."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits, config.state, config.blocks)
        self.value = nn.Linear(config.state, 1)
        self._begin_head(config.state, inputs.move_bits, config.action, config.action_blocks)

    def values(self, h: Tensor) -> Tensor:
        """Return V, [n], from the tower's output."""
        found: Tensor = self.value(h).squeeze(-1)
        return found


def move_network(inputs: MoveInputs, config: ClimbingConfig) -> MoveNetwork:
    """Return a new network of a configuration."""
    kind = MoveNetwork
    if config.hands or config.personality or config.recognise:
        kind = paper_part("climbing network")
    return kind(inputs, config)


class HandCritic(nn.Module):
    """What all hands are worth to who looks, from a seat's view and the others' hands."""

    def __init__(self, inputs: MoveInputs, width: int) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits + inputs.hidden_bits, width, 2)
        self.value = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return [n] values from [n, seat_bits + hidden_bits]."""
        found: Tensor = self.value(self.tower(x)).squeeze(-1)
        return found
