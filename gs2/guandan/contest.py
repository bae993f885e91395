"""GuanDan's contest: rounds on duplicate deals, or whole games from 2 to A, hundreds in lockstep."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.play.duplicate import (
    BLOCK,
    Notes,
    duplicate_deals,
    game_seeds,
    play_duplicate,
    play_games_duplicate,
)
from blueprint.protocol import Agent, Decisions, agent_name
from games.guandan.matches.match_game import match_name
from games.guandan.rounds.round import GuanDan
from games.guandan.rules import as_rules
from games.record import RoundRecord
from games.support.array_types import Array
from games.support.configuration import Configuration, flag, integer, real, text
from games.support.work.carried import name_here
from gs2.guandan.agent_families import check_agent, guandan_agent
from gs2.play.arena import PAIRS, GameContest, Meeting
from gs2.play.game_pairs import Pace, PlayedGames

SLOW_PAIRS = 100
"""Deals by default where an agent searches."""
ROUNDS_OF_A_GAME = 8
"""A whole game takes at least so many rounds, so that many fewer games than deals make a piece of work."""
OTHERS = BLOCK << 40
"""Added to the numbers of the second games of pairs that do not share their deal."""


@attrs.frozen(slots=False)
class Terms(Configuration):
    """Which cards are dealt, and by which rules whole games go.

    whole: whole games from 2 to A in place of single rounds. level: rank code of every deal, None for all of
    them. tribute: share of deals that start with tribute (0.5 as in training). rules: of whole games.
    """

    label: ClassVar[str] = "match"

    whole: bool = attrs.field(default=False, validator=flag)
    level: int | None = attrs.field(default=None, validator=integer(0, 12, optional=True))
    tribute: float = attrs.field(default=0.5, validator=real(0, 1))
    rules: str = attrs.field(default="ruling", validator=text)

    def __attrs_post_init__(self) -> None:
        as_rules(self.rules)


class _Timed:
    """An agent with the time that its decisions take."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.pace, self.name = agent, Pace(), agent_name(agent)
        for name in ("follows", "cards"):
            if hasattr(agent, name):
                setattr(self, name, getattr(agent, name))

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        began = time.perf_counter()
        found = self.agent(decisions)
        self.pace.add(Pace(len(decisions), time.perf_counter() - began))
        return found


class GuanDanContest(GameContest):
    """Rounds or whole games between agents that decide for many of them together."""

    spread = True
    shipped = "blueprint"

    def __init__(self, terms: Mapping[str, Any]) -> None:
        """Take what was chosen of `Terms`. Raises ConfigError or GameError for what there is not."""
        how = self._how = Terms().replace(**terms)
        kept = ("whole", "rules") if how.whole else ("whole", "level", "tribute")
        super().__init__(GuanDan(), {name: getattr(how, name) for name in kept})
        if how.whole:
            self.payoff_range = (-1.0, 1.0)
        self.unit = "whole games won less lost" if how.whole else "levels a round"

    def check(self, name: str, seed: int) -> None:
        """Raise what loading the agent would raise at its name; nothing large is loaded."""
        check_agent(name)

    def identity(self, name: str, *, named: bool = True) -> str:
        """Return the agent's fingerprint, which is that of its files wherever they lie."""
        return guandan_agent(name).fingerprint()

    def together(self, meeting: Meeting) -> int:
        """Return hundreds of deals, a few where an agent searches; an eighth as many whole games."""
        count = min(guandan_agent(name).together for name in (meeting.a, meeting.b))
        return max(1, count // ROUNDS_OF_A_GAME) if self._how.whole else count

    def usual(self, names: Sequence[str]) -> int:
        return PAIRS if all(guandan_agent(name).is_quick for name in names) else SLOW_PAIRS

    def play(self, meeting: Meeting, numbers: Sequence[int], *, recorded: bool = False) -> PlayedGames:
        """Return what these deals or whole games came to; agents that draw do so by the first number."""
        draw = [meeting.seed, int(self._how.whole), numbers[0]]
        a, b = (
            _Timed(self._agent(seat, name, np.random.default_rng([*draw, seat])))
            for seat, name in enumerate((meeting.a, meeting.b))
        )
        notes = Notes(2 * len(numbers)) if recorded else None
        which = np.asarray(numbers, np.int64)
        both = which, which if meeting.duplicate else which + OTHERS
        how, lengths = self._how, None
        if how.whole:
            seeds, others = (game_seeds(one, meeting.seed) for one in both)
            score, lengths = play_games_duplicate(a, b, seeds, rules=how.rules, others=others, notes=notes)
            payoffs = 2 * score - 1
        else:
            starts, changed = (
                duplicate_deals(one, meeting.seed, tribute=how.tribute, level=how.level) for one in both
            )
            levels = play_duplicate(a, b, starts, others=changed, notes=notes)
            payoffs = levels.astype(np.float64)
        rounds = () if notes is None else self._records(notes, payoffs, meeting, numbers)
        won = (np.sign(payoffs) + 1) / 2
        return PlayedGames(which, payoffs, won, (a.pace, b.pace), rounds, lengths)

    def _records(
        self, notes: Notes, payoffs: Array, meeting: Meeting, numbers: Sequence[int]
    ) -> tuple[RoundRecord, ...]:
        game = match_name(self._how.rules) if self._how.whole else meeting.game
        found = []
        for k, pair in enumerate(numbers):
            for team in range(2):
                told, paid = notes.games[k + team * len(numbers)], float(payoffs[k, team])
                agents = tuple((meeting.a, meeting.b)[side != team] for side in self.teams)
                paid_each = tuple(paid if side == team else -paid for side in self.teams)
                words = (tuple(told.chance), tuple(told.play), paid_each, told.start)
                found.append(RoundRecord(game, agents, *words, meeting.seed, pair, team))
        return tuple(found)

    def _agent(self, seat: int, name: str, rng: np.random.Generator) -> Agent:
        """Return an agent, loaded once for each side; one that draws does so from `rng`."""
        if (name, seat) not in self._agents:
            self._agents[name, seat] = guandan_agent(name_here(name)).load(rng)
        agent = self._agents[name, seat]
        if hasattr(agent, "rng"):
            agent.rng = rng
        return agent
