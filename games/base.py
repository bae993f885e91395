"""What two-player games of one 64-bit key have in common, so that a new game is one short file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.game import Game, GameError, Infoset
from games.infosets import find_infoset, infoset_at, normal_text, unknown_infoset
from games.support.array_types import Array

__all__ = ["TwoPlayerGame"]


class TwoPlayerGame(Game):
    """Defaults for the parts of `Game` that are the same in every small two-player game.

    A subclass gives `name`, `payoff_range` and the batched functions. It may give `history_in` as well,
    which spares `parse_infoset` a search over the whole tree.
    """

    num_players: int = 2
    teams: tuple[int, ...] = (0, 1)
    key_width: int = 1

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the actions themselves as types: branch limits count each on its own."""
        return actions.astype(np.int64)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names; case and spacing do not matter.

        Raises GameError with near matches if there is none.
        """
        history = self.history_in(normal_text(text))
        if history is NotImplemented:
            return find_infoset(self, text)
        if history is not None:
            player = int(normal_text(text)[1])
            infoset = infoset_at(self, history, player)
            if normal_text(infoset.text) == normal_text(text):
                return infoset
        raise unknown_infoset(self, text)

    def history_in(self, text: str) -> Array | None:
        """Return one history (a batch of one) of the infoset that the normalised text names, if it does.

        Whatever comes back is written out and compared with the text again, so a reader may be lenient.
        NotImplemented, the default, says that this game has no reader.
        """
        return NotImplemented  # type: ignore[no-any-return]  # it has the type Any

    def played(self, states: Array, words: list[str]) -> Array | None:
        """Return the history after the actions whose texts are `words`, or None if one is not legal."""
        for word in words:
            actions = self.actions(states).values
            texts = [normal_text(self.action_text(states[0], action)) for action in actions]
            if normal_text(word) not in texts:
                return None
            chosen = texts.index(normal_text(word))
            states = self.step(states, np.zeros(1, np.int64), actions[chosen : chosen + 1])
        return states

    def forced(self, states: Array, *outcomes: int) -> Array:
        """Return the history after these actions or chance outcomes, each checked to be legal."""
        for outcome in outcomes:
            actions = self.actions(states).values
            if outcome not in actions:
                raise GameError(f"{self.name}: an action must be legal here, one of {actions}; got {outcome}")
            states = self.step(states, np.zeros(1, np.int64), np.array([outcome], actions.dtype))
        return states
