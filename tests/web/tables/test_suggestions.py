"""Moves that a page suggests: all kinds, and first what takes nothing apart."""

from __future__ import annotations

from collections import Counter

import numpy as np

from games.guandan.cards import RANKS, hand_text, unpack
from games.guandan.notation import action_list
from gs2.guandan.table.session import Listener, Session
from gs2.web.games.card_face import suggestion_order
from gs2.web.guandan.match_play import suggested_moves

BOMBS = ("Bomb", "StraightFlush", "FourKings")


def test_suggestions_reach_every_kind_and_begin_with_what_stands_alone() -> None:
    whole = several = 0
    for seed in range(30):
        session = Session(Listener(), seed=seed)
        session.begin()
        rng = np.random.default_rng(seed)
        for _ in range(25):
            seat = next(iter(session.pending))
            moves, level = session.choices(seat), session.level
            hand = hand_text(unpack(np.array(session.hand(seat), np.uint64)), level).split()
            words = [action_list(move, level) for move in moves]
            found = [words[place] for place in suggested_moves(moves, hand, level)]
            kinds = [(kind, rank) for kind, rank, _ in found]
            known = {(kind, rank) for kind, rank, _ in words if kind != "PASS"}
            assert len(set(kinds)) == len(kinds) == len(known)
            bombs = [kind in BOMBS for kind, _ in kinds]
            assert bombs == sorted(bombs)
            held = Counter(card[1:] for card in hand if card != f"H{RANKS[level]}")
            alone = [
                all(held[rank] == count for rank, count in Counter(card[1:] for card in cards).items())
                for kind, _, cards in found
                if kind not in BOMBS and f"H{RANKS[level]}" not in cards
            ]
            assert alone == sorted(alone, reverse=True)
            whole += any(alone)
            several += len(known) > 30
            session.choose(seat, int(rng.integers(len(moves))))
    assert whole > 100 and several > 5


def test_what_tears_nothing_apart_is_suggested_first_and_bombs_last() -> None:
    hand = ["S3", "H3", "C3", "D3", "S5", "H5", "S7", "SB", "HR"]
    plays = [
        (False, ["S3"]), (False, ["S5"]), (False, ["S7"]), (False, ["S3", "H3"]), (False, ["S5", "H5"]),
        (True, ["S3", "H3", "C3", "D3"]), (True, ["SB", "HR"]),
    ]  # fmt: skip
    assert suggestion_order(plays, hand) == [2, 4, 1, 0, 3, 5, 6]
