"""The sequence form and its layout in memory, beside the tree they came from."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from cfr.engine import layout as layouts
from cfr.engine.layout import MEMBERS, Layout, make_layout
from cfr.sequence_form import SequenceForm, is_two_sided, sequence_form, transpose
from cfr.solver import Solver
from cfr.tree import InvalidTree, grow
from cfr.tree.flat import ImperfectRecall
from games import load_game
from tests.cfr.trees import SMALL, random_tree, tree_of


def matrix(form: SequenceForm) -> csr_array:
    shape = tuple(plex.n_sequences for plex in form.sides)
    return csr_array((form.payoff, form.column, form.row_start), shape=shape)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.some(4)
def test_sequences_follow_the_tree(seed: int) -> None:
    tree = random_tree(seed, levels=7)
    form = sequence_form(tree)
    np.testing.assert_array_equal(form.infoset_offset, tree.infoset_offset)
    assert form.payoff_scale == np.abs(tree.returns).max()
    assert form.total_weight == pytest.approx(tree.chance_prob[: tree.n_roots].sum())
    assert sorted(np.concatenate([plex.infoset for plex in form.sides])) == list(range(tree.n_infosets))
    for plex in form.sides:
        assert plex.slot[0] == -1
        assert (plex.parent < plex.start[:-1]).all()
        for i, infoset in enumerate(plex.infoset):
            first, last = tree.infoset_offset[infoset : infoset + 2]
            np.testing.assert_array_equal(
                plex.slot[plex.start[i] : plex.start[i + 1]], np.arange(first, last)
            )
            for node in np.flatnonzero(tree.infoset == infoset):
                slot = -1
                while tree.parent[node] >= 0 and slot < 0:
                    up = tree.parent[node]
                    if tree.player[up] == plex.player:
                        slot = tree.infoset_offset[tree.infoset[up]] + node - tree.first_child[up]
                    node = up
                assert plex.slot[plex.parent[i]] == slot


def pay(layout: Layout, side: int, plan: np.ndarray) -> np.ndarray:
    """Return the utilities of a side's sequences from its boxes, one box at a time."""
    own, other, boxes = layout.sides[side], layout.sides[1 - side], layout.boxes[side]
    by_position = np.zeros(other.n_positions)
    by_position[other.position] = plan
    value = np.zeros(own.n_positions)
    met = set()
    for tile in range(len(other.tile_bundle)):
        mine = slice(boxes.start[tile], boxes.start[tile + 1])
        for (first, start, cell, bundle), (fours, n) in zip(boxes.box[mine], boxes.shape[mine], strict=True):
            assert other.tile_position[tile] <= start < other.tile_position[tile + 1]
            cells = boxes.pool[cell : cell + n * fours * 4].reshape(n, fours * 4)
            value[first : first + fours * 4] += by_position[start : start + n] @ cells
            met.add(int(bundle))
    assert met <= set(own.tile_bundle.tolist())
    return value[own.position]


@pytest.mark.parametrize(("max_fill", "tile_size"), [(4.0, 16), (0.0, 16), (0.0, 4), (1e9, 4)], ids=str)
@pytest.mark.parametrize("source", [*SMALL, 0, 1, 2])
@pytest.mark.some(7)
def test_boxes_hold_exactly_the_payoff_matrix(
    source: str | int, max_fill: float, tile_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "MAX_FILL", max_fill)
    monkeypatch.setattr(layouts, "TILE_SIZE", tile_size)
    tree = random_tree(source, levels=8, width=4) if isinstance(source, int) else tree_of(source)
    form = sequence_form(tree)
    rows = (form.row_start, form.column, form.payoff)
    plexes = tuple((plex.start, plex.parent) for plex in form.sides)
    layout = make_layout(plexes, rows, transpose(*rows, form.sides[1].n_sequences))
    rng = np.random.default_rng(0)
    y, x = rng.random(form.sides[1].n_sequences), rng.random(form.sides[0].n_sequences)
    np.testing.assert_allclose(pay(layout, 0, y), matrix(form) @ y, atol=1e-12)
    np.testing.assert_allclose(pay(layout, 1, x), -(matrix(form).T @ x), atol=1e-12)
    for side, plex in zip(layout.sides, form.sides, strict=True):
        assert len(set(side.position.tolist())) == plex.n_sequences
        assert side.position.max(initial=0) < side.n_positions


