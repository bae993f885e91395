"""Refine a whole strategy: search at every infoset of a player and splice the answers into one policy.

How the searches see each other changes the outcome a lot, so `mode` of the configuration says it by name:

independent  every search starts from the blueprint alone, as if it were the first of the match.
nested       level by level from the root: a search sees the strategies refined at shallower decisions, as
             an agent does that searched there before; decisions of one level do not see each other.
sequential   one after another: a search sees all that were done before it. An agent plays the same strategy
             if it replays, in the same order, the searches of the infosets it could be confused with; then
             certificates add up, because each starts from the strategy that the one before it certified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from games.game import Game, Infoset
from games.support.configuration import ConfigError
from gs2.policies.tabulate import tabulate
from gs2.search.config.search import SearchConfig
from gs2.search.context import AnyStrategy, SearchContext, SearchOptions, Strategy, check_asked
from gs2.search.explain import refine_part
from gs2.search.histories.enumerated import histories_of
from gs2.search.histories.sampled_source import sample_tree
from gs2.search.pipeline import Refinement, refine_infoset, where_listed
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.successive import with_certified

SHARED = 2
"""Stands beside the seed for what all searches share, where a search has its player's seat, 0 or 1."""


@dataclass(frozen=True)
class RefineStats:
    """One search of a refinement.

    infoset: number in the tree. nodes: of the subgame with its gadget, 0 if none was solved.
    kept: histories in it. iterations, anchor, seconds, timed_out: as in `Refinement`.
    """

    infoset: int
    nodes: int
    kept: int
    iterations: int
    anchor: float
    seconds: float
    timed_out: bool


@dataclass(frozen=True, eq=False)
class RefineResult:
    """A refined strategy.

    policy: [slots] float64; the searching player's part is refined, the rest is as given.
    searches: one entry per search, in the order they were done.
    skipped: infosets that the player's own strategy never reaches (nothing there can be exploited), and
        infosets whose common-knowledge closure was solved already.
    seconds: wall-clock time.
    """

    policy: NDArray[np.float64]
    searches: tuple[RefineStats, ...]
    skipped: int
    seconds: float

    @classmethod
    def joined(cls, policy: NDArray[np.float64], results: Sequence[RefineResult], /, **more: Any) -> Self:
        """Return what several refinements came to together.

        policy: [slots] float64, after all of them. more: fields of a result that has more.
        """
        searches = tuple(search for result in results for search in result.searches)
        skipped, seconds = (sum(getattr(one, name) for one in results) for name in ("skipped", "seconds"))
        return cls(policy, searches, skipped, seconds, **more)


@dataclass(frozen=True, eq=False)
class RefineOptions:
    """How a whole strategy is refined; the searches themselves are the configuration's.

    seed: every infoset draws from its own generator, made of the seed and the infoset's number, so results
        do not depend on the order. Games that are played out on the tree share their luck.
    infosets: those to search, numbers or `Infoset`s, in this order within a level; by default all. Those of
        the other player are left out.
    progress: called with (infosets done, infosets in all), player by player.
    """

    seed: int = 0
    infosets: Sequence[Infoset | int] | NDArray[np.int64] | None = None
    progress: Callable[[int, int], None] | None = None


NO_CHOICE = RefineOptions()
"""Every infoset, with seed 0."""


@dataclass(frozen=True, eq=False)
class BothRefined(RefineResult):
    """Both players' refined strategies, spliced into one.

    strategy: the result, whose probabilities are `policy`. results: of each player, in the order of their
        seats.
    """

    strategy: Strategy
    results: tuple[RefineResult, ...]


