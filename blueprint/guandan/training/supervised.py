"""Supervised learning on soft self-play: rounds that are looked at, and gradient steps along a schedule."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.game_lockstep import play_rounds
from blueprint.guandan.network.q_network import QNetwork
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.layers.bfloat import native_half
from blueprint.protocol import Decisions
from blueprint.soft_choices import draw_soft
from games.support.array_types import Array

Progress = Callable[[dict[str, float]], None]
"""Told the score of a training as it goes on."""


@dataclass(frozen=True)
class SoftPlay:
    """Self-play by a softmax over scores, looked at decision by decision.

    scores: of each action, [m], in levels. look: called with decisions and scores before moves are drawn.
    temperature, epsilon: as of `draw_soft`. follows: whether decisions tell the past.
    """

    scores: Callable[[Decisions], NDArray[np.float32]]
    look: Callable[[Decisions, NDArray[np.float32]], None]
    temperature: float
    epsilon: float
    rng: np.random.Generator
    follows: bool = False

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return softly chosen actions, [n]."""
        scores = self.scores(decisions)
        self.look(decisions, scores)
        return draw_soft(scores, decisions.offsets, self.temperature, self.epsilon, self.rng)[0]

    def play(self, rounds: int) -> Array:
        """Return the ends of rounds of all levels, half of them after tribute, [rounds] STATE."""
        states = deal_rounds(rounds, self.rng, tribute=0.5)
        play_rounds(states, self, GUANDAN, record=False)
        return states


def half_precision() -> torch.autocast:
    """Return the context of forward passes: half precision where the processor multiplies it natively."""
    return torch.autocast("cpu", torch.bfloat16, enabled=native_half())


def tensors_of(network: QNetwork, decisions: Decisions) -> tuple[Tensor, Tensor, Tensor]:
    """Return a network's inputs of decisions and of their moves, and [m] whose each move is."""
    kind = torch.bfloat16 if native_half() else torch.float32
    x, a = (torch.from_numpy(part).to(kind) for part in network.encode(decisions))
    return x, a, torch.from_numpy(np.repeat(np.arange(len(decisions)), np.diff(decisions.offsets)))


def fit(
    optimiser: torch.optim.Optimizer,
    rate: Callable[[int], float],
    loss: Callable[[], Tensor],
    evaluate: Callable[[list[float]], dict[str, float]],
    steps: int,
    *,
    every: int,
    progress: Progress | None = None,
    longest: float | None = None,
    began: float | None = None,
) -> dict[str, float]:
    """Return the last score of so many gradient steps.

    rate: of each step. loss: of a batch. evaluate: returns a score, given the losses so far; asked every so
    many steps and after the last. longest: length to which gradients are cut, if at all. began: reading of
    `perf_counter` from which a score counts its seconds; None for now.
    """
    began = time.perf_counter() if began is None else began
    losses, score = list[float](), dict[str, float]()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        value = loss()
        optimiser.zero_grad(set_to_none=True)
        value.backward()  # type: ignore[no-untyped-call]  # of torch
        if longest is not None:
            torch.nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], longest)
        optimiser.step()
        losses.append(float(value.detach()))
        if step % every == every - 1 or step == steps - 1:
            score = {**evaluate(losses), "seconds": time.perf_counter() - began}
            if progress is not None:
                progress(score)
    return score
