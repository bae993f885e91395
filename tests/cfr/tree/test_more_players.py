"""More than two players and payoffs that do not sum to zero, against OpenSpiel's own NashConv."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cfr import (
    grow,
    nash_conv,
    solve,
    solve_lp,
    tabular_policy,
    uniform_policy,
)
from cfr.sequence_form import is_two_sided, sequence_form
from cfr.tree import InvalidTree
from games import load_game
from games.openspiel.names import openspiel_game
from gs2.search.context import SearchContext

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


def agree(name: str, seed: int) -> None:
    """Check the NashConv of uniform play, or with another seed than 0 of random play, by OpenSpiel's."""
    game = load_game(f"openspiel:{name}", general_sum=True)
    tree = grow(game, keep_states=False)
    probs = uniform_policy(tree)
    if seed:
        weights = np.random.default_rng(seed).random(tree.n_slots) + 0.01
        sums = np.add.reduceat(weights, tree.infoset_offset[:-1])
        probs = weights / np.repeat(sums, np.diff(tree.infoset_offset))
    theirs = tabular_policy(game.name, tree, probs).to_openspiel()
    wanted = pyspiel.nash_conv(openspiel_game(game), theirs, True)
    assert nash_conv(tree, probs) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_nash_conv_is_that_of_openspiel(name: str, seed: int) -> None:
    agree(name, seed)


@pytest.mark.long
def test_nash_conv_of_leduc_for_three_is_that_of_openspiel() -> None:
    agree("leduc_poker(players=3)", 0)


@pytest.mark.parametrize(
    "name", ["kuhn_poker(players=3)", "tiny_hanabi", "first_sealed_auction(max_value=4)"]
)
def test_cfr_lowers_what_the_seats_can_gain(name: str) -> None:
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
