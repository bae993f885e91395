"""How fast subgame solving is: one search, stage by stage, and the refinement of a whole game.

    gs2 bench search

A search is timed at infosets whose gadget has about a given number of nodes, everything included: histories,
alternative values, subgame, gadget, the solver's iterations, certificate. The game's tree, which all searches
share, is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfr.best_response import best_response_values
from cfr.sequence_form import sequence_form
from experiments.bench.bench import figures
from games.registry import load_game
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext, Strategy
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.whole import refine_both

if TYPE_CHECKING:
    from rich.table import Table

GAMES = ("leduc_poker", "liars_dice_6")
BLUEPRINT = "cfr:100"
ITERATIONS = 300
NODES = (100, 1_000, 10_000)
STAGES = ("knowledge", "generation", "subgame", "gadget", "solve", "summary", "safety")
METHODS = ("resolve", "maxmargin", "gs2-d", "1-klss", "gs2+")


@dataclass(frozen=True)
class OneSearch:
    """Searches of one method whose gadgets have about `target` nodes.

    searches: how many. nodes: median. cpu_ms, p90_ms: of a search. stage_ms: median wall time by stage.
    """

    game: str
    method: str
    target: int
    searches: int
    nodes: float
    cpu_ms: float
    p90_ms: float
    stage_ms: dict[str, float]


@dataclass(frozen=True)
class WholeGame:
    """Both players' strategies refined at every infoset, nested, one after the other.

    infosets: of each player. searches: made, of both. cpu_s, wall_s: seconds.
    before, after: exploitability in payoffs.
    """

    game: str
    method: str
    infosets: tuple[int, ...]
    searches: int
    cpu_s: float
    wall_s: float
    before: float
    after: float


@dataclass(frozen=True)
class SearchRecord:
    """Searches one by one, and whole games."""

    searches: tuple[OneSearch, ...]
    games: tuple[WholeGame, ...]


def _one_by_one(name: str, methods: tuple[str, ...], repeats: int, seed: int) -> list[OneSearch]:
    context = SearchContext(load_game(name))
    policy = policy_from_spec(BLUEPRINT, context.game, context.tree)
    rng = np.random.default_rng(seed)
    level = context.infoset_level
    found = []
    for method in methods:
        config = preset(method, iterations=ITERATIONS)
        rows: list[tuple[int, float, dict[str, float]]] = []
        # Infosets of every depth, since the depth decides the size.
        for depth in np.unique(level):
            here = np.flatnonzero(level == depth)
            for infoset in rng.choice(here, min(len(here), repeats), replace=False).tolist():
                opponent = 1 - int(context.tree.infoset_player[infoset])
                strategy = Strategy(context.tree, policy).with_best_response(opponent)
                _ = strategy.reach
                refine_infoset(context, strategy, infoset, config, np.random.default_rng(0))
                began = time.process_time()
                made = refine_infoset(context, strategy, infoset, config, np.random.default_rng(0))
                rows.append((made.nodes, (time.process_time() - began) * 1e3, made.seconds))
        for target in NODES:
            near = [row for row in rows if target / 2 <= row[0] <= 2 * target]
            if not near:
                continue
            times = np.array([row[1] for row in near])
            stages = {
                stage: float(np.median([row[2].get(stage, 0.0) for row in near])) * 1e3 for stage in STAGES
            }
            found.append(
                OneSearch(
                    name,
                    method,
                    target,
                    len(near),
                    float(np.median([row[0] for row in near])),
                    float(np.median(times)),
                    float(np.quantile(times, 0.9)),
                    stages,
                )
            )
    return found


def _whole(name: str, methods: tuple[str, ...]) -> list[WholeGame]:
    context = SearchContext(load_game(name))
    form = sequence_form(context.tree)
    policy = policy_from_spec(BLUEPRINT, context.game, context.tree, form)
    before = sum(best_response_values(form, policy)) / 2
    found = []
    for method in methods:
        config = preset(method, iterations=ITERATIONS)
        cpu, wall = time.process_time(), time.perf_counter()
        both = refine_both(context, policy, config)
        seconds = time.process_time() - cpu, time.perf_counter() - wall
        after = sum(best_response_values(form, both.policy)) / 2
        infosets = tuple(np.bincount(context.tree.infoset_player).tolist())
        found.append(WholeGame(name, method, infosets, len(both.searches), *seconds, before, after))
    return found


def measure_search(
    *,
    games: tuple[str, ...] = (),
    methods: tuple[str, ...] = METHODS,
    repeats: int = 20,
    seed: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> SearchRecord:
    """Return the times of searches one by one and of whole games.

    games: by default `GAMES`. repeats: infosets timed at each depth; seed: of their choice.
    Raises GameError for a name that no game has, before the first figure is measured.
    """
    games = games or GAMES
    for name in games:
        load_game(name)
    progress("compiling")
    _whole("kuhn_poker", methods)
    searches: list[OneSearch] = []
    whole: list[WholeGame] = []
    for name in games:
        progress(f"{name}: searches")
        searches += _one_by_one(name, methods, repeats, seed)
        progress(f"{name}: every infoset")
        whole += _whole(name, methods)
    return SearchRecord(tuple(searches), tuple(whole))


def search_tables(result: SearchRecord) -> list[Table]:
    """Return the figures as tables to print."""
    one = figures(
        f"One search, {ITERATIONS} iterations, everything included",
        " | ".join(("game", "method", "searches", "nodes", "CPU, ms", "90 %, ms", *STAGES)),
        "{0.game} | {0.method} | {0.searches} | {0.nodes:,.0f} | {0.cpu_ms:.2f} | {0.p90_ms:.2f} | "
        + " | ".join(f"{{0.stage_ms[{stage}]:.2f}}" for stage in STAGES),
        result.searches,
        words=2,
    )
    whole = figures(
        "Every infoset of both players, nested",
        "game | method | infosets a player | searches | CPU, s | wall, s | exploitability | refined",
        "{0.game} | {0.method} | {1} | {0.searches:,} | {0.cpu_s:.1f} | {0.wall_s:.1f} | {0.before:.4f} | "
        "{0.after:.4f}",
        [(game, " + ".join(f"{n:,}" for n in game.infosets)) for game in result.games],
        words=2,
    )
    return [one, whole]
