"""Refine a whole strategy: search at every infoset of a player and splice the answers into one policy.

How the searches see each other changes the outcome a lot, so it is said by name:

independent  every search starts from the blueprint alone, as if it were the first of the match.
nested       level by level from the root: a search sees the strategies refined at shallower decisions, as
             an agent does that searched there before; decisions of one level do not see each other.
sequential   one after another: a search sees all that were done before it. An agent plays the same strategy
             if it replays, in the same order, the searches of the infosets it could be confused with; then
             certificates add up, because each starts from the strategy that the one before it certified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game, Infoset
from games.support.configuration import ConfigError
from gs2.policies.tabulate import tabulate
from gs2.search.config.search import SearchConfig
from gs2.search.context import AnyStrategy, SearchContext, SearchOptions, check_asked
from gs2.search.histories.sampled_source import sample_tree
from gs2.search.part import PlayedStrategy, refine_part
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.workers import Workers
from gs2.search.result import Refinement
from gs2.search.safety import with_certified
from gs2.search.strategy import Strategy

__all__ = [
    "MODES",
    "BothRefined",
    "RefineOptions",
    "RefineResult",
    "RefineStats",
    "refine_both",
    "refine_policy",
]

MODES = ("independent", "nested", "sequential")
SHARED = 2
"""Stands beside the seed for what all searches share, where a search has its player's seat, 0 or 1."""


@dataclass(frozen=True)
class RefineStats:
    """One search of a refinement.

    infoset: number in the tree. nodes: of the subgame with its gadget, 0 if none was solved.
    kept: histories in it. iterations, anchor, seconds, late: as in `Refinement`.
    """

    infoset: int
    nodes: int
    kept: int
    iterations: int
    anchor: float
    seconds: float
    late: bool


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


@dataclass(frozen=True, eq=False)
class _Job:
    """Infosets to search one after another from one strategy."""

    policy: NDArray[np.float64]
    infosets: NDArray[np.int64]
    player: int
    config: SearchConfig
    seed: int
    mode: str
    skip_unreached: bool
    blueprint: Blueprint | None


@dataclass(frozen=True, eq=False)
class RefineOptions:
    """How a whole strategy is refined; the searches themselves are the configuration's.

    mode: independent, nested or sequential; the configuration's own by default.
    seed: every infoset draws from its own generator, made of the seed and the infoset's number, so results
        do not depend on the order or on `workers`. Games that are played out on the tree share their luck.
    infosets: those to search, numbers or `Infoset`s, in this order within a level; by default all. Those of
        the other player are left out.
    skip_unreached: leave out infosets that the player's own strategy, as refined so far, never reaches.
    workers: processes that share a level (or everything, when independent); sequential needs 1. They are
        fresh ones, so that a script must refine under `if __name__ == "__main__":`.
    progress: called with (infosets done, infosets in all), player by player.
    """

    mode: str | None = None
    seed: int = 0
    infosets: Sequence[Infoset | int] | NDArray[np.int64] | None = None
    skip_unreached: bool = True
    workers: int = 1
    progress: Callable[[int, int], None] | None = None


NO_CHOICE = RefineOptions()
"""Every infoset, in the configuration's mode, here."""


@dataclass(frozen=True, eq=False)
class BothRefined:
    """Both players' refined strategies, spliced into one.

    strategy: the result. results: of each player, in the order of their seats.
    """

    strategy: Strategy
    results: tuple[RefineResult, ...]

    @property
    def policy(self) -> NDArray[np.float64]:
        """Return the spliced policy on the slots of the tree, [slots] float64."""
        return self.strategy.probs.copy()

    @property
    def searches(self) -> tuple[RefineStats, ...]:
        """Return one entry for each search, of both players."""
        return tuple(search for result in self.results for search in result.searches)

    @property
    def skipped(self) -> int:
        """Return the number of infosets that were left alone."""
        return sum(result.skipped for result in self.results)

    @property
    def seconds(self) -> float:
        """Return the wall-clock time of both refinements."""
        return sum(result.seconds for result in self.results)


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
    context = _context(game, config)
    strategy = context.strategy(blueprint)
    results = tuple(refine_policy(context, strategy, player, config, options) for player in (0, 1))
    spliced = strategy.probs.copy()
    for player, result in enumerate(results):
        mine = context.tree.slot_player == player
        spliced[mine] = result.policy[mine]
    return BothRefined(Strategy(context.tree, spliced), results)


