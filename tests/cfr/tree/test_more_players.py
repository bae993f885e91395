"""More than two players and payoffs that do not sum to zero, against OpenSpiel's own NashConv."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfr import grow, nash_conv, solve, solve_lp, tabular_policy, uniform_policy
from cfr.sequence_form import is_two_sided, sequence_form
from cfr.tree import InvalidTree
from cfr.values import root_values
from games import load_game
from games.openspiel.direct import openspiel_game
from gs2.search.context import SearchContext
from tests.cfr.trees import random_policy

pyspiel = pytest.importorskip("pyspiel")

GAMES = (
    "kuhn_poker(players=3)",
    "tiny_hanabi",
    "first_sealed_auction(max_value=4)",
    "first_sealed_auction(players=3,max_value=3)",
    "matching_pennies_3p",
    "matrix_pd",
    "goofspiel(players=3,imp_info=True,num_cards=3)",
    "goofspiel(imp_info=True,num_cards=3,returns_type=total_points)",
)


@pytest.mark.parametrize("name", [*GAMES, pytest.param("leduc_poker(players=3)", marks=pytest.mark.long)])
def test_values_and_nash_conv_are_those_of_openspiel(name: str) -> None:
    game = load_game(f"openspiel:{name}", general_sum=True)
    tree, other = grow(game, keep_states=False), openspiel_game(game)
    for probs in (uniform_policy(tree), random_policy(tree, 1, zeros=0.4)):
        theirs = tabular_policy(game.name, tree, probs).to_openspiel()
        values = pyspiel.expected_returns(other.new_initial_state(), theirs, -1, True)
        assert root_values(tree, probs) == pytest.approx(values, abs=1e-9)
        assert nash_conv(tree, probs) == pytest.approx(pyspiel.nash_conv(other, theirs, True), abs=1e-9)


def test_cfr_lowers_what_the_seats_can_gain() -> None:
    for name in ("tiny_hanabi", "first_sealed_auction(max_value=4)"):
        tree = grow(load_game(f"openspiel:{name}", general_sum=True), keep_states=False)
        assert not is_two_sided(tree)
        found = solve(tree, iterations=300)
        assert found.exploitability == pytest.approx(nash_conv(tree, found.policy) / 2)
        assert found.exploitability < nash_conv(tree, uniform_policy(tree)) / 20


def test_what_is_not_defined_is_refused_by_name_with_the_way_out() -> None:
    for name in ("kuhn_poker(players=3)", "matrix_pd"):
        game = load_game(f"openspiel:{name}", general_sum=True)
        tree = grow(game)
        for refused in (sequence_form, solve_lp):
            with pytest.raises(
                InvalidTree, match=r"sequence form: .*there is no LP and no search.*cfr\.solve"
            ):
                refused(tree)
    with pytest.raises(ValueError, match=r"needs payoffs that sum to zero.*gs2 blueprint.*exploitability"):
        SearchContext(load_game("openspiel:matrix_pd", general_sum=True))


def test_constant_sum_games_of_openspiel_are_shifted(tmp_path: Path) -> None:
    path = tmp_path / "constant.efg"
    path.write_text(
        'EFG 2 R "" { "A" "B" }\np "" 1 1 "" { "x" "y" } 0\nt "" 1 "" { 1, 9 }\nt "" 2 "" { 6, 4 }\n'
    )
    game = load_game(f"openspiel:efg_game(filename={path})")
    assert game.shift == 5 and game.payoff_range == (-4, 4)
    assert solve_lp(grow(game)).value == pytest.approx(1)
