"""An agent that refines a blueprint by search at every decision, in any game.

This is the only module of `gs2.play` that knows how a search is called: `search_names` and `named_search`
read the words behind the `+` of an agent's name, and `SearchAgent` answers decisions.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cache

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint, Decisions, values_histories
from games.game import Game, Infoset
from games.support.configuration import ConfigError
from games.support.spec import split_spec
from gs2.parts import configured
from gs2.search.config.presets import PRESETS, preset
from gs2.search.config.search import SearchConfig, needs_listing
from gs2.search.context import SearchContext, Strategy
from gs2.search.explain import listed_context
from gs2.search.histories.sampled_growth import kept_actions
from gs2.search.histories.seats import seen_by, trail_to
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.at import refine_and_judge, refine_at

REMEMBERED = 100_000
"""Decisions whose answers an agent keeps, some hundred bytes each."""


def search_names() -> tuple[str, ...]:
    """Return the names of the searches that may stand behind the `+` of an agent's name."""
    return tuple(PRESETS)


def named_search(words: str, *, label: str = "search", **options: object) -> SearchConfig:
    """Return the configuration of a search, PRESET[:FIELD=VALUE,…].

    label: what errors call it. options: fields that count instead of those in the words.
    Raises ConfigError for an unknown preset or field, a value out of range, or a contradiction.
    """
    name, settings = split_spec(words)
    return configured(preset(name), settings, label=f"{label} {name}", **options)


class SearchAgent:
    """A blueprint refined at every infoset where it acts.

    The answer at an infoset is drawn from a generator of its own, named by `seed` and the infoset, and is
    remembered: so the agent is one fixed strategy, which can be asked again and exploited.
    """

    follows = True

    def __init__(
        self, game: Game, blueprint: Blueprint, config: SearchConfig, *, name: str, seed: int = 0
    ) -> None:
        """Prepare searches by `config` over a blueprint of the game.

        Raises ConfigError for a search that needs a larger part of the game than fits.
        """
        self.name, self.blueprint, self.config, self.seed = name, blueprint, config, seed
        self._game, self._shared = game, cache(self._listed)
        self._shared(0)  # what cannot be searched is better known before the first game
        # Which actions are kept may be asked at the state played only where its hidden part cannot answer.
        self._kept = None if values_histories(blueprint) else kept_actions(blueprint, config)
        self._known: OrderedDict[tuple[int, ...], NDArray[np.float64]] = OrderedDict()
        self.searches = 0

    @property
    def listed(self) -> bool:
        """Whether every search has all of the game's histories, and draws none."""
        return self._game.num_players == 2 and bool(self._shared(0))

    def __call__(self, decisions: Decisions) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64, by a search at each infoset."""
        game = decisions.game
        if game.name != self._game.name:
            raise ConfigError(
                f"{self.name}: it was prepared for {self._game.name}; got a state of {game.name}"
            )
        found = [self._answer(one) for one in decisions.spans(1)]
        return np.concatenate(found) if found else np.zeros(0)

    def gains(self, one: Decisions) -> NDArray[np.float64] | None:
        """Return what each action wins over the blueprint's likeliest in drawn deals, and its error, [2, a].

        one: a single decision. In payoffs, NaN for actions that the search leaves out; the error is the
        standard error. None where the game is listed and nothing is drawn, where it is not known how the game
        came here, and for an only action. The search is the one that answers the decision.
        """
        game, past, alone, name = one.game, one.past, len(one.actions) == 1, _name(one)
        if alone or past is None or self._shared(name[0] if game.num_players > 2 else 0):
            return None
        (row,) = one.rows.tolist()
        rows = refine_and_judge(game, self.blueprint, past.of(row).of(name[0]), self.config, self._dice(name))
        self._known.setdefault(name, rows[0])
        return rows[1:]

    def _answer(self, one: Decisions) -> NDArray[np.float64]:
        if len(one.actions) == 1:
            return np.ones(1)
        name = _name(one)
        known = self._known.get(name)
        if known is None:
            self.searches += 1
            known = self._known[name] = self._searched(one, name)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return known

    def _dice(self, name: tuple[int, ...]) -> np.random.Generator:
        return np.random.default_rng([self.seed, *name])

    def _listed(self, seat: int) -> tuple[SearchContext, Strategy] | None:
        """Return what a seat's searches share; None where they draw.

        Where the game's tree fits it is grown, one tree for both seats of a game of two.
        """
        view, plays = seen_by(self._game, self.blueprint, seat, self.config)
        context = listed_context(view, self.config)
        return None if context is None else (context, context.strategy(plays))

    def _searched(self, one: Decisions, name: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the answer of a search, by what the seat has seen where histories are drawn."""
        game, state, rng, (player, *key) = one.game, one.states[one.rows], self._dice(name), name
        named = Infoset(0 if game.num_players > 2 else player, tuple(key), "")
        shared = self._shared(player if game.num_players > 2 else 0)
        if shared is not None and not shared[0].lacks(named):
            context, strategy = shared
            number = context.infoset_number(named)
            return refine_infoset(context, strategy, number, self.config, rng).here(strategy)
        if shared and needs_listing(self.config.to_json()):  # and who plays the blueprint never leads here
            return np.asarray(self.blueprint.policy(game, state, player, one.table), np.float64)
        if self._kept is not None:
            left = self._kept(game, state, player, one.table)
            if left.sum() == 1:
                return left.astype(np.float64)
        if one.past is None:
            words = game.infoset_text(state[0], player)
            trail = trail_to(game, Infoset(player, tuple(key), words), rng)
        else:
            trail = one.past.of(int(one.rows[0])).of(player)
        return refine_at(game, self.blueprint, trail, self.config, rng)


def _name(one: Decisions) -> tuple[int, ...]:
    """Return the seat of a single decision and the words of its infoset key."""
    seat = int(one.seats[0])
    return (seat, *one.game.infoset_key(one.states[one.rows], seat)[0].tolist())
