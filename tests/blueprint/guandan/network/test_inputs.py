"""What the network sees is what the seat knows, and can be read back."""

from __future__ import annotations

import functools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.guandan.network.inputs import (
    ACTION_BLOCKS,
    ACTION_WIDTH,
    HIDDEN_BLOCKS,
    HIDDEN_WIDTH,
    STATE_BLOCKS,
    STATE_WIDTH,
    encode_actions,
    encode_full,
    encode_states,
)
from blueprint.protocol import Decisions
from games.guandan.cards import PASS, unpack
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.state import NOBODY
from games.support.array_types import Array, Ints
from tests.blueprint.guandan.positions import some_decisions


@functools.cache
def decisions() -> Decisions:
    """Return the positions of this module, played once and not before they are needed."""
    return some_decisions(10, seed=5)


@functools.cache
def state_inputs() -> Array:
    return encode_states(decisions().states, decisions().seats)


@functools.cache
def action_inputs() -> Array:
    return encode_actions(decisions())


@functools.cache
def owners() -> Ints:
    """Return the decision of each legal move."""
    return np.repeat(decisions().rows, np.diff(decisions().offsets))


def block(rows: NDArray, blocks: tuple[tuple[str, int], ...], name: str) -> NDArray[np.int64]:
    """Return one block of encoded rows."""
    start = 0
    for other, width in blocks:
        if other == name:
            return rows[:, start : start + width].astype(np.int64)
        start += width
    raise KeyError(name)


def hidden_features(states: NDArray, seats: NDArray) -> NDArray[np.uint8]:
    """Return what the critic sees beyond a state's features."""
    full = encode_full(states, seats)
    assert np.array_equal(full[:, :STATE_WIDTH], encode_states(states, seats))
    return full[:, STATE_WIDTH:]


def hands(seats: NDArray) -> NDArray[np.int64]:
    """Return the hand of each decision's seat in `seats`, [n, 54]."""
    return unpack(decisions().states["hand"][decisions().rows, seats]).astype(np.int64)


def test_rows_are_as_wide_as_their_blocks_and_hold_bits_but_for_played_counts() -> None:
    for rows, blocks, width in (
        (state_inputs(), STATE_BLOCKS, STATE_WIDTH),
        (action_inputs(), ACTION_BLOCKS, ACTION_WIDTH),
        (hidden_features(decisions().states, decisions().seats), HIDDEN_BLOCKS, HIDDEN_WIDTH),
    ):
        assert rows.shape[1] == width == sum(size for _, size in blocks)
        for name, _ in blocks:
            assert block(rows, blocks, name).max() <= (8 if name in ("played", "known") else 1)
    # two actions of a decision look different
    parts = [action_inputs()[low:high] for low, high in pairwise(decisions().offsets)]
    alike = sum(len(part) - len(np.unique(part, axis=0)) for part in parts)
    assert alike < 0.02 * len(action_inputs())


def test_the_hand_and_the_unseen_cards_can_be_read_back() -> None:
    planes = block(state_inputs(), STATE_BLOCKS, "hand").reshape(-1, 54, 2)
    own = hands(decisions().seats)
    assert np.array_equal(planes.sum(2), own)
    played = unpack(decisions().states["played"]).astype(np.int64).sum(1)
    unseen = block(state_inputs(), STATE_BLOCKS, "unseen").reshape(-1, 54, 2).sum(2)
    assert np.array_equal(unseen, 2 - own - played)
    ranks = block(state_inputs(), STATE_BLOCKS, "unseen_ranks").reshape(-1, 13, 8).sum(2)
    assert np.array_equal(ranks, unseen[:, :52].reshape(-1, 13, 4).sum(2))


