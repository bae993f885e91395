"""Whether an agent of any game beats another beyond doubt, by looks that stop once it is clear.

found = gate(Meeting("leduc_poker", "new.safetensors", "cfr:100"), output=path)
found.verdict, found.low, found.high
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from games.support.bootstrap import verdict_at_a_look
from games.support.interruption import Interrupted, breaking
from gs2.play.arena import Arena
from gs2.play.contests import Meeting, contest_of
from gs2.play.match_files import MeetingError


@dataclass(frozen=True)
class GateResult:
    """Whether a candidate may replace another.

    verdict: "better", "worse", "undecided", or "stopped" before it was decided. net: payoff a game of the
    candidate; low, high: its interval at the last look, wide enough for all looks together. pairs: looked at.
    """

    verdict: str
    net: float
    low: float
    high: float
    pairs: int


def gate(
    meeting: Meeting,
    *,
    batch: int = 500,
    output: Path,
    arena: Arena | None = None,
    progress: Callable[[GateResult], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> GateResult:
    """Return whether the candidate beats the other agent, stopping as soon as that is clear.

    meeting: a is the candidate; its pairs are the most that are played. batch: pairs between looks. output:
    file of results as of `Arena.play`: the same gate goes on from it and comes to the same. arena:
    where the agents meet; None for one of this process. progress: called at every look. stop: as of
    `Arena.play`; a result that was stopped has the pairs of the looks so far.
    Raises MeetingError for a batch out of range, and what `Arena.play` raises.
    """
    if not 1 <= batch <= meeting.pairs:
        raise MeetingError(f"gate: batch must be in [1, pairs]; got batch {batch}, pairs {meeting.pairs}")
    rng = np.random.default_rng([meeting.seed, 0x6A7E])
    own = Arena(contest_of(meeting.game, meeting.terms)) if arena is None else nullcontext(arena)
    with own as place:
        found = GateResult("undecided", 0.0, *place.contest.payoff_range, 0)
        while found.verdict == "undecided" and found.pairs < meeting.pairs:
            pairs = min(meeting.pairs, found.pairs + batch)
            played = place.play(replace(meeting, pairs=pairs), output=output, stop=stop)
            if not played.complete:
                return replace(found, verdict="stopped")
            net = played.games.net
            try:
                with breaking(stop):
                    verdict, low, high = verdict_at_a_look(net, rng, looks=-(-meeting.pairs // batch))
            except Interrupted:
                return replace(found, verdict="stopped")
            found = GateResult(verdict, float(net.mean()), low, high, pairs)
            if progress is not None:
                progress(found)
        return found
