"""A configuration that is accepted runs, and what is set in it is read."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfr.variants import VARIANTS
from experiments.refinement.grid import GRIDS
from experiments.refinement.methods import method_passes, split_draws
from games import load_game
from games.support.configuration import ConfigError
from gs2.search.config.presets import PRESETS, preset
from gs2.search.config.search import DRAWN, SearchConfig
from gs2.search.config.stages import (
    ALTERNATIVE_NAMES,
    CERTIFICATES,
    CHOOSERS,
    ENTRY_PRIORS,
    FREEZE,
    GADGET_NAMES,
    GENERATOR_NAMES,
    LEAF_NAMES,
    MODE_NAMES,
    OPPONENTS,
    REST,
    SCOPES,
    SOLVERS,
    SOURCES,
    UNITS,
    GenerationConfig,
    SolveConfig,
)
from gs2.search.context import SearchOptions, Strategy
from gs2.search.explain import solve_infoset
from gs2.search.histories.seats import seat_view
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay
from gs2.search.refine.whole import RefineOptions, refine_policy
from tests.gs2.search.setting import KUHN, context, random_policy
from tests.patience import LONG, amount

ROWS = Path(__file__).parents[3] / "experiments" / "results" / "rows"
VALUES: dict[str, tuple] = {
    "order": (1, 2, None),
    "source": SOURCES,
    "samples": (64, 3),
    "companions": (32, 2),
    "explore": (0.5, 0.1),
    "slip": (0.0, 0.2),
    "opponent": OPPONENTS,
    "gap": (None, 0.5),
    "shrink": (1.0, 0.5),
    "generator": tuple(GENERATOR_NAMES),
    "k": (1, 2, 3, None),
    "freeze": FREEZE,
    "rest": REST,
    "whole": (0, 30, 10_000_000),
    "fallback_k": (0, 1, 5),
    "plans": (1, 4, 16),
    "gadget": tuple(GADGET_NAMES),
    "entry_floor": (0.0, 0.05, 0.9),
    "entry_prior": ENTRY_PRIORS,
    "alternative": ALTERNATIVE_NAMES,
    "solver": SOLVERS,
    "variant": tuple(VARIANTS),
    "gamma": (5.0, 0.0, None),
    "iterations": (300, 1, 7),
    "warm_start": (0.0, 1.0),
    "target": (None, 1e-3),
    "time_limit": (None, 5.0, 1e-4),
    "depth": (None, 1, 2),
    "leaf": LEAF_NAMES,
    "continuations": (4, 1, 2),
    "rollouts": (10, 1, 0),
    "policies": ("blueprint+greedy+uniform+last", "blueprint", "blueprint+class1*2"),
    "choosers": CHOOSERS,
    "anchor": (1.0, 0.5),
    "certificate": CERTIFICATES,
    "scope": SCOPES,
    "mode": MODE_NAMES,
    "step": (10.0, 0.5),
    "unit": UNITS,
    "caution": (0.0, 4.0),
    "extragradient": (False, True),
    "robust": (False, True),
    "temperature": (0.02, 0.0, 0.5),
    "confidence": (0.95, 0.5),
    "trials": (200, 5),
    "against": ("blueprint", "blueprint+uniform"),
    "branches": (None, 6),
    "beyond": ("never", "blueprint"),
    "doubt": (0.0, 1.0),
    "belief": (1.0, 0.0, 0.5),
    "playing": ("blueprint", "greedy"),
}
"""Values of each field, its default among them."""


def test_every_field_has_values_to_draw_from() -> None:
    assert VALUES.keys() == SearchConfig.defaults().keys() - {"name"}
    for name, values in VALUES.items():
        assert SearchConfig.defaults()[name] in values, name


@st.composite
def configurations(draw: st.DrawFn) -> SearchConfig:
    """Draw a configuration that is accepted: a preset, and changes one after another where they may be."""
    config = draw(st.sampled_from(list(PRESETS.values())))
    for name in draw(st.lists(st.sampled_from(list(VALUES)), max_size=12)):
        changes = {name: draw(st.sampled_from(VALUES[name]))}
        if name == "generator" and changes[name] != "all" and config.generation.k is None:
            changes["k"] = draw(st.sampled_from((1, 2)))
        try:
            config = config.replace(**changes)
        except ConfigError as error:
            assert "got" in str(error), error
    return config


class Reads:
    """Notes which fields a search reads; checks and copies of a configuration do not count."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: set[str] = set()
        for stage, kind in {**SearchConfig.stages(), "": SearchConfig}.items():
            places = SearchConfig.places().items()
            names = {field: name for name, (at, field) in places if at == stage}
            monkeypatch.setattr(kind, "__getattribute__", self._noting(names))

    def _noting(self, names: dict) -> Callable:
        def read(config: object, field: str) -> object:
            if field in names and (name := names[field] or field) not in self.seen:
                caller = sys._getframe(1)
                module = caller.f_globals.get("__name__")  # what attrs makes has none
                own = module in (
                    None,
                    "gs2.search.config.search",
                    "games.support.configuration",
                    "attr._make",
                )
                if not own or caller.f_code.co_name in ("steps", "fallback", "for_unreached"):
                    self.seen.add(name)
            return object.__getattribute__(config, field)

        return read


