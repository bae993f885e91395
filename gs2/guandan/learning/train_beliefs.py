"""Train the belief network on a blueprint's self-play: which seat holds a card that I cannot see?

`gs2 guandan train-beliefs CHECKPOINT -o FILE --rounds N`
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.choosing import choose_soft
from blueprint.guandan.network.input_layout import PAST_WIDTH, STATE_WIDTH
from blueprint.guandan.network.inputs import encode_past, encode_states, hidden_hands
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from blueprint.guandan.training.side_losses import held_nats
from blueprint.layers.bfloat import native_half
from blueprint.protocol import Decisions
from blueprint.structured import join
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real
from gs2.guandan.agent.evaluator import BATCH, Evaluator
from gs2.guandan.beliefs.belief_network import BeliefNetwork

__all__ = ["BeliefConfig", "collect_positions", "train_beliefs"]

ROUNDS_AT_ONCE = 1000


@attrs.frozen(slots=False)
class BeliefConfig(Configuration):
    """How a belief network is trained.

    share: of the decisions of self-play kept. temperature, epsilon: of its soft play, in levels, and the
        probability of a uniformly random move.
    forgotten: share of positions whose past is hidden from the network, so that it can do without.
    rounds: of self-play to learn from. passes: over its positions. width: of the two hidden layers.
    batch: positions per gradient step. learning_rate: of AdamW; it falls linearly to zero.
    """

    label: ClassVar[str] = "BeliefConfig"

    share: float = attrs.field(default=0.2, validator=real(0, 1, above=True))
    temperature: float = attrs.field(default=0.03, validator=real(1e-6, 100))
    epsilon: float = attrs.field(default=0.01, validator=real(0, 1))
    forgotten: float = attrs.field(default=0.1, validator=real(0, 1))
    rounds: int = attrs.field(default=24_000, validator=integer(1))
    passes: float = attrs.field(default=5.0, validator=real(0, above=True))
    width: int = attrs.field(default=512, validator=integer(1))
    batch: int = attrs.field(default=1024, validator=integer(1))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, above=True))


class _Collector:
    """Plays softly by an evaluator, and keeps a share of the positions that it decides."""

    def __init__(self, evaluator: Evaluator, config: BeliefConfig, rng: np.random.Generator):
        self.evaluator, self.config, self.rng = evaluator, config, rng
        self.found: list[Array] = []

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return softly chosen actions, [n]."""
        kept = self.rng.random(len(decisions)) < self.config.share
        self.found.append(decisions.states[decisions.rows[kept]])
        q = np.concatenate([self.evaluator.q(part) for part in decisions.spans(BATCH)])
        offsets, config = decisions.offsets, self.config
        return choose_soft(q, offsets, config.temperature, config.epsilon, self.rng)


def collect_positions(
    evaluator: Evaluator, rounds: int, rng: np.random.Generator, config: BeliefConfig | None = None
) -> Array:
    """Return positions met in self-play from deals of all levels, half of them after tribute, [n] STATE."""
    config = config or BeliefConfig()
    found: list[Array] = []
    for start in range(0, rounds, ROUNDS_AT_ONCE):
        states = deal_rounds(min(ROUNDS_AT_ONCE, rounds - start), rng, tribute=0.5)
        collector = _Collector(evaluator, config, rng)
        play_rounds(states, [collector], Scratch(), record=False)
        found += collector.found
    return join(found)


def train_beliefs(
    evaluator: Evaluator,
    rng: np.random.Generator,
    config: BeliefConfig | None = None,
    *,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> tuple[BeliefNetwork, dict[str, float]]:
    """Return a trained belief network and how it did on rounds it had not seen.

    The score: nats per hidden card gained over uniform deals.
    """
    config = config or BeliefConfig()
    import torch
    from torch import nn

    torch.manual_seed(int(rng.integers(2**31)))
    positions = collect_positions(evaluator, config.rounds, rng, config)
    held_out = collect_positions(evaluator, max(64, config.rounds // 40), rng, config)
    model = nn.Sequential(
        nn.Linear(STATE_WIDTH + PAST_WIDTH, config.width),
        nn.ReLU(),
        nn.Linear(config.width, config.width),
        nn.ReLU(),
        nn.Linear(config.width, 162),
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=1e-2)

    def loss(rows: Array, forgotten: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
        seats = rows["player"].astype(np.int64)
        past = encode_past(rows, seats)
        past[rng.random(len(past)) < forgotten] = 0
        x = torch.from_numpy(np.concatenate([encode_states(rows, seats), past], axis=1))
        hands = hidden_hands(rows, seats)
        odds = model(x.bfloat16() if half else x.float()).view(-1, 3, 54).float()
        left = torch.from_numpy(hands).float().sum(2, keepdim=True)
        even = (left / left.sum(1, keepdim=True)).clamp(min=1e-9).log().expand(-1, -1, 54)
        return held_nats(odds, hands), held_nats(even, hands)

    half = native_half()
    steps = max(1, int(config.passes * len(positions) / config.batch))
    began = time.perf_counter()
    score: dict[str, float] = {}
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1 - step / steps) + 1e-5
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            rows = positions[rng.integers(0, len(positions), config.batch)]
            value = loss(rows, config.forgotten)[0].mean()
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # of torch
        optimiser.step()
        if step % 200 == 199 or step == steps - 1:
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
                parts = [loss(held_out[i : i + config.batch]) for i in range(0, len(held_out), config.batch)]
            ours, even = (torch.cat(column).mean().item() for column in zip(*parts, strict=True))
            score = {
                "step": step + 1,
                "steps": steps,
                "positions": len(positions),
                "train": value.item(),
                "held_out": ours,
                "uniform": even,
                "gain": even - ours,
                "seconds": time.perf_counter() - began,
            }
            if progress is not None:
                progress(score)
    layers = [
        (layer.weight.detach().float().numpy(), layer.bias.detach().float().numpy())
        for layer in model
        if isinstance(layer, nn.Linear)
    ]
    return BeliefNetwork(layers), score


if __name__ == "__main__":
    raise SystemExit("the program is gs2 guandan train-beliefs")
