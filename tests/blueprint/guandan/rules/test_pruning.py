"""Pruning by minimum combination: what stays, against the rule written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from blueprint.guandan.rules.min_combination import min_combinations
from blueprint.guandan.rules.pruning import PrunedChooser, kept_moves, prune
from blueprint.guandan.rules.rule_agents import RandomChooser
from blueprint.guandan.training.actors.pieces import chooser_of
from blueprint.guandan.training.trainer import Trainer
from games.guandan.cards import BOMB, FOUR_KINGS, PASS, STRAIGHT_FLUSH
from games.guandan.rounds.round import legal
from tests.blueprint.guandan.positions import FAST, TINY


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
            kept = kept_moves(decisions, margin)
            assert np.array_equal(kept, plainly(decisions, margin))
            pruned[margin] += len(kept) - kept.sum()
        return agent(decisions)

    agent = RandomChooser(np.random.default_rng(0))
    play_rounds(deal_rounds(3, np.random.default_rng(1)), [watch], Scratch())
    assert pruned[0] >= pruned[1] >= pruned[2] > 0


def test_a_choice_among_the_pruned_moves_is_the_same_move_among_all() -> None:
    chosen = []

    def inner(decisions: Decisions) -> np.ndarray:
        choice = np.diff(decisions.offsets) - 1
        chosen.append(decisions.actions[decisions.offsets[:-1] + choice])
        return choice

    agent = PrunedChooser(inner, 0)

    def watch(decisions: Decisions) -> np.ndarray:
        choice = agent(decisions)
        assert np.all((choice >= 0) & (choice < np.diff(decisions.offsets)))
        assert np.array_equal(decisions.actions[decisions.offsets[:-1] + choice], chosen[-1])
        fewer, within = prune(decisions, 0)
        assert len(within) == len(fewer.actions) == fewer.offsets[-1]
        return choice

    play_rounds(deal_rounds(3, np.random.default_rng(3)), [watch], Scratch())
    assert len(chosen) > 50


def test_training_with_pruning_never_plays_a_move_that_is_pruned() -> None:
    trainer = Trainer(TINY, FAST.replace(prune=0), threads=1)
    player, piece = trainer.learner.chooser(0.0, 0.0, trainer.rng), trainer.deal()[0]
    assert isinstance(chooser_of(player, trainer.config, piece, trainer.rng, 4), PrunedChooser)
    trainer.run_generation()
    (played,) = trainer.pending
    moves = legal(played.states, canonical=True)
    decisions = Decisions.of(played.states, moves)
    kept = kept_moves(decisions, 0)
    assert 0 < kept.sum() < len(kept)
    for i in range(len(played)):
        these = slice(*moves.offsets[i : i + 2])
        assert np.any(moves.values[these][kept[these]] == played.actions[i])
    with pytest.raises(ValueError, match="margin"):
        PrunedChooser(RandomChooser(trainer.rng), -1)(decisions)
