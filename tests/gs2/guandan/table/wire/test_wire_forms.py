"""Moves, hands and messages as bytes: what the kernel writes, what the readers take."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance, deal
from gs2.guandan.table.server.recording import Timing
from gs2.guandan.table.wire.messages import (
    MessageError,
    decode_act_index,
    decode_command,
    decode_server_message,
)
from gs2.guandan.table.wire.moves import encode_hand, encode_moves, find_move, read_move, read_moves


def positions(n, seed):
    """Yield (state, legal moves) along random rounds."""
    rng = np.random.default_rng(seed)
    while True:
        state = deal(1, rng, level=int(rng.integers(13)))
        while state["player"][0] >= 0:
            moves = legal(state).values
            yield state, moves
            n -= 1
            if n == 0:
                return
            advance(state, moves[rng.integers(len(moves))][None])


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
def test_the_kernel_writes_each_move_as_the_notation_does(dialect):
    moves_seen = 0
    for state, moves in positions(100, 1):
        level = int(state["level"][0])
        text = encode_moves(moves, level, dialect=dialect)
        wanted = [action_list(move, level) for move in moves]
        if dialect == "njupt":
            wanted = [["Bomb", "JOKER", move[2]] if move[0] == "FourKings" else move for move in wanted]
        assert json.loads(text.json) == wanted
        assert len(text) == len(moves)
        for index in (0, len(moves) // 2, len(moves) - 1):
            assert json.loads(text[index]) == wanted[index]
        moves_seen += len(moves)
    assert moves_seen > 1500


def test_hands_are_listed_by_plain_or_level_aware_rank():
    for state, _ in positions(100, 2):
        level = int(state["level"][0])
        seat = int(state["player"][0])
        lo, hi = (int(word) for word in state["hand"][0, seat])
        names = hand_text(unpack(state["hand"][0, seat]), level).split()
        assert json.loads(encode_hand(lo, hi, level, dialect="njupt")) == names
        plain = json.loads(encode_hand(lo, hi, level))
        assert sorted(plain) == sorted(names)
        order = "23456789TJQKABR"
        assert [order.index(name[1]) for name in plain] == sorted(order.index(name[1]) for name in names)
    assert encode_hand(0, 0, 3) == b"[]"


def test_moves_are_found_whatever_the_order_of_their_cards():
    rng = np.random.default_rng(0)
    for state, moves in positions(100, 3):
        index = int(rng.integers(len(moves)))
        kind, rank, cards = action_list(moves[index], int(state["level"][0]))
        if kind != "PASS":
            rng.shuffle(cards)
        assert find_move((kind, rank, cards), moves) == index
        read, places = read_moves([action_list(move, int(state["level"][0])) for move in moves])
        assert read.tolist() == moves.tolist() and places == list(range(len(moves)))


def test_what_is_no_move_reads_as_none_or_is_refused():
    for move in (
        None,
        [],
        "PASS",
        ["Pair", "2"],
        ["Pair", "2", ["H2", "X9"]],
        ["Pair", [], ["H2", "H2"]],
        [{}, "2", ["H2"]],
        ["Single", "2", "H2"],
        ["Single", "2", None],
        ["Bomb", "2", ["H2"] * 100_000],
        ["tribute", "tribute", []],
        ["back", "back", [7]],
    ):
        assert read_move(move) is None
        assert read_moves([move, ["PASS"] * 3])[1] == [1]
    cards = ["SB", "HR", "SB", "HR"]
    assert read_move(["FourKings", "B", cards]) == read_move(["Bomb", "JOKER", cards]) is not None
    state = deal(1, np.random.default_rng(0))
    for moves, dialect, says in (
        (legal(state).values, "esperanto", "dialect"),
        (state["trick"][0], "njupt", "slots"),
        (np.zeros(3), "njupt", "ACTION"),
    ):
        with pytest.raises(GameError, match=says):
            encode_moves(moves, 0, dialect=dialect)


def test_a_bad_message_is_refused_with_what_and_where_and_unknown_ones_pass_as_replies():
    act = {"type": "act", "stage": "play", "handCards": ["S2"], "selfRank": "2", "oppoRank": "2"}
    act |= {"curRank": "2", "actionList": [["Single", "2", ["S2"]]], "indexRange": 0}
    assert decode_server_message(json.dumps(act)).stage == "play"
    odd = decode_server_message('{"type":"notify","stage":"chat","text":"hello"}')
    assert type(odd).__name__ == "Reply"
    assert decode_act_index('{"actIndex": 3, "extra": 1}') == 3
    for read, text, word in (
        (decode_command, "", "truncated"),
        (decode_command, "[1]", "object"),
        (decode_command, '{"type":"DANCE"}', "DANCE"),
        (decode_command, '{"type":"PLAY","data":{"player":0,"roomId":1}}', "act"),
        (decode_command, '{"type":"CREATE_ROOM","data":{"userId":"","round":1}}', "userId"),
        (decode_command, '{"type":"CREATE_ROOM","data":{"userId":"a","round":0}}', "round"),
        (decode_command, '{"type":"JOIN_ROOM","data":{"userId":"a","roomId":"1"}}', "roomId"),
        (decode_command, b"\xff\xfe", "JSON"),
        (decode_server_message, json.dumps({**act, "handCards": ["S1"]}), "handCards"),
        (decode_server_message, json.dumps({**act, "curRank": "1"}), "curRank"),
        (decode_act_index, '{"index": 3}', "actIndex"),
    ):
        with pytest.raises(MessageError, match=word):
            read(text)


def test_quantiles_of_durations_are_those_of_all():
    times = np.random.default_rng(0).lognormal(-8, 2, 5000)
    timing = Timing()
    for seconds in times:
        timing.add(float(seconds))
    for share in (0.01, 0.5, 0.9, 0.99, 1.0):
        assert timing.quantile(share) == np.quantile(times, share, method="inverted_cdf")
    assert timing.mean == pytest.approx(times.mean())
    assert timing.summary()["count"] == 5000
    assert Timing().summary()["p99_ms"] == 0
