"""Locked infosets: the rest is solved, searched and measured; brute force and the LP say the same."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import cfr
from cfr.policies.policy import Policy, PolicyError
from cfr.solver import SolverError
from games import GameError, load_game
from gs2 import SearchContext, preset
from gs2.search.pipeline import refine_infoset
from tests.cfr.trees import random_policy
from tests.commands.runner import as_json, gs2, ran
from tests.games.random_games import RandomGame, check_quickly
from tests.patience import amount

SMALL = 200
"""Pure strategies of a seat up to which all are tried."""


def random_lock(game: RandomGame, tree: cfr.FlatTree, rng: np.random.Generator) -> Policy:
    """Return a lock of some infosets, at which some actions are never taken."""
    probs = rng.random(tree.n_slots) * (rng.random(tree.n_slots) < 0.7)
    probs[tree.infoset_offset[:-1]] += 0.1 * (np.add.reduceat(probs, tree.infoset_offset[:-1]) == 0)
    probs /= np.add.reduceat(probs, tree.infoset_offset[:-1])[tree.slot_infoset]
    return cfr.tabular_policy(game.name, tree, probs).only(rng.random(tree.n_infosets) < rng.random())


def locked_infosets(tree: cfr.FlatTree, lock: Policy) -> list[int]:
    """Return the numbers of the locked infosets."""
    players = tree.infoset_player.tolist()
    return [i for i, seat in enumerate(players) if lock.find(tree.infoset_key[[i]], seat)[0] >= 0]


def tried_out(tree: cfr.FlatTree, policy: np.ndarray, locked: np.ndarray, seat: int) -> float | None:
    """Return the best that a seat can get by a pure strategy that keeps the lock; None if there are many."""
    free = np.flatnonzero((tree.infoset_player == seat) & ~locked)
    sizes = np.diff(tree.infoset_offset)[free]
    if np.prod(sizes) > SMALL:
        return None
    best = -np.inf
    for choice in itertools.product(*(range(size) for size in sizes)):
        pure = policy.copy()
        for infoset, action in zip(free, choice, strict=True):
            slots = tree.slots(int(infoset))
            pure[slots] = 0.0
            pure[slots[action]] = 1.0
        weight, worth = tree.chance_prob.copy(), 0.0
        slot = tree.child_slot()
        for node in range(1, tree.n_nodes):
            weight[node] *= weight[tree.parent[node]] * (pure[slot[node]] if slot[node] >= 0 else 1.0)
        worth = float(weight[tree.terminal] @ tree.returns[:, seat])
        best = max(best, worth)
    return best


def test_best_responses_keep_the_lock_as_brute_force_does() -> None:
    compared = 0
    for seed in range(amount(60, 24)):
        rng = np.random.default_rng(seed)
        game = RandomGame(seed, public=seed % 2 > 0, depth=4, most=40)
        tree = cfr.grow(game)
        lock = random_lock(game, tree, rng)
        policy = random_policy(tree, rng)
        if not lock.n_infosets:
            continue
        locked = cfr.LockedTree(tree, lock)
        played = locked.whole(locked.part(policy))
        fixed = np.zeros(tree.n_infosets, bool)
        fixed[locked_infosets(tree, lock)] = True
        found = cfr.best_response_values(tree, policy, lock=lock)
        for seat in (0, 1):
            best = tried_out(tree, played, fixed, seat)
            if best is not None:
                compared += 1
                assert found[seat] == pytest.approx(best, abs=1e-9), (seed, seat)
    assert compared > 20


def test_a_locked_game_is_solved_to_its_value_and_nobody_gains_within_the_lock() -> None:
    for seed in range(amount(18, 4)):
        rng = np.random.default_rng(seed)
        game = RandomGame(seed, public=seed % 2 > 0)
        tree = cfr.grow(game)
        lock = random_lock(game, tree, rng)
        if not lock.n_infosets:
            continue
        chance = cfr.LockedGame(game, lock)  # the second way to the same tree
        grown, locked = cfr.grow(chance), cfr.LockedTree(tree, lock)
        for name in ("parent", "player", "infoset", "returns", "infoset_offset", "infoset_key"):
            assert np.array_equal(getattr(grown, name), getattr(locked.tree, name)), (seed, name)
        chance.payoff_range = float(grown.returns.min()), float(grown.returns.max())  # of what is left
        check_quickly(chance, np.random.default_rng(0))
        assert np.allclose(grown.chance_prob, locked.tree.chance_prob, rtol=0, atol=1e-15)
        solution = cfr.solve(tree, lock=lock, target=1e-3, iterations=20_000)
        value = cfr.solve_lp(grown).value if grown.n_infosets else solution.value
        assert solution.value == pytest.approx(value, abs=2e-3), seed
        assert cfr.exploitability(tree, solution.policy, lock=lock) <= 1e-3 + 1e-9
        mine = cfr.tabular_policy(game.name, tree, solution.policy)
        for number in range(lock.n_infosets):
            seat, key = int(lock.infoset_player[number]), lock.infoset_key[[number]]
            assert np.array_equal(mine.at(key, seat).values, lock.at(key, seat).values)


def test_a_solver_with_a_lock_goes_on_exactly_and_only_with_that_lock() -> None:
    game = load_game("leduc_poker")
    tree = cfr.grow(game, keep_states=False)
    rng = np.random.default_rng(0)
    lock = cfr.tabular_policy(game.name, tree).only(rng.random(tree.n_infosets) < 0.2)
    whole, half = cfr.Solver(tree, "dcfr", lock=lock), cfr.Solver(tree, "dcfr", lock=lock)
    whole.run(40)
    half.run(15)
    again = cfr.Solver(tree, "dcfr", lock=lock)
    again.load_state_dict(half.state_dict())
    again.run(25)
    assert np.array_equal(again.average_policy(), whole.average_policy())
    solved = cfr.solve(tree, variant="dcfr", lock=lock, iterations=40)
    assert np.array_equal(solved.policy, whole.average_policy())
    assert solved.exploitability == pytest.approx(
        cfr.exploitability(tree, solved.policy, lock=lock), abs=1e-12
    )
    start = cfr.solve(tree, lock=lock, iterations=1, start=cfr.Start(cfr.uniform_policy(tree)))
    assert start.policy.shape == (tree.n_slots,)
    for other in (lock.only(np.arange(lock.n_infosets) > 0), None):
        with pytest.raises(SolverError, match="one of another lock"):
            cfr.Solver(tree, "dcfr", lock=other).load_state_dict(half.state_dict())
    with pytest.raises(PolicyError, match="lock: every infoset must be one of the game's"):
        cfr.LockedTree(cfr.grow(load_game("leduc_poker(ranks=2)")), lock)


def test_a_search_in_a_locked_game_does_not_help_the_opponent() -> None:
    helped = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        plain = RandomGame(seed, public=True)
        tree = cfr.grow(plain)
        lock = random_lock(plain, tree, rng)
        game = cfr.LockedGame(plain, lock)
        context = SearchContext(game)
        if not 0 < context.tree.n_infosets < tree.n_infosets:
            continue
        blueprint = random_policy(context.tree, rng)
        infoset = int(rng.integers(context.tree.n_infosets))
        other = 1 - int(context.tree.infoset_player[infoset])
        refinement = refine_infoset(context, context.strategy(blueprint), infoset, preset("gs2+"), rng)
        after = blueprint.copy()
        after[refinement.slots] = refinement.probs
        best = [cfr.best_response_values(context.tree, probs)[other] for probs in (blueprint, after)]
        assert best[1] <= best[0] + 1e-9, seed
        helped += best[1] < best[0] - 1e-6
        node = tree.infoset_first_node()[locked_infosets(tree, lock)[0]]
        with pytest.raises(GameError, match="is locked; choose another"):
            game.parse_infoset(plain.infoset_text(tree.states[node], int(tree.player[node])))
    assert helped >= 3


def test_commands_lock_by_words_by_policy_and_by_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("king.json").write_text(json.dumps({"p0 holds k": {"bet": 1.0}}))
    made = as_json("blueprint", "kuhn_poker", "--lock", "king.json", "-o", "king.npz")
    assert made["locked"] == 1 and made["exploitability"] < 1e-3
    measured = [
        as_json("exploitability", "kuhn_poker", "king.npz", *words)["exploitability"]
        for words in (("--lock", "king.json"), ())
    ]
    assert measured[0] == pytest.approx(made["exploitability"], abs=1e-12) and measured[1] > 0.02
    # all of player 1 is locked to a file of its equilibrium: player 0 answers it, and gets the game's value
    ran("blueprint", "kuhn_poker", "--iterations", "3000", "-o", "whole.npz")
    words = ("blueprint", "kuhn_poker", "--lock", "whole.npz", "--lock-seat", "1", "--json")
    answer = json.loads(gs2(*words).stdout)
    assert answer["locked"] == 6 and answer["value"] == pytest.approx(-1 / 18, abs=1e-3)
    words = ("solve", "kuhn_poker", "--lock", "king.json", "--infoset", "P1 holds Q | bet")
    ran(*words, "--blueprint", "uniform", "-o", "solved.npz", "--json")
    policy = cfr.load_policy("solved.npz", "kuhn_poker")
    tree = cfr.grow(load_game("kuhn_poker"))
    kings = load_game("kuhn_poker").parse_infoset("P0 holds K")
    assert policy.at(np.array([kings.key], np.uint64), 0).values.tolist() == [0.0, 1.0]
    assert policy.on(tree).shape == (tree.n_slots,)
    # files are read in the locked game too, and what they say of the lock is not looked at
    for file in ("king.npz", "solved.npz", "king.words.json"):
        if file.endswith(".json"):
            ran("blueprint", "kuhn_poker", "--lock", "king.json", "-o", file)
        for source in ("enumerated", "sampled"):
            found = as_json(*words, "--blueprint", file, "--method", "1-klss", "--source", source)
            there = cfr.load_policy(file.replace(".words.json", ".npz"), "kuhn_poker")
            queen = load_game("kuhn_poker").parse_infoset(words[-1])
            expected = there.at(np.array([queen.key], np.uint64), 1).values
            assert [row["blueprint"] for row in found["actions"]] == pytest.approx(expected.tolist())


DRAWN = ("--source", "sampled", "--method", "gs2", "--blueprint", "uniform")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("blueprint", "kuhn_poker", "--lock", "lost.json"), "lost.json' does not exist"),
        (("blueprint", "kuhn_poker", "--lock-seat", "1"), "without --lock"),
        (("blueprint", "kuhn_poker", "--lock", "king.json", "--form", "public"), "use --form listed"),
        (("blueprint", "kuhn_poker", "--lock", "king.json", "--lock-seat", "1"), "of player 1; it has none"),
        (("blueprint", "kuhn_poker", "--lock", "half.json"), '"P0 holds K" sums to 0.5'),
        (("blueprint", "kuhn_poker", "--lock", "queen.json"), 'no infoset is called "P0 holds Queen"'),
        (
            ("exploitability", "leduc_poker", "uniform", "--lock", "king.json"),
            'no infoset is called "P0 holds K"',
        ),
        (
            ("solve", "kuhn_poker", "--lock", "king.json", "--infoset", "P0 holds K"),
            "is locked; choose another",
        ),
        (
            (*("solve", "kuhn_poker", "--lock", "passes.json", "--infoset", "P1 holds Q | bet"), *DRAWN),
            "a lock may never lead to it",
        ),
    ],
)
def test_a_lock_that_does_not_hold_is_a_usage_error(
    words: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("king.json").write_text('{"P0 holds K": {"bet": 1.0}}')
    Path("passes.json").write_text(json.dumps({f"P0 holds {card}": {"pass": 1.0} for card in "JQK"}))
    Path("half.json").write_text('{"P0 holds K": {"bet": 0.5}}')
    Path("queen.json").write_text('{"P0 holds Queen": {"bet": 1.0}}')
    done = gs2(*words)
    assert done.exit_code == 2 and says in done.stderr, done.output


def test_a_run_of_another_lock_is_refused_with_its_file_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("king.json").write_text('{"P0 holds K": {"bet": 1.0}}')
    words = ("blueprint", "kuhn_poker", "--iterations", "2", "-o", "run.npz")
    assert gs2(*words).exit_code == 0
    done = gs2(*words, "--lock", "king.json")
    assert done.exit_code == 2 and "run.npz: resume: regret must have" in done.stderr
    assert "another lock; use --fresh to begin anew" in done.stderr
    assert gs2(*words, "--lock", "king.json", "--fresh").exit_code == 0
