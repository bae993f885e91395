"""The inputs of climbing games' networks against slow twins, on generated states."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.climbing import big2_inputs
from blueprint.climbing.doudizhu_inputs import MOVE_BLOCKS, SEAT_BLOCKS
from blueprint.climbing.move_inputs import move_inputs
from blueprint.protocol import MoveInputs
from blueprint.row_layout import Blocks, block_starts, rows_hash
from games import load_game
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.multiset import RANK_LETTERS
from games.ragged import Ragged
from games.support.array_types import Rows
from tests.blueprint.climbing.random_rounds import moves_of, rows_of, swapped
from tests.games.climbing.big2.test_big2 import VARIANTS
from tests.patience import amount
from tests.reference.climbing.big2_rows import big2_hidden_bits, big2_move_blocks, big2_seat_blocks
from tests.reference.climbing.doudizhu_rows import hidden_blocks, move_blocks, seat_blocks

DOUDIZHU = ("doudizhu", "doudizhu(landlord=bid)", "doudizhu(ranks=7)")


def positions(inputs: MoveInputs, rounds: int, rng: np.random.Generator) -> Rows:
    """Return states of random rounds: every third of each, and its end."""
    states = inputs.deal(rounds, rng)
    found = [states.copy()]
    for step in range(1, 400):
        states = states[states["player"] >= 0]
        if not len(states):
            break
        legal = inputs.legal(states)
        pick = (rng.random(len(states)) * legal.counts).astype(np.int64)
        inputs.act(states, legal.values[legal.offsets[:-1] + pick])
        if step % 3 == 0 or step > 60:
            found.append(states.copy())
    return np.concatenate(found)


def blocks_of(row: NDArray[np.uint8], blocks: Blocks) -> dict[str, list[int]]:
    """Return a row by its blocks' names."""
    starts = block_starts(blocks)._asdict()
    return {name: row[starts[name] : starts[name] + width].tolist() for name, width in blocks}


def same(row: NDArray[np.uint8], blocks: Blocks, twin: dict[str, list[int]]) -> None:
    """Check a row against its twin, whose blocks may end early: what it does not name is 0."""
    found = blocks_of(row, blocks)
    assert not twin.keys() - found.keys()
    for name, bits in found.items():
        wanted = twin.get(name, [])
        assert bits == wanted + [0] * (len(bits) - len(wanted)), name


def legal_of(inputs: MoveInputs, states: Rows) -> tuple[Ragged, Any]:
    """Return the legal moves of states at which a seat acts, and their rows."""
    legal = inputs.legal(states)
    return legal, moves_of(inputs, states, states["player"].astype(np.int64), legal)


@pytest.mark.parametrize("name", DOUDIZHU)
def test_a_row_of_doudizhu_says_what_the_slow_twin_says(name: str) -> None:
    game = load_game(name, general_sum=True)
    inputs = move_inputs(game)
    rng = np.random.default_rng(3)
    states = positions(inputs, amount(12, 5), rng)
    ranks = 7 if "7" in name else 13
    deck = Counter(dict.fromkeys(RANK_LETTERS[:ranks], 4) | {"B": 1, "R": 1})
    seats = rng.integers(0, 3, len(states))
    seen, hidden = rows_of(inputs, states, seats)
    for k, state in enumerate(states):
        same(seen[k], SEAT_BLOCKS, seat_blocks(state, int(seats[k]), deck))
        assert hidden[k].tolist() == hidden_blocks(state, int(seats[k]))
    states = states[states["player"] >= 0]
    legal, out = legal_of(inputs, states)
    for j in rng.integers(0, len(legal.values), amount(600, 200)):
        row = int(np.searchsorted(legal.offsets, j, side="right")) - 1
        state = states[row]
        same(out[j], MOVE_BLOCKS, move_blocks(state, int(state["player"]), int(legal.values[j]), deck))


@pytest.mark.parametrize("options", VARIANTS)
def test_a_row_of_big2_says_what_the_slow_twin_says(options: dict[str, Any]) -> None:
    game = Big2(**options)
    inputs = move_inputs(game)
    rng = np.random.default_rng(4)
    states = positions(inputs, 5, rng)
    seats = rng.integers(0, game.num_players, len(states))
    seen, hidden = rows_of(inputs, states, seats)
    for k, state in enumerate(states):
        same(seen[k], big2_inputs.SEAT_BLOCKS, big2_seat_blocks(game, state, int(seats[k])))
        assert hidden[k].tolist() == big2_hidden_bits(game, state, int(seats[k]))
    states = states[states["player"] >= 0]
    legal, out = legal_of(inputs, states)
    for j in rng.integers(0, len(legal.values), amount(200, 40)):
        state = states[int(np.searchsorted(legal.offsets, j, side="right")) - 1]
        twin = big2_move_blocks(game, state, int(state["player"]), int(legal.values[j]))
        same(out[j], big2_inputs.MOVE_BLOCKS, twin)


@pytest.mark.parametrize(("players", "stays_out"), [(2, True), (3, False), (4, False), (4, True)])
def test_a_row_of_big2_tells_of_the_passes_that_were_made_and_of_no_others(
    players: int, stays_out: bool
) -> None:
    game = Big2(players=players, stays_out=stays_out)
    inputs = move_inputs(game)
    assert (inputs.layout == move_inputs(Big2()).layout) == (not stays_out)
    at, width = block_starts(big2_inputs.SEAT_BLOCKS).refused, dict(big2_inputs.SEAT_BLOCKS)["refused"]
    rng = np.random.default_rng(6)
    for state in inputs.deal(4, rng):
        states = np.array([state])
        passed = np.zeros((players, width // 3), np.uint8)  # of each seat, on what
        while (who := int(states["player"][0])) >= 0:
            seen, _ = rows_of(inputs, np.repeat(states, players), np.arange(players))
            for seat in range(players):
                told = seen[seat, at : at + width].reshape(3, -1)[: players - 1]
                assert np.array_equal(told, passed[(seat + np.arange(1, players)) % players])
            legal = inputs.legal(states).values
            word = legal[0] if rng.random() < 0.5 else rng.choice(legal)
            if word == 0:
                beat = [c for c in range(52) if int(states["beat"][0]) >> c & 1]
                place = {1: beat[0] // 4, 2: 13 + beat[0] // 4, 3: 26, 5: 27}[len(beat)]
                passed[who, place] = 1
            inputs.act(states, np.array([word]))
        assert passed.any()


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
def test_a_row_does_not_tell_what_is_hidden(name: str) -> None:
    game = load_game(name)
    inputs = move_inputs(game)
    rng = np.random.default_rng(5)
    states = positions(inputs, 10, rng)
    seats = rng.integers(0, game.num_players, len(states))
    seen, hidden = rows_of(inputs, states, seats)
    changed, alike = swapped(states, seats, game.num_players)
    if name == "doudizhu":
        alike &= states["landlord"] == seats
    again, other = rows_of(inputs, changed, seats)
    assert alike.sum() > 10
    assert np.array_equal(seen[alike], again[alike])
    assert np.any(hidden[alike] != other[alike])


def test_a_layout_is_named_by_what_it_is() -> None:
    assert rows_hash(1, SEAT_BLOCKS) != rows_hash(2, SEAT_BLOCKS)
    assert rows_hash(1, SEAT_BLOCKS) != rows_hash(1, SEAT_BLOCKS[:-1])
    assert block_starts((("a", 2), ("b", 3)))._asdict() == {"a": 0, "b": 2}
