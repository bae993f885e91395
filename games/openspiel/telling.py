"""What an OpenSpiel game tells its players: its own information states, or what they did and observed.

Perfect recall holds by construction for what a player did and observed, so games without information state
strings (dark chess, phantom go), and games whose strings forget (dark hex), are known by that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from games.game import CHANCE, TERMINAL, GameError
from games.infosets.naming import numbered


class Forgets(GameError):
    """A game whose information states forget what their player did or saw."""


@dataclass(frozen=True, eq=False)
class Remembered:
    """What a player did and observed: its last step, and all before it. Equal where every step is.

    step: what was observed last, after the player's own action if it had just acted, in words.
    seen: what was observed last. digest: of all steps, 16 bytes.
    """

    step: str
    seen: str
    digest: bytes
    before: Remembered | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether every step is the same."""
        return isinstance(other, Remembered) and self.digest == other.digest

    def __hash__(self) -> int:
        """Return a hash of all steps."""
        return hash(self.digest)

    def __str__(self) -> str:
        """Return all steps in words, the first one first."""
        steps: list[str] = []
        at: Remembered | None = self
        while at is not None:
            steps.append(at.step)
            at = at.before
        return "\n".join(reversed(steps))


Told: TypeAlias = "str | Remembered"
"""What a player knows at a history. `str` of it is its words; equal values are one infoset."""


class Teller(Protocol):
    """Says what a player knows, step by step.

    remembers: whether each answer follows from the one before, so that a history must be told from its start.
    """

    remembers: bool

    def first(self, state: Any, seat: int) -> Told:
        """Return what a seat knows at the start."""
        ...

    def after(self, before: Any, above: Any, action: int, state: Any, seat: int) -> Told:
        """Return what a seat knows at `state`, where `action` leads from `above`; there it knew `before`."""
        ...


class InfoStates:
    """What a game's information state strings say; a seat that does not act may be told nothing."""

    remembers = False

    def first(self, state: Any, seat: int) -> str:
        return _asked(state, seat, state.information_state_string)

    def after(self, before: Any, above: Any, action: int, state: Any, seat: int) -> str:
        return _asked(state, seat, state.information_state_string)


class Observations:
    """A seat's own actions, and its observations wherever they change.

    An observation that stays the same is no step: a seat need not notice that others act.
    """

    remembers = True

    def first(self, state: Any, seat: int) -> Remembered:
        seen = _asked(state, seat, state.observation_string)
        return Remembered(seen, seen, _hashed(b"", seen))

    def after(self, before: Remembered, above: Any, action: int, state: Any, seat: int) -> Remembered:
        seen = _asked(state, seat, state.observation_string)
        acted = mover(above) == seat
        if not acted and seen == before.seen:
            return before
        changed = [seen] if seen != before.seen else []
        did = [" ".join(above.action_to_string(seat, action).split())] if acted else []
        number = f"{action}" if acted else ""
        digest = _hashed(before.digest, f"{number}\0{seen}")
        return Remembered("\n".join(did + changed), seen, digest, before)


def has_observations(game: Any) -> bool:
    """Return whether a game's infosets may be known by observations.

    Where forgetting is part of the game it stays: in a file's infosets, and in OpenSpiel's `…_ir` games.
    """
    means_to_forget = re.search(r"\b(efg_game|\w+_ir)\b", str(game)) is not None
    return bool(game.get_type().provides_observation_string) and not means_to_forget


def teller_of(game: Any) -> Teller:
    """Return what says a game's infosets unless they turn out to forget."""
    return InfoStates() if game.get_type().provides_information_state_string else Observations()


def mover(state: Any) -> int:
    """Return who acts at a state of OpenSpiel's: a seat, CHANCE or TERMINAL."""
    if state.is_terminal():
        return TERMINAL
    return CHANCE if state.is_chance_node() else int(state.current_player())


def outcomes(state: Any) -> tuple[int, list[tuple[int, float]]]:
    """Return who acts and what may follow: actions, with probability 1, or chance outcomes with theirs."""
    who = mover(state)
    if who == CHANCE:
        return CHANCE, [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    return who, [(action, 1.0) for action in state.legal_actions()] if who >= 0 else []


def texts_of(state: Any, actions: list[int]) -> list[str]:
    """Return the actions of whoever acts at a state in OpenSpiel's words, equal ones numbered."""
    who = state.current_player()
    return numbered(" ".join(state.action_to_string(who, action).split()) for action in actions)


def _asked(state: Any, seat: int, string: Any) -> str:
    """Return a string of the game's for a seat, "" where the game has none for one that does not act."""
    try:
        return str(string(seat))
    except RuntimeError:
        if mover(state) == seat:
            raise
        return ""


def _hashed(before: bytes, step: str) -> bytes:
    return blake2b(before + step.encode(), digest_size=16).digest()
