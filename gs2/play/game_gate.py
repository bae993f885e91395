"""Whether an agent of any game beats another beyond doubt, by looks that stop once it is clear.

found = gate_game(GameChallenge(Meeting("doudizhu", "new.safetensors", "network")), output=path)
found.verdict, found.low, found.high
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from games.game import Game
from games.support.bootstrap import verdict_at_a_look
from games.support.work.where import Place
from gs2.play.game_arena import Meeting, MeetingError, play_match

__all__ = ["GameChallenge", "GameVerdict", "gate_game"]


@dataclass(frozen=True)
class GameChallenge:
    """Who wants to replace whom, and how sure one wants to be.

    meeting: a is the candidate; its pairs are the most that are played. batch: pairs between looks.
    confidence: of all looks together, see `verdict_at_a_look`.
    Raises MeetingError for numbers out of range.
    """

    meeting: Meeting
    batch: int = 500
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= self.meeting.pairs or not 0 < self.confidence < 1:
            raise MeetingError(
                "gate: batch must be in [1, pairs] and confidence in (0, 1); got batch "
                f"{self.batch}, pairs {self.meeting.pairs}, confidence {self.confidence}"
            )


@dataclass(frozen=True)
class GameVerdict:
    """Whether a candidate may replace another.

    verdict: "better", "worse", "undecided", or "stopped" before it was decided. net: payoff a game of the
    candidate; low, high: its interval at the last look, wide enough for all looks together. pairs: looked at.
    """

    verdict: str
    net: float
    low: float
    high: float
    pairs: int


def gate_game(
    challenge: GameChallenge,
    *,
    output: Path,
    game: Game | None = None,
    processes: int | Place = 1,
    progress: Callable[[GameVerdict], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> GameVerdict:
    """Return whether the candidate beats the other agent, stopping as soon as that is clear.

    output: file of results as of `play_match`: the same gate goes on from it and comes to the same. game,
    processes, stop: see there; a result that was stopped has the pairs of the looks so far.
    Raises what `play_match` raises.
    """
    meeting = challenge.meeting
    rng = np.random.default_rng([meeting.seed, 0x6A7E])
    how: dict[str, Any] = {"game": game, "output": output, "processes": processes, "stop": stop}
    found = GameVerdict("undecided", 0.0, *_widest(game), 0)
    while found.verdict == "undecided" and found.pairs < meeting.pairs:
        pairs = min(meeting.pairs, found.pairs + challenge.batch)
        played = play_match(replace(meeting, pairs=pairs), **how)
        if not played.complete:
            return replace(found, verdict="stopped")
        net = played.games.net
        verdict, low, high = verdict_at_a_look(
            net, rng, looks=-(-meeting.pairs // challenge.batch), confidence=challenge.confidence
        )
        found = GameVerdict(verdict, float(net.mean()), low, high, pairs)
        if progress is not None:
            progress(found)
    return found


def _widest(game: Game | None) -> tuple[float, float]:
    """Return the interval of what nobody has looked at."""
    return (-np.inf, np.inf) if game is None else game.payoff_range
