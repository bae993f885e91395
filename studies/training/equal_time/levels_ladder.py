"""All networks of a comparison against each other on GuanDan: levels a round, rounds won, one rating."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from games.support.files import check_folder
from gs2.commands.common import Interruption
from studies.training.equal_time.turns import Plan

if TYPE_CHECKING:
    from gs2.play.ladder import Ladder

__all__ = ["LevelsLadder", "play_levels_ladder"]

FEW = 400
"""Deals for which it takes longer to start processes than to play."""


@dataclass(frozen=True)
class LevelsLadder:
    """Ratings, and what they were made of.

    payoffs: of each pair in the order of the ladder's agents, [deals, 2] levels to the first.
    seed: of the bootstraps.
    """

    ratings: Ladder
    payoffs: dict[tuple[str, str], NDArray[np.float64]]
    seed: int

    def rating(self, name: str) -> str:
        """Return an agent's rating with its interval."""
        rating = self.ratings.ratings[self.ratings.plan.agents.index(name)]
        return f"{rating.mean:.0f} [{rating.low:.0f}, {rating.high:.0f}]"

    def between(self, a: str, b: str) -> NDArray[np.float64]:
        """Return the levels that `a` won from `b`, [deals, 2]."""
        return self.payoffs[a, b] if (a, b) in self.payoffs else -self.payoffs[b, a]

    def in_words(self, a: str, b: str) -> str:
        """Return rounds won by `a` against `b` and levels a round, with intervals."""
        won = self._interval((np.sign(self.between(a, b)) + 1).mean(1) / 2 * 100)
        return (
            "{:.1f} % [{:.1f}, {:.1f}]".format(*won) + "; " + self.levels(a, b, "{:+.2f} [{:+.2f}, {:+.2f}]")
        )

    def levels(self, a: str, b: str, form: str = "{:+.3f} [{:+.3f}, {:+.3f}]") -> str:
        """Return levels a round of `a` against `b`, with an interval."""
        return form.format(*self._interval(self.between(a, b).mean(1)))

    def _interval(self, values: NDArray[np.float64]) -> tuple[float, float, float]:
        from games.support.bootstrap import bootstrap_interval

        low, high = bootstrap_interval(values, np.random.default_rng(self.seed))
        return float(values.mean()), low, high


def play_levels_ladder(
    plan: Plan, agents: dict[str, str], rounds: int, stop: Interruption
) -> LevelsLadder | None:
    """Return the ladder of all agents, None if it was stopped; what was played is gone on from.

    agents: what each is called, and in the words of `gs2 match`. Its picture is `ladder.svg` of the plan's
    folder.
    """
    from gs2.play.arena import Arena, Meeting
    from gs2.play.ladder import LadderPlan, plot_ladder, rate

    seed, labels = plan.changes["seed"], list(agents)
    games = {}
    results = check_folder(plan.folder / f"pairs-{plan.minutes:g}")
    with Arena(None if rounds > FEW else 1) as arena:
        for j, b in enumerate(labels):
            for i, a in enumerate(labels[:j]):
                file = results / (re.sub(r"[^\w.+-]", "_", f"{a}--{b}") + ".jsonl")
                meeting = Meeting("guandan", agents[a], agents[b], rounds, seed)
                found = arena.play(meeting, output=file, stop=stop)
                if not found.complete:
                    return None
                games[i, j] = found.games
    asked = LadderPlan("guandan", tuple(labels), rounds, seed, "elo")
    ladder = rate(asked, games, np.random.default_rng([seed, 0x1ADD]), unit="levels a round")
    plot_ladder(ladder, plan.folder / "ladder.svg")
    payoffs = {(labels[i], labels[j]): found.payoffs for (i, j), found in games.items()}
    return LevelsLadder(ladder, payoffs, seed)
