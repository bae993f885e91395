"""Train the deal network: which of these deals is the true one, the others being drawn by the belief?

`gs2 guandan train-deals CHECKPOINT -o FILE --rounds N`
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.network.input_layout import PAST_WIDTH, STATE_WIDTH
from blueprint.guandan.network.inputs import encode_past, encode_states
from blueprint.layers.bfloat import native_half
from games.guandan.rounds.belief import determinise
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real
from gs2.guandan.agent.evaluator import Evaluator
from gs2.guandan.beliefs.belief_network import Beliefs, steer
from gs2.guandan.beliefs.deal_network import DEAL_WIDTH, DealNetwork, deal_inputs
from gs2.guandan.learning.train_beliefs import BeliefConfig, collect_positions

if TYPE_CHECKING:
    import torch

__all__ = ["DealConfig", "Guesses", "guess_deals", "train_deals"]

POSITIONS_AT_ONCE = 2000


@attrs.frozen(slots=False)
class DealConfig(Configuration):
    """How a deal network is trained.

    negatives: deals drawn by the belief for each position. share: of the decisions of self-play kept.
    rounds: of self-play to learn from. passes: over its positions. width: of the layers.
    dropout: of the public inputs and of the first layer. batch: positions per gradient step.
    learning_rate: of AdamW; it falls linearly to zero.
    """

    label: ClassVar[str] = "DealConfig"

    negatives: int = attrs.field(default=11, validator=integer(1))
    share: float = attrs.field(default=0.2, validator=real(0, 1, above=True))
    rounds: int = attrs.field(default=24_000, validator=integer(1))
    passes: float = attrs.field(default=1.1, validator=real(0, above=True))
    width: int = attrs.field(default=512, validator=integer(1))
    dropout: float = attrs.field(default=0.1, validator=real(0, 0.9))
    batch: int = attrs.field(default=192, validator=integer(1))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, above=True))


@dataclass(frozen=True, eq=False)
class Guesses:
    """Positions, and deals that the belief draws at each.

    positions: [n] STATE, with the true hands. hands: [n, k, 4, 2] uint64, hands of the deals drawn.
    """

    positions: Array
    hands: NDArray[np.uint64]

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.hands)

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the inputs of some positions, [b, public] and [b * (1 + k), DEAL_WIDTH], the truth first."""
        states = self.positions[rows]
        seats = states["player"].astype(np.int64)
        public = np.concatenate([encode_states(states, seats), encode_past(states, seats)], axis=1)
        hands = np.concatenate([states["hand"][:, None], self.hands[rows]], axis=1)
        each = hands.shape[1]
        deals, whose = np.repeat(states, each), np.repeat(seats, each)
        deals["hand"] = hands.reshape(-1, 4, 2)
        inputs = np.empty((len(deals), DEAL_WIDTH), np.uint8)
        for seat in range(4):
            mine = whose == seat
            inputs[mine] = deal_inputs(deals[mine], seat)
        return public, inputs


def guess_deals(positions: Array, beliefs: Beliefs, count: int, rng: np.random.Generator) -> Guesses:
    """Return positions, [n] STATE, with `count` deals for each, drawn by the belief of the seat to act."""
    hands = np.empty((len(positions), count, 4, 2), np.uint64)
    for low in range(0, len(positions), POSITIONS_AT_ONCE):
        states = positions[low : low + POSITIONS_AT_ONCE]
        seats = states["player"].astype(np.int64)
        odds = beliefs.log_odds(states, seats)
        for seat in range(4):
            rows = np.flatnonzero(seats == seat)
            if len(rows):
                dealt = determinise(np.repeat(states[rows], count), seat, rng)
                drawn = steer(dealt, seat, odds[rows], rng)
                hands[low + rows] = drawn["hand"].reshape(len(rows), count, 4, 2)
    return Guesses(positions, hands)


def train_deals(
    evaluator: Evaluator,
    beliefs: Beliefs,
    rng: np.random.Generator,
    config: DealConfig | None = None,
    *,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> tuple[DealNetwork, dict[str, float]]:
    """Return a trained deal network and how it did on rounds it had not seen.

    The score: nats gained over a guess among the true deal and those that the belief drew.
    """
    config = config or DealConfig()
    import torch
    from torch import nn

    torch.manual_seed(int(rng.integers(2**31)))
    play = BeliefConfig(share=config.share)
    learnt, held_out = (
        guess_deals(collect_positions(evaluator, rounds, rng, play), beliefs, config.negatives, rng)
        for rounds in (config.rounds, max(16, config.rounds // 100))
    )
    each, half, off = config.negatives + 1, native_half(), config.dropout
    parts = nn.ModuleDict(
        {
            "public": nn.Linear(STATE_WIDTH + PAST_WIDTH, config.width),
            "deal": nn.Linear(DEAL_WIDTH, config.width, bias=False),
            "block": nn.Linear(config.width, config.width),
            "out": nn.Linear(config.width, 1),
        }
    )
    optimiser = torch.optim.AdamW(parts.parameters(), lr=config.learning_rate, weight_decay=1e-2)
    drop = nn.functional.dropout

    def loss(guesses: Guesses, rows: NDArray[np.int64], *, training: bool) -> torch.Tensor:
        known, dealt = (torch.from_numpy(part).float() for part in guesses.take(rows))
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            public = parts["public"](drop(known, off, training)).repeat_interleave(each, 0)
            h = drop(torch.relu(public + parts["deal"](dealt)), off, training)
            h = h + torch.relu(parts["block"](h))
            ratios = parts["out"](h).float().view(-1, each)
        missed: torch.Tensor = -ratios.log_softmax(1)[:, 0]
        return missed

    steps = max(1, int(config.passes * len(learnt) / config.batch))
    began = time.perf_counter()
    score: dict[str, float] = {}
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1 - step / steps) + 2e-5
        value = loss(learnt, rng.integers(0, len(learnt), config.batch), training=True).mean()
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # of torch
        optimiser.step()
        if step % 200 == 199 or step == steps - 1:
            with torch.inference_mode():
                spans = np.split(np.arange(len(held_out)), range(256, len(held_out), 256))
                there = torch.cat([loss(held_out, rows, training=False) for rows in spans]).mean().item()
            score = {
                "step": step + 1,
                "steps": steps,
                "positions": len(learnt),
                "train": value.item(),
                "held_out": there,
                "guess": float(np.log(each)),
                "gain": float(np.log(each)) - there,
                "seconds": time.perf_counter() - began,
            }
            if progress is not None:
                progress(score)
    tensors = {name: tensor.detach().float().numpy() for name, tensor in parts.state_dict().items()}
    return DealNetwork(tensors), score


if __name__ == "__main__":
    raise SystemExit("the program is gs2 guandan train-deals")
