"""A game written one state at a time: plain Python methods on one state become a batched `Game`.

A row of the batched game is the line of choices that leads to a history. An action is a number that stands
for the words of a choice, the same wherever they are, so that networks learn what it does. The states
themselves are kept for the lines met last, and made again from the line for others, so that rows can be saved
and sent to processes. It is slower than a game on arrays: some 30,000 histories a second.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, LARGEST_PAYOFF, TERMINAL, GameError, Infoset
from games.infosets import find_infoset, normal_text
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints

CHECKED = 1_000
"""Steps that are taken twice, to see whether `after` changes the given state or leaves things to luck."""
MOST_CHOICES = 65_536
MOST_LENGTH = 65_535
SUM_TOLERANCE = 1e-9

Place = TypeVar("Place")
"""All that a game keeps of one history."""


class LineGame(TwoPlayerGame, Generic[Place]):
    """A game whose states are lines of choices from the start, of which the places met last are kept.

    What there is to know of a history is made from its line once it is kept no more. A subclass gives
    `_dtype`, `_made` and `_after`, and the rest of `Game`.

    remembered: places that are kept, and infosets' names. limit: what the longest line is called, and what to
        do about one that goes on.
    """

    key_width: int = 2
    remembered: int
    limit = "max_length", "raise max_length if it ends"

    @cached_property
    def _dtype(self) -> np.dtype[np.void]:
        """The type of a row: its fields are `length`, and `moves` of which so many are made."""
        raise NotImplementedError

    def _made(self, moves: list[int], line: bytes) -> Place:
        """Return the place that a line leads to."""
        raise NotImplementedError

    def _after(self, place: Place, move: int, line: bytes) -> Place:
        """Return the place after a move, at the end of a line."""
        raise NotImplementedError

    def _moves(self, places: list[Place], rows: list[int], actions: list[int]) -> list[int]:
        """Return the moves that actions are at the places of some rows; by default they are the same."""
        return actions

    @cached_property
    def _known(self) -> OrderedDict[bytes, Place]:
        """Return the places kept, by their lines."""
        return OrderedDict()

    @cached_property
    def _named(self) -> OrderedDict[str, Any]:
        """Return the infosets met, by their words."""
        return OrderedDict()

    def root(self) -> Array:
        return np.zeros(1, self._dtype)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        most = int(states.dtype["moves"].shape[0])
        if len(rows) and int((length := states["length"][rows]).max()) >= most:
            name, advice = self.limit
            raise GameError(
                f"{self.name}: a game must end within {name} = {most} choices, chance's included; this one "
                f"continues after {self.state_text(states[rows[int(length.argmax())]])}; {advice}"
            )
        after, places, at = states[rows], self._places(states), rows.tolist()
        moves = self._moves(places, at, np.asarray(actions).tolist())
        after["moves"][np.arange(len(after)), after["length"]] = moves
        after["length"] += 1
        for line, row, move in zip(_lines(after), at, moves, strict=True):
            if line not in self._known:
                self._keep(self._known, line, self._after(places[row], move, line))
        return after

    def _places(self, states: Array) -> list[Place]:
        """Return the place of each history."""
        found = []
        for row, line in enumerate(_lines(states)):
            place = self._known.get(line)
            if place is None:
                place = self._made(states["moves"][row][: states["length"][row]].tolist(), line)
                self._keep(self._known, line, place)
            found.append(place)
        return found

    def _place(self, state: Array) -> Place:
        return self._places(np.asarray(state).reshape(1))[0]

    def _keep(self, kept: OrderedDict[Any, Any], name: str | bytes, value: Any) -> None:
        """Keep one thing more, and let the oldest go if these are too many."""
        kept[name] = value
        if len(kept) > self.remembered:
            kept.popitem(last=False)


def _lines(states: Array) -> list[bytes]:
    """Return each row's line as bytes, without what is not played yet."""
    lengths = states["length"].tolist()
    return [line[:length].tobytes() for line, length in zip(states["moves"], lengths, strict=True)]


