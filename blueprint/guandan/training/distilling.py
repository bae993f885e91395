"""Distil a network into a small one that plays nearly the same moves at a fraction of the time.

The teacher plays itself, softly; at every decision with a choice the student learns its advantages
of all moves: by the cross entropy of their soft choices, which looks at the best few, and by their
difference, which keeps the rest in place. Its value learns the outcome of the round. Rollouts take it for
what it is: the teacher's habits, cheap.
Sources: Rusu et al. 2015, "Policy distillation"; Silver et al. 2016 (AlphaGo) have a fast rollout policy
beside a strong one.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import write_checkpoint
from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.q_network import QNetwork
from blueprint.guandan.train_config import NetworkConfig
from blueprint.guandan.training.dmc import outcome_classes
from blueprint.guandan.training.supervised import Progress, SoftPlay, fit, half_precision, tensors_of
from blueprint.learning.learner import arrays_of
from blueprint.protocol import Decisions
from blueprint.soft_choices import draw_soft
from blueprint.structured import Columns
from games.guandan.rounds.round import GuanDan
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real

SMALL = NetworkConfig(state=256, blocks=1, action=128, action_blocks=1, critic=0)
"""The student: its products are a seventh of the shipped network's."""
HELD_OUT = 256
"""Rounds that the student is judged by and never learns from."""


@attrs.frozen(slots=False)
class DistilConfig(Configuration):
    """How a small network is taught.

    decisions: labelled by the teacher in all. rounds: dealt at once. replay: such batches of rounds that are
        drawn from. passes: times each decision is learned from, on average.
    play, epsilon: temperature in levels of the teacher's soft play, and its share of random moves.
    temperature: in levels, of the soft choices that are compared. batch: decisions a gradient step.
    learning_rate: of Adam; it falls to zero along a cosine.
    """

    label: ClassVar[str] = "DistilConfig"

    decisions: int = attrs.field(default=8_000_000, validator=integer(1))
    rounds: int = attrs.field(default=1000, validator=integer(1))
    replay: int = attrs.field(default=8, validator=integer(1))
    passes: float = attrs.field(default=2.0, validator=real(0, above=True))
    play: float = attrs.field(default=0.05, validator=real(0, 100))
    epsilon: float = attrs.field(default=0.03, validator=real(0, 1))
    temperature: float = attrs.field(default=0.1, validator=real(0, 100, above=True))
    batch: int = attrs.field(default=1024, validator=integer(1))
    learning_rate: float = attrs.field(default=2e-3, validator=real(0, above=True))


@dataclass(frozen=True, eq=False)
class Labelled(Columns):
    """Decisions with a choice, and what the teacher thinks of every move.

    states: [n] STATE before the decision. actions: table of the moves of each. advantages: [m] float32, in
    levels. outcome: [n] int64, class of what the round came to for the player (OUTCOMES).
    """

    PER_ACTION = ("advantages",)
    states: Array
    actions: Ragged
    advantages: NDArray[np.float32]
    outcome: NDArray[np.int64]


def label_rounds(
    teacher: Inference, rounds: int, rng: np.random.Generator, config: DistilConfig | None = None
) -> Labelled:
    """Return every decision with a choice of `rounds` rounds of the teacher's own, labelled."""
    config = config or DistilConfig()
    found: list[Labelled] = []

    def keep(decisions: Decisions, scores: NDArray[np.float32]) -> None:
        rows, moves = decisions.rows.copy(), Ragged(decisions.offsets.copy(), decisions.actions.copy())
        found.append(Labelled(decisions.states[rows], moves, scores, rows))

    ends = SoftPlay(teacher.advantages, keep, config.play, config.epsilon, rng).play(rounds)
    whole = Labelled.joined(found)  # the rounds stand where their outcomes will
    payoff, seats = GuanDan().returns(ends)[:, 0], whole.states["player"].astype(np.int64)
    return replace(whole, outcome=outcome_classes(seats, payoff[whole.outcome]))


def agreement(student: Inference, labelled: Labelled) -> tuple[float, float]:
    """Return at which share of labelled decisions student and teacher prefer the same move, and what is lost.

    The latter in levels a decision that the teacher thinks the student's choices give away.
    """
    scores = student.advantages(Decisions.of(labelled.states, labelled.actions))
    offsets = labelled.actions.offsets
    mine = draw_soft(scores, offsets, 0.0, 0.0, np.random.default_rng(0))[0] + offsets[:-1]
    best = draw_soft(labelled.advantages, offsets, 0.0, 0.0, np.random.default_rng(0))[0] + offsets[:-1]
    lost = labelled.advantages[best] - labelled.advantages[mine]
    return float((mine == best).mean()), float(lost.mean())


