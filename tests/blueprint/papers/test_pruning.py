"""Pruning by minimum combination: what stays, against the rule written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.climbing.move_inputs import move_inputs
from blueprint.game_lockstep import play_rounds
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.quick_agents import RandomAgent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.rules.min_combination import min_combinations
from blueprint.guandan.training.trainer import Trainer
from blueprint.papers.pruning import (
    Pruned,
    hand_rests,
    kept_moves,
)
from blueprint.protocol import Decisions
from games import load_game
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import BOMB as FOUR
from games.climbing.doudizhu.move_table import move_table
from games.guandan.cards import BOMB, FOUR_KINGS, PASS, STRAIGHT_FLUSH
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan
from tests.blueprint.climbing.random_rounds import asked
from tests.blueprint.guandan.positions import FAST, TINY
from tests.patience import amount
from tests.reference.climbing.turns import kept_by_turns, slow_big2_turns, slow_doudizhu_turns


def plainly(decisions: Decisions, margin: int) -> np.ndarray:
    """Return the moves that stay, one decision after the other."""
    kept = []
    for j in range(len(decisions)):
        state = decisions.states[decisions.rows[j]]
        moves = decisions.actions[decisions.offsets[j] : decisions.offsets[j + 1]]
        hand = state["hand"][decisions.seats[j]]
        rest = np.stack([hand[0] - moves["lo"], hand[1] - moves["hi"]], 1)
        fewest = min_combinations(rest, int(state["level"]))
        left = [int(n) for n in state["left"] if n > 0]
        limit = fewest.min() + margin + 27 // min(left) - 1
        always = np.isin(moves["type"], (PASS, STRAIGHT_FLUSH, BOMB, FOUR_KINGS))
        kept.append((fewest <= limit) | always)
    return np.concatenate(kept)


def test_the_moves_that_stay_are_those_of_the_rule() -> None:
    pruned = dict.fromkeys((0, 1, 2), 0)

    def watch(decisions: Decisions) -> np.ndarray:
        for margin in pruned:
            kept = kept_moves(hand_rests(GuanDan()), decisions, margin)
            assert np.array_equal(kept, plainly(decisions, margin))
            pruned[margin] += len(kept) - kept.sum()
        return agent(decisions)

    agent = RandomAgent(np.random.default_rng(0))
    play_rounds(deal_rounds(3, np.random.default_rng(1)), watch, GUANDAN)
    assert pruned[0] >= pruned[1] >= pruned[2] > 0


def test_a_choice_among_the_pruned_moves_is_the_same_move_among_all() -> None:
    chosen = []

    def inner(decisions: Decisions) -> np.ndarray:
        choice = np.diff(decisions.offsets) - 1
        chosen.append(decisions.actions[decisions.offsets[:-1] + choice])
        return choice

    agent = Pruned(inner, GuanDan(), 0)

    def watch(decisions: Decisions) -> np.ndarray:
        choice = agent(decisions)
        assert np.all((choice >= 0) & (choice < np.diff(decisions.offsets)))
        assert np.array_equal(decisions.actions[decisions.offsets[:-1] + choice], chosen[-1])
        return choice

    play_rounds(deal_rounds(3, np.random.default_rng(3)), watch, GUANDAN)
    assert len(chosen) > 50


def test_training_with_pruning_never_plays_a_move_that_is_pruned() -> None:
    trainer = Trainer(TINY, FAST.replace(prune=0), threads=1)
    player, piece = trainer.learner.agent(), trainer.deal()[0]
    assert isinstance(trainer.learner.seated(player, piece, trainer.rng), Pruned)
    trainer.run_generation()
    (played,) = trainer.pending
    moves = legal(played.states, canonical=True)
    decisions = Decisions.of(played.states, moves)
    kept = kept_moves(hand_rests(GuanDan()), decisions, 0)
    assert 0 < kept.sum() < len(kept)
    for i in range(len(played)):
        these = slice(*moves.offsets[i : i + 2])
        assert np.any(moves.values[these][kept[these]] == played.actions[i])
    with pytest.raises(ValueError, match="margin"):
        Pruned(RandomAgent(trainer.rng), GuanDan(), -1)(decisions)


@pytest.mark.parametrize(
    "name",
    [
        "doudizhu",
        "doudizhu(ranks=4)",
        "doudizhu(ranks=7)",
        "doudizhu(ranks=10)",
        "big2",
        "big2(players=3,cards=7)",
    ],
)
def test_pruning_keeps_what_the_rule_says(name: str) -> None:
    game = load_game(name)
    inputs = move_inputs(game)
    offered, kept_in_all = 0, {0: 0, 2: 0}
    rests = hand_rests(game)
    for d in asked(inputs, amount(4, 2)):
        kept = {margin: kept_moves(rests, d, margin) for margin in kept_in_all}
        left = rests.turns(d)
        for j, state in enumerate(d.states):
            mine = slice(d.offsets[j], d.offsets[j + 1])
            moves = inputs.words(d.actions)[mine].tolist()
            hand = int(state["hand"][d.seats[j]])
            if isinstance(game, Big2):
                turns = [slow_big2_turns(game, hand & ~move) for move in moves]
                always = [move == 0 for move in moves]
                held = [bin(int(cards)).count("1") for cards in state["hand"]]
                most, least = game.rules.hand, min(held[: game.num_players])
            else:
                assert isinstance(game, DouDizhu)
                table = move_table()
                turns = [slow_doudizhu_turns(hand - int(table.cards[move])) for move in moves]
                always = [move == 0 or table.heads[move] & 255 >= FOUR for move in moves]
                most, least = (4 * game.ranks + 2) // 3, int(state["left"].min())
            assert left[mine].tolist() == turns
            for margin in kept:
                wanted = kept_by_turns(turns, always, margin, most, least)
                assert kept[margin][mine].tolist() == wanted and any(wanted)
                kept_in_all[margin] += sum(wanted)
            offered += len(moves)
    assert kept_in_all[0] < offered
