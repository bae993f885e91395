"""Gadgets: well-formed trees, and safe ones never help the opponent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfr.lp import solve_lp
from cfr.values import best_responses, group_values
from games.support.contract import ContractError
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GADGET_NAMES
from gs2.search.context import Search, Strategy
from gs2.search.gadget.build import Entry, GadgetError, build_gadget
from gs2.search.gadget.check import check_gadget
from gs2.search.gadget.path import gifts, opponent_path
from gs2.search.histories.enumerated import consider_histories
from gs2.search.subgame.cut import Roots
from tests.gs2.search.setting import (
    GAMES,
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    context,
    opponent_gain,
    random_policy,
    rng,
)
from tests.patience import amount

EXACT = 1e-7
"""What the linear programme may be off, in payoffs."""


def made(name: str, kind: str, floor: float, seed: int):
    """Return (gadget, forest, considered) of a random blueprint and infoset."""
    prepared = context(name)
    draw = rng(seed)
    strategy = Strategy(prepared.tree, random_policy(name, draw))
    infoset = int(draw.integers(prepared.tree.n_infosets))
    found = consider_histories(Search(prepared, strategy, SearchConfig.of(order=None)), infoset)
    forest = prepared.cutter.cut(Roots(found.nodes, found.reach))
    group, alternative = found.group, found.alternative[found.group]
    path = None
    rows = np.arange(len(found.nodes))
    if kind == "path":
        path = opponent_path(
            prepared, strategy, found.opponent, found.nodes, group, found.reach, found.alternative
        )
        order = path.entry_order()
        path = path.reordered(order)
        group = np.argsort(order).astype(np.int32)[group]
        rows = np.argsort(group, kind="stable")
        forest = prepared.cutter.cut(Roots(found.nodes[rows], found.reach[rows]))
    gift = gifts(strategy, found.opponent)[found.nodes][None]
    entry = Entry(
        (found.opponent,),
        group[rows][None],
        alternative[rows][None],
        found.reach[rows],
        found.opponent_reach[rows],
        gift[:, rows],
        path=path,
    )
    return build_gadget(kind, forest.tree, forest.root_of, entry, floor=floor), forest, found


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("kind", GADGET_NAMES)
def test_every_gadget_keeps_the_contract(name, kind):
    for seed, floor in enumerate((0.1, 0.0)):
        gadget, forest, found = made(name, kind, 0.0 if kind == "unsafe" else floor, seed)
        check_gadget(gadget, forest.tree, found.player)


def test_the_contract_check_refuses_what_is_no_gadget():
    gadget, forest, found = made(KUHN, "resolve", 0.0, 1)
    tree = gadget.tree
    for broken in (
        None,
        replace(gadget, tree=replace(tree, returns=tree.returns + 1.0)),
        replace(gadget, tree=replace(tree, chance_prob=tree.chance_prob / 2)),
        replace(gadget, slot_origin=gadget.slot_origin[::-1].copy()),
        replace(gadget, slot_origin=gadget.slot_origin[:-1]),
        replace(gadget, infoset_origin=np.full_like(gadget.infoset_origin, -1)),
        replace(gadget, infoset_origin=gadget.infoset_origin + 10_000),
    ):
        with pytest.raises(ContractError):
            check_gadget(broken, forest.tree, found.player)


@pytest.mark.parametrize("method", ["resolve", "maxmargin", "reach-maxmargin", "path"])
@given(st.sampled_from([KUHN, LIARS_DICE, GOOFSPIEL]), st.integers(0, 10_000))
@settings(max_examples=amount(25, 4), deadline=None)
def test_safe_gadgets_solved_exactly_never_raise_the_opponents_best_response_value(method, name, seed):
    config = preset(method, solver="lp", entry_floor=0.0)
    assert opponent_gain(name, config, seed)[0] <= EXACT


def test_the_unsafe_gadget_does_raise_it_somewhere():
    assert max(opponent_gain(KUHN, preset("unsafe", solver="lp"), seed)[0] for seed in range(30)) > 0.01


def test_maxmargin_makes_the_least_margin_as_large_as_the_gadgets_value():
    for seed in range(5):
        gadget, forest, found = made(LEDUC, "maxmargin", 0.0, seed)
        exact = solve_lp(gadget.tree)
        to_opponent = exact.value if found.opponent == 0 else -exact.value
        assert to_opponent <= EXACT
        policy = gadget.to_forest(exact.policy, forest.tree.n_slots)
        values, *_ = best_responses(forest.tree, policy, found.opponent)
        solved = group_values(values[: len(found.nodes)], found.reach, found.group)
        assert (found.alternative - solved).min() == pytest.approx(-to_opponent, abs=1e-6)


def test_bad_input_names_the_rule():
    _, forest, _ = made(KUHN, "resolve", 0.0, 0)
    r = forest.tree.n_roots
    entry = Entry((1,), np.zeros((1, r), np.int32), np.zeros((1, r)), np.ones(r), np.ones(r))
    for says, kind, changes, floor in (
        ("one of unsafe", "safe", {}, 0.0),
        (r"\[0, 1\); got 1", "resolve", {}, 1.0),
        ("reach and group", "resolve", {"reach": np.ones(r + 1)}, 0.0),
        ("searching player reach", "resolve", {"reach": np.zeros(r)}, 0.0),
        ("both blueprints", "unsafe", {"opponent_reach": np.zeros(r)}, 0.0),
        ("way to the roots", "path", {}, 0.0),
    ):
        with pytest.raises(GadgetError, match=says):
            build_gadget(kind, forest.tree, forest.root_of, replace(entry, **changes), floor=floor)
