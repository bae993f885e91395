"""DanZero's inputs and OpenGuanDan's observation against plain twins that read the record of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import CARD_NAMES, RANKS, make_actions, parse_cards, unpack
from games.guandan.matches.match import Match
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.round import deal, from_hands, legal
from games.guandan.views.danzero_features import (
    ACTION_WIDTH,
    SLICES,
    STATE_WIDTH,
    WILD_FLAGS,
    action_features,
    state_features,
)
from games.guandan.views.observation import (
    OBSERVATION_SLICES,
    OBSERVATION_WIDTH,
    observations,
)
from tests.games.guandan.views.official_message import last_actor, observation_message
from tests.patience import amount
from tests.reference.guandan import guandan_features as slow
from tests.reference.guandan.guandan_match import wild_flags

TWINS = [(state_features, slow.state_features), (observations, slow.observation)]


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


@pytest.mark.parametrize(("fast", "plain"), TWINS, ids=["danzero", "openguandan"])
def test_every_number_equals_the_plain_twins(fast: Callable, plain: Callable) -> None:
    positions = 0
    for number, (match, hands, moves) in enumerate(rounds(13)):
        if number % amount(1, 2) and not match.over:
            continue
        levels = [RANKS[level] for level in match.levels]
        seats = range(4) if match.over or len(moves) % 16 == 0 else [int(match.state["player"][0])]
        if match.over:
            # the match has been scored; the round's own record keeps the levels it was played at
            levels = [RANKS[level] for level in match.state["levels"][0]]
        for seat in seats:
            want = plain(hands, moves, RANKS[int(match.state["level"][0])], levels, seat)
            got = fast(match.state, seat)[0]
            wrong = np.flatnonzero(got != want)
            assert len(wrong) == 0, (wrong, seat, moves[-3:])
            positions += 1
    assert positions > amount(1000, 500)


def test_wild_flags_equal_the_plain_twins_on_random_hands() -> None:
    rng = np.random.default_rng(1)
    at = SLICES["wild_flags"]
    seen = np.zeros(12, int)
    for size in (2, 4, 6, 9, 14, 27):
        for _ in range(amount(150, 60)):
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


def test_the_layout_is_danzeros() -> None:
    assert (STATE_WIDTH, ACTION_WIDTH) == (513, 54)
    starts = {
        "hand": 0,
        "wild_flags": 54,
        "unseen": 66,
        "last_action": 120,
        "partner_action": 174,
        "next_played": 228,
        "partner_played": 282,
        "previous_played": 336,
        "next_left": 390,
        "partner_left": 418,
        "previous_left": 446,
        "own_level": 474,
        "opponent_level": 487,
        "level": 500,
        "action": 513,
    }
    assert {name: part.start for name, part in SLICES.items()} == starts
    ends = [part.stop for part in SLICES.values()]
    assert ends == [*list(starts.values())[1:], 567] and len(WILD_FLAGS) == 12


def test_the_observation_has_the_papers_widths() -> None:
    widths = [part.stop - part.start for part in OBSERVATION_SLICES.values()]
    assert widths == [54] * 5 + [79] * 4 + [28] * 3 + [13] * 4
    assert sum(widths) == OBSERVATION_WIDTH == 722


def test_a_batch_is_its_rows_and_both_types_agree() -> None:
    states = deal(40, np.random.default_rng(2), level=5)
    for encode, width in ((state_features, 513), (observations, 722)):
        rows = np.concatenate([encode(states[i : i + 1]) for i in range(40)])
        whole = encode(states)
        assert whole.shape == (40, width) and whole.dtype == np.int8 and np.array_equal(whole, rows)
        wide = np.full((40, width + 60), 7.0, np.float32)
        encode(states, out=wide[:, 30 : 30 + width])
        assert np.array_equal(wide[:, 30 : 30 + width], whole)
        assert np.all(wide[:, :30] == 7) and np.all(wide[:, 30 + width :] == 7)
        assert np.array_equal(encode(states, dtype=np.float32), whole)
        assert not np.array_equal(encode(states, np.arange(40) % 4), whole)


def test_actions_are_their_cards() -> None:
    states = deal(30, np.random.default_rng(3), level=2)
    actions = legal(states).values
    counts = unpack(np.stack([actions["lo"], actions["hi"]], -1))
    assert np.array_equal(action_features(actions), counts)
    out = np.zeros((len(actions), 567), np.float32)
    action_features(actions, out=out[:, SLICES["action"]])
    assert np.array_equal(out[:, 513:], counts) and not out[:, :513].any()
    assert not action_features(parse_action("PASS", 0)).any()


def test_bad_requests_are_refused() -> None:
    states = deal(2, np.random.default_rng(4))
    over = states.copy()
    over["player"] = -2
    for encode, width in ((state_features, 513), (observations, 722)):
        with pytest.raises(GameError, match=r"a seat is 0\.\.3"):
            encode(over)
        with pytest.raises(GameError, match=r"a seat is 0\.\.3"):
            encode(states, 4)
        with pytest.raises(GameError, match="features are int8 or float32"):
            encode(states, dtype=np.float64)
        with pytest.raises(GameError, match=f"out must have shape \\(2, {width}\\)"):
            encode(states, out=np.zeros((2, width - 1), np.int8))


def test_the_request_of_a_lead_and_of_a_reply_are_the_papers() -> None:
    hands = np.stack([parse_cards(text) for text in ("H2 S3 D3 S4 SB", "HK SK C9", "C5 C6", "D7 HR")])
    match = Match(1)
    match.state[:] = from_hands(hands, level=0, first=0)
    match._pending = None
    lead = observation_message(match, 0)
    assert lead["handCards"] == ["H2", "S3", "D3", "S4", "SB"]
    assert lead["publicInfo"] == [{"rest": 5}, {"rest": 3}, {"rest": 2}, {"rest": 2}]
    assert (lead["curPos"], lead["curAction"], lead["greaterPos"], lead["greaterAction"]) == (
        -1,
        None,
        -1,
        None,
    )
    assert (lead["selfRank"], lead["oppoRank"], lead["curRank"], lead["stage"]) == ("2", "2", "2", "play")
    assert lead["indexRange"] == len(lead["actionList"]) - 1 and ["Single", "3", ["S3"]] in lead["actionList"]
    match.apply(0, "Pair 3 S3 D3")
    match.apply(1, "Pair K SK HK")
    match.apply(2, "PASS")
    reply = observation_message(match, 3)
    assert (reply["curPos"], reply["curAction"]) == (2, ["PASS", "PASS", "PASS"])
    assert (reply["greaterPos"], reply["greaterAction"]) == (1, ["Pair", "K", ["SK", "HK"]])
    assert reply["actionList"] == [["PASS", "PASS", "PASS"]] and reply["indexRange"] == 0
    with pytest.raises(GameError, match="seat 1 is not to act"):
        observation_message(match, 1)


def test_the_last_actor_is_found_past_finished_seats() -> None:
    hands = np.stack([parse_cards(text) for text in ("S3", "S4 S5", "C5 C6", "D7 HR")])
    match = Match(1)
    match.state[:] = from_hands(hands, level=0, first=0)
    match._pending = None
    assert last_actor(match.state[0]) is None
    actors: list[Any] = []
    for seat, move in ((0, "Single 3 S3"), (1, "PASS"), (2, "PASS"), (3, "Single 7 D7"), (1, "PASS")):
        match.apply(seat, move)
        actors.append(last_actor(match.state[0]))
    assert actors == [0, 1, 2, 3, 1], "seat 0 is out: the last actor before seat 1 is seat 3"


def test_the_requests_of_tribute_and_return_name_cards_seats_and_choices() -> None:
    for seed in range(50):
        match, rng = Match(seed), np.random.default_rng(seed)
        while match.round == 1:
            due = match.pending()[0]
            match.apply(due.seat, int(rng.integers(len(due.actions))))
        if match.phase == "tribute":
            break
    payer = match.pending()[0].seat
    request = observation_message(match, payer)
    assert request["stage"] == "tribute" and "publicInfo" not in request and len(request["handCards"]) == 27
    assert all(move[:2] == ["tribute", "tribute"] for move in request["actionList"])
    while match.phase == "tribute":
        match.apply(match.pending()[0].seat, 0)
    giver, taker, card = match.tributes[0]
    request = observation_message(match, taker)
    assert request["stage"] == "back" and request["tributePos"] == giver
    assert request["tribute"] == CARD_NAMES[card] and len(request["handCards"]) == 28
    assert all(move[:2] == ["back", "back"] for move in request["actionList"])
