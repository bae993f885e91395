"""What a table makes of a hand: moves to suggest, and few of them; and what it tells of rounds at A."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from blueprint.climbing.doudizhu_turns import turns_to_shed
from blueprint.guandan.rules.min_combination import min_combinations
from games.climbing.doudizhu.move_table import move_number
from games.climbing.doudizhu.multiset import RANK_LETTERS, read_multiset
from games.guandan.cards import RANKS, hand_text, pack, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal_moves
from games.registry import load_game
from gs2.guandan.table.session import Listener, Session
from gs2.web.games.big2_face import big2_moves
from gs2.web.games.card_face import suggestion_order
from gs2.web.games.doudizhu_face import doudizhu_moves
from gs2.web.guandan.match_play import guandan_moves, suggested_moves
from tests.patience import amount
from tests.web.tables.stored_tables import match_play, random_choice

BOMBS = ("Bomb", "StraightFlush", "FourKings")


def test_suggestions_reach_every_kind_and_begin_with_what_stands_alone() -> None:
    whole = several = 0
    for seed in range(30):
        session = Session(Listener(), seed=seed)
        session.begin()
        rng = np.random.default_rng(seed)
        for _ in range(25):
            seat = next(iter(session.pending))
            moves, level = session.due(seat).actions, session.level
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


def test_failures_at_a_are_told_as_the_results_make_them() -> None:
    failed = dropped = 0
    for seed in range(amount(4, 2)):
        fails, levels, owner, game = [0, 0], ["2", "2"], None, 0
        play, rng = match_play(seed=seed, games=2), np.random.default_rng(seed)
        while not play.over:
            random_choice(play, rng)
        for end in play.results:
            if end["game"] != game:
                fails, levels, owner, game = [0, 0], ["2", "2"], None, end["game"]
            at_a = owner is not None and levels[owner] == "A"
            won = at_a and end["winner"] == owner and end["gain"] > 1
            assert end["over"] == won
            if at_a and not won:
                assert owner is not None and end["failed"] == owner
                fails[owner] += 1
                assert end["dropped"] == (fails[owner] == 3)
                fails[owner] %= 3
                failed += 1
                dropped += end["dropped"]
                assert not end["dropped"] or end["levels"][owner] == "2"
            else:
                assert end["failed"] is None and not end["dropped"]
            assert end["fails"] == fails
            assert end["rise"] == RANKS.index(end["levels"][end["winner"]]) - RANKS.index(
                levels[end["winner"]]
            )
            levels, owner = end["levels"], end["winner"]
    assert failed > 5 and dropped > 0


HANDS = 12


@pytest.mark.parametrize("seed", range(HANDS))
def test_a_hand_of_guandan_is_laid_out_in_the_fewest_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.integers(1, 28) if seed else 28  # whoever is to return a card holds one more
    cards = rng.permutation(np.repeat(np.arange(54), 2))[:held]
    level = int(rng.integers(13))
    counts = np.bincount(cards, minlength=54).astype(np.uint8)
    hand = pack(counts)
    found = guandan_moves(hand, level)
    assert len(found) == min_combinations(hand, level)[0]
    assert Counter(chain(*found)) == Counter(hand_text(unpack(hand), level).split())
    legal = {tuple(sorted(action_list(move, level)[2])) for move in legal_moves(hand, level).values}
    assert all(tuple(sorted(move)) in legal for move in found)


@pytest.mark.parametrize("seed", range(HANDS))
def test_a_hand_of_doudizhu_is_laid_out_in_as_few_moves_as_the_rules_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    deck = [*RANK_LETTERS[:13] * 4, *RANK_LETTERS[13:]]
    hand = read_multiset("".join(rng.permutation(deck)[: rng.integers(1, 21)]))
    found = doudizhu_moves(hand)
    assert read_multiset("".join(found)) == hand
    assert all(move_number(move) > 0 for move in found)
    assert len(found) <= turns_to_shed(hand)


@pytest.mark.parametrize("seed", range(HANDS))
def test_a_hand_of_big2_is_laid_out_in_plays(seed: int) -> None:
    game = load_game("big2", general_sum=True)
    rng = np.random.default_rng(seed)
    mask = sum(1 << int(card) for card in rng.permutation(52)[: rng.integers(1, 14)])
    plays = [game.read_play(words) for words in big2_moves(game, mask)]
    assert sum(plays) == mask
    assert all(kind >= 0 for kind in game.action_type(np.array(plays, np.uint64)))
