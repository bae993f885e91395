"""OpenSpiel's games that are too large to expand, played step by step (extra: `openspiel`).

`load_game("openspiel:phantom_ttt")` returns this where `games.openspiel.adapter` would hold too many
histories. A state is the line of actions that leads to it; OpenSpiel's own states are kept for the lines
seen last. An infoset key is a hash of 128 bits of what OpenSpiel tells the player there and of whether it
acts. The string that a waiting player gets is taken as it is, so a sample of the game is held against perfect
recall when it is loaded (`games.check`).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.check import check_game
from games.game import CHANCE, TERMINAL, GameError, Infoset, not_zero_sum
from games.infosets import normal_text, unknown_infoset
from games.infosets.infoset_words import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.openspiel.betting_tree import NotPoker
from games.openspiel.expansion import TooManyHistories, load_openspiel
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["DirectOpenSpielGame", "load_any_openspiel"]

REMEMBERED = 50_000
"""States of OpenSpiel's that are kept, one or two kilobytes each; others are played again when asked for."""
LONGEST = 500
"""Actions of the longest line; a state takes 4 bytes for each."""
CHECKED_WIDTH = 64
"""Histories of each level at which a game is checked when it is loaded."""
BEAM = 60
"""Infosets of a player that a search for one of them follows at once."""
FOLLOWED = 6000
"""Histories followed at once, evenly from all of these infosets."""
LISTED = 20_000
"""Histories looked at for near matches of a text that names no infoset."""


