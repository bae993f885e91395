"""A game of many seats as two of them: one that searches, one that answers it, and the rest as chance.

    view = TwoSeatView(game, blueprint.policy, searcher=0, opponent=1)

Only the two decide. Every other seat is nature: what it does is drawn as `play` has it, so that chance's part
of a history is that of the deal and of these seats. Payoffs are the searcher's against the rest, which makes
a zero-sum game of two of any game. What is left is the game's own: states, actions, infoset keys, words, and
how histories of an infoset are drawn (`games.infosets.sampling`), whose weights then hold nature's part.
While the other seats do play as `play` has it, what the two may get is what they may get in the game itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
from games.infosets.histories import HistorySample, PlayRule
from games.infosets.nature import NatureView
from games.infosets.trail import Trail, trails_along
from games.ragged import Ragged
from games.support.array_types import Array


def other_side(game: Game, seat: int) -> tuple[int, ...]:
    """Return the seats that one plays against, the next in turn first; all where no teams are true."""
    true_teams = getattr(game, "zero_sum", True)
    others = [(seat + step) % game.num_players for step in range(1, game.num_players)]
    return tuple(other for other in others if not true_teams or game.teams[other] != game.teams[seat])


class TwoSeatView(NatureView):
    """Two seats of a game as a `Game` of two players, the searching one being player 0.

    original: the game. seats: (searcher, opponent). decides: whether the opponent does; if not, it is nature
    as well, and player 1 has eyes alone. play: what nature does, a blueprint's policy. past: how likely
    nature is held to have done what it did on the way to an infoset, `play` by default; it weighs histories
    that are drawn and need not sum to 1.
    Raises GameError for a seat that the game does not have, and for two seats of one side.
    """

    num_players = 2
    teams: tuple[int, ...] = (0, 1)

    def __init__(
        self,
        original: Game,
        play: PlayRule,
        seats: tuple[int, int],
        *,
        decides: bool = True,
        past: PlayRule | None = None,
    ) -> None:
        searcher, opponent = seats
        if not 0 <= searcher < original.num_players or opponent not in other_side(original, searcher):
            raise GameError(
                f"{original.name}: the two seats must be of different teams, {original.teams}; got {seats}"
            )
        words = "against" if decides else "beside"
        super().__init__(original, f"{original.name}: seat {searcher} {words} seat {opponent}", play)
        self.seats, self.decides = (searcher, opponent), decides
        self._past = play if past is None else past
        most = max(abs(bound) for bound in original.payoff_range)
        self.payoff_range = (-most, most)

    def player(self, states: Array) -> NDArray[np.int8]:
        """Return who acts at each state, [n] int8: 0 or 1, CHANCE for nature, or TERMINAL."""
        who = self.original.player(states)
        out = np.where(who == TERMINAL, np.int8(TERMINAL), np.int8(CHANCE))
        for place, seat in enumerate(self.seats[: 1 + self.decides]):
            out[who == seat] = place
        return out

    def nature_acts(self, states: Array) -> NDArray[np.bool_]:
        """Return where a seat that is not one of the two that decide is to act, [n] bool."""
        who = self.original.player(states)
        return np.asarray((who >= 0) & ~np.isin(who, self.seats[: 1 + self.decides]))

    def returns(self, states: Array) -> NDArray[np.float64]:
        """Return the payoffs of terminal states, [n, 2] float64."""
        return self.payoffs(self.original.returns(states))

    def payoffs(self, given: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return payoffs of all seats of the game as those of the two, [n, 2] from [n, players]."""
        own = given[:, self.seats[0]]
        return np.stack([own, 0.0 - own], axis=1)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        """Return what `player` knows at each state, [n, key_width] uint64, as its seat does."""
        return self.original.infoset_key(states, self.seats[player])

    def infoset_text(self, state: Array, player: int) -> str:
        """Return what `player` knows at this history, in the words of its seat."""
        return self.original.infoset_text(state, self.seats[player])

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names. Raises GameError if it is not one of the two seats'."""
        found = self.original.parse_infoset(text)
        if found.player not in self.seats[: 1 + self.decides]:
            raise GameError(f"{self.name}: the infoset must be of a seat that decides; got {found.text!r}")
        return replace(found, player=self.seats.index(found.player))

    def infoset(self, given: Infoset) -> Infoset:
        """Return an infoset of the game's searching or opposing seat as one of player 0 or 1."""
        return replace(given, player=self.seats.index(given.player))

    def trail(self, given: Trail) -> Trail:
        """Return a trail of the game as one of the view."""
        acting = CHANCE if given.acting not in self.seats else self.seats.index(given.acting)
        return replace(given, player=self.seats.index(given.player), acting=acting)

    def original_trail(self, given: Trail) -> Trail:
        """Return a trail of the view as one of the game. Raises GameError where it ends at nature's turn."""
        if not 0 <= given.acting <= int(self.decides):
            raise GameError(
                f"{self.name}: a trail must end where one of the two acts; got one at which nature does"
            )
        return replace(given, player=self.seats[given.player], acting=self.seats[given.acting])

    def rule(self, policy: PlayRule | None) -> PlayRule:
        """Return what weighs histories of the game: a policy of the two, one of the view, and `past`.

        Without a policy the two count as 1.
        """

        def weigh(game: Game, states: Array, seat: int, actions: Ragged) -> NDArray[np.float64]:
            if seat not in self.seats[: 1 + self.decides]:
                return self._past(game, states, seat, actions)
            if policy is None:
                return np.ones(len(actions.values))
            return policy(self, states, self.seats.index(seat), actions)

        return weigh

    def sample(self, drawn: HistorySample) -> HistorySample:
        """Return histories of the game with nature's part among chance's, without those that it rules out.

        drawn: with everyone's part by `rule`. Where nature rules out all, chance alone counts.
        """
        mine = self.seats[: 1 + self.decides]
        others = [seat for seat in range(self.original.num_players) if seat not in mine]
        nature = drawn.players[:, others].prod(axis=1)
        if not nature.any():
            nature = np.ones(len(drawn))
        players = drawn.players[:, self.seats].copy()
        players[:, len(mine) :] = 1.0
        found = replace(drawn, chance=drawn.chance * nature, players=players)
        live = np.flatnonzero(nature > 0)
        if len(live) == len(drawn):
            return found
        return replace(found.take(live), complete=drawn.complete)


def seat_trails(game: Game, lines: Ragged, player: int) -> list[Trail]:
    """Return the trail of a player along each history; in a view with what its seat did as nature, too."""
    if not isinstance(game, TwoSeatView):
        return trails_along(game, lines, player)
    return [game.trail(trail) for trail in trails_along(game.original, lines, game.seats[player])]
