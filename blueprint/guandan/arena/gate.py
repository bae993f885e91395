"""The gate for new checkpoints: a candidate replaces what is shipped only if it is better beyond doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.arena.arena import Arena, ArenaConfig, ArenaError, Schedule, results_header
from blueprint.guandan.arena.results_file import ResultsFile
from games.support.bootstrap import verdict_at_a_look
from games.support.interruption import Interrupted, breaking

__all__ = ["Challenge", "GateResult", "gate"]


@dataclass(frozen=True)
class Challenge:
    """Who wants to replace whom, and how sure one wants to be.

    candidate, shipped: names of agents. batch: deals between looks; most: deals in all.
    confidence: of all looks together, see `verdict_at_a_look`.
    config: which cards are dealt. called: what the candidate is called in files of results, where it plays
    from a copy.
    Raises ArenaError for numbers out of range.
    """

    candidate: str
    shipped: str
    batch: int = 1000
    most: int = 8000
    confidence: float = 0.95
    config: ArenaConfig = field(default_factory=ArenaConfig)
    called: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.most or not 0 < self.confidence < 1:
            raise ArenaError(
                "gate: batch must be in [1, most] and confidence in (0, 1); "
                f"got batch {self.batch}, most {self.most}, confidence {self.confidence}"
            )


@dataclass(frozen=True)
class GateResult:
    """Whether a candidate may replace what is shipped.

    verdict: "better", "worse", "undecided", or "stopped" before it was decided. net: levels a round of the
    candidate; low, high: its interval at the last look, wide enough for all looks together. payoffs: [n, 2]
    int8, of its deals, as in `ArenaResult`.
    """

    verdict: str
    net: float
    low: float
    high: float
    payoffs: NDArray[np.int8]


def gate(
    arena: Arena,
    challenge: Challenge,
    *,
    output: str | Path | None = None,
    progress: Callable[[GateResult], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> GateResult:
    """Return whether the candidate beats what is shipped, stopping as soon as that is clear.

    "better": the interval of net levels a round lies above zero.
    output: file of results, as of `Arena.play`: the same gate goes on from it and comes to the same.
    progress: called at every look. stop: see `Arena.play`; the result then has the deals of the looks so far.
    Raises what `Arena.play` raises.
    """
    if output is not None:
        _named(arena, challenge, output)
    looks = -(-challenge.most // challenge.batch)
    rng = np.random.default_rng([challenge.config.seed, 0x6A7E])
    payoffs = np.zeros((0, 2), np.int8)
    verdict = "undecided"
    found = GateResult("stopped", 0.0, -3.0, 3.0, payoffs)
    while verdict == "undecided" and len(payoffs) < challenge.most:
        rounds = min(challenge.batch, challenge.most - len(payoffs))
        result = arena.play(
            challenge.candidate,
            challenge.shipped,
            Schedule(rounds, first=len(payoffs), config=challenge.config),
            output=output,
            stop=stop,
        )
        if not result.complete:
            return replace(found, verdict="stopped")
        payoffs = np.concatenate([payoffs, result.payoffs])
        try:
            with breaking(stop):
                verdict, low, high = verdict_at_a_look(
                    payoffs.mean(1), rng, looks=looks, confidence=challenge.confidence
                )
        except Interrupted:
            return replace(found, verdict="stopped")
        found = GateResult(verdict, float(payoffs.mean()), low, high, payoffs)
        if progress is not None:
            progress(found)
    return found


def _named(arena: Arena, challenge: Challenge, output: str | Path) -> None:
    """Begin a file of results, if there is none, in which the candidate has the name it is called by."""
    a, b = (arena.source.fingerprint(name) for name in (challenge.candidate, challenge.shipped))
    agents = ((challenge.called or challenge.candidate, a), (challenge.shipped, b))
    with ResultsFile(output, results_header(agents, challenge.config)):
        pass
