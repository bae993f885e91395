"""Train networks of beliefs on a blueprint's self-play: which seat holds a card that I cannot see, and which
of these deals is the true one, the others being drawn by that belief?

`gs2 guandan train-beliefs CHECKPOINT -o FILE --rounds N`, and `gs2 guandan train-deals`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.network.inputs import STATE_WIDTH, hidden_hands
from blueprint.guandan.network.q_network import held_nats
from blueprint.guandan.training.supervised import Progress, SoftPlay, fit, half_precision
from blueprint.layers.bfloat import native_half
from blueprint.learning.learner import arrays_of
from blueprint.protocol import Decisions
from blueprint.structured import join
from games.guandan.rounds.belief import determinise
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real
from gs2.guandan.agent.evaluator import Evaluator, batched_scores
from gs2.guandan.beliefs import belief_network as bn
from gs2.guandan.beliefs.belief_network import BeliefNetwork, DealNetwork, public_inputs

if TYPE_CHECKING:
    import torch

ROUNDS_AT_ONCE = 1000
POSITIONS_AT_ONCE = 2000


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


def collect_positions(
    evaluator: Evaluator, rounds: int, rng: np.random.Generator, config: BeliefConfig | None = None
) -> Array:
    """Return positions met in self-play from deals of all levels, half of them after tribute, [n] STATE."""
    config = config or BeliefConfig()
    found: list[Array] = []

    def look(decisions: Decisions, scores: NDArray[np.float32]) -> None:
        kept = rng.random(len(decisions)) < config.share
        found.append(decisions.states[decisions.rows[kept]])

    scores = partial(batched_scores, evaluator)
    play = SoftPlay(scores, look, config.temperature, config.epsilon, rng)
    for start in range(0, rounds, ROUNDS_AT_ONCE):
        play.play(min(ROUNDS_AT_ONCE, rounds - start))
    return join(found)


def train_beliefs(
    evaluator: Evaluator,
    rng: np.random.Generator,
    config: BeliefConfig | None = None,
    *,
    progress: Progress | None = None,
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
        nn.Linear(bn.PUBLIC_WIDTH, config.width),
        nn.ReLU(),
        nn.Linear(config.width, config.width),
        nn.ReLU(),
        nn.Linear(config.width, 162),
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=1e-2)

    def missed(rows: Array, forgotten: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
        seats = rows["player"].astype(np.int64)
        seen = public_inputs(rows, seats)
        seen[rng.random(len(seen)) < forgotten, STATE_WIDTH:] = 0
        x = torch.from_numpy(seen)
        hands = hidden_hands(rows, seats)
        odds = model(x.bfloat16() if native_half() else x.float()).view(-1, 3, 54).float()
        left = torch.from_numpy(hands).float().sum(2, keepdim=True)
        even = (left / left.sum(1, keepdim=True)).clamp(min=1e-9).log().expand(-1, -1, 54)
        return held_nats(odds, hands), held_nats(even, hands)

    def loss() -> torch.Tensor:
        with half_precision():
            return missed(positions[rng.integers(0, len(positions), config.batch)], config.forgotten)[
                0
            ].mean()

    def evaluate(losses: list[float]) -> dict[str, float]:
        with torch.inference_mode(), half_precision():
            parts = [missed(held_out[i : i + config.batch]) for i in range(0, len(held_out), config.batch)]
        ours, even = (torch.cat(column).mean().item() for column in zip(*parts, strict=True))
        found = {"step": len(losses), "steps": steps, "positions": len(positions), "train": losses[-1]}
        return {**found, "held_out": ours, "uniform": even, "gain": even - ours}

    def rate(step: int) -> float:
        return config.learning_rate * (1 - step / steps) + 1e-5

    steps = max(1, int(config.passes * len(positions) / config.batch))
    score = fit(optimiser, rate, loss, evaluate, steps, every=200, progress=progress)
    layers = nn.ModuleList(layer for layer in model if isinstance(layer, nn.Linear))
    return BeliefNetwork(arrays_of(layers)), score


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
        return len(self.hands)

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the inputs of some positions, [b, public] and [b * (1 + k), DEAL_WIDTH], the truth first."""
        states = self.positions[rows]
        seats = states["player"].astype(np.int64)
        public = public_inputs(states, seats)
        hands = np.concatenate([states["hand"][:, None], self.hands[rows]], axis=1)
        each = hands.shape[1]
        deals, whose = np.repeat(states, each), np.repeat(seats, each)
        deals["hand"] = hands.reshape(-1, 4, 2)
        inputs = np.empty((len(deals), bn.DEAL_WIDTH), np.uint8)
        for seat in range(4):
            mine = whose == seat
            inputs[mine] = bn.deal_inputs(deals[mine], seat)
        return public, inputs


def guess_deals(positions: Array, beliefs: BeliefNetwork, count: int, rng: np.random.Generator) -> Guesses:
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
                drawn = bn.steer(dealt, seat, odds[rows], rng)
                hands[low + rows] = drawn["hand"].reshape(len(rows), count, 4, 2)
    return Guesses(positions, hands)


def train_deals(
    evaluator: Evaluator,
    beliefs: BeliefNetwork,
    rng: np.random.Generator,
    config: DealConfig | None = None,
    *,
    progress: Progress | None = None,
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
    each, off = config.negatives + 1, config.dropout
    parts = nn.ModuleDict(
        {
            "public": nn.Linear(bn.PUBLIC_WIDTH, config.width),
            "deal": nn.Linear(bn.DEAL_WIDTH, config.width, bias=False),
            "block": nn.Linear(config.width, config.width),
            "out": nn.Linear(config.width, 1),
        }
    )
    optimiser = torch.optim.AdamW(parts.parameters(), lr=config.learning_rate, weight_decay=1e-2)
    drop = nn.functional.dropout

    def missed(guesses: Guesses, rows: NDArray[np.int64], *, training: bool) -> torch.Tensor:
        known, dealt = (torch.from_numpy(part).float() for part in guesses.take(rows))
        with half_precision():
            public = parts["public"](drop(known, off, training)).repeat_interleave(each, 0)
            h = drop(torch.relu(public + parts["deal"](dealt)), off, training)
            h = h + torch.relu(parts["block"](h))
            ratios = parts["out"](h).float().view(-1, each)
        found: torch.Tensor = -ratios.log_softmax(1)[:, 0]
        return found

    def loss() -> torch.Tensor:
        return missed(learnt, rng.integers(0, len(learnt), config.batch), training=True).mean()

    def rate(step: int) -> float:
        return config.learning_rate * (1 - step / steps) + 2e-5

    def evaluate(losses: list[float]) -> dict[str, float]:
        with torch.inference_mode():
            spans = np.split(np.arange(len(held_out)), range(256, len(held_out), 256))
            there = torch.cat([missed(held_out, rows, training=False) for rows in spans]).mean().item()
        guess = float(np.log(each))
        found = {"step": len(losses), "steps": steps, "positions": len(learnt), "train": losses[-1]}
        return {**found, "held_out": there, "guess": guess, "gain": guess - there}

    steps = max(1, int(config.passes * len(learnt) / config.batch))
    score = fit(optimiser, rate, loss, evaluate, steps, every=200, progress=progress)
    return DealNetwork(arrays_of(parts)), score