class DirectOpenSpielGame(TwoPlayerGame):
    """An OpenSpiel game of perfect recall, of any size, without its tree.

    text: OpenSpiel's own game string, nested games included. check: hold a sample against the contract.
    zero_sum, shift: as of `ExplicitGame`. not_factored: why it has no public form.
    Raises GameError as `OpenSpielGame` does, and for a game whose strings fail the check.
    """

    key_width: int = 2
    not_factored = ""

    def __init__(self, text: str, *, check: bool = True) -> None:
        self._game = load_openspiel(text)
        self.name = f"openspiel:{self._game}"
        self.num_players = self._game.num_players()
        self.teams = tuple(range(self.num_players))
        total = self._game.utility_sum()  # None where it differs from end to end
        self.zero_sum = total is not None
        self.shift = (total or 0.0) / self.num_players
        low, high = self._game.min_utility(), self._game.max_utility()
        self.payoff_range = (float(low - self.shift), float(high - self.shift))
        self._tensor = bool(self._game.get_type().provides_information_state_tensor)
        longest = self._game.max_game_length() + self._game.max_chance_nodes_in_history()
        if longest > LONGEST:
            raise GameError(
                f"{self.name}: a game must end within {LONGEST:,} actions to be played; this one may take "
                f"{longest:,}; choose smaller parameters"
            )
        self._dtype = np.dtype([("length", np.int32), ("moves", np.int32, (longest,))])
        self._known: OrderedDict[bytes, Any] = OrderedDict()
        self._named: OrderedDict[str, Infoset] = OrderedDict()
        if check:
            check_game(self, np.random.default_rng(0), max_width=CHECKED_WIDTH)

    def __getstate__(self) -> dict[str, Any]:
        """Return what makes the game again: its name."""
        return {"text": self.name.partition(":")[2]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load the game again."""
        self.__init__(state["text"], check=False)  # type: ignore[misc]  # the only way to make one again

    def root(self) -> Array:
        return np.zeros(1, self._dtype)

    def player(self, states: Array) -> NDArray[np.int8]:
        return np.array([_mover(position) for position in self._positions(states)], np.int8)

    def actions(self, states: Array) -> Ragged:
        rows = [_legal(position) for position in self._positions(states)]
        counts = np.array([len(row) for row in rows], np.int64)
        return Ragged.from_counts(counts, np.array([action for row in rows for action in row], np.int64))

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        probs = np.ones(len(actions.values))
        for row, position in enumerate(self._positions(states)):
            if position.is_chance_node():
                given = [prob for _, prob in position.chance_outcomes() if prob > 0]
                probs[actions.offsets[row] : actions.offsets[row + 1]] = given
        return probs

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states[rows]
        length = after["length"]
        after["moves"][np.arange(len(after)), length] = actions
        after["length"] = length + 1
        positions = self._positions(states)
        for name, row, action in zip(_names(after), rows.tolist(), np.asarray(actions).tolist(), strict=True):
            if name not in self._known:
                self._remember(name, positions[row].child(action))
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        given = [position.returns() for position in self._positions(states)]
        return np.array(given, np.float64).reshape(-1, self.num_players) - self.shift

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        return _hashed([_known(position, player) for position in self._positions(states)])

    def features(self, states: Array, player: int) -> Array:
        """Return OpenSpiel's tensor of the information state, [n, width], or the bits of the key."""
        if not self._tensor:
            keys = np.ascontiguousarray(self.infoset_key(states, player), "<u8")
            return np.unpackbits(keys.view(np.uint8), axis=1)
        if len(states) == 0:
            return np.zeros((0, int(np.prod(self._game.information_state_tensor_shape()))), np.float32)
        positions = self._positions(states)
        found = np.array([position.information_state_tensor(player) for position in positions], np.float32)
        whole = found.astype(np.uint8)
        return whole if np.array_equal(whole, found) else found

    def action_text(self, state: Array, action: Array) -> str:
        position = self._position(state)
        ids = _legal(position)
        mover = position.current_player()
        texts = numbered(" ".join(position.action_to_string(mover, a).split()) for a in ids)
        return texts[ids.index(int(action))]

    def state_text(self, state: Array) -> str:
        position = self._position(state)
        played = " ".join(str(action) for action in position.history())
        told = joined_lines(str(position))
        return f"{told} | actions {played}" if played else told or "the start"

    def infoset_text(self, state: Array, player: int) -> str:
        role, known = _known(self._position(state), player)
        text = infoset_line(role, known, player)
        if (name := normal_text(text)) not in self._named:
            self._named[name] = Infoset(player, tuple(int(w) for w in _hashed([(role, known)])[0]), text)
            if len(self._named) > REMEMBERED:
                self._named.popitem(last=False)
        return text

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names: one written out before, or found by following the game.

        Raises GameError with near matches if none is found; a search through a large game may miss some.
        """
        wanted = normal_text(text)
        for player in range(self.num_players):
            if wanted.startswith(f"p{player}") and (wanted in self._named or self._found(wanted, player)):
                return self._named[wanted]
        raise unknown_infoset(self, text, max_states=LISTED)

    def _position(self, state: Array) -> Any:
        return self._positions(np.asarray(state).reshape(1))[0]

    def _positions(self, states: Array) -> list[Any]:
        """Return OpenSpiel's own state at each line."""
        found = []
        for row, name in enumerate(_names(states)):
            position = self._known.get(name)
            if position is None:
                position = self._game.new_initial_state()
                for action in states["moves"][row][: states["length"][row]].tolist():
                    position.apply_action(action)
                self._remember(name, position)
            found.append(position)
        return found

    def _remember(self, name: bytes, position: Any) -> None:
        self._known[name] = position
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game, in which players move one after the other."""
        return self._game

    def _found(self, wanted: str, player: int) -> bool:
        """Return whether the player's infoset of these words was come across; then it has its name."""
        states = self.root()
        words = _tokens(wanted)
        for _ in range(self._dtype["moves"].shape[0] + 1):
            texts = [normal_text(self.infoset_text(state, player)) for state in states]
            if wanted in texts:
                return True
            groups: dict[str, list[int]] = {}
            for row, text in enumerate(texts):
                groups.setdefault(text, []).append(row)
            best = sorted(groups, key=lambda text: -_likeness(_tokens(text), words))[:BEAM]
            each = max(1, FOLLOWED // len(best))
            states = states[[row for text in best for row in _spread(groups[text], each)]]
            actions = self.actions(states)
            if len(actions.values) == 0:
                return False
            states = self.step(states, actions.rows, actions.values)
        return False


def load_any_openspiel(text: str, *, general_sum: bool = False) -> TwoPlayerGame:
    """Return OpenSpiel's game: poker in factored form, others expanded, or step by step if that is too large.

    general_sum: if not, a game that says that its payoffs do not sum to zero is refused before the work.
    Raises GameError if it is not installed, has no such game, or the game is not of our kind.
    """
    from games.openspiel.adapter import OpenSpielGame
    from games.openspiel.poker_game import POKER, OpenSpielPoker

    if not general_sum and load_openspiel(text).utility_sum() is None:
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


def _names(states: Array) -> list[bytes]:
    """Return each line as bytes."""
    whole = np.ascontiguousarray(states).tobytes()
    size = states.dtype.itemsize
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _mover(state: Any) -> int:
    if state.is_terminal():
        return TERMINAL
    return CHANCE if state.is_chance_node() else int(state.current_player())


def _legal(state: Any) -> list[int]:
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return [action for action, prob in state.chance_outcomes() if prob > 0]
    return list(state.legal_actions())


def _hashed(known: list[tuple[int, str]]) -> NDArray[np.uint64]:
    """Return the key of each infoset, [n, 2] uint64, from a player's part and what it was told."""
    out = b"".join(blake2b(f"{role} {told}".encode(), digest_size=16).digest() for role, told in known)
    return np.frombuffer(out, "<u8").reshape(-1, 2).astype(np.uint64)


def _known(state: Any, player: int) -> tuple[int, str]:
    """Return a player's part (acts, waits, or it is over) and what OpenSpiel tells it."""
    mover = _mover(state)
    role = ACTS if mover == player else OVER if mover == TERMINAL else OTHER_ACTS
    try:
        return role, str(state.information_state_string(player))
    except RuntimeError:
        if role == ACTS:
            raise
        return role, ""


def _tokens(text: str) -> list[str]:
    return re.findall(r"[\w,.]+|[^\w\s,.]", text)


def _likeness(words: list[str], wanted: list[str]) -> float:
    """Return how well a text can be the beginning of another: runs of words that both have, long ones first.

    Words that the other does not have count against it.
    """
    blocks = SequenceMatcher(None, words, wanted, autojunk=False).get_matching_blocks()
    return sum(block.size**2 for block in blocks) - len(words) + sum(block.size for block in blocks)


def _spread(rows: list[int], most: int) -> list[int]:
    """Return up to `most` rows, evenly from first to last."""
    count = min(most, len(rows))
    return [rows[k * len(rows) // count] for k in range(count)]