def is_read(reads: Reads, config: SearchConfig, name: str, seed: int) -> bool:
    """Return whether some search by a configuration, or by the same on a smaller scale, reads a field."""
    prepared = context(KUHN)
    policy = random_policy(KUHN, np.random.default_rng(seed))
    traced = with_fields(config, time_limit=config.time_limit and 5.0)
    # Sizes beyond which something happens are met by Kuhn poker only where they are small.
    small = {"whole": 0, "k": 1, "depth": 1, "iterations": 3}
    changes = {field: value for field, value in small.items() if field != name and _set(config, field)}
    reads.seen.clear()
    if name == "mode":
        refine_policy(prepared, policy, 0, traced, RefineOptions(infosets=np.zeros(0, np.int64)))
        return name in reads.seen
    if name == "opponent":  # of games of more than two seats
        many = load_game("doudizhu(ranks=1)")
        seat_view(many, PolicyOnly(UniformPlay()), 0, traced)
        return name in reads.seen
    if name in ("source", *DRAWN):
        drawn = traced if name == "source" else with_fields(traced, source="sampled")
        solve_infoset(prepared, policy, 0, drawn, np.random.default_rng(seed))
        return name in reads.seen
    for infoset in range(prepared.tree.n_infosets):
        for made in (traced, with_fields(traced, **changes)):
            for seconds in (None, 1e-9):
                deadline = None if seconds is None else time.perf_counter() + seconds
                strategy = Strategy(prepared.tree, policy)
                rng = np.random.default_rng(seed)
                refine_infoset(prepared, strategy, infoset, made, rng, SearchOptions(deadline))
                if name in reads.seen:
                    return True
    return False


def _set(config: SearchConfig, name: str) -> bool:
    return config.to_json()[name] not in (None, SearchConfig.defaults()[name])


def with_fields(config: SearchConfig, **changes: object) -> SearchConfig:
    """Return a configuration with some fields changed and no other."""
    return SearchConfig.of(**config.to_json() | changes)


