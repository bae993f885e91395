"""Policies on public trees: looked up, valued, kept in files, and what others say of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.check import check_blueprint
from blueprint.protocol import Blueprint
from cfr.best_response import best_response_values, expected_value
from cfr.public.policies.policy_file import is_public_policy, open_public_policy, save_public_policy
from cfr.public.policies.public_policy import (
    PublicPolicy,
    PublicPolicyError,
    evaluate_policy,
    index_states,
    past_forced,
)
from cfr.public.public_solver import estimate_public_size, require_memory, solver_bytes
from cfr.public.tree import PublicTree
from cfr.tree import EnumeratedTree
from cfr.tree.memory import TooLarge
from games import CHANCE, GameError, Ragged, load_game
from games.infosets import decision_infosets
from games.infosets.factored import FactoredGame
from gs2.policies.tabulate import policy_of, tabulate
from tests.cfr.public.setting import GAMES, RANDOM, both, solver_of
from tests.cfr.trees import random_policy
from tests.patience import amount

EXACT = 1e-12
AGREEMENT = 1e-9


def from_slots(tree: PublicTree, listed: EnumeratedTree, slots: NDArray[np.float64]) -> PublicPolicy:
    """Return the policy on a public tree with these probabilities on the listed tree's slots.

    slots: [n_slots] float64. Private states that chance does not deal play uniformly.
    """
    edges = np.diff(tree.first_edge)
    rows = []
    for player in (0, 1):
        own = edges[tree.player == player]
        rows.append(np.repeat(1.0 / own, own)[:, None] * np.ones(tree.n_private[player]))
    policy = PublicPolicy(tree, (rows[0], rows[1]))
    first, counts = listed.infoset_first_node(), np.diff(listed.infoset_offset)
    for player in (0, 1):
        mine = np.flatnonzero((listed.infoset_player == player) & (counts > 1))
        if not len(mine):
            continue
        nodes, private = policy.located(listed.states[first[mine]], player)
        at = np.repeat(np.arange(len(mine)), counts[mine])
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts[mine]) - counts[mine], counts[mine])
        where = tree.row[nodes][at] + within
        rows[player][where, private[at]] = slots[listed.infoset_offset[mine][at] + within]
    return policy


@pytest.mark.parametrize("name", [*GAMES, *RANDOM])
@pytest.mark.some(5)
def test_a_policy_is_the_same_on_slots_and_back(name: str) -> None:
    forms = both(name)
    slots = random_policy(forms.listed, np.random.default_rng(1))
    policy = from_slots(forms.tree, forms.listed, slots)
    assert np.abs(policy_of(policy, forms.game, forms.listed) - slots).max() < EXACT
    found = evaluate_policy(policy)
    assert abs(found.value - expected_value(forms.form, slots)) < AGREEMENT
    assert np.allclose(found.best_response, best_response_values(forms.form, slots), atol=AGREEMENT)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(sides=4)", *RANDOM])
@pytest.mark.some(4)
def test_values_are_those_of_the_listed_tree(name: str) -> None:
    forms = both(name)
    policy = PublicPolicy.of(solver_of(name, 12))
    assert isinstance(policy, Blueprint)
    table = tabulate(forms.game, forms.listed, policy_of(policy, forms.game, forms.listed))
    rng, histories = np.random.default_rng(0), amount(60, 15)
    for player in (0, 1):
        decided = rng.permutation(np.flatnonzero(forms.listed.player >= 0))[:histories]
        states = forms.listed.states[decided]
        ours = policy.value(forms.game, states, player)
        assert np.allclose(ours, table.value(forms.game, states, player), atol=AGREEMENT)
        own = rng.permutation(np.flatnonzero(forms.listed.player == player))[:histories]
        states = forms.listed.states[own]
        actions = forms.game.actions(states)
        ours = policy.q(forms.game, states, player, actions)
        assert np.allclose(ours, table.q(forms.game, states, player, actions), atol=AGREEMENT)


@pytest.mark.parametrize("name", ["leduc_poker(suit_isomorphism=true)", "random 4"])
def test_a_policy_keeps_the_contract_of_blueprints(name: str) -> None:
    policy = PublicPolicy.of(solver_of(name, 10))
    check_blueprint(policy, both(name).game, np.random.default_rng(0), plays=8, tolerance=AGREEMENT)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(dice=2,sides=2)", *RANDOM[:3]])
@pytest.mark.some(4)
def test_a_file_gives_back_what_was_saved(tmp_path: Path, name: str, bits: int) -> None:
    forms, path = both(name), tmp_path / "a.policy"
    solver = solver_of(name, 15)
    policy = PublicPolicy.of(solver)
    save_public_policy(path, solver, bits=bits)
    assert is_public_policy(path)
    read = open_public_policy(path, forms.game)
    assert read.bits == bits and read.note == "dcfr, 15 iterations" and read.name == str(path)
    assert not read.rows[0].flags.writeable
    read.check()
    most = int(np.diff(forms.tree.first_edge).max())
    bound = (most + 1) / 131070 if bits == 16 else 1e-7
    for node in np.flatnonzero(forms.tree.player >= 0).tolist():
        assert np.allclose(read.probs(node).sum(axis=1), 1, atol=EXACT)
        assert np.abs(read.probs(node) - policy.probs(node)).max() < bound
    slots = policy_of(read, forms.game, forms.listed)
    assert abs(evaluate_policy(read).value - expected_value(forms.form, slots)) < AGREEMENT
    for ours, theirs in zip(read.below(1), policy.below(1), strict=True):
        assert ours.shape == theirs.shape and np.abs(ours - theirs).max(initial=0) < bound
    again = tmp_path / "b.policy"
    save_public_policy(again, read, bits=bits)
    copy = policy_of(open_public_policy(again, forms.game), forms.game, forms.listed)
    assert np.abs(copy - slots).max() < bound


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "leduc_poker(suit_isomorphism=true)", "liars_dice(sides=4)", "random 0"]
)
def test_every_infoset_is_found_by_its_name_and_its_key(name: str) -> None:
    forms = both(name)
    slots = random_policy(forms.listed, np.random.default_rng(2))
    policy = from_slots(forms.tree, forms.listed, slots)
    for infoset in list(decision_infosets(forms.game))[::7]:
        wanted = forms.listed.infoset_key == np.array(infoset.key, np.uint64)
        number = int(np.flatnonzero(wanted.all(axis=1) & (forms.listed.infoset_player == infoset.player))[0])
        for asked in (infoset, infoset.text):
            assert np.allclose(policy.infoset(asked), slots[forms.listed.slots(number)], atol=EXACT)


def test_nodes_are_found_by_states() -> None:
    game = both("leduc_poker").game
    policy = PublicPolicy.of(solver_of("leduc_poker", 3))
    tree, rng = policy.tree, np.random.default_rng(0)
    for _ in range(40):
        states, node = game.public_root(), 0
        while node >= 0:
            assert policy.at(states).tolist() == [node]
            legal = game.actions(states).values
            pick = int(rng.integers(len(legal)))
            states = past_forced(game, game.step(states, np.zeros(1, np.int64), legal[pick : pick + 1]))
            node = int(tree.child[tree.first_edge[node] + pick])


def test_what_is_no_place_of_the_policy_is_refused_in_words() -> None:
    forms = both("kuhn_poker")
    game, policy = forms.game, PublicPolicy.of(solver_of("kuhn_poker", 3))
    over = game.public_root()
    for _ in range(2):
        over = game.step(over, np.zeros(1, np.int64), np.ones(1, np.int64))
    with pytest.raises(PublicPolicyError, match="must be a decision after the deal"):
        policy.at(over)
    with pytest.raises(PublicPolicyError, match=r"a node must be in .0, 4. and a player's; got 4"):
        policy.probs(4)
    with pytest.raises(GameError, match="P0 holds X"):
        policy.infoset("P0 holds X")
    one = game.step(game.root(), np.zeros(1, np.int64), np.zeros(1, np.int64))
    with pytest.raises(PublicPolicyError, match="the dealing must be over; got 'P1 holds no card"):
        policy.value(game, one, 0)
    states = forms.listed.states[forms.listed.player == 0][:2]
    legal = game.actions(states)
    with pytest.raises(PublicPolicyError, match="actions must be all legal ones where player 1 acts"):
        policy.policy(game, states, 1, legal)
    few = Ragged.from_counts(np.full(2, 3), np.tile(np.arange(3), 2))
    with pytest.raises(PublicPolicyError, match="actions must be all legal ones where player 0 acts"):
        policy.policy(game, states, 0, few)
    other = both("kuhn_poker(cards=5)").game
    with pytest.raises(PublicPolicyError, match="it is a policy of kuhn_poker; got kuhn_poker"):
        policy.policy(other, states, 0, legal)
    board = both("leduc_poker")
    chance = int(np.flatnonzero(board.tree.player == CHANCE)[0])
    with pytest.raises(PublicPolicyError, match="a node must be"):
        PublicPolicy.of(solver_of("leduc_poker", 1)).probs(chance)
    with pytest.raises(GameError, match="must be the game's whole public tree; it is another one"):
        index_states(board.tree.below(1))
    with pytest.raises(PublicPolicyError, match="rows, private states"):
        PublicPolicy(forms.tree, (np.ones((1, 3)), np.ones((1, 3))))


def test_damaged_files_and_others_are_refused(tmp_path: Path) -> None:
    path, forms = tmp_path / "a.policy", both("liars_dice(sides=4)")
    solver = solver_of("liars_dice(sides=4)", 3)
    save_public_policy(path, solver, bits=16)
    whole = path.read_bytes()
    for game, says in (
        (both("kuhn_poker").game, "must belong to kuhn_poker; it is for liars_dice"),
        (load_game("goofspiel(cards=3)"), "must belong to goofspiel"),
    ):
        with pytest.raises(PublicPolicyError, match=says):
            open_public_policy(path, game)
    with pytest.raises(PublicPolicyError, match="bits must be 16 or 32; got 8"):
        save_public_policy(path, solver, bits=8)
    assert path.read_bytes() == whole
    read = open_public_policy(path, forms.game)
    held = [array.tobytes() for array in (read.tree.child, read.rows[0], read.index.hashes)]
    for array in held:
        at = whole.index(array)
        path.write_bytes(whole[:at] + bytes(8) + whole[at + 8 :])
        read = open_public_policy(path, forms.game)
        for use in (read.check, lambda: evaluate_policy(read)):  # noqa: B023
            with pytest.raises(PublicPolicyError, match="is damaged; make the file again"):
                use()
    for data in (whole[:-2], whole[:8] + b"[" + whole[9:]):
        path.write_bytes(data)
        with pytest.raises(PublicPolicyError, match="make it again"):
            open_public_policy(path, forms.game)


def test_a_row_of_nothing_is_damage_and_no_division_by_zero(tmp_path: Path) -> None:
    path, game = tmp_path / "a.policy", both("kuhn_poker").game
    save_public_policy(path, solver_of("kuhn_poker", 3), bits=32)
    read = open_public_policy(path, game)
    data, right = path.read_bytes(), read.rows[0].tobytes()
    for bad in (0.0, np.nan, -1.0):
        rows = np.full_like(read.rows[0], bad)
        path.write_bytes(data.replace(right, rows.tobytes()))
        with pytest.raises(PublicPolicyError, match="the file is damaged"):
            open_public_policy(path, game).probs(0)
        with pytest.raises(PublicPolicyError, match="the file is damaged"):
            open_public_policy(path, game).infoset("P0 holds J")


def test_sizes_are_counted_or_estimated() -> None:
    for name in ("kuhn_poker", "leduc_poker", "liars_dice(sides=4)"):
        tree, size = both(name).tree, estimate_public_size(both(name).game)
        assert size.nodes.exact and size.nodes.mean == len(tree) and size.slots.mean == tree.n_slots
        assert size.private == tree.n_private
        assert size.cfr_bytes.mean > size.float32_bytes.mean > tree.n_slots * 8
    large: FactoredGame = load_game("liars_dice(dice=2,sides=6)")  # type: ignore[assignment]
    size = estimate_public_size(large)
    assert not size.nodes.exact and size.nodes.low <= 8_388_608 <= size.nodes.high
    assert size.slots.low <= 528_482_283 <= size.slots.high


def test_a_solver_that_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = both("leduc_poker").tree
    taken = solver_bytes(tree, "dcfr", np.float64)
    solver = solver_of("leduc_poker", 0)
    arrays = [a for side in solver.sides for a in side[:5] if isinstance(a, np.ndarray) and a.size > 1]
    held = [*arrays, *(a for paid in solver.sweeper.payoffs for a in paid[:6])]
    assert abs(taken - tree.nbytes - sum(a.nbytes for a in held)) < 0.3 * taken
    monkeypatch.setenv("GS2_MEMORY", "100K")
    with pytest.raises(TooLarge, match="CFR on its public tree must fit into 100 KB of memory; it takes"):
        require_memory(tree, "dcfr", np.float64)
