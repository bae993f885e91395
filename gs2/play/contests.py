"""What agents meet in: the pairs of games of a match by number, in lockstep.

    contest = contest_of("leduc_poker")
    contest.play(Meeting("leduc_poker", "cfr:100", "uniform"), range(64)).net.mean()

Any game is played by `gs2.play.game_pairs`. One with a way of its own to play many rounds at once, and agents
that decide for all of them together, registers it in `gs2.wings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blueprint.protocol import Agent, follows
from games.game import Game
from games.registry import load_game
from games.support.json_rows import Row
from games.support.work.carried import name_here
from gs2.play.agent_names import agent_identity, load_game_agent
from gs2.play.game_pairs import PlayedGames, play_numbered, playing_teams
from gs2.play.match_files import MeetingError
from gs2.wings import own_part

QUICK, SEARCHING = 256, 4
"""Pairs of games that are played in lockstep: many where agents answer at once, few where one searches."""
PAIRS = 1000
"""Pairs of games by default."""


@dataclass(frozen=True)
class Meeting:
    """Who meets whom, where and how often.

    game: its string. a, b: names of agents. pairs: of games, one with a on team 0 and one with a on team 1.
    seed: of chance, of the agents' choices and of what they train or search.
    duplicate: whether the games of a pair share their chance. agent_seed: of what both agents train or
    search; None for `seed` and the number after it. called: what a is called in files of results, where it
    plays from a copy of a file. terms: what else the game lets a match choose, FIELD: value.
    """

    game: str
    a: str
    b: str
    pairs: int = PAIRS
    seed: int = 0
    duplicate: bool = True
    agent_seed: int | None = None
    called: str | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise MeetingError(f"match: there must be at least 1 pair of games; got {self.pairs}")

    def to_json(self) -> Row:
        """Return the meeting in plain values."""
        told: Row = {"game": self.game, "a": self.called or self.a, "b": self.b, "pairs": self.pairs}
        told |= {"seed": self.seed, "duplicate": self.duplicate, "agent_seed": self.agent_seed}
        return {**told, **self.terms}


class GameContest:
    """A game that agents meet in, by their names: any game, by the functions of its contract.

    terms: what was chosen for the match, every field with its value. teams: of each seat; an agent plays each
    in turn. payoff_range: of what a game pays. unit: of payoffs, in words. spread: whether a match takes all
    cores unless fewer are asked for. shipped: the name of the network that comes with the package.
    """

    unit = "payoff a game"
    spread = False
    shipped = "network"

    def __init__(self, game: Game, terms: Mapping[str, Any] | None = None) -> None:
        self.game, self.teams = game, playing_teams(game)
        self.payoff_range = game.payoff_range
        self.terms: Mapping[str, Any] = terms or {}
        self._agents: dict[tuple[str, int], Agent] = {}

    def check(self, name: str, seed: int) -> None:
        """Raise what loading the agent raises at its name. seed: of what it trains or searches."""
        self.agent(name, seed)

    def identity(self, name: str, *, named: bool = True) -> str:
        """Return what changes when the agent does; named: whether its name, too, tells it from others."""
        return agent_identity(name, self.game.name, named=named)

    def together(self, meeting: Meeting) -> int:
        """Return how many pairs of games make one piece of work: a few where an agent follows the games."""
        return SEARCHING if any(follows(agent) for agent in self._met(meeting)) else QUICK

    def usual(self, names: Sequence[str]) -> int:
        """Return how many pairs of games these agents play where nothing is said."""
        return PAIRS

    def agent(self, name: str, seed: int) -> Agent:
        """Return an agent by name, loaded once. seed: of what it trains or searches."""
        if (name, seed) not in self._agents:
            self._agents[name, seed] = load_game_agent(self.game, name_here(name), seed=seed)
        return self._agents[name, seed]

    def play(self, meeting: Meeting, numbers: Sequence[int], *, recorded: bool = False) -> PlayedGames:
        """Return what the pairs of games of these numbers came to. recorded: with the rounds in words."""
        played = play_numbered(
            self.game,
            self._met(meeting),
            np.asarray(numbers, np.int64),
            meeting.seed,
            duplicate=meeting.duplicate,
            recorded=(meeting.a, meeting.b) if recorded else None,
        )
        rounds = tuple(replace(record, game=meeting.game) for record in played.rounds)
        return replace(played, rounds=rounds)

    def _met(self, meeting: Meeting) -> tuple[Agent, Agent]:
        seed = meeting.agent_seed
        first, second = (meeting.seed, meeting.seed + 1) if seed is None else (seed, seed)
        return self.agent(meeting.a, first), self.agent(meeting.b, second)


def contest_of(game: str | Game, terms: Mapping[str, Any] | None = None) -> GameContest:
    """Return the contest of a game. game: its string, or the game itself; terms: of the match.

    Raises GameError if there is no such game, ConfigError for terms that it does not have, MeetingError for a
    form of the game that its matches are not of.
    """
    loaded = load_game(name_here(game), general_sum=True) if isinstance(game, str) else game
    own = own_part(loaded.name, "contest")
    if own is not None:
        made: GameContest = own(terms or {})
        if made.game.name != loaded.name:
            family = loaded.name.partition("(")[0]
            raise MeetingError(
                f"match: {family} must be {made.game.name}, as its matches go; got {loaded.name}; write "
                f"{family}"
            )
        return made
    if terms:
        raise MeetingError(
            f"match: {next(iter(terms))} must be left out; {loaded.name} lets a match choose no such thing"
        )
    return GameContest(loaded)
