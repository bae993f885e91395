"""Games between two agents in lockstep, the first as each team in turn, on the same chance.

    games = play_agents(game, (a, b), np.random.default_rng(0), 1000)
    games.net.mean(), games.interval()

A game of two teams is played in pairs, with the seats swapped. One of more teams is played as often as it
has teams, and such a set is called a pair all the same: in each the second agent is all other teams. Where no
teams are true from the start, as where an auction makes the teams, each seat is a team here.

Every random number of a game has a name: the number of its pair, whose it is (chance, or a seat) and how many
of that came before. So the second game of a pair sees the chance events of the first as far as both go on
alike, and a seat that plays by the same policy takes the same actions. Two agents that are the same strategy
score exactly zero in every pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import GameLockstep
from blueprint.protocol import Agent, Blueprint, Decisions, agent_of, follows, probabilities
from games.game import CHANCE, Game, GameError
from games.infosets.trail import SeatTrail
from games.ragged import pick_by
from games.record import RoundNotes, RoundRecord, winners
from games.support.array_types import Array
from games.support.bootstrap import Estimate, bootstrap_interval, estimate
from games.support.splitmix import STEP, mixed_bits

TOLERANCE = 1e-9
"""How far payoffs of all seats may sum from zero."""
Pairing = tuple[Agent | Blueprint, Agent | Blueprint]
"""The two agents of a match, a and b."""


@dataclass
class Pace:
    """How fast an agent decided. decisions: how many. seconds: they took, of one core."""

    decisions: int = 0
    seconds: float = 0.0

    def add(self, other: Pace) -> None:
        """Add what another count came to."""
        self.decisions += other.decisions
        self.seconds += other.seconds


@dataclass(frozen=True, eq=False)
class PlayedGames:
    """What a match came to.

    numbers: [n] int64, of the pairs. payoffs: [n, teams] float64, payoff to the first agent when its team
    is 0, when it is 1 and so on. won: [n, teams] float64, its share of a win in the same games; those paid
    most share one. paces: of both agents. rounds: what was played, where it was asked for, by pair and team.
    lengths: [n, teams] int64, rounds of each game, where a game has several.
    """

    numbers: NDArray[np.int64]
    payoffs: NDArray[np.float64]
    won: NDArray[np.float64]
    paces: tuple[Pace, Pace] = field(default_factory=lambda: (Pace(), Pace()))
    rounds: tuple[RoundRecord, ...] = ()
    lengths: NDArray[np.int64] | None = None

    @property
    def net(self) -> NDArray[np.float64]:
        """[n] float64: payoff a game to the first agent in each pair, the mean of its games."""
        found: NDArray[np.float64] = self.payoffs.mean(1)
        return found

    def interval(self, seed: int = 0) -> tuple[float, float]:
        """Return the 95 % bootstrap interval of the mean of `net` over pairs. seed: of the resamples."""
        return bootstrap_interval(self.net, np.random.default_rng([seed, 0xB007]))

    def summary(self, seed: int = 0) -> tuple[Estimate, Estimate]:
        """Return the first agent's payoff a game and its share of games won, with 95 % intervals over pairs.

        seed: of the resamples. A pair counts as one observation: the mean of its games.
        """
        rng = np.random.default_rng([seed, 0xB007])
        return estimate(self.net, rng), estimate(self.won.mean(1), rng)

    def outcomes(self) -> dict[float, float]:
        """Return the share of games by what they paid the first agent, the most first."""
        values, counts = np.unique(self.payoffs, return_counts=True)
        shares = counts / max(self.payoffs.size, 1)
        return dict(zip(values.tolist()[::-1], shares.tolist()[::-1], strict=True))


def playing_teams(game: Game) -> tuple[int, ...]:
    """Return for each seat the team that it plays in when agents meet: its own where no teams are true."""
    return game.teams if getattr(game, "zero_sum", True) else tuple(range(game.num_players))


def play_agents(
    game: Game, agents: Pairing, rng: np.random.Generator, n: int, *, duplicate: bool = True
) -> PlayedGames:
    """Return n pairs of games between two agents, a and b, who swap the teams between the games of a pair.

    duplicate: whether the games of a pair share their random numbers; without, all games are independent.
    Raises AgentFault for an answer that is no policy, GameError where payoffs do not sum to zero.
    """
    return play_numbered(game, agents, np.arange(n), int(rng.integers(1 << 62)), duplicate=duplicate)


def play_numbered(
    game: Game,
    agents: Pairing,
    numbers: NDArray[np.int64],
    seed: int,
    *,
    duplicate: bool = True,
    recorded: tuple[str, str] | None = None,
) -> PlayedGames:
    """Return the pairs of games of these numbers; the same seed and number always have the same chance.

    numbers: [n] int64. recorded: what the agents are called in the records of the rounds; None keeps none.
    Otherwise as `play_agents`.
    """
    numbers = np.asarray(numbers, np.int64)
    table = _Table(game, (agent_of(agents[0]), agent_of(agents[1])), numbers, seed, duplicate)
    if recorded is not None:
        table.notes = [RoundNotes() for _ in table.side]
    table.play()
    n = len(numbers)
    payoffs, won = (found.reshape(-1, n).T.copy() for found in table.settled())
    rounds = () if recorded is None else table.rounds(np.tile(numbers, len(table.side) // n), recorded)
    return PlayedGames(numbers, payoffs, won, table.paces, rounds)


class NumberedGames(GameLockstep):
    """Games whose every random number has a name: its stream, whose it is and how many of that came before.

    stream: [all] int64; games of one stream draw the same numbers as far as they go on alike. seed: of all.
    """

    def __init__(self, game: Game, states: Array, stream: NDArray[np.int64], seed: int) -> None:
        """Take the states that the games go on from."""
        super().__init__(game, states)
        self.stream, self.seed = stream, seed
        self.count = np.zeros((len(states), game.num_players + 1), np.int64)

    def take_turns(self, ask: Callable[[Decisions], NDArray[np.float64]]) -> NDArray[np.int64]:
        """Return the place of the action taken in each game, [g], after it was taken.

        ask: answers what seats decide, with the probability of each action.
        """
        chance = self.players == CHANCE
        counts = self.actions.counts
        probs = np.empty(len(self.actions.values))
        if chance.any():
            outcomes = self.actions.take(np.flatnonzero(chance))
            probs[np.repeat(chance, counts)] = self.game.chance_probs(self.states[chance], outcomes)
        if not chance.all():
            probs[np.repeat(~chance, counts)] = ask(self.decisions(~chance))
        which, seats = self.running, self.players.astype(np.int64)
        number = self.count[which, seats]
        self.count[which, seats] += 1
        draws = numbered_draws(self.seed, self.stream[which], seats + 1, number)
        pick = pick_by(self.actions, probs, draws)
        self.step(pick)
        return pick


class _Table(NumberedGames):
    """All games of a match, both of each pair.

    side: [games], the team of the first agent; the second has all others. notes: of each game, if any.
    """

    def __init__(
        self, game: Game, agents: tuple[Agent, Agent], numbers: NDArray[np.int64], seed: int, duplicate: bool
    ) -> None:
        self.agents, self.teams, self.past = agents, playing_teams(game), self
        sides = max(self.teams) + 1
        self.side = np.repeat(np.arange(sides), len(numbers))
        # what names a game's random numbers: those of a pair share it if they are duplicates
        stream = np.tile(numbers, sides) * sides + (0 if duplicate else self.side)
        super().__init__(game, np.repeat(game.root(), len(stream), axis=0), stream, seed)
        self.notes: list[RoundNotes] = []
        self.paces = (Pace(), Pace())
        self.trails: list[dict[int, SeatTrail]] = [{} for _ in range(game.num_players)]
        told = np.array([follows(agent) for agent in agents])
        for seat, team in enumerate(self.teams):
            for which in np.flatnonzero(told[np.where(self.side == team, 0, 1)]):
                self.trails[seat][int(which)] = SeatTrail()
        self._look()

    def of(self, row: int) -> SeatTrail:
        """Return what the seat to act saw on the way, where its agent follows the games."""
        return self.trails[int(self.players[row])][int(self.running[row])]

    def play(self) -> None:
        """Play every game to its end."""
        while self.go_on():
            states, running, players, actions = self.states, self.running, self.players, self.actions
            pick = self.take_turns(self._decided)
            taken = actions.values[actions.offsets[:-1] + pick]
            for row, which in enumerate(running.tolist() if self.notes or any(self.trails) else ()):
                seat = int(players[row])
                if seat >= 0 and which in self.trails[seat]:
                    self.trails[seat][which].act(taken[row])
                if self.notes:
                    self.notes[which].take(self.game, states[row], seat, taken[row])
            self._look()

    def settled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what the first agent was paid in each game, and its share of a win, [games] each."""
        teams, rows = self.teams, np.arange(len(self.side))
        off = np.abs(self.payoff.sum(1)).max(initial=0)
        if off > TOLERANCE and not getattr(self.game, "zero_sum", True):
            raise GameError(
                f"{self.game.name}: payoffs of all seats must sum to zero for agents to be compared; in one "
                f"game they sum to {off:g}; gs2 exploitability measures a policy there"
            )
        first = np.array([teams.index(team) for team in range(max(teams) + 1)])
        return self.payoff[rows, first[self.side]], winners(self.payoff, teams)[rows, self.side]

    def rounds(self, pairs: NDArray[np.int64], names: tuple[str, str]) -> tuple[RoundRecord, ...]:
        """Return the records of all games. pairs: [games], their numbers; names: of both agents."""
        records = []
        for which, notes in enumerate(self.notes):
            side = int(self.side[which])
            agents = tuple(names[0 if team == side else 1] for team in self.teams)
            words = (tuple(notes.chance), tuple(notes.play), tuple(self.payoff[which].tolist()), notes.start)
            records.append(RoundRecord(self.game.name, agents, *words, self.seed, int(pairs[which]), side))
        return tuple(sorted(records, key=lambda record: (record.pair, record.team)))

    def _decided(self, decisions: Decisions) -> NDArray[np.float64]:
        """Return the probability of each action, [m], by the agent whose decision it is."""
        found = np.empty(len(decisions.actions))
        counts = np.diff(decisions.offsets)
        seated = np.array(self.teams)[decisions.seats] != self.side[self.running[decisions.rows]]
        for k, agent in enumerate(self.agents):
            mask = seated == k
            if mask.any():
                asked = decisions.where(mask)
                began = time.perf_counter()
                found[np.repeat(mask, counts)] = probabilities(agent, asked)
                self.paces[k].add(Pace(len(asked), time.perf_counter() - began))
        return found

    def _look(self) -> None:
        """Let the seats that remember see where their games are."""
        for seat, trails in enumerate(self.trails):
            if not trails:
                continue
            rows = np.flatnonzero([int(which) in trails for which in self.running])
            keys = self.game.infoset_key(self.states[rows], seat)
            for row, key in zip(rows, keys, strict=True):
                trails[int(self.running[row])].see(key)


def numbered_draws(
    seed: int, stream: NDArray[np.int64], source: int | NDArray[np.int64], number: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return random numbers in [0, 1) that depend on nothing but their names, [n] float64.

    stream, number: [n] int64. source: whose they are, one or [n].
    Source: the finaliser of SplitMix64 (Steele, Lea and Flood 2014), once for each part of the name.
    """
    with np.errstate(over="ignore"):
        mixed = np.full(len(stream), seed & (1 << 64) - 1, np.uint64)
        for part in (stream, np.broadcast_to(source, stream.shape), number):
            mixed = mixed_bits(mixed + STEP * (part.astype(np.uint64) + np.uint64(1)))
    found: NDArray[np.float64] = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return found
