"""An agent that refines a blueprint by search at every decision, in any game.

This is the only module of `gs2.play` that knows how a search is called: `search_names` and `named_search`
read the words behind the `+` of an agent's name, and `refiner` returns what answers a decision.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint, Decisions
from games.game import Game, Infoset
from games.infosets.trail import SeatTrail
from games.infosets.two_seats import TwoSeatView
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError
from games.support.spec import split_spec
from gs2.search.config.presets import PRESETS, preset
from gs2.search.config.search import SearchConfig

REMEMBERED = 100_000
"""Decisions whose answers an agent keeps, some hundred bytes each."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A decision to be searched.

    state: [1], one history of the infoset; what it hides from `player` must not be used. actions: [a], the
    legal ones. trail: how the game came here, if that is known.
    """

    game: Game
    state: Array
    player: int
    actions: Array
    trail: SeatTrail | None

    @property
    def key(self) -> tuple[int, ...]:
        """The words of the player's infoset key."""
        return tuple(int(word) for word in self.game.infoset_key(self.state, self.player)[0])


Refiner = Callable[[Situation, np.random.Generator], NDArray[np.float64]]
"""Returns the probability of each action of a situation, [a] float64."""


def search_names() -> tuple[str, ...]:
    """Return the names of the searches that may stand behind the `+` of an agent's name."""
    return tuple(PRESETS)


def named_search(words: str, *, label: str = "search", **options: object) -> SearchConfig:
    """Return the configuration of a search, PRESET[:FIELD=VALUE,…].

    label: what errors call it. options: fields that count instead of those in the words.
    Raises ConfigError for an unknown preset or field, a value out of range, or a contradiction.
    """
    from gs2.parts import configured

    name, settings = split_spec(words)
    return configured(preset(name), settings, label=f"{label} {name}", **options)


def refiner(game: Game, blueprint: Blueprint, config: SearchConfig) -> Refiner:
    """Return what searches a decision of a game.

    Where the game's tree fits, it is grown here and shared by all searches; elsewhere, or with the source
    `sampled`, every search draws histories of its own, by what its player has seen.
    In a game of more than two seats each sees it as one of two (`gs2.search.histories.seats`).
    Raises ConfigError for a search that needs a larger part of the game than fits.
    """
    from gs2.search.explain import listed_context
    from gs2.search.pipeline import refine_infoset

    if game.num_players > 2:
        return _by_seat(game, blueprint, config)
    context = listed_context(game, config)
    if context is None:
        return _sampling(game, blueprint, config)
    strategy = context.strategy(blueprint)

    def refine(situation: Situation, rng: np.random.Generator) -> NDArray[np.float64]:
        number = context.infoset_number(Infoset(situation.player, situation.key, ""))
        return refine_infoset(context, strategy, number, config, rng).here(strategy)

    return refine


def _by_seat(game: Game, blueprint: Blueprint, config: SearchConfig) -> Refiner:
    """Return what searches a decision of a game of more than two seats, as a game of two."""
    from gs2.search.histories.seats import seat_views

    @cache
    def views(seat: int) -> list[tuple[TwoSeatView, Refiner]]:
        seen = seat_views(game, blueprint, seat, config)
        return [(each.view, refiner(each.view, each, config)) for each in seen]

    def refine(situation: Situation, rng: np.random.Generator) -> NDArray[np.float64]:
        found = [
            search(replace(situation, game=view, player=0), rng) for view, search in views(situation.player)
        ]
        mean: NDArray[np.float64] = np.mean(found, axis=0)
        return mean

    views(0)  # what cannot be searched is better known before the first game
    return refine


def _sampling(game: Game, blueprint: Blueprint, config: SearchConfig) -> Refiner:
    """Return what searches a decision of a game that is not listed."""
    from gs2.search.histories.infoset_values import values_histories
    from gs2.search.histories.sampled_growth import kept_actions
    from gs2.search.histories.seats import trail_to
    from gs2.search.refine.at import refine_at

    # Which actions are kept may be asked at the state played only where its hidden part cannot answer.
    kept = None if values_histories(blueprint) else kept_actions(blueprint, config)

    def refine(situation: Situation, rng: np.random.Generator) -> NDArray[np.float64]:
        player, seen = situation.player, situation.trail
        if kept is not None:
            legal = Ragged.from_counts(np.array([len(situation.actions)]), situation.actions)
            left = kept(game, situation.state, player, legal)
            if left.sum() == 1:
                return left.astype(np.float64)
        if seen is None:
            words = game.infoset_text(situation.state[0], player)
            trail = trail_to(game, Infoset(player, situation.key, words), rng)
        else:
            trail = seen.of(player)
        return refine_at(game, blueprint, trail, config, rng)

    return refine


class SearchAgent:
    """A blueprint refined at every infoset where it acts.

    The answer at an infoset is drawn from a generator of its own, named by `seed` and the infoset, and is
    remembered: so the agent is one fixed strategy, which can be asked again and exploited.
    """

    follows = True

    def __init__(
        self, game: Game, blueprint: Blueprint, config: SearchConfig, *, name: str, seed: int = 0
    ) -> None:
        """Prepare searches by `config` over a blueprint of the game."""
        self.name, self.blueprint, self.config, self.seed = name, blueprint, config, seed
        self._game = game.name
        self._refine = refiner(game, blueprint, config)
        self._known: OrderedDict[tuple[int, ...], NDArray[np.float64]] = OrderedDict()
        self.searches = 0

    def __call__(self, decisions: Decisions) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64, by a search at each infoset."""
        game, past = decisions.game, decisions.past
        if game.name != self._game:
            raise ConfigError(f"{self.name}: it was prepared for {self._game}; got a state of {game.name}")
        found = [
            self._answer(
                Situation(
                    game,
                    decisions.states[row : row + 1],
                    seat,
                    decisions.actions[decisions.offsets[j] : decisions.offsets[j + 1]],
                    None if past is None else past.of(row),
                )
            )
            for j, (row, seat) in enumerate(
                zip(decisions.rows.tolist(), decisions.seats.tolist(), strict=True)
            )
        ]
        return np.concatenate(found) if found else np.zeros(0)

    def gains(self, situation: Situation) -> NDArray[np.float64] | None:
        """Return what each action wins over the blueprint's likeliest in drawn deals, and its error, [2, a].

        In payoffs, NaN for actions that the search leaves out; the error is the standard error. None where
        the game is listed and nothing is drawn. The search is the one that answers the situation.
        """
        from gs2.search.explain import listed_context
        from gs2.search.refine.at import refine_and_judge

        game, player, seen = situation.game, situation.player, situation.trail
        if seen is None or (game.num_players == 2 and listed_context(game, self.config) is not None):
            return None
        name = (player, *situation.key)
        rows = refine_and_judge(
            game, self.blueprint, seen.of(player), self.config, np.random.default_rng([self.seed, *name])
        )
        self._known.setdefault(name, rows[0])
        return rows[1:]

    def _answer(self, situation: Situation) -> NDArray[np.float64]:
        if len(situation.actions) == 1:
            return np.ones(1)
        name = (situation.player, *situation.key)
        known = self._known.get(name)
        if known is None:
            self.searches += 1
            known = self._refine(situation, np.random.default_rng([self.seed, *name]))
            self._known[name] = known
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return known