def test_cards_left_level_and_places_are_one_hot_from_the_seat_that_sees() -> None:
    n = len(decisions())
    turn = (decisions().seats[:, None] + np.arange(4)) % 4
    left = block(state_inputs(), STATE_BLOCKS, "left").reshape(n, 4, 28)
    assert np.array_equal(left.argmax(2), np.take_along_axis(decisions().states["left"], turn, 1))
    level = block(state_inputs(), STATE_BLOCKS, "level")
    assert np.array_equal(level.argmax(1), decisions().states["level"])
    out = block(state_inputs(), STATE_BLOCKS, "out").reshape(n, 4, 4)
    assert np.all(out.sum(2) == 1) and np.all(left.sum(2) == 1) and np.all(level.sum(1) == 1)
    for i in range(n):
        finished = decisions().states["order"][i][: decisions().states["finished"][i]]
        for j in range(4):
            place = np.flatnonzero(finished == turn[i, j])
            assert out[i, j].argmax() == (place[0] if len(place) else 3)


def test_the_action_to_beat_stays_after_passes() -> None:
    beat, states = block(state_inputs(), STATE_BLOCKS, "beat"), decisions().states
    kinds = states["beat"]["type"]
    assert np.array_equal(beat[:, :11].argmax(1), kinds)
    led = kinds != PASS
    leader = (states["leader"].astype(int) - decisions().seats) % 4
    assert np.array_equal(beat[led][:, 35:39].argmax(1), leader[led])
    passes = np.minimum(states["passes"], 2)
    assert np.array_equal(beat[:, 39:42].argmax(1), passes)
    assert np.any(led & (passes > 0))
    # ownership of the level is seen from the own side
    owner, side = states["owner"], decisions().seats % 2
    ours = np.stack([owner == side, owner == 1 - side], 1)
    assert np.array_equal(block(state_inputs(), STATE_BLOCKS, "owner"), ours & (owner != NOBODY)[:, None])


def test_nothing_hidden_reaches_a_states_features_and_the_critic_sees_the_other_hands() -> None:
    rng = np.random.default_rng(0)
    other = determinise(decisions().states, decisions().seats, rng)
    assert np.array_equal(encode_states(other, decisions().seats), state_inputs())
    again = encode_actions(replace(decisions(), states=other))
    assert np.array_equal(again, action_inputs())
    hidden = hidden_features(decisions().states, decisions().seats)
    assert not np.array_equal(hidden_features(other, decisions().seats), hidden)
    planes = block(hidden, HIDDEN_BLOCKS, "cards").reshape(-1, 3, 54, 2).sum(3)
    for j in range(3):
        assert np.array_equal(planes[:, j], hands((decisions().seats + j + 1) % 4))


def test_an_action_shows_what_it_leaves() -> None:
    used = np.stack([decisions().actions["lo"], decisions().actions["hi"]], 1)
    rest = hands(decisions().seats)[owners()] - unpack(used).astype(np.int64)
    assert rest.min() >= 0
    types = block(action_inputs(), ACTION_BLOCKS, "type").argmax(1)
    assert np.array_equal(types, decisions().actions["type"])
    wild = 4 * decisions().states["level"][owners()].astype(np.int64)
    rows = np.arange(len(rest))
    assert np.array_equal(block(action_inputs(), ACTION_BLOCKS, "wild").sum(1), rest[rows, wild])
    natural = rest.copy()
    natural[rows, wild] = 0
    ranks = natural[:, :52].reshape(-1, 13, 4).sum(2)
    seen = block(action_inputs(), ACTION_BLOCKS, "ranks").reshape(-1, 13, 6).sum(2)
    assert np.array_equal(seen, np.minimum(ranks, 6))
    assert np.array_equal(block(action_inputs(), ACTION_BLOCKS, "cards"), natural[:, :52] > 0)
    for name, count, most in (("singles", 1, 8), ("pairs", 2, 6), ("trips", 3, 5)):
        found = block(action_inputs(), ACTION_BLOCKS, name).sum(1)
        assert np.array_equal(found, np.minimum((ranks == count).sum(1), most))
    left = block(action_inputs(), ACTION_BLOCKS, "left")
    assert np.array_equal(left.argmax(1), np.minimum(rest.sum(1), 11))


def test_a_seat_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a seat is 0\.\.3; got 4"):
        encode_states(decisions().states[:1], np.array([4]))
    assert encode_states(decisions().states[:0], np.zeros(0, np.int64)).shape == (0, STATE_WIDTH)
