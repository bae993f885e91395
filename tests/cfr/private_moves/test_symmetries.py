"""A walk over one of several like parts of a board gives what a walk over all of it gives."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from cfr.private_moves.form import PrivateMovesForm, list_private_moves
from cfr.private_moves.solver import PrivateMovesSolver
from cfr.private_moves.symmetries import Symmetries
from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from cfr.tree import grow
from games import load_game
from games.infosets.private_moves import Placements
from games.research.phantom import PhantomGame
from tests.cfr.private_moves.test_form import drawn


def moved(masks: np.ndarray, to: tuple[int, ...]) -> np.ndarray:
    """Return masks whose cells are exchanged."""
    return sum((masks >> cell & 1) << there for cell, there in enumerate(to))


def generated(seed: int, *, most: int = 5) -> PhantomGame:
    """Return a game of 3 cells to `most`, whose random winning sets two random exchanges keep."""
    rng = np.random.default_rng(seed)
    cells, abrupt = int(rng.integers(3, most + 1)), bool(rng.integers(2))
    masks = np.arange(1 << cells)
    wins = rng.random((2, len(masks))) < rng.choice([0.05, 0.2])
    wins[:, [int(mask).bit_count() < 2 for mask in masks]] = False
    selves = [to for to in permutations(range(cells)) if all(to[to[cell]] == cell for cell in range(cells))]
    kept = [selves[choice] for choice in rng.integers(len(selves), size=2)]
    for to in kept * cells:
        wins = wins | wins[:, moved(masks, to)]
    return PhantomGame(f"symmetric({seed})", Placements(cells, wins, abrupt), 3)


def drawn_alike(form: PrivateMovesForm, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random policies, a third of their rows pure at first, that the symmetries keep."""
    policy = drawn(form, np.random.default_rng(seed))
    for player in (0, 1):
        form.symmetries.add(player, policy[player], mean=True)
    return policy


def test_boards_have_their_symmetries() -> None:
    for name, size in (("phantom_ttt", 8), ("dark_hex", 2), ("dark_hex(size=2,abrupt=true)", 2)):
        symmetries = Symmetries(load_game(name).placements, ())
        assert symmetries.size == size == 2 ** len(symmetries.reflections)
    # Only player 0 wins, by cells 0 and 1 or all four: they can be exchanged, 2 and 3 too.
    wins = np.zeros((2, 16), bool)
    wins[0, [0b0011, 0b1111]] = True
    assert Symmetries(Placements(4, wins, False), ()).size == 4
    wins[1, 0b0101] = True
    form = list_private_moves(PhantomGame("none", Placements(4, wins, False), 3))
    assert form.symmetries.size == 1 and not form.symmetries.keeps(form.uniform())
    assert form.symmetries.nbytes == 0


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.some(4)
def test_gains_are_those_of_all_parts(seed: int) -> None:
    form = list_private_moves(generated(seed))
    symmetries, rules = form.symmetries, form.game.placements
    masks = np.arange(1 << rules.cells)
    for to in symmetries.reflections:
        assert np.array_equal(rules.wins, rules.wins[:, moved(masks, to)])
    parts = [part for parts in symmetries.parts(True) for part in parts]
    assert sum(weight for *_, weight in parts) * symmetries.size == pytest.approx(rules.cells**2)
    policy = drawn_alike(form, seed)
    assert symmetries.keeps(policy) == (symmetries.size > 1)
    reach = form.reaches(policy)
    for wanted in (1, 2, 3):
        few = form.gains(reach, wanted=wanted, symmetric=True, threads=2)
        for ours, whole in zip(few, form.gains(reach, wanted=wanted), strict=True):
            assert ours == pytest.approx(whole, abs=1e-12)


def test_one_row_without_its_image_takes_the_whole_walk() -> None:
    for seed in range(40):
        form = list_private_moves(generated(seed, most=4))
        rng = np.random.default_rng(seed)
        player, policy = int(rng.integers(2)), drawn_alike(form, seed)
        side = form.sides[player]
        row = int(rng.choice(np.flatnonzero(np.diff(side.first) > 1)))
        ends = slice(side.first[row], side.first[row + 1])
        policy[player][ends] = rng.dirichlet(np.ones(ends.stop - ends.start))
        assert not form.symmetries.keeps(policy)
        reach = form.reaches(policy)
        assert form.evaluate(policy).value == float(form.gains(reach)[0] @ reach[0])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.some(3)
def test_cfr_makes_the_policies_of_the_listed_game(seed: int) -> None:
    game = generated(seed, most=4)
    form, tree = list_private_moves(game), grow(game)
    for variant in ("dcfr+", "cfr", "pcfr+"):
        ours, listed = PrivateMovesSolver(form, variant), Solver(sequence_form(tree, game), variant)
        ours.run(15)
        listed.run(15)
        assert form.symmetries.size == 1 or form.symmetries.keeps(ours.policy)
        found, (value, best) = ours.evaluate(), listed.evaluate()
        assert found.value == pytest.approx(value, abs=1e-9)
        assert found.best_response == pytest.approx(best, abs=1e-9)