@dataclass(frozen=True, slots=True)
class _Position:
    """One history, and all that the author's methods say of it.

    numbers: the actions that stand for `texts`. key: the key of each seat's infoset, 16 bytes each, in the
        order of the seats.
    """

    state: Any
    turn: int
    choices: tuple[Any, ...]
    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    probs: tuple[float, ...]
    payoffs: tuple[float, ...]
    seen: tuple[str, ...]
    key: tuple[bytes, ...]

    @property
    def facts(self) -> tuple[object, ...]:
        """Return what tells two histories apart."""
        return self.turn, self.texts, self.probs, self.payoffs, self.seen


class SimpleGame(LineGame[_Position]):
    """A game by seven plain methods on one state, which may be any Python object.

    A subclass gives `start`, `turn`, `choices`, `after`, `payoff` and `sees`, and `payoff_range`. `chances`
    and `words` have defaults. Infoset keys, batches and the reading of names are made from these. It may give
    `shows(state, player)` as well: numbers of about 0 to 1 of what the player sees, as many at every history;
    networks learn better from them than from the words of `sees`. With `shows_move(state, player, choice)`,
    what a choice does, moves are inputs of the network (`gs2 train`) in place of a column for each, and all
    these numbers are whole, 0 to 255. `hides(state, player)`, what the player does not see, is for the critic
    of training.

    name: by default the name of the class. num_players, teams: as of `Game`; by default two seats.
    max_length: choices of the longest history, chance's included; a row takes two bytes for each.
    Every method is checked as it is called: GameError names the method, the rule and the history.
    """

    max_length: int = 64
    remembered = 200_000

    def __init_subclass__(cls) -> None:
        """Name the game after its class; one that has `shows` has features."""
        super().__init_subclass__()
        if hasattr(cls, "shows"):
            cls.features = SimpleGame._features  # type: ignore[attr-defined]
        if hasattr(cls, "shows_move"):
            if not hasattr(cls, "shows"):
                raise GameError(
                    f"{cls.__name__}: a game with shows_move must have shows; see games/simple.py"
                )
            cls.moves_are_inputs = True  # type: ignore[attr-defined]
        if hasattr(cls, "hides"):
            cls.hidden_rows = SimpleGame._hidden_rows  # type: ignore[attr-defined]
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def start(self) -> Any:
        """Return the state in which the game begins."""
        raise NotImplementedError

    def turn(self, state: Any) -> int:
        """Return who is to choose: a seat, games.CHANCE or games.TERMINAL."""
        raise NotImplementedError

    def choices(self, state: Any) -> Sequence[Any]:
        """Return the legal actions, or chance's outcomes, in an order that what the player sees decides."""
        raise NotImplementedError

    def chances(self, state: Any) -> Sequence[float]:
        """Return the probability of each outcome, where chance is to choose; by default they are equal."""
        outcomes = len(self.choices(state))
        return [1 / outcomes] * outcomes

    def after(self, state: Any, choice: Any) -> Any:
        """Return the state after a choice; the state that is given must stay as it is."""
        raise NotImplementedError

    def payoff(self, state: Any) -> float | Sequence[float]:
        """Return what seat 0 gets at the end of a game of two, or what each seat gets."""
        raise NotImplementedError

    def sees(self, state: Any, player: int) -> str:
        """Return all that a player knows, in words: what it saw and did since the start, in order.

        Two histories with the same words are one infoset.
        """
        raise NotImplementedError

    def words(self, state: Any, choice: Any) -> str:
        """Return a choice in words, unlike those of the state's other choices."""
        return str(choice)

    def sample_deals(self, n: int, rng: np.random.Generator) -> Array:
        """Return [n] histories past all that chance opens with; what seats see on the way is not asked."""
        states = np.repeat(self.root(), n)
        for row in states:
            state, line = self._answer("start", b""), b""
            while self._answer("turn", line, state) == CHANCE and row["length"] < self.max_length:
                choices, probs = self._choices(state, line)
                place = min(int(np.searchsorted(np.cumsum(probs), rng.random(), "right")), len(probs) - 1)
                state = self._answer("after", line, state, choices[place])
                row["moves"][row["length"]] = place
                row["length"] += 1
                line = row["moves"][: row["length"]].tobytes()
            if line and line not in self._known:
                self._keep(self._known, line, self._look(state, line))
        return states

    def player(self, states: Array) -> NDArray[np.int8]:
        return np.array([position.turn for position in self._places(states)], np.int8)

    def actions(self, states: Array) -> Ragged:
        """Return the numbers of the choices of each state, [n], in the order of `choices`."""
        positions = self._places(states)
        numbers = np.array([number for position in positions for number in position.numbers], np.int64)
        return Ragged.from_counts(np.array([len(p.choices) for p in positions], np.int64), numbers)

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return np.array([prob for position in self._places(states) for prob in position.probs], np.float64)

    def _moves(self, places: list[_Position], rows: list[int], actions: list[int]) -> list[int]:
        """Return the places of actions among the choices."""
        return [places[row].numbers.index(action) for row, action in zip(rows, actions, strict=True)]

    def returns(self, states: Array) -> NDArray[np.float64]:
        found = [position.payoffs for position in self._places(states)]
        return np.array(found, np.float64).reshape(-1, self.num_players)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        keys = b"".join(position.key[player] for position in self._places(states))
        return np.frombuffer(keys, "<u8").reshape(-1, 2).astype(np.uint64)

    def _features(self, states: Array, player: int) -> Array:
        """Return what `shows` says, [n, width] float32."""
        return self._told("shows", states, [(player,)] * len(states)).astype(np.float32)

    def seat_rows(self, states: Array, seats: Ints) -> Bytes:
        """Return what `shows` says to seats[k] at states[k], [n, width], where moves are inputs."""
        return self._bytes("shows", states, [(seat,) for seat in seats.tolist()])

    def move_rows(self, states: Array, seats: Ints, rows: Ints, actions: Array) -> Bytes:
        """Return what `shows_move` says of actions[k] for seats[rows[k]] at states[rows[k]], [m, width]."""
        positions, given = self._places(states), []
        for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
            position = positions[row]
            given.append((int(seats[row]), position.choices[position.numbers.index(action)]))
        return self._bytes("shows_move", states[rows], given)

    def _hidden_rows(self, states: Array, seats: Ints) -> Bytes:
        """Return what `hides` says of seats[k] at states[k], [n, width]."""
        return self._bytes("hides", states, [(seat,) for seat in seats.tolist()])

    def _bytes(self, method: str, states: Array, given: Sequence[tuple[Any, ...]]) -> Bytes:
        """Return what a method answers at each state, in bytes."""
        numbers = self._told(method, states, given).astype(np.float64)
        if not ((numbers == np.floor(numbers)) & (numbers >= 0) & (numbers <= 255)).all():
            rule = "must be whole numbers from 0 to 255 where moves are inputs"
            self._refuse(method, rule, _lines(states)[0])
        return numbers.astype(np.uint8)

    def _told(self, method: str, states: Array, given: Sequence[tuple[Any, ...]]) -> Array:
        """Return the numbers that a method answers at each state, [n, width]."""
        found = zip(self._places(states), _lines(states), given, strict=True)
        told = [self._answer(method, line, position.state, *words) for position, line, words in found]
        if len({np.shape(numbers) for numbers in told}) != 1 or np.ndim(told[0]) != 1:
            self._refuse(method, "must be a list of numbers, as long at every history", _lines(states)[0])
        return np.array(told)

    def action_text(self, state: Array, action: Array) -> str:
        position = self._place(state)
        return position.texts[position.numbers.index(int(action))]

    def state_text(self, state: Array) -> str:
        return self._history(_lines(np.asarray(state).reshape(1))[0])

    def infoset_text(self, state: Array, player: int) -> str:
        return self._place(state).seen[player]

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names: one met before, or found by a walk over the whole game.

        Raises GameError with near matches if there is none.
        """
        met = self._named.get(normal_text(text))
        return find_infoset(self, text) if met is None else met[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the game without what it remembers."""
        return {
            name: value for name, value in vars(self).items() if name not in ("_known", "_named", "_checks")
        }

    @cached_property
    def _dtype(self) -> np.dtype[np.void]:
        if not isinstance(self.max_length, int | np.integer) or not 0 < self.max_length <= MOST_LENGTH:
            raise GameError(
                f"{self.name}: max_length must be a whole number from 1 to {MOST_LENGTH:,}; "
                f"got {self.max_length}; see games/simple.py"
            )
        return np.dtype([("length", np.uint16), ("moves", np.uint16, (self.max_length,))])

    @cached_property
    def _checks(self) -> list[int]:
        """Return how many steps are still taken twice, as the one entry of a list."""
        return [CHECKED]

    def _made(self, moves: list[int], line: bytes) -> _Position:
        state = self._answer("start", b"")
        for move in moves:
            state = self._answer("after", line, state, self._choices(state, line)[0][move])
        return self._look(state, line)

    def _after(self, place: _Position, move: int, line: bytes) -> _Position:
        """Return what follows a choice; the first steps are taken twice and compared."""
        state, choice = place.state, place.choices[move]
        child = self._look(self._answer("after", line, state, choice), line)
        if self._checks[0]:
            self._checks[0] -= 1
            if self._look(state, line).facts != place.facts:
                self._refuse("after", "must leave the state it is given unchanged, and return another", line)
            if self._look(self._answer("after", line, state, choice), line).facts != child.facts:
                self._refuse(
                    "after", "must return the same whenever it is asked; luck is a choice of CHANCE", line
                )
        return child

    def _look(self, state: Any, line: bytes) -> _Position:
        """Return all that the author's methods say of a state, each answer checked."""
        turn = self._answer("turn", line, state)
        if not isinstance(turn, int | np.integer) or not TERMINAL <= turn < self.num_players:
            self._refuse("turn", "must be a seat, games.CHANCE or games.TERMINAL", line, turn)
        choices, probs = ((), ()) if turn == TERMINAL else self._choices(state, line)
        texts = tuple(str(self._answer("words", line, state, choice)) for choice in choices)
        if len(set(texts)) < len(texts):
            self._refuse("words", "must be different for every choice", line, list(texts))
        if not all(text.strip() and len(text.splitlines()) == 1 for text in texts):
            self._refuse("words", "must be one line, not blank, for every choice", line, list(texts))
        payoffs = self._payoffs(state, line) if turn == TERMINAL else (0.0,) * self.num_players
        seen = []
        for player in range(self.num_players):
            told = self._answer("sees", line, state, player)
            if not isinstance(told, str):
                self._refuse("sees", "must be words", line, told)
            seen.append(" ".join(f"P{player} {told}".split()) + ("" if turn == player else " | waiting"))
        key = tuple(blake2b(text.encode(), digest_size=16).digest() for text in seen)
        if turn >= 0:
            self._meet(int(turn), seen[turn], key[turn], texts, line)
        numbers = tuple(map(_number, texts))
        return _Position(state, int(turn), choices, texts, numbers, probs, payoffs, tuple(seen), key)

    def _choices(self, state: Any, line: bytes) -> tuple[tuple[Any, ...], tuple[float, ...]]:
        """Return the choices and their probabilities; outcomes that cannot happen are left out."""
        told = self._answer("choices", line, state)
        if isinstance(told, set | frozenset):  # whose order may differ from process to process
            self._refuse("choices", "must be in an order, such as a list", line, told)
        choices = tuple(told)
        if not 0 < len(choices) <= MOST_CHOICES:
            self._refuse(
                "choices", f"must be 1 to {MOST_CHOICES:,} before the game is over", line, len(choices)
            )
        if self._answer("turn", line, state) != CHANCE:
            return choices, (1.0,) * len(choices)
        probs = tuple(float(prob) for prob in self._answer("chances", line, state))
        if len(probs) != len(choices):
            self._refuse("chances", f"must be one for each of {len(choices)} outcomes", line, len(probs))
        if not min(probs) >= 0 or not abs(sum(probs) - 1) <= SUM_TOLERANCE:
            self._refuse("chances", "must be at least 0 and sum to 1", line, list(probs))
        possible = [place for place, prob in enumerate(probs) if prob > 0]
        return tuple(choices[place] for place in possible), tuple(probs[place] for place in possible)

    def _payoffs(self, state: Any, line: bytes) -> tuple[float, ...]:
        told = self._answer("payoff", line, state)
        try:
            one = [float(told)] if np.ndim(told) == 0 else [float(chips) for chips in told]
        except (TypeError, ValueError):
            one = []
        payoffs = (one[0], 0.0 - one[0]) if len(one) == 1 and self.num_players == 2 else tuple(one)
        if len(payoffs) != self.num_players or not all(abs(chips) <= LARGEST_PAYOFF for chips in payoffs):
            rule = f"must be a number, seat 0's, or {self.num_players}, of at most {LARGEST_PAYOFF:g}"
            self._refuse("payoff", rule, line, told)
        return payoffs

    def _meet(self, player: int, text: str, key: bytes, texts: tuple[str, ...], line: bytes) -> None:
        """Hold an infoset against the history that was met there first."""
        name = normal_text(text)
        words = np.frombuffer(key, "<u8")
        if name not in self._named:
            known = Infoset(player, (int(words[0]), int(words[1])), text), texts, line
            self._keep(self._named, name, known)
        infoset, before, first = self._named[name]
        if infoset.text != text:
            rule = "must differ by more than case and spaces where infosets differ"
            self._refuse(
                "sees", rule, line, f"{text!r} here and {infoset.text!r} after {self._history(first)}"
            )
        if before != texts:
            rule = "must differ where the choices or their order differ"
            other = f"{text!r} with {list(texts)} here and {list(before)} after {self._history(first)}"
            self._refuse("sees", rule, line, other)

    def _answer(self, method: str, line: bytes, *given: Any) -> Any:
        """Return what a method of the author's answers; GameError says at which history it fails."""
        try:
            return getattr(self, method)(*given)
        except GameError:
            raise
        except Exception as error:
            if vars(SimpleGame).get(method) is getattr(type(self), method):
                raise GameError(
                    f"{self.name}: a SimpleGame must have start, turn, choices, after, payoff and sees; "
                    f"it lacks {method}; see games/simple.py"
                ) from None
            rule = f"must answer at every history; it raised {error!r}"
            raise GameError(f"{self.name}: {method} {rule} after {self._history(line)}; mend it") from error

    def _refuse(self, method: str, rule: str, line: bytes, received: object = None) -> NoReturn:
        got = "" if received is None else f"; got {received}"
        raise GameError(
            f"{self.name}: {method} {rule}{got}, after {self._history(line)}; see games/simple.py"
        )

    def _history(self, line: bytes) -> str:
        """Return the choices of a line in words, as far as its methods answer."""
        said: list[str] = []
        try:
            state = self.start()
            for place in np.frombuffer(line, self._dtype["moves"].base).tolist() if line else ():
                turn, choice = self.turn(state), self._choices(state, b"")[0][place]
                said.append((f"P{turn} " if turn >= 0 else "") + self.words(state, choice))
                state = self.after(state, choice)
        except Exception:
            said.append("…")
        return ", ".join(said) or "the start"


@lru_cache(1 << 16)
def _number(text: str) -> int:
    """Return the action that stands for a choice's words, of 62 bits."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") >> 2