def test_private_cards_under_one_public_history_form_one_bundle() -> None:
    layout = sequence_form(tree_of("liars_dice(sides=4)")).layout
    for side in layout.sides:
        assert set(side.bundle[1:, MEMBERS].tolist()) == {4}
    assert layout.n_distinct < 20
    assert layout.n_cells == 4080


@pytest.mark.parametrize("source", ["leduc", "goofspiel(cards=4)", 3])
@pytest.mark.parametrize("name", ["cfr+", "pdcfr+"])
@pytest.mark.some(3)
def test_the_width_of_vectors_changes_no_bit(
    source: str | int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = random_tree(source, levels=8, width=4) if isinstance(source, int) else tree_of(source)
    found = []
    for width in (4, 8):
        monkeypatch.setattr(layouts, "WIDTHS", (width, width))
        solver = Solver(tree, name)
        assert {side.width for side in solver.form.layout.sides} == {width}
        solver.run(30)
        found.append(solver.state_dict())
    for key in ("regret", "prediction", "policy", "strategy_sum", "stamp", "marked"):
        np.testing.assert_array_equal(found[0][key], found[1][key])


def test_forgetting_ones_own_action_is_refused_by_name() -> None:
    tree = tree_of("kuhn")
    second = [
        i
        for i in np.flatnonzero(tree.infoset_player == 0).tolist()
        if tree.parent[np.flatnonzero(tree.infoset == i)[0]] >= 0
        and tree.player[tree.parent[np.flatnonzero(tree.infoset == i)[0]]] == 1
    ]
    merged = np.where(tree.infoset == second[1], second[0], tree.infoset).astype(np.int32)
    with pytest.raises(ImperfectRecall, match=f"got infoset {second[0]} .* of player 0 after different ones"):
        sequence_form(replace(tree, infoset=merged))
    game = load_game("kuhn_poker")
    said = set()
    for keep_states in (True, False):
        with pytest.raises(ImperfectRecall) as refused:
            sequence_form(replace(grow(game, keep_states=keep_states), infoset=merged), game)
        said.add(str(refused.value))
    (words,) = said
    histories = {game.state_text(state) for state in grow(game).states}  # type: ignore[union-attr]
    named = re.findall(r"got '(.*)' and '(.*)' of player 0 after different ones", words)
    assert set(named[0]) <= histories and len(set(named[0])) == 2 and "0x" not in words


def test_what_has_no_sequence_form_is_refused() -> None:
    for teams in ((0,), (1,), (0, 0), (0, 1, 2)):
        tree = random_tree(2, teams=teams)
        assert not is_two_sided(tree)
        with pytest.raises(InvalidTree, match="there must be two teams"):
            sequence_form(tree)
    with pytest.raises(InvalidTree, match=r"at most one seat of each team may decide.*cfr\.tree_cfr"):
        sequence_form(random_tree(1, teams=(0, 1, 1), levels=7))
    tree = tree_of("kuhn")
    with pytest.raises(InvalidTree, match="must sum to zero at every leaf; got a sum of 1"):
        sequence_form(replace(tree, returns=tree.returns + 0.5))


def test_a_seat_that_never_decides_has_the_empty_sequence_only() -> None:
    alone = random_tree(5, deciding=1)
    form = sequence_form(alone)
    assert [plex.n_sequences for plex in form.sides] == [1 + alone.n_slots, 1]
    solver = Solver(form)
    solver.run(50)
    value, best = solver.evaluate()
    assert value == pytest.approx(best[0], abs=1e-3)
    assert best[1] == pytest.approx(-value, abs=1e-12)
