"""Lazy kernels give the same results interpreted and compiled, and are compiled when it pays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import games
from cfr.sequence_form import sequence_form
from cfr.solver import solve
from games.support.kernel import kernel, lazy
from games.support.kernel.lazy import LazyKernel
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset
from tests.games.random_games import RandomGame


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
    rng = np.random.default_rng(0)
    for infoset in rng.permutation(tree.n_infosets)[:3]:
        for name in ("gs2+", "gs2-d"):
            found = solve_infoset(context, policy, int(infoset), preset(name, iterations=5), rng)
            out += [found.refined, found.blueprint]
    return [array for one in out for array in parts(one)]


@pytest.mark.parametrize(
    "game", [*(RandomGame(seed, public=seed % 2 == 0, most=60) for seed in range(6)), "leduc_poker"]
)
@pytest.mark.some(3)
def test_a_game_is_laid_out_solved_and_searched_alike_by_interpreted_and_compiled_kernels(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = games.load_game(game) if isinstance(game, str) else game
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


def test_a_kernel_is_compiled_when_interpreting_it_has_taken_long_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.arange(10.0)
    one = LazyKernel(summed.dispatcher)
    monkeypatch.setattr(one, "is_on_disk", lambda: False)
    assert one(values) == 45.0 and not one.compiled
    one.seconds = lazy.INTERPRETED_SECONDS
    assert one(values) == 45.0 and one.compiled


def test_a_kernel_is_compiled_at_once_for_large_arguments_and_where_code_lies_on_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large, kept = LazyKernel(summed.dispatcher), LazyKernel(summed.dispatcher)
    monkeypatch.setattr(large, "is_on_disk", lambda: False)
    monkeypatch.setattr(kept, "is_on_disk", lambda: True)
    assert large(np.ones(lazy.INTERPRETED_NUMBERS + 1)) == lazy.INTERPRETED_NUMBERS + 1 and large.compiled
    assert kept(np.ones(3)) == 3.0 and kept.compiled


def test_other_kernels_call_the_compiled_code() -> None:
    assert summed_twice(np.arange(4.0)) == 12.0
    assert summed.dispatcher.signatures


def test_an_integer_that_only_compiled_code_would_widen_is_an_error_and_not_a_wrong_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = LazyKernel(narrow.dispatcher)
    monkeypatch.setattr(one, "is_on_disk", lambda: False)
    with pytest.raises(FloatingPointError):
        one(np.array([100, 100], np.int8))