def _context(game: Game | SearchContext, config: SearchConfig | Sequence[SearchConfig]) -> SearchContext:
    """Return the game with its tree. Raises ConfigError for what is no game, or no configuration."""
    passes = [config] if isinstance(config, SearchConfig | str) or not hasattr(config, "__iter__") else config
    for one in passes:
        check_asked(game=game, config=one)
    return game if isinstance(game, SearchContext) else SearchContext(game)


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
    Raises ConfigError for no such player, a negative seed, a mode that does not exist or cannot be shared, a
    game or part of one's own that cannot be sent to another process, and processes that die; ValueError for
    infosets that the game does not have; what `SearchContext` raises.
    """
    if player not in (0, 1):
        raise ConfigError(f"player must be the seat whose strategy is refined, 0 or 1; got {player!r}")
    if options.seed < 0:
        raise ConfigError(f"seed must be at least 0; got {options.seed}")
    context = _context(game, config)
    strategy = context.strategy(policy)
    if isinstance(config, SearchConfig):
        return _one_pass(context, strategy, player, config, options)
    if not config:
        raise ConfigError("config must hold at least one configuration, one for each pass; got none")
    passes: list[RefineResult] = []
    for one in config:
        passes.append(_one_pass(context, strategy, player, one, options))
        strategy = Strategy(context.tree, passes[-1].policy, strategy.blueprint)
    searches = tuple(search for made in passes for search in made.searches)
    skipped, seconds = sum(made.skipped for made in passes), sum(made.seconds for made in passes)
    return RefineResult(passes[-1].policy, searches, skipped, seconds)


def _one_pass(
    context: SearchContext, strategy: Strategy, player: int, config: SearchConfig, options: RefineOptions
) -> RefineResult:
    """Return what one pass over the player's infosets makes of a strategy."""
    mode, workers, progress = options.mode, options.workers, options.progress
    config = config.where_listed()
    mode = config.mode if mode is None else mode
    if mode not in MODES:
        raise ConfigError(f"mode must be one of {', '.join(MODES)}; got {mode!r}")
    config.check_mode(mode)
    if workers < 1 or (workers > 1 and mode == "sequential"):
        raise ConfigError(f"workers must be at least 1, and 1 in sequential mode; got {workers}")
    began = time.perf_counter()
    tree = context.tree
    every = np.arange(tree.n_infosets)
    if options.infosets is not None:
        every = np.array([context.infoset_number(one) for one in options.infosets], np.int64)
    every = every[tree.infoset_player[every] == player]
    level = context.infoset_level[every]
    if mode == "independent":
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
    stats: list[RefineStats] = []
    done = skipped = 0
    with Workers(_search_all, context, player, config, workers) as run:
        for batch in batches:
            jobs = [
                _Job(now, part, player, config, options.seed, mode, options.skip_unreached, blueprint)
                for part in _parts(context, batch, player, config, workers)
            ]
            after = now.copy()
            for slots, probs, found in run(jobs):
                after[slots] = probs
                stats += found
            now = after
            done += len(batch)
            skipped = done - len(stats)
            if progress is not None:
                progress(done, len(every))
    return RefineResult(now, tuple(stats), skipped, time.perf_counter() - began)


