"""The form of private moves agrees with the listed game, OpenSpiel, and published sizes and figures."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value
from cfr.private_moves.form import Both, PrivateMovesError, PrivateMovesForm, list_private_moves
from cfr.private_moves.solver import PrivateMovesSolver
from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from cfr.tree import FlatTree, grow
from cfr.variants import VARIANTS
from games import GameError, load_game
from games.infosets.naming import ACTS
from games.infosets.private_moves import Placements
from games.research.phantom import PhantomGame

TOLERANCE = 1e-12
PRINTED = 2e-6
"""The printed figures have six digits; their program sums in single precision."""


def generated(seed: int) -> PhantomGame:
    """Return a game on a board of 3 or 4 cells, with random sets of stones that win."""
    rng = np.random.default_rng(seed)
    cells, abrupt = int(rng.integers(3, 5)), bool(rng.integers(2))
    masks = np.arange(1 << cells)
    enough = np.array([int(mask).bit_count() for mask in masks]) > 1
    wins = enough & (rng.random((2, len(masks))) < rng.choice([0.1, 0.4]))
    return PhantomGame(f"generated({seed})", Placements(cells, wins, abrupt), 3)


def on_tree(form: PrivateMovesForm, tree: FlatTree, policy: Both) -> np.ndarray:
    """Return a policy of the form on the slots of the listed game."""
    base = 2 * form.game.placements.cells + 1
    where = {}
    for infoset, (player, key) in enumerate(zip(tree.infoset_player, tree.infoset_key, strict=True)):
        where[int(player), int(key[0])] = infoset
    assert len(where) == sum(side.n_infosets for side in form.sides)
    out = np.full(tree.n_slots, np.nan)
    for player, side in enumerate(form.sides):
        for infoset in range(side.n_infosets):
            key = 0
            for cell, failed in side.tries(infoset):
                key = key * base + 2 * cell + failed + 1
            at = tree.infoset_offset[where[player, 4 * key + ACTS]]
            mine = policy[player][side.first[infoset] : side.first[infoset + 1]]
            out[at : at + len(mine)] = mine
    assert not np.isnan(out).any()
    return out


def drawn(form: PrivateMovesForm, rng: np.random.Generator) -> Both:
    """Return random policies, a third of whose rows are pure."""
    found = []
    for even, side in zip(form.uniform(), form.sides, strict=True):
        policy = even * rng.random(len(even)) + 1e-9
        for first, last in zip(side.first[:-1], side.first[1:], strict=True):
            if rng.random() < 1 / 3:
                policy[first:last] = np.arange(first, last) == rng.integers(first, last)
            policy[first:last] /= policy[first:last].sum()
        policy[0] = 1.0
        found.append(policy)
    return found[0], found[1]


GAMES = ["dark_hex(size=2)", "dark_hex(size=2,abrupt=true)", *range(8)]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(6)
def test_random_policies_are_worth_what_they_are_in_the_listed_game(name: str | int) -> None:
    game = load_game(name) if isinstance(name, str) else generated(name)
    form, tree = list_private_moves(game), grow(game)
    listed = sequence_form(tree, game)
    rng = np.random.default_rng(5)
    for _ in range(2):
        policy = drawn(form, rng)
        found, probs = form.evaluate(policy, threads=2), on_tree(form, tree, policy)
        assert found.value == pytest.approx(expected_value(listed, probs), abs=TOLERANCE)
        assert found.best_response == pytest.approx(best_response_values(listed, probs), abs=TOLERANCE)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.some(3)
def test_every_variant_makes_the_same_policies_as_on_the_listed_game(variant: str) -> None:
    for name in ("dark_hex(size=2,abrupt=true)", "dark_hex(size=2)"):
        game = load_game(name)
        form, tree = list_private_moves(game), grow(game)
        ours, listed = PrivateMovesSolver(form, variant), Solver(sequence_form(tree, game), variant)
        ours.run(20)
        listed.run(20)
        found = ours.evaluate()
        value, best = listed.evaluate()
        assert found.value == pytest.approx(value, abs=1e-9)
        assert found.best_response == pytest.approx(best, abs=1e-9)


def test_tables_come_back_as_they_were_and_bad_rows_are_refused_by_name() -> None:
    form = list_private_moves(load_game("dark_hex(size=2)"))
    policy = drawn(form, np.random.default_rng(1))
    for player in (0, 1):
        assert np.array_equal(form.from_rows(form.rows(policy[player], player), player), policy[player])
    table = form.rows(form.uniform()[1], 1)
    with pytest.raises(PrivateMovesError, match="a row for"):
        form.from_rows(table[:-1], 1)
    row = form.sides[1].infoset([(0, True)])
    for cell, number, says in ((1, np.nan, "sum to 1"), (0, 0.25, "tried before")):
        bad = table.copy()
        bad[row, cell] = number
        with pytest.raises(PrivateMovesError, match=says) as error:
            form.from_rows(bad, 1)
        assert "P1 a1-taken" in str(error.value)
    with pytest.raises(GameError, match="must have `placements`"):
        list_private_moves(load_game("kuhn_poker"))


def first_wins_at_random(wins: np.ndarray) -> float:
    """Return the value of uniform play of dark hex: every tried cell that is free is as likely as another.

    The board fills up at random, and exactly one player joins its sides; who does is known from all stones.
    """
    fillings = list(combinations(range(9), 5))
    return 2 * sum(wins[0, sum(1 << cell for cell in stones)] for stones in fillings) / len(fillings) - 1


@pytest.mark.long
def test_dark_hex_has_the_published_size_and_exploitability() -> None:
    form = list_private_moves(load_game("dark_hex"))
    assert [side.n_infosets for side in form.sides] == [3_720_850, 2_352_067]
    found = form.evaluate(form.uniform())
    assert found.exploitability == pytest.approx(0.916403, abs=PRINTED)
    assert found.value == pytest.approx(first_wins_at_random(form.game.placements.wins), abs=1e-10)


@pytest.mark.long
def test_phantom_tic_tac_toe_has_the_size_that_its_moves_give() -> None:
    form = list_private_moves(load_game("phantom_ttt"))
    assert [side.n_infosets for side in form.sides] == [3_683_314, 2_307_355]
    # Uniform play fills the board at random: the first player of open tic-tac-toe then wins 737 of 1,260
    # games and loses 363 of them.
    assert form.evaluate(form.uniform()).value == pytest.approx((737 - 363) / 1260, abs=1e-10)
