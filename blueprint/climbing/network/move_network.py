"""The network in torch, as it is trained: V(I) by a tower, A(I, a) by a head for each move.

Q(I, a) = V(I) + A(I, a). The tower runs once a decision; the head takes a move's inputs and what the tower
makes of the seat's view. With `hands` a further head says who holds the hidden cards (the opponent model of
Luo & Tan 2024, section 4.2; ours shares the tower), and the moves' head may see what it says. With
`personality` one says whose move this would be (PDHQN, section 3.3), with `recognise` another by whose rule
each other seat plays, and the moves' head sees that too. The critic sees all hands and is used in training
alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from blueprint.choosing.personality import PERSONALITIES
from blueprint.climbing.inputs.move_inputs import MoveInputs
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.layers.fused import considered, joined
from blueprint.layers.personality_head import PersonalityHead
from blueprint.layers.tower import Tower

__all__ = ["HandCritic", "MoveNetwork"]


class MoveNetwork(nn.Module):
    """V and A, and who holds what and who plays how if it is asked for."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits, config.state, config.blocks)
        self.value = nn.Linear(config.state, 1)
        self.context = nn.Linear(config.state, config.action)
        self.action = nn.Linear(inputs.move_bits, config.action)
        self.head = nn.ModuleList(
            nn.Linear(config.action, config.action) for _ in range(config.action_blocks)
        )
        self.advantage = nn.Linear(config.action, 1)
        self.hands: nn.Linear | None = None
        self.foreseen: nn.Linear | None = None
        if config.hands:
            self.hands = nn.Linear(config.state, inputs.hidden_bits)
            if config.hands_fed:
                self.foreseen = nn.Linear(inputs.hidden_bits, config.action, bias=False)
        with torch.no_grad():
            self.advantage.weight.mul_(0.1)
            self.advantage.bias.zero_()
        self.personality: PersonalityHead | None = None
        if config.personality:
            self.personality = PersonalityHead(config.action, config.personality)
        self.recogniser: nn.Linear | None = None
        self.heard: nn.Linear | None = None
        if config.recognise:
            bits = (inputs.game.num_players - 1) * len(PERSONALITIES)
            self.recogniser = nn.Linear(config.state, bits)
            self.heard = nn.Linear(bits, config.action, bias=False)

    def values(self, h: Tensor) -> Tensor:
        """Return V, [n], from the tower's output."""
        found: Tensor = self.value(h).squeeze(-1)
        return found

    def held(self, h: Tensor) -> Tensor:
        """Return log odds that each bit of the others' hands is set, [n, hidden_bits]."""
        assert self.hands is not None
        found: Tensor = self.hands(h)
        return found

    def types(self, h: Tensor) -> Tensor:
        """Return logits that each other seat, from the next on, plays by each of PERSONALITIES, [n, k, 4]."""
        assert self.recogniser is not None
        found: Tensor = self.recogniser(h).unflatten(1, (-1, len(PERSONALITIES)))
        return found

    def advantages(self, h: Tensor, moves: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return A, [m], of moves at `h[rows]`; without rows, of one for each row of the tower's output."""
        return considered(moves, self, self._context(h), rows)

    def styles(self, h: Tensor, moves: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return logits, [m, 4], that each personality makes a move, from the head's first layer (PDHQN)."""
        assert self.personality is not None
        context = self._context(h)
        if rows is not None:
            context = context.index_select(0, rows)
        found: Tensor = self.personality(joined(moves, self.action, context))
        return found

    def _context(self, h: Tensor) -> Tensor:
        """Return what the tower's output adds to the first layer of the moves' head."""
        context: Tensor = self.context(h)
        # what is said of the others is learned from what they hold and are alone
        if self.foreseen is not None:
            context = context + self.foreseen(torch.sigmoid(self.held(h).detach().float()).to(h.dtype))
        if self.heard is not None:
            likely = self.types(h).detach().float().softmax(2).flatten(1)
            context = context + self.heard(likely.to(h.dtype))
        return context


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
