"""Big2 keeps the contract of a game, whatever the rules, and can be solved where it is small."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from cfr.tree import grow
from cfr.tree_cfr import TreeSolver
from games import CHANCE, TERMINAL, GameError
from games.climbing.big2.big2 import Big2
from tests.games.climbing.big2.boards import VARIANTS, OneAgainstTheRest
from tests.games.random_games import check_quickly

SMALL: tuple[dict[str, Any], ...] = (
    {"players": 2, "ranks": 3, "suits": 2, "cards": 2, "opening": "holder"},
    {"players": 2, "ranks": 3, "suits": 2, "cards": 2, "opening": "first", "must_play": True},
    {"players": 3, "ranks": 6, "suits": 1, "settling": "pairs", "triple_from": 2, "stays_out": True},
    {"players": 4, "ranks": 4, "suits": 1, "cards": 1},
)
SOLVED = 1e-3
"""NashConv / 2 in points that CFR comes to; it need not with three players, but does here."""


@pytest.mark.parametrize(
    "options", [SMALL[0], *(pytest.param(each, marks=pytest.mark.long) for each in SMALL[1:])], ids=str
)
def test_small_games_keep_the_contract_at_every_history(options: dict[str, Any]) -> None:
    report = check_quickly(OneAgainstTheRest(**options), np.random.default_rng(0), max_width=20_000)
    assert report.complete
    assert min(report.infosets[:1]) > 0


@pytest.mark.parametrize("number", (0, 6))
def test_large_games_keep_the_contract_at_random_histories(number: int) -> None:
    report = check_quickly(OneAgainstTheRest(**VARIANTS[number]), np.random.default_rng(1), max_width=5)
    assert not report.complete
    assert report.terminals > 0


def test_the_smallest_and_largest_payoffs_of_three_and_four_seats_are_met() -> None:
    for options in (*SMALL[2:], {"players": 3, "ranks": 4, "suits": 2, "cards": 2, "settling": "pairs"}):
        game = Big2(**options)
        returns = grow(game, keep_states=False).returns
        assert (returns.min(), returns.max()) == game.payoff_range
        assert np.abs(returns.sum(1)).max() == 0


def test_every_seat_is_a_team_of_its_own() -> None:
    assert Big2().teams == (0, 1, 2, 3)
    assert Big2(players=3).teams == (0, 1, 2)
    assert Big2(players=2).teams == (0, 1)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_histories_of_different_depths_share_a_batch(options: dict[str, Any]) -> None:
    game = Big2(**options)
    rng = np.random.default_rng(2)
    met = [game.root()]
    while len(now := met[-1][game.player(met[-1]) != TERMINAL]):
        actions = game.actions(now)
        pick = rng.choice(len(actions.values), min(4, len(actions.values)), replace=False)
        met.append(game.step(now, actions.rows[pick], actions.values[pick]))
    mixed = rng.permutation(np.concatenate(met))
    actions = game.actions(mixed)
    probs = game.chance_probs(mixed, actions)
    together = game.step(mixed, actions.rows, actions.values)
    keys = [game.infoset_key(mixed, seat) for seat in range(game.num_players)]
    at = 0
    for row in range(len(mixed)):
        alone = game.actions(mixed[row : row + 1])
        after = game.step(mixed[row : row + 1], alone.rows, alone.values)
        assert np.array_equal(alone.values, actions[row])
        assert after.tobytes() == together[at : at + len(after)].tobytes()
        assert np.array_equal(game.chance_probs(mixed[row : row + 1], alone), probs[at : at + len(after)])
        for seat, key in enumerate(keys):
            assert np.array_equal(game.infoset_key(mixed[row : row + 1], seat)[0], key[row])
        at += len(after)


@pytest.mark.parametrize("options", (*SMALL, *VARIANTS), ids=str)
def test_games_are_described_by_their_names_and_can_be_sent_to_workers(options: dict[str, Any]) -> None:
    game = Big2(**options)
    assert game.name.startswith("big2")
    assert all(
        p.name == "cards" or f"{p.name}=" in game.name
        for p in Big2.parameters
        if options.get(p.name, p.default) != p.default
    )
    sent = pickle.loads(pickle.dumps(game))
    assert sent.name == game.name
    assert sent.actions(sent.root()).values.tolist() == game.actions(game.root()).values.tolist()


def test_one_game_has_one_name() -> None:
    assert Big2(players=4, cards=13).name == Big2().name == "big2"
    assert Big2(players=2, cards=13).name == "big2(players=2,cards=13)"


def test_deals_by_chance_are_uniform() -> None:
    game = Big2(players=2, ranks=3, suits=2, cards=2)
    states, chance = game.root(), np.ones(1)
    while np.any(game.player(states) == CHANCE):
        actions = game.actions(states)
        chance = chance[actions.rows] * game.chance_probs(states, actions)
        states = game.step(states, actions.rows, actions.values)
    assert len(states) == 6 * 5 * 4 * 3 // 4
    np.testing.assert_allclose(chance, 1 / 90, atol=1e-15)
    # and `dealt` draws the same ones
    drawn = game.sample_deals(9000, np.random.default_rng(0))
    assert {row.tobytes() for row in drawn} == {row.tobytes() for row in states}


@pytest.mark.parametrize(
    "options",
    [
        {"players": 2, "ranks": 3, "suits": 2, "cards": 3},
        {"players": 3, "ranks": 3, "suits": 2, "cards": 2},
        {"players": 4, "ranks": 4, "suits": 1, "cards": 1, "opening": "holder"},
    ],
    ids=str,
)
def test_cfr_on_the_tree_leaves_no_seat_much_to_gain(options: dict[str, Any]) -> None:
    solver = TreeSolver(grow(Big2(**options), keep_states=False))
    first = solver.exploitability()
    solver.run(400)
    assert solver.exploitability() <= max(SOLVED, first / 1000) or first == 0


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"players": 5}, r"players must be an integer in \[2, 4\]; got 5"),
        ({"ranks": 3, "suits": 2, "cards": 2}, "must be at most ranks times suits, 6; got 8"),
        ({"ranks": 3, "suits": 1}, "must be at most ranks times suits, 3; got 4"),
        ({"bombs": "all"}, "bombs must be one of none, quads, both; got 'all'"),
        ({"rank": 3}, "no parameter is called 'rank'; it has players, ranks"),
    ],
)
def test_rules_that_are_none_are_refused(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(GameError, match=complaint):
        Big2(**values)
