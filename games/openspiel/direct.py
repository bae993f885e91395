"""OpenSpiel's games by name, those too large to expand among them: played step by step (extra: `openspiel`).

`load_game("openspiel:phantom_ttt")` returns this where `games.openspiel.expansion` would hold too many
histories. A state is the line of actions that leads to it; OpenSpiel's own states are kept for the lines
seen last. An infoset key is a hash of 128 bits of what the player knows there (`games.openspiel.telling`) and
of whether it acts. What a waiting player is told is taken as it is, so a sample of the game is held against
perfect recall when it is loaded (`games.check`).

`openspiel_game` says which of OpenSpiel's games is which of ours, for those that both have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.check import check_game
from games.game import TERMINAL, Game, GameError, Infoset, not_zero_sum
from games.infosets import normal_text, unknown_infoset
from games.infosets.naming import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines
from games.infosets.trail import named_line
from games.openspiel.expansion import OpenSpielGame, TooManyHistories, load_openspiel
from games.openspiel.poker_form import NotPoker
from games.openspiel.poker_game import POKER, OpenSpielPoker
from games.openspiel.telling import (
    Observations,
    Teller,
    Told,
    has_observations,
    mover,
    outcomes,
    teller_of,
    texts_of,
)
from games.ragged import Ragged
from games.simple import LineGame
from games.support.array_types import Array

LONGEST = 25_000
"""Actions of the longest line; a state takes 2 or 4 bytes for each."""
CHECKED_WIDTH, CHECKED = 64, 1_000
"""Histories of each level at which a game is checked when it is loaded, and about how many in all."""
CHECKED_OBSERVED = 2
"""The same for infosets by observations, which remember by construction; their words grow with the game."""
FOLLOWED = 6000
"""Histories that a search for an infoset by its words follows at once."""
LISTED = 20_000
"""Histories looked at for near matches of a text that names no infoset."""


@dataclass(frozen=True, slots=True)
class _Place:
    """OpenSpiel's own state, and what each player knows there; None where that is not asked for yet.

    words: of the legal actions, once one of them was asked for.
    """

    position: Any
    told: list[Told | None]
    words: dict[int, str] = field(default_factory=dict)


class DirectOpenSpielGame(LineGame[_Place]):
    """An OpenSpiel game of perfect recall, of any size, without its tree.

    text: OpenSpiel's own game string, nested games included. check: hold a sample against the contract; where
        OpenSpiel's information states fail it, infosets are what players did and observed.
    zero_sum, shift: as of `ExplicitGame`. not_factored: why it has no public form.
    Raises GameError as `OpenSpielGame` does, and for a game that fails the check.
    """

    remembered = 50_000
    """Of OpenSpiel's states, one or two kilobytes each; others are played again when asked for."""
    limit = "OpenSpiel's max_game_length", "choose other parameters, or another game"
    not_factored = ""
    one_by_one = True

    def __init__(self, text: str, *, check: bool = True, by_observations: bool = False) -> None:
        self._game, self.name = load_openspiel(text)
        self._teller: Teller = Observations() if by_observations else teller_of(self._game)
        self.num_players = self._game.num_players()
        self.teams = tuple(range(self.num_players))
        total = self._game.utility_sum()  # None where it differs from end to end
        self.zero_sum = total is not None
        self.shift = (total or 0.0) / self.num_players
        low, high = self._game.min_utility(), self._game.max_utility()
        self.payoff_range = (float(low - self.shift), float(high - self.shift))
        longest = self._game.max_game_length() + self._game.max_chance_nodes_in_history()
        if longest > LONGEST:
            raise GameError(
                f"{self.name}: a game must end within {LONGEST:,} actions to be played; this one may take "
                f"{longest:,}; choose smaller parameters"
            )
        most = max(self._game.num_distinct_actions(), self._game.max_chance_outcomes())
        kind = np.int16 if most <= np.iinfo(np.int16).max else np.int32
        self._dtype = np.dtype([("length", np.int32), ("moves", kind, (longest,))])
        if check:
            self._check()

    def _check(self) -> None:
        """Hold a sample against the contract, of infosets by observations if the game's own fail."""
        if not self.by_observations:
            try:
                check_game(self, np.random.default_rng(0), max_width=self._checked_width)
                return
            except GameError:
                if not has_observations(self._game):
                    raise
            self._teller = Observations()
            self._known.clear()
            self._named.clear()
        width = min(CHECKED_OBSERVED, self._checked_width)
        check_game(self, np.random.default_rng(0), max_width=width)

    @property
    def _checked_width(self) -> int:
        longest = int(self._dtype["moves"].shape[0])
        return max(2, min(CHECKED_WIDTH, CHECKED // longest))

    @property
    def by_observations(self) -> bool:
        """Return whether infosets are what players did and observed, not OpenSpiel's information states."""
        return self._teller.remembers

    def __getstate__(self) -> dict[str, Any]:
        """Return what makes the game again: its name, and how its infosets are known."""
        return {"text": self.name.partition(":")[2], "by_observations": self.by_observations}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load the game again."""
        self.__init__(check=False, **state)  # type: ignore[misc]  # the only way to make one again

    def player(self, states: Array) -> NDArray[np.int8]:
        return np.array([mover(position) for position in self._positions(states)], np.int8)

    def actions(self, states: Array) -> Ragged:
        ways = [outcomes(position)[1] for position in self._positions(states)]
        counts = np.array([len(row) for row in ways], np.int64)
        return Ragged.from_counts(counts, np.array([action for row in ways for action, _ in row], np.int64))

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        ways = [outcomes(position)[1] for position in self._positions(states)]
        return np.array([prob for row in ways for _, prob in row], np.float64)

    def returns(self, states: Array) -> NDArray[np.float64]:
        given = [position.returns() for position in self._positions(states)]
        return np.array(given, np.float64).reshape(-1, self.num_players) - self.shift

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        return _hashed([self._known_at(place, player) for place in self._places(states)])

    def features(self, states: Array, player: int) -> Array:
        """Return OpenSpiel's tensor of the information state, [n, width], or the bits of the key.

        Where infosets are by observations, the tensor is that of the last one.
        """
        kind = self._game.get_type()
        what = "observation" if self.by_observations else "information_state"
        if not getattr(kind, f"provides_{what}_tensor"):
            keys = np.ascontiguousarray(self.infoset_key(states, player), "<u8")
            return np.unpackbits(keys.view(np.uint8), axis=1)
        if len(states) == 0:
            return np.zeros((0, int(np.prod(getattr(self._game, f"{what}_tensor_shape")()))), np.float32)
        positions = self._positions(states)
        found = np.array([getattr(position, f"{what}_tensor")(player) for position in positions], np.float32)
        whole = found.astype(np.uint8)
        return whole if np.array_equal(whole, found) else found

    def action_text(self, state: Array, action: Array) -> str:
        place = self._place(state)
        if not place.words:
            ids = [choice for choice, _ in outcomes(place.position)[1]]
            place.words.update(zip(ids, texts_of(place.position, ids), strict=True))
        return place.words[int(action)]

    def state_text(self, state: Array) -> str:
        position = self._place(state).position
        played = " ".join(str(action) for action in position.history())
        told = joined_lines(str(position))
        return f"{told} | actions {played}" if played else told or "the start"

    def infoset_text(self, state: Array, player: int) -> str:
        role, known = self._known_at(self._place(state), player)
        text = infoset_line(role, str(known), player)
        if (name := normal_text(text)) not in self._named:
            key = tuple(int(w) for w in _hashed([(role, known)])[0])
            self._keep(self._named, name, Infoset(player, key, text))
        return text

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names: one written out before, or found by following the game.

        Raises GameError with near matches if none is found; a search through a large game may miss some.
        """
        wanted = normal_text(text)
        for player in range(self.num_players):
            if not wanted.startswith(f"p{player}"):
                continue
            if wanted in self._named or named_line(self, player, text, followed=FOLLOWED) is not None:
                found: Infoset = self._named[wanted]
                return found
        raise unknown_infoset(self, text, max_states=LISTED)

    def _positions(self, states: Array) -> list[Any]:
        """Return OpenSpiel's own state at each line."""
        return [place.position for place in self._places(states)]

    def _made(self, moves: list[int], line: bytes) -> _Place:
        place = self._start()
        for move in moves:
            place = self._after(place, move, line)
        return place

    def _start(self) -> _Place:
        position = self._game.new_initial_state()
        return _Place(position, [self._teller.first(position, seat) for seat in range(self.num_players)])

    def _after(self, place: _Place, action: int, line: bytes) -> _Place:
        position = place.position.child(action)
        if not self._teller.remembers:  # what nobody asks for is not written out
            return _Place(position, [None] * self.num_players)
        told: list[Told | None] = []
        for seat, before in enumerate(place.told):
            assert before is not None  # each was told from the start
            told.append(self._teller.after(before, place.position, action, position, seat))
        return _Place(position, told)

    def _known_at(self, place: _Place, player: int) -> tuple[int, Told]:
        """Return a player's part (acts, waits, or it is over) and what it knows."""
        who = mover(place.position)
        role = ACTS if who == player else OVER if who == TERMINAL else OTHER_ACTS
        told = place.told[player]
        return role, self._teller.first(place.position, player) if told is None else told

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game, in which players move one after the other."""
        return self._game


def load_any_openspiel(text: str, *, general_sum: bool = False) -> TwoPlayerGame:
    """Return OpenSpiel's game: poker in factored form, others expanded, or step by step if that is too large.

    general_sum: if not, a game that says that its payoffs do not sum to zero is refused before the work.
    Raises GameError if it is not installed, has no such game, or the game is not of our kind.
    """
    if not general_sum and load_openspiel(text)[0].utility_sum() is None:
        raise not_zero_sum(f"openspiel:{text}")
    why = f"of OpenSpiel's games only {', '.join(sorted(POKER))} are offered in that form"
    if text.partition("(")[0].strip() in POKER:
        try:
            return OpenSpielPoker(text)
        except NotPoker as other:
            why = other.rule
    game: OpenSpielGame | DirectOpenSpielGame
    try:
        game = OpenSpielGame(text)
    except TooManyHistories as large:
        try:
            game = DirectOpenSpielGame(text)
        except GameError as error:
            raise GameError(f"{error}; and {large}") from error
    game.not_factored = why
    return game


def _hashed(known: list[tuple[int, Told]]) -> NDArray[np.uint64]:
    """Return the key of each infoset, [n, 2] uint64, from a player's part and what it was told."""
    out = b"".join(
        blake2b(
            f"{role} ".encode() + (told.encode() if isinstance(told, str) else told.digest), digest_size=16
        ).digest()
        for role, told in known
    )
    return np.frombuffer(out, "<u8").reshape(-1, 2).astype(np.uint64)


def openspiel_game(game: Game, *, by_strings: bool = False) -> Any:
    """Return OpenSpiel's own game with the same histories, actions, infosets and payoffs, a `pyspiel.Game`.

    For games loaded as `openspiel:…`, and for our Kuhn and Leduc poker, Liar's Dice and Goofspiel under the
    parameters that OpenSpiel has too. Moves at once are made one after the other. Where chance deals several
    cards by one action of ours, it has more histories (`openspiel_actions`).
    by_strings: also require that its information state strings name the infosets, as its policies do.
    Raises GameError if OpenSpiel is not installed or has no such game.
    """
    try:
        import pyspiel
    except ImportError:
        raise GameError(
            f"{game.name}: needs OpenSpiel, which is not installed; pip install 'gs2[openspiel]'"
        ) from None
    if isinstance(game, OpenSpielGame | DirectOpenSpielGame | OpenSpielPoker):
        if by_strings and game.by_observations:
            raise GameError(
                f"{game.name}: OpenSpiel's policies go by information state strings; this game's infosets "
                "are what its players did and observed; write the policy as JSON"
            )
        return game.openspiel_game()
    name = _name(game)
    if name is None:
        raise GameError(
            f"{game.name}: OpenSpiel must have the same game; it has none with these parameters; choose "
            "kuhn_poker, leduc_poker, liars_dice or goofspiel with parameters that OpenSpiel knows"
        )
    return pyspiel.load_game(name)


def openspiel_actions(game: Game, actions: list[int]) -> list[int]:
    """Return the actions of `openspiel_game(game)` for those that lead to a decision of `game`."""
    return game.openspiel_actions(actions) if isinstance(game, OpenSpielPoker) else actions


def _name(game: Game) -> str | None:
    """Return OpenSpiel's game string for one of our games, or None."""
    from games.research.goofspiel import Goofspiel
    from games.research.kuhn_poker import KuhnPoker
    from games.research.leduc_poker import LeducPoker
    from games.research.liars_dice import LiarsDice

    if isinstance(game, KuhnPoker):
        return "kuhn_poker" if game.name == KuhnPoker().name else None
    if isinstance(game, LeducPoker):
        for same in (False, True):
            if game.name == LeducPoker(suit_isomorphism=same).name:
                return f"leduc_poker(suit_isomorphism={same})"
        return None
    if isinstance(game, LiarsDice):
        if not game.wild:
            return None
        return f"liars_dice(numdice={game.dice},dice_sides={game.sides},bidding_rule={game.bidding})"
    if isinstance(game, Goofspiel):
        if game.turns == game.cards - 1:  # OpenSpiel 2.0.2 plays past the last turn
            return None
        inner = (
            f"goofspiel(imp_info=True,egocentric=False,num_cards={game.cards},num_turns={game.turns},"
            f"points_order={game.points_order},returns_type={game.returns_type})"
        )
        return f"turn_based_simultaneous_game(game={inner})"
    return None
