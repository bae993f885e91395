"""A hand laid out by its moves: all its cards, once each, in moves of the game, in the fewest."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from blueprint.climbing.doudizhu_turns import turns_to_shed
from blueprint.guandan.rules.min_combination import min_combinations
from games.climbing.doudizhu.move_table import move_number
from games.climbing.doudizhu.multiset import RANK_LETTERS, read_multiset
from games.guandan.cards import hand_text, pack, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal_moves
from games.registry import load_game
from gs2.web.games.big2_face import big2_moves
from gs2.web.games.doudizhu_face import doudizhu_moves
from gs2.web.guandan.match_play import guandan_moves

HANDS = 12


@pytest.mark.parametrize("seed", range(HANDS))
def test_a_hand_of_guandan_is_laid_out_in_the_fewest_moves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = rng.permutation(np.repeat(np.arange(54), 2))[: rng.integers(1, 28)]
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
