"""Any game of OpenSpiel's that can be listed, through the same protocol (extra: `openspiel`).

`load_game("openspiel:leduc_poker")` walks the whole game tree once and keeps it as flat arrays, so a state is
the number of a node and every function is a table look-up. Simultaneous moves are played one after the other.

OpenSpiel promises that `information_state_string` tells a player what it knows where it *acts*. What it says
to a player who waits is up to the game, and may be too much: `efg_game` gives it the mover's infoset. So a
waiting player's strings are checked against what perfect recall asks of them, and where they fail, what it
knows is derived from its own infosets and actions (`games.infosets.waiting`).
"""

from __future__ import annotations

from typing import Any

from games.base import ExplicitGame
from games.infosets.infoset_words import joined_lines, numbered
from games.openspiel.expansion import expanded, load_openspiel
from games.openspiel.telling import Forgets, Observations, has_observations, teller_of
from games.support.array_types import Array

__all__ = ["OpenSpielGame"]

MAX_STATES = 3_000_000
"""Histories after which expanding a game gives up; a game of this size takes about half a minute."""
TELL_THE_MOVERS = frozenset({"efg_game"})
"""Games whose strings for a player who waits are about the one who moves: their files say nothing else."""


class OpenSpielGame(ExplicitGame):
    """An OpenSpiel game of perfect recall, fully expanded; constant-sum payoffs are shifted to zero-sum.

    Infosets are OpenSpiel's information states; where it has none, or they forget, they are what players did
    and observed.

    text: OpenSpiel's own game string, nested games included.
    max_states: GameError is raised for a game with more histories.
    not_factored: why it has no public form.
    Raises GameError if the extra is not installed, OpenSpiel has no such game, or the game has fewer than two
    players, no explicit chance, says nothing to its players, or forgets (imperfect recall) and has no
    observations either; the last names two histories that share a string and should not.
    """

    not_factored = ""

    def __init__(self, text: str, *, max_states: int = MAX_STATES) -> None:
        self._game, name = load_openspiel(text)
        self._teller = teller_of(self._game)
        try:
            tree = expanded(self._game, name, max_states, self._teller)
        except Forgets:
            if not has_observations(self._game):
                raise
            self._teller = Observations()
            tree = expanded(self._game, name, max_states, self._teller)
        trusted = self._game.get_type().short_name not in TELL_THE_MOVERS
        super().__init__(name, tree, trusted=trusted)

    @property
    def by_observations(self) -> bool:
        """Return whether infosets are what players did and observed, not OpenSpiel's information states."""
        return self._teller.remembers

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but OpenSpiel's game, which may not know its own name."""
        names = tuple(
            [(role, what if isinstance(what, int) else str(what)) for role, what in of] for of in self._names
        )
        return {**self.__dict__, "_game": None, "_names": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load OpenSpiel's game again."""
        self.__dict__ |= state
        self._game = load_openspiel(self.name.partition(":")[2])[0]

    def action_text(self, state: Array, action: Array) -> str:
        position = self._history(state)
        ids = self._actions[int(state)].tolist()
        mover = position.current_player()
        texts = numbered(" ".join(position.action_to_string(mover, a).split()) for a in ids)
        at: int = ids.index(int(action))
        return texts[at]

    def state_text(self, state: Array) -> str:
        return joined_lines(str(self._history(state))) or "the start"

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game, in which players move one after the other."""
        return self._game

    def _history(self, state: Array) -> Any:
        """Return OpenSpiel's own state at a node, by playing the actions that lead there."""
        position = self._game.new_initial_state()
        for action in self._line(int(state)):
            position.apply_action(action)
        return position
