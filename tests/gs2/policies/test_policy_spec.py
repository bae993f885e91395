"""Strategies by a short name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.learning.run import RunLimits
from blueprint.research.game_training import train_game_network
from cfr.best_response import exploitability
from cfr.tree import FlatTree, grow
from games.registry import load_game
from gs2.policies.policy_spec import PolicySpecError, policy_from_spec
from gs2.policies.tabulate import policy_of

GAME = load_game("kuhn_poker")


@pytest.fixture(scope="module")
def tree() -> FlatTree:
    return grow(GAME)


@pytest.mark.parametrize("spec", ["uniform", "cfr:10", "noise:0.25", "dmc:500", "network:1000"])
def test_every_kind_is_a_policy_on_the_tree_and_a_learned_one_depends_on_the_seed_alone(
    spec: str, tree: FlatTree
) -> None:
    seeds = (1, 1, 2) if spec.startswith(("dmc", "network")) else (3,)
    found = [policy_from_spec(spec, GAME, tree, seed=seed) for seed in seeds]
    for policy in found:
        assert np.all(policy >= 0)
        assert np.allclose(np.add.reduceat(policy, tree.infoset_offset[:-1]), 1)
    if len(found) > 1:
        assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_a_networks_checkpoint_is_a_strategy(tree: FlatTree, tmp_path: Path) -> None:
    path = tmp_path / "kuhn.safetensors"
    trained = train_game_network(GAME, np.random.default_rng(0), RunLimits(decisions=500), output=path)
    assert np.array_equal(policy_from_spec(str(path), GAME, tree), policy_of(trained, GAME, tree))


def test_longer_cfr_is_less_exploitable_and_noise_more(tree: FlatTree) -> None:
    found = [
        exploitability(tree, policy_from_spec(spec, GAME, tree))
        for spec in ("cfr:1000", "cfr:10", "noise:0.5", "uniform")
    ]
    assert found == sorted(found)


def test_anything_else_is_refused(tree: FlatTree) -> None:
    for spec, message in (
        ("cfr:0", "iterations must be an integer of at least 1; got '0'"),
        ("network:many", "decisions must be"),
        ("dmc:-1", "games must be"),
        ("noise:2", r"epsilon must be a number in \[0, 1\]"),
        ("nothing", "there is no such file"),
    ):
        with pytest.raises(PolicySpecError, match=message):
            policy_from_spec(spec, GAME, tree)
