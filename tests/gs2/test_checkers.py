"""Checkers raise errors of their own, also where Python leaves `assert` out."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PACKAGES = ("games", "cfr", "blueprint", "gs2", "experiments")
NONSENSE = """
import json, sys
from dataclasses import replace
import numpy as np
import games, gs2, blueprint
from cfr.sequence_form import sequence_form
from cfr.policies.policy import uniform_policy
from games import ContractError
from gs2.search.context import SearchContext
from gs2.search.strategy import Strategy
from gs2.search.gadget.build import Entry, build_gadget
from gs2.search.histories.enumerated import consider_histories
from gs2.search.subgame.cut import TreeCutter
from gs2.policies.tabulate import tabulate

game = games.load_game("kuhn_poker")
context = SearchContext(game)
policy = uniform_policy(context.tree)
strategy = Strategy(context.tree, policy)
found = consider_histories(context, strategy, 0, gs2.SearchConfig.of(order=None))
forest = context.cutter.cut(found.nodes, found.reach)
entry = Entry(
    (found.opponent,), found.group[None], found.alternative[found.group][None], found.reach,
    found.opponent_reach,
)
gadget = build_gadget("resolve", forest.tree, forest.root_of, entry)
searcher = 1 - found.opponent


class Wrong(type(game)):
    def returns(self, states):
        return np.ones((len(states), 2))


class Wide(type(game)):
    payoff_range = (-100.0, 100.0)


def flawed(method, answer):
    made = tabulate(game, context.tree, policy)
    class Flawed:
        name = "flawed"
        q, policy, value = made.q, made.policy, made.value
    setattr(Flawed, method, staticmethod(answer))
    return Flawed()


def choosers():
    yield lambda values, weights, k, rng: None
    yield lambda values, weights, k, rng: np.zeros(k, np.int64)
    yield lambda values, weights, k, rng: np.arange(k) / 2
    yield lambda values, weights, k, rng: np.arange(min(k, len(values))) - 1
    yield lambda values, weights, k, rng: np.arange(len(values) + 1)
    yield lambda values, weights, k, rng: np.arange(0)
    yield lambda values, weights, k, rng: np.sort(np.random.permutation(len(values))[:k])
    def changes(values, weights, k, rng):
        values[:] = 0
        return np.arange(min(k, len(values)))
    yield changes


def leaves():
    yield lambda game, states: None
    yield lambda game, states: np.zeros((len(states), 2), np.int64)
    yield lambda game, states: np.full((len(states), 2), np.nan)
    yield lambda game, states: np.full((len(states), 2), 9.0)
    yield lambda game, states: np.ones((len(states), 2))
    yield lambda game, states: np.zeros((1, 2))
    yield lambda game, states: [[0.0], [0.0, 1.0]]


def gadgets():
    tree = gadget.tree
    yield None
    yield replace(gadget, tree=replace(tree, returns=tree.returns + 1.0))
    yield replace(gadget, tree=replace(tree, chance_prob=tree.chance_prob / 2))
    yield replace(gadget, slot_origin=gadget.slot_origin[::-1].copy())
    yield replace(gadget, slot_origin=gadget.slot_origin[:-1])
    yield replace(gadget, infoset_origin=np.full_like(gadget.infoset_origin, -1))
    yield replace(gadget, infoset_origin=gadget.infoset_origin + 10_000)


rng = np.random.default_rng
checks = {
    "generator": [lambda part=part: gs2.check_generator(part, rng(0)) for part in choosers()],
    "leaf": [lambda part=part: gs2.check_leaf_value(part, game, rng(0)) for part in leaves()],
    "gadget": [lambda part=part: gs2.check_gadget(part, forest.tree, searcher) for part in gadgets()],
    "game": [lambda part=part: games.check_game(part, rng(0)) for part in (Wrong(), Wide(), object())],
    "blueprint": [
        lambda part=part: blueprint.check_blueprint(part, game, rng(0))
        for part in (
            flawed("value", lambda game, states, player: np.full(len(states), 50.0)),
            flawed("policy", lambda game, states, player, actions: np.ones(len(actions.values))),
            flawed("q", lambda game, states, player, actions: np.zeros(1)),
        )
    ],
}
gs2.check_gadget(gadget, forest.tree, searcher)
said = {}
for name, ways in checks.items():
    for way in ways:
        try:
            way()
            said.setdefault(name, []).append("passed")
        except ContractError as error:
            said.setdefault(name, []).append(str(error))
print(json.dumps({"asserts": sys.flags.optimize == 0, "said": said}))
"""


def test_nonsense_parts_are_refused_also_where_python_leaves_assert_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(compile(NONSENSE, "nonsense", "exec"), {"__name__": "nonsense"})
    here = json.loads(capsys.readouterr().out)
    done = subprocess.run(
        [sys.executable, "-O", "-c", NONSENSE], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    without = json.loads(done.stdout)
    assert here["asserts"] and not without["asserts"]
    assert here["said"].keys() == {"generator", "leaf", "gadget", "game", "blueprint"}
    for part, errors in without["said"].items():
        for error in errors:
            assert error != "passed", (part, errors)
            assert "got" in error or "lacks" in error or part == "gadget", error
        assert len(errors) == len(here["said"][part])


def _sources(words: str) -> list[tuple[Path, ast.Module]]:
    """Return the syntax tree of each file in which words of this pattern stand."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
    return [(path, ast.parse(text)) for path, text in texts if re.search(words, text, re.M)]


def test_an_assert_only_tells_a_type_checker_what_is_known() -> None:
    narrowing = ("is not None", "isinstance(")
    for path, tree in _sources(r"\bassert\b[ (]"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                said = ast.unparse(node.test)
                assert any(word in said for word in narrowing), f"{path.name}:{node.lineno}: assert {said}"


def test_no_process_with_threads_is_forked() -> None:
    for path, tree in _sources(r"fork(pty)?\(|get_context|ProcessPoolExecutor|\.(Pool|Process)\b"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            words = {keyword.arg for keyword in node.keywords}
            at = f"{path.relative_to(ROOT)}:{node.lineno}"
            assert not called.endswith(("os.fork", "os.forkpty")), at
            if called.endswith("get_context"):
                assert [ast.unparse(a) for a in node.args] == ["'spawn'"], at
            if called.endswith("ProcessPoolExecutor"):
                assert "mp_context" in words, f"{at}: without mp_context Linux may fork"
            if called.endswith((".Pool", ".Process")):
                assert not called.startswith(("multiprocessing.", "mp.")), f"{at}: take a spawn context's"
