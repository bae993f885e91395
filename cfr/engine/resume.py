"""Where solvers begin but at uniform play: checked saved states, and regrets that hold on to a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.engine.sweeps import EXPECTANT, PAID
from cfr.tree import FlatTree
from cfr.values import check_probabilities, reach
from cfr.variants import Variant

_BY_INFOSET = ("stamp", "marked")
"""Arrays of a state with an entry for each infoset; the others have one for each slot."""


class StateError(ValueError):
    """A saved state from which no run can continue."""


class Numbered(Protocol):
    """A tree or a sequence form, as far as saved states need it.

    infoset_offset: [I + 1] int64, where each infoset's slots begin. digest: its fingerprint.
    """

    @property
    def n_slots(self) -> int: ...

    @property
    def n_infosets(self) -> int: ...

    @property
    def infoset_offset(self) -> NDArray[np.int64]: ...

    @property
    def digest(self) -> str: ...


def same_variant(saved: Any, variant: Variant) -> bool:
    """Return whether the fields of a saved variant are this one's."""
    return isinstance(saved, dict) and saved == asdict(variant)


def other_variant(saved: Any, variant: Variant) -> str:
    """Return what to say of a saved run of another variant: the rule, what was asked for, the next step."""
    name = saved.get("name") if isinstance(saved, dict) else saved
    if name == variant.name:
        return (
            f"resume: the parameters of {name} must stay those of the saved run, {saved}; "
            f"got {asdict(variant)}; use those, or solve afresh"
        )
    return (
        f"resume: the variant must stay that of the saved run, {name}; got {variant.name}; "
        "use that one, or solve afresh"
    )


def read_state(
    state: Mapping[str, Any], names: Sequence[str], tree: Numbered, error: type[ValueError]
) -> tuple[int, dict[str, NDArray[Any]]]:
    """Return the iteration and the named arrays of a saved state, fit for a run on `tree` to go on from.

    Raises `error` for a state of another tree, StateError for numbers to which no run comes. States of
    earlier releases do not say which tree they are of; their sizes alone are compared.
    """
    arrays = {}
    for name in names:
        n = tree.n_infosets if name in _BY_INFOSET else tree.n_slots
        shape = np.shape(state.get(name, ()))
        if shape != (n,):
            raise error(
                f"resume: {name} must have {n} entries; got shape {shape}; the file is another game's, "
                "or one of another lock"
            )
        arrays[name] = np.asarray(state[name])
    if "tree" in state and state["tree"] != tree.digest:
        raise error(
            f"resume: the tree must be that of the saved run, {state['tree']}; got {tree.digest}; "
            "is this another game's file, or one of another lock? solve afresh"
        )
    iteration = check_iteration(state.get("iteration"))
    for name, array in arrays.items():
        _check_numbers(name, array, iteration)
    if "policy" in arrays:
        try:
            check_probabilities(arrays["policy"].astype(np.float64), tree.infoset_offset)
        except ValueError as problem:
            raise StateError(f"resume: {problem}") from None
    return iteration, arrays


def state_of(
    tree: Numbered, iteration: int, arrays: Mapping[str, NDArray[Any]], **about: Any
) -> dict[str, Any]:
    """Return a state that `read_state` reads: of whose run it is, `about` it, and its arrays, copied."""
    copies = {name: array.copy() for name, array in arrays.items()}
    return {"format": 1, **about, "tree": tree.digest, "iteration": iteration, **copies}


def load_state(
    state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], tree: Numbered, error: type[ValueError]
) -> int:
    """Fill the arrays of a run with those of a saved state; return its iteration. Raises as `read_state`."""
    iteration, saved = read_state(state, tuple(arrays), tree, error)
    for name, array in arrays.items():
        array[:] = saved[name]
    return iteration


def _check_numbers(name: str, array: NDArray[Any], iteration: int) -> None:
    """Raise StateError unless an array holds finite real numbers, in the range that a run keeps them in."""
    if array.dtype.kind not in "fiub" or not np.all(np.isfinite(array)):
        raise StateError(f"resume: {name} must hold finite numbers; got {array.dtype}; solve afresh")
    if name == "strategy_sum" and array.min(initial=0) < 0:
        raise StateError(f"resume: {name} must be at least 0; got {array.min()}; solve afresh")
    if name in _BY_INFOSET:
        # Kernels take stamps for rows of a table.
        most = min(iteration, np.iinfo(np.int32).max) if name == "stamp" else PAID | EXPECTANT
        wrong = array[(array < 0) | (array > most) | (array != np.floor(array))]
        if len(wrong):
            raise StateError(
                f"resume: {name} must hold whole numbers from 0 to {most}; got {wrong[0]}; solve afresh"
            )


def check_iteration(value: Any) -> int:
    """Return a saved number of iterations; raise StateError unless it is a whole number of at least 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise StateError(
            f"resume: iteration must be a whole number of at least 0; got {value!r}; solve afresh"
        )
    return int(value)


def start_regrets(
    tree: FlatTree, policy: NDArray[np.float64], weight: float, scale: float
) -> NDArray[np.float64]:
    """Return the regrets that CFR starts from so that it plays `policy`, [n_slots] float64, in payoffs.

    Regret matching plays any strategy to which the regrets are proportional. Their size says how long the
    start is held on to: here `weight` iterations in each of which a full payoff range was regretted, scaled
    by how often the infoset comes up. The idea is that of Brown and Sandholm 2016, "Strategy-based warm
    starting for regret minimization in games", who derive the size from the strategy's exploitability; this
    rule is ours.
    weight: iterations' worth of them. scale: payoffs regretted in each, the largest of the tree for example.
    Zero at infosets that the others and chance never lead to under `policy`.
    Raises ValueError for a policy of another size.
    """
    found = reach(tree, policy)
    often = np.zeros(tree.n_infosets)
    for seat in range(tree.n_players):
        mine = np.flatnonzero(tree.player == seat)
        often += np.bincount(tree.infoset[mine], found.without(seat)[mine], tree.n_infosets)
    return np.repeat(weight * scale * often, np.diff(tree.infoset_offset)) * policy