def distil(
    teacher: Inference,
    rng: np.random.Generator,
    config: DistilConfig | None = None,
    network: NetworkConfig = SMALL,
    *,
    progress: Progress | None = None,
) -> tuple[QNetwork, dict[str, float]]:
    """Return a student of the teacher, and how far they agree on rounds that it never learned from.

    One thread plays while another learns.
    """
    config = config or DistilConfig()
    torch.manual_seed(int(rng.integers(2**31)))
    student = QNetwork(network)
    optimiser = torch.optim.Adam(student.parameters(), lr=config.learning_rate, fused=True)
    held_out = label_rounds(teacher, min(HELD_OUT, config.rounds), rng, attrs.evolve(config, epsilon=0.0))
    began, done = time.perf_counter(), 0
    replay: list[Labelled] = []
    score: dict[str, float] = {}
    drawn, before, steps = held_out, 0, 1

    def rate(step: int) -> float:
        part = min(1.0, (before + (done - before) * step / steps) / config.decisions)
        return float(config.learning_rate * 0.5 * (1 + np.cos(np.pi * part)))

    def loss() -> Tensor:
        batch = drawn.take(rng.integers(0, len(drawn), config.batch))
        return _loss(student, batch, config.temperature)

    def evaluate(losses: list[float]) -> dict[str, float]:
        share, lost = agreement(as_inference(student), held_out)
        return {"decisions": done, "loss": float(np.mean(losses)), "agreement": share, "lost": lost}

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(label_rounds, teacher, config.rounds, rng.spawn(1)[0], config)
        while done < config.decisions:
            fresh = coming.result()
            if done + len(fresh) < config.decisions:
                coming = pool.submit(label_rounds, teacher, config.rounds, rng.spawn(1)[0], config)
            replay = [*replay[1 - config.replay :], fresh] if config.replay > 1 else [fresh]
            drawn, before, done = Labelled.joined(replay), done, done + len(fresh)
            steps = max(1, int(config.passes * len(fresh) / config.batch))
            score = fit(optimiser, rate, loss, evaluate, steps, every=steps, progress=progress, began=began)
    return student, score


def as_inference(student: QNetwork) -> Inference:
    """Return the fast path of a network as it is now."""
    return Inference(arrays_of(student, "network."), critic=False)


def _loss(student: QNetwork, batch: Labelled, temperature: float) -> Tensor:
    """Return the mean loss of a batch."""
    n = len(batch)
    x, a, rows = tensors_of(student, Decisions.of(batch.states, batch.actions))
    with half_precision():
        h = student.states(x)
        found = student.advantages(h, a, rows).float()
        value = F.cross_entropy(student.outcomes(h).float(), torch.from_numpy(batch.outcome))
    taught = torch.from_numpy(batch.advantages)
    wanted = _log_shares(taught / temperature, rows, n)
    shares = wanted.exp()
    told = _log_shares(found / temperature, rows, n)
    crossed = (shares * (wanted - told)).sum() / n
    # both are known up to what is common to a decision: the mean under the teacher's choice is taken out
    there = found - torch.zeros(n).index_add(0, rows, shares * found)[rows]
    truth = taught - torch.zeros(n).index_add(0, rows, shares * taught)[rows]
    each = 1.0 / torch.from_numpy(batch.actions.counts).float()[rows]
    apart = (each * F.smooth_l1_loss(there, truth, reduction="none")).sum() / n
    return crossed + apart + 0.1 * value


def _log_shares(scores: Tensor, rows: Tensor, n: int) -> Tensor:
    """Return the log of the softmax of scores [m] within each row, [m]."""
    top = torch.full((n,), -torch.inf).scatter_reduce(0, rows, scores.detach(), "amax")
    lowered = scores - top[rows]
    return lowered - torch.zeros(n).index_add(0, rows, lowered.exp()).log()[rows]


def save_student(path: str | Path, student: QNetwork, notes: dict[str, object]) -> None:
    """Write a student in half precision, as networks are shipped.

    Raises FileProblem if it cannot be written.
    """
    tensors = {name: value.astype(np.float16) for name, value in arrays_of(student, "network.").items()}
    kept = {"game": "guandan", "features": student.features, "network": student.config.to_json()}
    write_checkpoint(path, tensors, {**kept, "export": "float16", **notes})
