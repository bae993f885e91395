"""Games grown and blueprints computed once and kept: the next search in the same game starts at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from blueprint.networks import OF_GAMES
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.tree import TreeBudget, grow
from cfr.tree.memory import SEARCH_BYTES, TooLarge
from games.game import Game, GameError
from games.infosets import normal_text
from games.registry import PRESETS, game_specs, load_game
from games.support.near import near
from gs2.policies.policy_spec import policy_from_spec
from gs2.policies.tabulate import tabulate
from gs2.search.context import SearchContext, Strategy

MOST_HISTORIES = 2_000_000
"""Histories of the largest game that is searched for a page: the largest research game has 1.9 million."""
KEPT_HISTORIES = 2_500_000
"""Histories of all games together that are kept, the last one in any case."""
KEPT_STRATEGIES = 4
"""Blueprints kept of each game."""
NOT_LISTED = frozenset(OF_GAMES)
"""Games that register networks of their own: their trees are too large as they come."""


@dataclass(eq=False)
class PreparedGame:
    """A game with its tree, and the blueprints computed for it so far."""

    game: Game
    context: SearchContext
    form: SequenceForm
    _strategies: OrderedDict[str, Strategy] = field(default_factory=OrderedDict)

    @cached_property
    def infosets(self) -> list[tuple[str, str, int, int]]:
        """Return (name, its `normal_text`, player, histories) of each infoset, shallow ones first."""
        tree = self.context.tree
        numbers = tree.infoset[tree.infoset >= 0]
        counts = np.bincount(numbers, minlength=tree.n_infosets).tolist()
        found = []
        for number, count in enumerate(counts):
            text = self.context.infoset_text(number)
            found.append((text, normal_text(text), int(tree.infoset_player[number]), count))
        return found

    def knows(self, spec: str) -> bool:
        """Return whether a blueprint is there already."""
        return spec in self._strategies

    def strategy(self, spec: str) -> Strategy:
        """Return the blueprint that a text names (`policy_from_spec`), computed on first use."""
        if spec not in self._strategies:
            policy = policy_from_spec(spec, self.game, self.context.tree, self.form)
            named = tabulate(self.game, self.context.tree, policy, spec)
            self._strategies[spec] = Strategy(self.context.tree, policy, named)
            while len(self._strategies) > KEPT_STRATEGIES:
                self._strategies.popitem(last=False)
        self._strategies.move_to_end(spec)
        return self._strategies[spec]


_kept: OrderedDict[str, PreparedGame] = OrderedDict()
_lock = threading.RLock()


def explorable_game(text: str) -> Game:
    """Return the game that a text names, if it is one of ours that is listed.

    A page may name it, so no file is run and no other package is asked. Raises GameError in words.
    """
    name = text.partition("(")[0].strip().lower()
    names = [spec.name for spec in game_specs() if spec.name not in NOT_LISTED]
    if name in NOT_LISTED:
        raise GameError(
            f"game must be one whose tree is listed; got {name}; choose one of {', '.join(names)}"
        )
    if name not in names and name not in PRESETS:
        hint = near(name, [*names, *PRESETS], f"there are {', '.join(names)}")
        raise GameError(f"game must be one that comes with gs2; got {text[:100]!r}; {hint}")
    return load_game(text)


def prepared_game(text: str) -> PreparedGame:
    """Return the game that a text names, grown, from those kept if it is there.

    Raises GameError if it is no game of ours, TooLarge if its tree is too large for a page or this machine.
    """
    game = explorable_game(text)
    with _lock:
        found = _kept.get(game.name)
        if found is None:
            found = _grown(game)
            _kept[game.name] = found
            while (
                len(_kept) > 1 and sum(kept.context.tree.n_nodes for kept in _kept.values()) > KEPT_HISTORIES
            ):
                _kept.popitem(last=False)
        _kept.move_to_end(game.name)
        return found


def _grown(game: Game) -> PreparedGame:
    budget = TreeBudget(max_nodes=MOST_HISTORIES, history_bytes=SEARCH_BYTES)
    try:
        tree = grow(game, budget=budget)
    except TooLarge as error:
        raise TooLarge(
            f"{game.name}: a game must have at most {MOST_HISTORIES:,} histories to be searched for a page "
            f"({error}); take smaller parameters, or search it with gs2 solve"
        ) from error
    context = SearchContext(game, tree)
    return PreparedGame(game, context, sequence_form(tree, game))