def refine_both(
    game: Game | SearchContext,
    blueprint: AnyStrategy,
    config: SearchConfig | Sequence[SearchConfig],
    options: RefineOptions = NO_CHOICE,
) -> BothRefined:
    """Return both players' strategies refined, each against the other's blueprint, and spliced into one.

    game: one small enough to enumerate, whose tree is grown here, or its `SearchContext`.
    blueprint, config, options: as in `refine_policy`.
    Raises what `SearchContext` and `refine_policy` raise.
    """
    context, config = _asked(game, config)
    strategy = context.strategy(blueprint)
    results = tuple(refine_policy(context, strategy, player, config, options) for player in (0, 1))
    spliced = strategy.probs.copy()
    for player, result in enumerate(results):
        mine = context.tree.slot_player == player
        spliced[mine] = result.policy[mine]
    return BothRefined.joined(spliced, results, strategy=Strategy(context.tree, spliced), results=results)


def _asked(
    game: Game | SearchContext, config: SearchConfig | Sequence[SearchConfig]
) -> tuple[SearchContext, Sequence[SearchConfig]]:
    """Return the game with its tree, and the configuration of each pass. Raises ConfigError for others."""
    passes = config if isinstance(config, Sequence) and not isinstance(config, str) else [config]
    for one in passes:
        check_asked(game=game, config=one)
    if not passes:
        raise ConfigError("config must hold at least one configuration, one for each pass; got none")
    return game if isinstance(game, SearchContext) else SearchContext(game), passes


def refine_policy(
    game: Game | SearchContext,
    policy: AnyStrategy,
    player: int,
    config: SearchConfig | Sequence[SearchConfig],
    options: RefineOptions = NO_CHOICE,
) -> RefineResult:
    """Return `policy` with the player's strategy refined by a search at each of its infosets.

    game: one small enough to enumerate, whose tree is grown here, or its `SearchContext`.
    policy: the strategy of both players, in any shape, such as [slots] float64 on the context's tree. A
        blueprint, or a `Strategy` with one, values histories where the configuration asks
        `Blueprint.value`; another is asked for its own expected values.
    config: of the searches; several make a pass over all infosets each, from what the one before left, such
        as one of `gs2+` and then one of `gs2+path` (docs/measurements/subgame_solving.md).
    Raises ConfigError for no such player and a negative seed; ValueError for infosets that the game does not
    have; what `SearchContext` raises.
    """
    if player not in (0, 1):
        raise ConfigError(f"player must be the seat whose strategy is refined, 0 or 1; got {player!r}")
    if options.seed < 0:
        raise ConfigError(f"seed must be at least 0; got {options.seed}")
    context, config = _asked(game, config)
    strategy = context.strategy(policy)
    passes: list[RefineResult] = []
    for one in config:
        passes.append(_one_pass(context, strategy, player, one, options))
        strategy = Strategy(context.tree, passes[-1].policy, strategy.blueprint)
    return RefineResult.joined(passes[-1].policy, passes)


def _one_pass(
    context: SearchContext, strategy: Strategy, player: int, config: SearchConfig, options: RefineOptions
) -> RefineResult:
    """Return what one pass over the player's infosets makes of a strategy."""
    config = where_listed(config)
    began = time.perf_counter()
    tree = context.tree
    every = np.arange(tree.n_infosets)
    if options.infosets is not None:
        every = np.array([context.infoset_number(one) for one in options.infosets], np.int64)
    every = every[tree.infoset_player[every] == player]
    level = context.infoset_level[every]
    if config.mode == "independent":
        batches = [every]
    else:
        batches = [every[level == depth] for depth in np.unique(level)]
    now, blueprint = strategy.probs.copy(), strategy.blueprint
    asked = (
        config.histories.source == "sampled"
        or config.histories.alternative == "value"
        or (config.subgame.depth is not None and config.subgame.leaf in ("value", "rollout"))
    )
    if blueprint is None and asked:
        blueprint = tabulate(context.game, tree, now)
    seed, sequential = options.seed, config.mode == "sequential"
    stats: list[RefineStats] = []
    done = 0
    for batch in batches:
        strategy = Strategy(tree, now, blueprint)
        if config.histories.source == "sampled":
            search = _drawing(context, strategy, player, config, sequential)
        else:
            search = _listing(context, strategy, player, config, seed, sequential)
        reached, solved = strategy.reach.players[:, player], np.zeros(tree.n_infosets, bool)
        for number in batch.tolist():
            if solved[number] or not reached[histories_of(context, number)[0]] > 0:
                continue
            slots, probs, told, fixed = search(number, np.random.default_rng([seed, player, number]))
            now[slots] = probs
            solved[fixed] = True
            stats.append(told)
        done += len(batch)
        if options.progress is not None:
            options.progress(done, len(every))
    return RefineResult(now, tuple(stats), done - len(stats), time.perf_counter() - began)


