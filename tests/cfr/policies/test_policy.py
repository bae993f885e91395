"""Tabular policies: fitting trees, finding infosets, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cfr.best_response import exploitability
from cfr.policies.policy import (
    PolicyError,
    load_policy,
    load_state,
    save_policy,
    tabular_policy,
    uniform_policy,
)
from cfr.solver import Solver
from cfr.tree import grow
from games import load_game
from tests.cfr.trees import random_policy, tree_of
from tests.commands.runner import gs2


def test_saved_policies_come_back_whole_from_plain_arrays_without_pickles(tmp_path: Path) -> None:
    tree, path = tree_of("leduc"), tmp_path / "p.npz"
    policy = tabular_policy("leduc_poker", tree, random_policy(tree, 0), note="random, seed 0")
    save_policy(path, policy)
    back = load_policy(path, "leduc_poker")
    assert (back.game, back.note, back.digest) == (policy.game, policy.note, policy.digest)
    np.testing.assert_array_equal(back.probs, policy.probs)
    np.testing.assert_array_equal(back.on(tree, "leduc_poker"), policy.probs)
    assert load_state(path) is None
    assert [file.name for file in tmp_path.iterdir()] == ["p.npz"]
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    even = tabular_policy("leduc_poker", tree).probs
    np.testing.assert_array_equal(even, 1 / np.diff(tree.infoset_offset)[tree.slot_infoset])


def test_a_run_goes_on_with_its_own_infosets_alone(tmp_path: Path) -> None:
    path, tree = tmp_path / "run", tree_of("kuhn")
    solver = Solver(tree, "dcfr")
    solver.run(20)
    policy = tabular_policy("kuhn_poker", tree, solver.average_policy())
    for shown in (policy, replace(policy, infoset_key=policy.infoset_key + np.uint64(7))):
        save_policy(path, shown, solver.state_dict())
        assert load_policy(path, "kuhn_poker").digest == shown.digest and load_state(path) is not None
        measured = gs2("exploitability", "kuhn_poker", str(path))
        before = path.read_bytes()
        words = ["blueprint", "kuhn_poker", "--iterations", "21", "-o", str(path)]
        again = gs2(*words)
        if shown is policy:
            assert load_state(path, tree) is not None and measured.exit_code == again.exit_code == 0
            continue
        with pytest.raises(PolicyError, match="the infosets it began with; kuhn_poker has others"):
            load_state(path, tree)
        assert measured.exit_code == again.exit_code == 2 and "use --fresh to replace it" in again.stderr
        assert path.read_bytes() == before


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.npz"
    policy = tabular_policy("kuhn_poker", tree_of("kuhn"))
    save_policy(path, policy)
    before = path.read_bytes()

    def fail(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(KeyboardInterrupt):
        save_policy(path, policy)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["p.npz"]


def test_probabilities_are_found_by_infoset_key() -> None:
    game = load_game("leduc_poker")
    tree = grow(game)
    probs = random_policy(tree, 1)
    policy = tabular_policy(game.name, tree, probs)
    rng = np.random.default_rng(0)
    for player in (0, 1):
        nodes = rng.permutation(np.flatnonzero(tree.player == player))[:50]
        keys = game.infoset_key(tree.states[nodes], player)
        np.testing.assert_array_equal(policy.find(keys, player), tree.infoset[nodes])
        rows = policy.at(keys, player)
        for row, node in enumerate(nodes):
            first, last = tree.infoset_offset[tree.infoset[node] : tree.infoset[node] + 2]
            np.testing.assert_array_equal(rows[row], probs[first:last])
    unknown = np.full((1, game.key_width), 2**63, np.uint64)
    assert policy.find(unknown, 0).tolist() == [-1]
    with pytest.raises(PolicyError, match="it must know the infoset number 0 of player 0"):
        policy.at(unknown, 0)
    with pytest.raises(PolicyError, match=r"keys must be \[n, \d+\]"):
        policy.at(np.zeros((1, game.key_width + 1), np.uint64), 0)


def test_a_policy_follows_its_game_into_subgames() -> None:
    game = load_game("leduc_poker")
    tree = grow(game)
    policy = tabular_policy(game.name, tree, random_policy(tree, 2))
    roots = np.flatnonzero(tree.player == 0)[100:103]
    below = grow(game, tree.states[roots], np.ones(3))
    probs = policy.on(below)
    found = policy.find(below.infoset_key[below.infoset_player == 1], 1)
    assert (found >= 0).all()
    np.testing.assert_allclose(np.add.reduceat(probs, below.infoset_offset[:-1]), 1.0)
    for infoset in range(below.n_infosets):
        player = int(below.infoset_player[infoset])
        first, last = below.infoset_offset[infoset : infoset + 2]
        theirs = policy.at(below.infoset_key[infoset : infoset + 1], player)[0]
        np.testing.assert_array_equal(probs[first:last], theirs)
    assert exploitability(below, probs) >= 0
    heavier = grow(game, weights=np.array([2.0]), keep_states=False)  # was said to be of a changed game
    np.testing.assert_array_equal(policy.on(heavier), policy.probs)


def test_what_is_not_a_policy_file_or_one_of_another_game_is_refused(tmp_path: Path) -> None:
    path, dice = tmp_path / "p.npz", tree_of("dice")
    policy = tabular_policy("kuhn_poker", tree_of("kuhn"))

    def refused(words: str, game: str | None = None) -> None:
        with pytest.raises(PolicyError, match=words):
            load_policy(path, game)

    with pytest.raises(FileNotFoundError):
        load_policy(path)
    path.write_bytes(b"no archive")
    refused("must be a policy saved by gs2")
    np.savez(path, meta=np.array("{}"), probs=np.ones(3))
    refused("must be a policy saved by gs2")
    save_policy(path, policy)
    refused("must belong to leduc_poker; it is for kuhn_poker; make one", "leduc_poker")
    with pytest.raises(PolicyError, match="must belong to dice; got one for kuhn_poker"):
        policy.on(dice, "dice")
    with pytest.raises(PolicyError):
        policy.on(dice)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused("must be a policy saved by gs2")
    np.savez(path, **{**arrays, "infoset_key": arrays["infoset_key"] + np.uint64(1)})
    refused("do not match the file's fingerprint")
    np.savez(path, **{name: value for name, value in arrays.items() if name != "probs"})
    refused("must hold 'probs'")
    np.savez(path, **{**arrays, "meta": np.array(str(arrays["meta"]).replace('"format": 1', '"format": 9'))})
    refused("policy format must be 1; got 9")


def test_policies_that_do_not_sum_to_one_are_refused() -> None:
    tree = tree_of("kuhn")
    probs = uniform_policy(tree)
    with pytest.raises(PolicyError, match=r"must sum to 1; infoset 0 sums to 0\.9"):
        tabular_policy("kuhn_poker", tree, np.concatenate(([0.4], probs[1:])))
    with pytest.raises(PolicyError, match=r"one entry per slot, 24; got shape \(23,\)"):
        tabular_policy("kuhn_poker", tree, probs[1:])
    with pytest.raises(PolicyError, match="probabilities of at least 0"):
        tabular_policy("kuhn_poker", tree, np.concatenate(([-0.5, 1.5], probs[2:])))
    policy = tabular_policy("kuhn_poker", tree)
    with pytest.raises(PolicyError, match="must agree on the number of infosets"):
        replace(policy, infoset_key=policy.infoset_key[1:]).validate()


def test_arguments_in_the_wrong_order_are_named(tmp_path: Path) -> None:
    policy = tabular_policy("kuhn_poker", tree_of("kuhn"))
    with pytest.raises(
        PolicyError, match=r"a path and a Policy, in this order; got PosixPath for the policy"
    ):
        save_policy(policy, tmp_path / "p.npz")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match=r"got Policy and str; write load_policy"):
        load_policy(policy, "kuhn_poker")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match=r"got str and PosixPath"):
        load_policy("kuhn_poker", tmp_path / "p.npz")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it must be a FlatTree; got str"):
        tabular_policy(tree_of("kuhn"), "kuhn_poker")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it must be a FlatTree; got str"):
        policy.on("kuhn_poker", tree_of("kuhn"))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
