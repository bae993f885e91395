"""DanZero's inputs and OpenGuanDan's observation against plain twins; the rows of listed moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import CARD_NAMES, PASS, RANKS, TYPE_NAMES, make_actions, unpack
from games.guandan.matches.match import Match
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import deal
from games.guandan.views.features import (
    ACTION_WIDTH,
    CANONICAL_MOVES,
    MOVE_SLICES,
    OBSERVATION_SLICES,
    OBSERVATION_WIDTH,
    SLICES,
    STATE_WIDTH,
    WILD_FLAGS,
    action_features,
    move_features,
    observations,
    state_features,
)
from tests.patience import amount
from tests.reference.guandan import guandan_features as slow
from tests.reference.guandan.guandan_match import wild_flags

TWINS = ((state_features, slow.state_features), (observations, slow.observation))


def words(counts: np.ndarray) -> list[str]:
    return [CARD_NAMES[c] for c in range(54) for _ in range(counts[c])]


def rounds(n: int) -> Iterator[tuple[Match, list[list[str]], list[slow.Move]]]:
    """Play matches at random and give every position with the hands dealt and the moves so far."""
    for seed in range(n):
        level = seed % 13
        match = Match(seed, levels=(level, (seed * 5) % 13), owner=0, rules={"max_rounds": 1})
        rng = np.random.default_rng(seed)
        hands = [words(hand) for hand in match.hands]
        moves: list[slow.Move] = []
        while not match.over:
            yield match, hands, moves
            (due,) = match.pending()
            action = due.actions[rng.integers(len(due.actions))]
            kind, rank, cards = action_list(action, match.level)
            moves.append((due.seat, kind, rank, [] if kind == "PASS" else cards))
            match.apply(due.seat, action)
        yield match, hands, moves


def test_every_number_equals_the_plain_twins() -> None:
    positions = 0
    for number, (match, hands, moves) in enumerate(rounds(amount(13, 7))):
        if number % amount(1, 3) and not match.over:
            continue
        levels = [RANKS[level] for level in match.levels]
        seats = range(4) if match.over or len(moves) % 16 == 0 else [int(match.state["player"][0])]
        if match.over:
            # the match has been scored; the round's own record keeps the levels it was played at
            levels = [RANKS[level] for level in match.state["levels"][0]]
        for seat, (fast, plain) in itertools.product(seats, TWINS):
            want = plain(hands, moves, RANKS[int(match.state["level"][0])], levels, seat)
            got = fast(match.state, seat)[0]
            wrong = np.flatnonzero(got != want)
            assert len(wrong) == 0, (wrong, seat, moves[-3:])
            positions += 1
    assert positions > amount(2000, 300)


def test_wild_flags_equal_the_plain_twins_on_random_hands() -> None:
    rng = np.random.default_rng(1)
    at = SLICES["wild_flags"]
    seen = np.zeros(12, int)
    for size in (2, 4, 6, 9, 14, 27):
        for _ in range(amount(150, 40)):
            level = int(rng.integers(13))
            deck = np.delete(np.repeat(np.arange(54), 2), 8 * level)
            cards = np.append(rng.choice(deck, size - 1, replace=False), 4 * level)
            hand = np.bincount(cards, minlength=54)
            state = deal(1, rng, level=level)
            state["hand"][0, 0] = make_actions([1], [0], hand[None]).view(np.uint64).reshape(-1, 3)[0, 1:]
            got = state_features(state, 0)[0, at]
            assert got.tolist() == wild_flags(words(hand), RANKS[level]), words(hand)
            seen += got
    reached = np.array(WILD_FLAGS)[seen > 0].tolist()
    assert reached == [name for name in WILD_FLAGS if name not in ("bomb_7", "bomb_6")]


def test_the_layouts_are_danzeros_and_the_papers() -> None:
    assert (STATE_WIDTH, ACTION_WIDTH) == (513, 54)
    names = "hand wild_flags unseen last_action partner_action next_played partner_played previous_played"
    names += " next_left partner_left previous_left own_level opponent_level level action"
    assert list(SLICES) == names.split() and len(WILD_FLAGS) == 12
    ends = np.cumsum([54, 12, *[54] * 6, *[28] * 3, *[13] * 3, 54])
    assert [(part.start, part.stop) for part in SLICES.values()] == [*itertools.pairwise([0, *ends])]
    widths = [part.stop - part.start for part in OBSERVATION_SLICES.values()]
    assert widths == [54] * 5 + [79] * 4 + [28] * 3 + [13] * 4
    assert sum(widths) == OBSERVATION_WIDTH == 722


def test_a_batch_is_its_rows() -> None:
    states = deal(40, np.random.default_rng(2), level=5)
    for encode, width in ((state_features, 513), (observations, 722)):
        rows = np.concatenate([encode(states[i : i + 1]) for i in range(40)])
        whole = encode(states)
        assert whole.shape == (40, width) and whole.dtype == np.int8 and np.array_equal(whole, rows)
        assert not np.array_equal(encode(states, np.arange(40) % 4), whole)


def test_actions_are_their_cards() -> None:
    states = deal(30, np.random.default_rng(3), level=2)
    actions = legal(states).values
    counts = unpack(np.stack([actions["lo"], actions["hi"]], -1))
    assert np.array_equal(action_features(actions), counts)
    assert not action_features(parse_action("PASS", 0)).any()


def test_bad_requests_are_refused() -> None:
    states = deal(2, np.random.default_rng(4))
    over = states.copy()
    over["player"] = -2
    for encode in (state_features, observations):
        with pytest.raises(GameError, match=r"a seat is 0\.\.3"):
            encode(over)
        with pytest.raises(GameError, match=r"a seat is 0\.\.3"):
            encode(states, 4)


def test_a_canonical_list_always_fits() -> None:
    """The bound on canonical moves is a sum over effects; no random hand comes near it."""
    longest = max(
        legal(deal(amount(2000, 400), np.random.default_rng(1), level=level), canonical=True).counts.max()
        for level in (0, 8)
    )
    assert 100 < longest < CANONICAL_MOVES


def test_the_features_of_moves_tell_every_two_of_them_apart() -> None:
    """Cards, type and rank are the move: what no feature tells, no agent can learn."""
    match, rng = Match(5), np.random.default_rng(5)
    kinds: set[str] = set()
    for _ in range(amount(300, 80)):
        due = match.pending()[0]
        moves, rows = due.actions, move_features(due.actions)
        assert len(np.unique(rows, axis=0)) == len(moves) == len(rows)
        assert np.array_equal(rows[:, MOVE_SLICES["cards"]], action_features(moves))
        assert np.array_equal(rows[:, MOVE_SLICES["type"]].argmax(1), moves["type"])
        assert np.array_equal(rows[:, MOVE_SLICES["rank"]].argmax(1), moves["rank"])
        cards = rows[:, MOVE_SLICES["size"]][:, 0]
        assert np.array_equal(cards, rows[:, MOVE_SLICES["cards"]].sum(1))
        assert np.array_equal(cards == 0, moves["type"] == PASS)
        kinds |= {TYPE_NAMES[kind] for kind in moves["type"]}
        match.apply(due.seat, int(rng.integers(len(moves))))
    assert len(kinds) >= 8
