"""Lazy kernels give the same results interpreted and compiled, and are compiled when it pays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import games
from cfr.anchored import Anchor, solve_anchored
from cfr.sequence_form import sequence_form
from cfr.solver import solve
from games.support.kernel import kernel, lazy
from games.support.kernel.lazy import LazyKernel, compile_at_once
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset
from tests.games.random_games import RandomGame
from tests.patience import amount


@kernel(lazy=True)
def summed(values: Any) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@kernel
def summed_twice(values: Any) -> float:
    return summed(values) + summed(values)


@kernel(lazy=True)
def narrow(values: Any) -> int:
    return values[0] + values[1]


def lazy_kernels() -> list[LazyKernel]:
    """Return all lazy kernels of the modules that are loaded."""
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] in ("games", "cfr", "gs2")]
    return [thing for module in ours for thing in vars(module).values() if isinstance(thing, LazyKernel)]


def parts(thing: Any) -> Iterator[Any]:
    """Yield the arrays and numbers that a result holds, in order."""
    if isinstance(thing, np.ndarray | float | int | np.generic):
        yield np.asarray(thing)
    elif isinstance(thing, tuple | list):
        for one in thing:
            yield from parts(one)
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from parts(getattr(thing, field.name))


def everything(game: Any) -> list[Any]:
    """Return all numbers that growing, laying out, solving, evaluating and searching a game give."""
    context = SearchContext(game)
    tree = context.tree
    form = sequence_form(tree)
    solved = solve(form, variant="cfr", iterations=7)
    policy = solved.policy
    out = [form.row_start, form.column, form.payoff, form.layout, policy, solved.best_response, solved.value]
    anchored = solve_anchored(tree, Anchor(policy, 0.1), iterations=7)
    out += [anchored.policy, anchored.gap]
    rng = np.random.default_rng(0)
    for infoset in rng.permutation(tree.n_infosets)[:3]:
        for name in ("gs2+", "gs2-d"):
            found = solve_infoset(context, policy, int(infoset), preset(name, iterations=5), rng)
            out += [found.refined, found.blueprint]
    return [array for one in out for array in parts(one)]


@pytest.mark.parametrize(
    "game",
    [
        *(RandomGame(seed, public=seed % 2 == 0, most=60) for seed in range(amount(6, 2))),
        pytest.param(games.load_game("leduc_poker"), marks=pytest.mark.long),
    ],
)
def test_a_game_is_laid_out_solved_and_searched_alike_by_interpreted_and_compiled_kernels(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for compiled in (False, True):
        for one in lazy_kernels():
            monkeypatch.setattr(one, "compiled", False)
        monkeypatch.setattr(LazyKernel, "pays", lambda self, args, compiled=compiled: compiled)
        found.append(everything(game))
        ran = [one for one in lazy_kernels() if one.compiled or one.seconds > 0]
        assert len(ran) > 12
    assert len(found[0]) == len(found[1]) > 20
    for interpreted, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(interpreted, compiled)


def test_a_kernel_is_compiled_after_some_time_for_large_arguments_and_where_code_lies_on_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = np.ones(3), np.ones(lazy.INTERPRETED_NUMBERS + 1)
    slow, large, kept = (LazyKernel(summed.dispatcher) for _ in range(3))
    monkeypatch.setattr(LazyKernel, "is_on_disk", lambda self: self is kept)
    assert slow(few) == 3.0 and not slow.compiled
    slow.seconds = lazy.INTERPRETED_SECONDS
    for one, values in ((slow, few), (large, many), (kept, few)):
        assert one(values) == len(values) and one.compiled
    at_once = LazyKernel(summed.dispatcher)
    monkeypatch.setattr(LazyKernel, "patience", 1.0)
    compile_at_once()
    assert at_once(few) == 3.0 and at_once.compiled
    assert summed_twice(few) == 6.0 and summed.dispatcher.signatures  # other kernels call the compiled code


def test_an_integer_that_only_compiled_code_would_widen_is_an_error_and_not_a_wrong_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = LazyKernel(narrow.dispatcher)
    monkeypatch.setattr(one, "is_on_disk", lambda: False)
    with pytest.raises(FloatingPointError):
        one(np.array([100, 100], np.int8))