def _parts(
    context: SearchContext, batch: NDArray[np.int64], player: int, config: SearchConfig, workers: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the infosets of each job; infosets of one closure stay together where it is solved once."""
    if workers == 1 or len(batch) < 2 * workers:
        yield batch
        return
    if config.safety.scope == "block":
        graph = context.graph(player)
        leader = np.array([graph.order(int(i), None)[0] for i in batch])
        batch = batch[np.argsort(leader, kind="stable")]
        cuts = np.searchsorted(np.sort(leader), np.quantile(leader, np.linspace(0, 1, 4 * workers + 1)[1:-1]))
        yield from (part for part in np.split(batch, cuts) if len(part))
        return
    yield from (part for part in np.array_split(batch, 4 * workers) if len(part))


_Found = tuple[NDArray[np.int64], NDArray[np.float64], list[RefineStats]]


def _search_all(context: SearchContext, job: _Job) -> _Found:
    """Return (slots, their refined probabilities, statistics) of the searches of a job."""
    if job.config.histories.source == "sampled":
        return _sample_all(context, job)
    tree = context.tree
    opponent = 1 - job.player
    config = job.config
    strategy = Strategy(tree, job.policy, job.blueprint)
    given = SearchOptions(luck=_luck(job.seed))
    if job.mode == "sequential" and context.covers(job.player).turns_are_noticed:
        # Searches of one depth then share their opponent infosets, and what one gains another may spend.
        given = replace(given, start=strategy)
    if (
        config.histories.alternative == "best-response"
        and config.subgame.depth is None
        and job.mode != "sequential"
    ):
        strategy = strategy.with_best_response(opponent)
    graph = context.graph(job.player)
    mine = strategy.reach.players[:, job.player]
    slots: list[NDArray[np.int64]] = []
    probs: list[NDArray[np.float64]] = []
    stats: list[RefineStats] = []
    solved = np.zeros(tree.n_infosets, bool)
    for number in job.infosets.tolist():
        if solved[number]:
            continue
        if job.skip_unreached and not mine[graph.nodes[graph.of_infoset(number)[0]]] > 0:
            continue
        rng = np.random.default_rng([job.seed, job.player, number])
        found = refine_infoset(context, strategy, number, config, rng, given)
        if _settled(config, found):
            own = np.unique(found.considered.own_infoset[found.kept.rows])
            solved[own[own >= 0]] = True
        slots.append(found.slots)
        probs.append(found.probs)
        stats.append(_stats(found))
        if job.mode == "sequential":
            # The steps of one search take the opponent's values afresh; single ones bring them up to date.
            certified = None if found.steps else found.certified
            strategy = with_certified(context, strategy, found.slots, found.probs, certified)
    if not slots:
        return np.zeros(0, np.int64), np.zeros(0), stats
    return np.concatenate(slots), np.concatenate(probs), stats


def _luck(seed: int) -> int:
    """Return the luck of every search of a refinement: what they play out is compared by what they do."""
    return int(np.random.default_rng([seed, SHARED]).integers(1 << 62))


def _sample_all(context: SearchContext, job: _Job) -> _Found:
    """Return what `_search_all` does, with histories drawn at every infoset; the tree only names these."""
    tree, player, config = context.tree, job.player, job.config
    if config.subgame.gap is not None:  # a whole strategy has a probability for every action
        config = config.replace(gap=None)
    strategy = Strategy(tree, job.policy, job.blueprint)
    played = PlayedStrategy(context, strategy)
    played.probs = strategy.probs.copy()
    graph = context.graph(player)
    mine = strategy.reach.players[:, player]
    slots: list[NDArray[np.int64]] = []
    probs: list[NDArray[np.float64]] = []
    stats: list[RefineStats] = []
    solved = np.zeros(tree.n_infosets, bool)
    for number in job.infosets.tolist():
        node = int(graph.nodes[graph.of_infoset(number)[0]])
        if solved[number] or (job.skip_unreached and not mine[node] > 0):
            continue
        began = time.perf_counter()
        rng = np.random.default_rng([job.seed, player, number])
        part = sample_tree(context.game, played, context.trail_to(number), config, rng)
        found = refine_part(part, rng)
        if part.size is not None and part.size.complete and _settled(part.config, found):
            own = np.unique(found.considered.own_infoset[found.kept.rows])
            solved[played.numbers(part.context.tree.infoset_key[own[own >= 0]], player)] = True
        slots.append(played.slots_of(part.context.tree, found.slots))
        probs.append(found.probs)
        stats.append(replace(_stats(found), infoset=number, seconds=time.perf_counter() - began))
        if job.mode == "sequential":
            played.probs[slots[-1]] = found.probs
    if not slots:
        return np.zeros(0, np.int64), np.zeros(0), stats
    return np.concatenate(slots), np.concatenate(probs), stats


def _settled(config: SearchConfig, found: Refinement) -> bool:
    """Return whether a search solved all there is to solve at every infoset of the player that it touched."""
    if config.safety.scope != "block" or found.considered.unreached:
        return False
    if config.subgame.rest == "summary":
        return found.complete and found.nodes > 0
    return config.histories.order is None and config.generation.generator == "all"


def _stats(found: Refinement) -> RefineStats:
    return RefineStats(
        infoset=found.infoset,
        nodes=found.nodes,
        kept=len(found.kept.rows),
        iterations=found.iterations,
        anchor=found.anchor,
        seconds=sum(found.seconds.values()),
        late=found.late,
    )
