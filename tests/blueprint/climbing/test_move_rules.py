"""Minimum combinations, rivals and the rule agent of Big2, against slow twins and by what they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blueprint.climbing.big2_turns import big2_turns_to_shed
from blueprint.climbing.doudizhu_turns import turns_to_shed
from blueprint.climbing.move_inputs import move_inputs
from blueprint.protocol import Decisions, shared_out
from games import GameError, load_game
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.multiset import read_multiset
from games.research.kuhn_poker import KuhnPoker
from games.support.array_types import Ints
from gs2.play.big2_shedding import BIG2_SHEDDING
from tests.blueprint.climbing.random_rounds import asked as decisions_of
from tests.blueprint.climbing.random_rounds import played, swapped
from tests.games.climbing.big2.test_big2 import VARIANTS
from tests.reference.climbing.turns import slow_big2_turns, slow_doudizhu_turns


def test_turns_of_doudizhu_are_those_of_the_slow_count() -> None:
    deals = load_game("doudizhu").sample_deals(15, np.random.default_rng(1))  # type: ignore[attr-defined]
    for packed in deals["hand"].ravel().tolist():
        assert turns_to_shed(packed) == slow_doudizhu_turns(packed)
    for hand, turns in (("BR", 1), ("33344456", 1), ("3456778", 2), ("34567789TJ", 2), ("QKA2", 4)):
        assert turns_to_shed(read_multiset(hand)) == turns


@pytest.mark.parametrize("options", VARIANTS)
def test_turns_of_big2_are_those_of_the_slow_count(options: dict[str, Any]) -> None:
    game = Big2(**options)
    hands = game.sample_deals(12, np.random.default_rng(2))["hand"][:, : game.num_players]
    for mask in hands.ravel().tolist():
        assert big2_turns_to_shed(game, mask) == slow_big2_turns(game, mask)
    if not options:
        for cards, turns in (
            ("D3 C3 H3 D4 C4", 1),
            ("D3 C4 H5 S6 D7", 1),
            ("D3 D5 D7 D9 DJ", 1),
            ("D3 C4", 2),
        ):
            assert big2_turns_to_shed(game, game.read_play(cards)) == turns


def asked(name: str, rounds: int) -> list[Decisions]:
    """Return the decisions of random rounds of a game."""
    return decisions_of(move_inputs(load_game(name)), rounds)


def test_the_rule_agent_of_big2_beats_play_at_random_and_sees_its_own_cards_alone() -> None:
    game = Big2()
    inputs = move_inputs(game)
    rng = np.random.default_rng(5)

    def at_random(d: Decisions) -> Ints:
        found: Ints = (rng.random(len(d)) * np.diff(d.offsets)).astype(np.int64)
        return found

    def choose(d: Decisions) -> Ints:
        return shared_out(d, d.seats == 0, (at_random, BIG2_SHEDDING))[0]

    ends = played(inputs, inputs.deal(100, rng), choose).final
    assert (game.returns(ends)[:, 0] > 0).mean() > 0.5
    for d in asked("big2", 3):
        changed, alike = swapped(d.states, d.seats, 4)
        for j in np.flatnonzero(alike):
            legal = game.actions(d.states[j : j + 1])
            answers = [
                BIG2_SHEDDING(Decisions.of(states[j : j + 1], legal, int(d.seats[j]), game=game))
                for states in (d.states, changed)
            ]
            assert np.array_equal(*answers)
    kuhn = KuhnPoker()
    with pytest.raises(GameError, match="plays big2 alone"):
        BIG2_SHEDDING(Decisions.of(kuhn.root(), kuhn.actions(kuhn.root()), 0, game=kuhn))