def test_what_is_set_in_an_accepted_configuration_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)

    @settings(
        max_examples=amount(300, few=15),
        deadline=None,
        derandomize=LONG not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(configurations(), st.sampled_from(list(VALUES)), st.data())
    def check(config: SearchConfig, first: str, data: st.DataObject) -> None:
        names = [first, *(name for name in VALUES if name != first)]
        for name in names[: amount(len(names), few=8)]:
            others = [value for value in VALUES[name] if value != config.to_json()[name]]
            value = data.draw(st.sampled_from(others))
            try:
                changed = with_fields(config, **{name: value})
            except ConfigError as error:
                assert "got" in str(error) and (";" in str(error) or "must be" in str(error)), error
                continue
            if value != SearchConfig.defaults()[name]:
                assert is_read(reads, changed, name, 0), f"{name} = {value!r} is never read by {changed}"

    check()


def test_an_accepted_configuration_runs() -> None:
    @settings(
        max_examples=amount(1000, few=20),
        deadline=None,
        derandomize=LONG not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(configurations(), st.integers(0, 10_000))
    def check(config: SearchConfig, seed: int) -> None:
        prepared = context(KUHN)
        rng = np.random.default_rng(seed)
        policy = random_policy(KUHN, rng, sharpness=float(rng.integers(1, 4)))
        if config.solve.solver == "cfr":
            config = config.replace(iterations=min(config.solve.iterations, 20))
        player = int(rng.integers(2))
        found = refine_policy(prepared, policy, player, config, RefineOptions(seed=seed)).policy
        offset = prepared.tree.infoset_offset
        assert np.all(found >= 0) and np.allclose(np.add.reduceat(found, offset[:-1]), 1.0)
        theirs = np.repeat(prepared.tree.infoset_player != player, np.diff(offset))
        assert np.array_equal(found[theirs], policy[theirs])

    check()


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"leaf": "rollout"}, "leaf needs a depth"),
        ({"solver": "mirror-descent", "certificate": "path"}, "certificate needs a subgame"),
        ({"solver": "mirror-descent", "iterations": 5}, "iterations needs solver = cfr or anchored"),
        ({"solver": "lp", "variant": "cfr"}, "variant needs solver = cfr"),
        ({"depth": 1, "leaf": "value", "rollouts": 3}, "rollouts needs a depth and leaf = rollout or"),
        ({"depth": 1, "continuations": 3}, "continuations needs a depth and leaf = continuations"),
        ({"depth": 1, "choosers": "everyone"}, "choosers needs a depth and leaf = multi-valued"),
        ({"temperature": 0.5}, "temperature needs solver = anchored"),
        ({"solver": "anchored", "gamma": 1.0}, "gamma needs solver = cfr"),
        ({"trials": 5}, "trials needs certificate = statistical"),
        ({"step": 3.0}, "step needs solver = mirror-descent"),
        ({"step": 0.1}, "step needs solver = mirror-descent"),
        ({"doubt": 1.0}, "doubt needs solver = anchored"),
        ({"source": "enumerated", "branches": 3}, "branches needs a source that draws"),
        ({"plans": 3}, "plans needs rest = summary"),
        ({"whole": 10}, "whole needs rest = summary"),
        ({"rest": "summary", "whole": 10}, "whole needs a generator that chooses"),
        ({"k": 3}, "k needs a generator that chooses"),
        ({"gadget": "unsafe", "entry_floor": 0.1}, "entry_floor needs a gadget"),
        ({"entry_prior": "reach"}, "entry_prior needs an entry_floor above 0"),
    ],
)
def test_a_contradiction_is_refused_with_what_the_field_needs(changes: dict, says: str) -> None:
    for make in (SearchConfig.of, SearchConfig().replace):
        with pytest.raises(ConfigError, match=f"^{says}.*; got .* leave it at"):
            make(**changes)


def test_a_stage_is_a_configuration_of_its_own() -> None:
    made = SearchConfig(generation=GenerationConfig("diverse", 3), solve=SolveConfig(iterations=7))
    assert made == SearchConfig.of(generator="diverse", k=3, iterations=7)
    assert made == preset("gs2-d", iterations=7).replace(name="custom")
    assert made.replace(generation=GenerationConfig()) == SearchConfig.of(iterations=7)
    assert SearchConfig.from_json(json.loads(json.dumps(made.to_json()))) == made
    with pytest.raises(ConfigError, match=r"gadget must be a GadgetConfig; got 'resolve'; SearchConfig.of"):
        SearchConfig(gadget="resolve")
    with pytest.raises(ConfigError, match="k must be given"):
        GenerationConfig("random")
    with pytest.raises(ConfigError, match="no field sample"):
        SearchConfig().replace(sample=5)


def test_a_change_takes_the_details_of_what_it_replaces_along_but_not_the_choices() -> None:
    whole = preset("gs2+", generator="all")
    assert whole.generation == GenerationConfig()
    assert (whole.subgame.whole, whole.safety.certificate) == (0, "anchored")
    assert preset("path", gadget="unsafe").gadget.entry_floor == 0
    with pytest.raises(ConfigError, match="needs a subgame, solver = cfr, lp or anchored"):
        preset("gs2+", solver="mirror-descent")
    with pytest.raises(ConfigError, match="k needs a generator that chooses"):
        preset("gs2+", generator="all", k=3)


@pytest.mark.parametrize("name", ["time_limit", "target", "anchor", "step", "warm_start", "gamma"])
def test_a_number_is_a_finite_number(name: str) -> None:
    for value in (float("nan"), float("inf"), True, "1"):
        with pytest.raises(ConfigError, match=f"^{name} must be .*; got "):
            SearchConfig.of(**{name: value})


def test_every_grid_that_was_run_is_still_accepted() -> None:
    stored = [json.loads(path.read_text()) for path in sorted(ROWS.glob("*/grid.json"))]
    assert len(stored) > 10
    for grid in [*stored, *(made.to_json() for made in GRIDS.values())]:
        for method in grid["methods"]:
            for limit in (None, *grid["limits"]):
                for iterations in (None, *grid["iterations"]):
                    for made in method_passes(split_draws(method)[0], limit, iterations):
                        assert made.time_limit == limit
