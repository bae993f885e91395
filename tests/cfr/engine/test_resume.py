"""Saved states: those of another tree and those to which no run comes are refused, older ones are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

from cfr.anchored import Anchor, AnchoredSolver
from cfr.engine.resume import StateError
from cfr.mccfr import MonteCarloSolver
from cfr.policies.policy import load_state, save_policy, tabular_policy, uniform_policy
from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from tests.cfr.trees import tree_of
from tests.forked import run_module
from tests.patience import amount

ASCENDING = "goofspiel(cards=4,turns=3,points_order=ascending)"
DESCENDING = "goofspiel(cards=4,turns=3,points_order=descending)"
SOLVERS = {
    "sequence form": lambda tree: Solver(tree, "pcfr+"),
    "tree": lambda tree: TreeSolver(tree, "dcfr"),
    "anchored": lambda tree: AnchoredSolver(tree, Anchor(uniform_policy(tree), 0.1)),
    "sampled": lambda tree: MonteCarloSolver(tree, np.random.default_rng(0)),
}
EVERY = pytest.mark.parametrize("name", SOLVERS)


def saved(name: str, tree: FlatTree, iterations: int = 7) -> dict[str, Any]:
    """Return the state of a run."""
    solver = SOLVERS[name](tree)
    solver.run(iterations)
    return solver.state_dict()


@EVERY
def test_a_state_of_another_tree_is_refused_though_it_has_as_many_slots(name: str) -> None:
    tree, other = tree_of(ASCENDING), tree_of(DESCENDING)
    assert (tree.n_slots, tree.n_infosets) == (other.n_slots, other.n_infosets)
    solver, state = SOLVERS[name](other), saved(name, tree)
    before = solver.current_policy()
    with pytest.raises(ValueError, match=r"the tree must be that of the saved run.*another game's file"):
        solver.load_state_dict(state)
    assert solver.iteration == 0
    np.testing.assert_array_equal(solver.current_policy(), before)
    chances = np.where(tree.parent < 0, 2.0, tree.chance_prob)
    for near in (replace(tree, returns=2 * tree.returns), replace(tree, chance_prob=chances)):
        with pytest.raises(ValueError, match="the tree must be that of the saved run"):
            SOLVERS[name](near).load_state_dict(state)


@EVERY
def test_a_state_goes_through_a_file_even_one_of_an_earlier_release_which_says_no_tree(
    name: str, tmp_path: Path
) -> None:
    tree, path = tree_of("kuhn"), tmp_path / "kuhn.gs2"
    straight = SOLVERS[name](tree)
    straight.run(12)
    state = saved(name, tree)
    for written in (state, {key: value for key, value in state.items() if key != "tree"}):
        save_policy(path, tabular_policy("kuhn_poker", tree), written)
        read = load_state(path)
        assert read is not None
        solver = SOLVERS[name](tree)
        solver.load_state_dict(read)
        solver.run(5)
        np.testing.assert_array_equal(solver.current_policy(), straight.current_policy())


KERNELS = {
    "sequence form": "cfr.engine.kernels.iterate",
    "tree": "cfr.tree_cfr._iterate",
    "anchored": "cfr.anchored.iterate_mirror",
    "sampled": "cfr.mccfr._run",
}


@EVERY
def test_an_interrupt_leaves_a_run_that_goes_on_exactly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, kernel = tree_of("kuhn"), resolve_name(KERNELS[name])
    straight, stopped, again = (SOLVERS[name](tree) for _ in range(3))
    straight.run(12)

    def interrupted(*given: Any) -> None:
        kernel(*given)
        raise KeyboardInterrupt  # as Python does, once compiled code is done

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(KERNELS[name], interrupted)
        stopped.run(7)
    assert stopped.iteration == 7
    again.load_state_dict(stopped.state_dict())
    for solver in (stopped, again):
        solver.run(5)
        np.testing.assert_array_equal(solver.current_policy(), straight.current_policy())


def test_fingerprints_do_not_count_the_last_bits() -> None:
    tree = tree_of("leduc")
    near = replace(tree, returns=np.nextafter(tree.returns, 9), chance_prob=np.nextafter(tree.chance_prob, 0))
    far = replace(tree, returns=tree.returns + 1e-5)
    assert near.digest == tree.digest != far.digest
    digests = [sequence_form(t).digest for t in (tree, near, replace(tree, returns=tree.returns * 1.001))]
    assert digests[0] == digests[1] != digests[2]


def edited(state: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield states, each with one number to which no run comes, and what was done."""
    wrong: dict[str, tuple[Any, ...]] = {
        "iteration": (-1, 2.5, float("nan"), None, "7", True, *([0, 1] if "stamp" in state else [])),
        "stamp": (-1, 0.5, state["iteration"] + 1, 2_000_000_000, -(1 << 31), np.nan, np.inf),
        "marked": (-1, 4, 255, 1.5, np.nan),
        "policy": (-0.5, 1.5, 7.0, np.nan, -np.inf),
        "strategy_sum": (-1e-9, -5.0, np.nan, np.inf),
        "regret": (np.nan, np.inf),
        "prediction": (np.nan, -np.inf),
        "gradient": (np.nan, np.inf),
        "log_policy": (np.nan, -np.inf),
        "random": (0.5, -0.5),
    }
    for name, values in wrong.items():
        for value in values:
            if name == "iteration":
                yield f"{name} {value!r}", {**state, name: value}
            elif name in state:
                array = np.asarray(state[name])
                for at in np.random.default_rng(0).integers(0, len(array), amount(3, 1)):
                    changed = array.astype(np.float64)
                    changed[at] = value
                    yield f"{name}[{at}] = {value}", {**state, name: changed}
        if name in state and name != "iteration":
            for array in (np.asarray(state[name])[:-1], np.asarray(state[name])[None], "no array"):
                yield f"{name} of another shape", {**state, name: array}
            yield f"{name} left out", {key: value for key, value in state.items() if key != name}


def load_every_edited_state() -> None:
    """Print what was done to each state that a solver takes."""
    for name in SOLVERS:
        for game in ("kuhn", "dice"):
            for what, state in edited(saved(name, tree_of(game), 40)):
                solver = SOLVERS[name](tree_of(game))
                try:
                    solver.load_state_dict(state)
                except ValueError:
                    continue
                print(name, game, what, flush=True)
                solver.run(5)


def test_states_with_numbers_to_which_no_run_comes_are_refused() -> None:
    # In a process of its own: kernels that were handed such stamps read beyond their tables.
    found = run_module(__name__)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr[-2000:]


def test_what_is_wrong_with_a_state_is_told() -> None:
    tree = tree_of("kuhn")
    state = saved("sequence form", tree)
    for name, value, told in (
        ("stamp", state["stamp"] + 100, r"stamp must hold whole numbers from 0 to 7; got 10\d; solve afresh"),
        ("policy", state["policy"] * 2, "the probabilities of an infoset must be at least 0 and sum to 1"),
        ("strategy_sum", -state["strategy_sum"], "strategy_sum must be at least 0"),
        ("marked", state["marked"] + 4, "marked must hold whole numbers from 0 to 3"),
    ):
        with pytest.raises(StateError, match=f"resume: .*{told}"):
            Solver(tree, "pcfr+").load_state_dict({**state, name: value})


if __name__ == "__main__":
    load_every_edited_state()