_One = tuple[NDArray[np.int64], NDArray[np.float64], RefineStats, NDArray[np.integer]]
"""One search: the slots that it replaces, their probabilities, its statistics, the infosets fixed."""

_Search = Callable[[int, np.random.Generator], _One]


def _listing(
    context: SearchContext, now: Strategy, player: int, config: SearchConfig, seed: int, sequential: bool
) -> _Search:
    """Return what searches an infoset on the whole tree. now: the strategy that the first search sees."""
    # What all searches play out is compared by what they do, so they share their luck.
    luck = int(np.random.default_rng([seed, SHARED]).integers(1 << 62))
    given = SearchOptions(luck=luck)
    if sequential and context.covers(player).turns_are_noticed:
        # Searches of one depth then share their opponent infosets, and what one gains another may spend.
        given = replace(given, start=now)
    if config.histories.alternative == "best-response" and config.subgame.depth is None and not sequential:
        now = now.with_best_response(1 - player)

    def search(number: int, rng: np.random.Generator) -> _One:
        nonlocal now
        found = refine_infoset(context, now, number, config, rng, given)
        if sequential:
            now = with_certified(context, now, found.slots, found.probs, found.certified)
        return found.slots, found.probs, _stats(found), _settled(config, found)

    return search


def _drawing(
    context: SearchContext, strategy: Strategy, player: int, config: SearchConfig, sequential: bool
) -> _Search:
    """Return what searches an infoset with histories drawn there; the tree only names infosets."""
    if config.subgame.gap is not None:  # a whole strategy has a probability for every action
        config = config.replace(gap=None)
    played = PlayedStrategy(context, strategy)
    played.probs = strategy.probs.copy()

    def search(number: int, rng: np.random.Generator) -> _One:
        began = time.perf_counter()
        part = sample_tree(context.game, played, context.trail_to(number), config, rng)
        found = refine_part(part, rng)
        tree, fixed = part.context.tree, np.zeros(0, np.int64)
        if part.size is not None and part.size.complete:
            there = _settled(part.config, found)
            fixed = played.numbers(tree.infoset_key[there], player) if len(there) else fixed
        slots = played.slots_of(tree, found.slots)
        if sequential:
            played.probs[slots] = found.probs
        stats = replace(_stats(found), infoset=number, seconds=time.perf_counter() - began)
        return slots, found.probs, stats, fixed

    return search


def _settled(config: SearchConfig, found: Refinement) -> NDArray[np.integer]:
    """Return the infosets of the player at which a search solved all there is to solve, of its tree."""
    every = config.histories.order is None and config.generation.generator == "all"
    if config.subgame.rest == "summary":
        every = found.complete and found.nodes > 0
    if config.safety.scope != "block" or found.considered.off_path or not every:
        return np.zeros(0, np.int64)
    own = np.unique(found.considered.own_infoset[found.kept.rows])
    return own[own >= 0]


def _stats(found: Refinement) -> RefineStats:
    return RefineStats(
        infoset=found.infoset,
        nodes=found.nodes,
        kept=len(found.kept.rows),
        iterations=found.iterations,
        anchor=found.anchor,
        seconds=sum(found.seconds.values()),
        timed_out=found.timed_out,
    )
