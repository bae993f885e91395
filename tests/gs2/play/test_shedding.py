"""The rule agent for DouDiZhu: how it counts turns, what it plays, and that it sees its own cards alone."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.protocol import Decisions
from games import GameError
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import move_letters, move_number
from games.climbing.doudizhu.multiset import read_multiset
from games.climbing.doudizhu.round_state import CALLS
from games.infosets import infoset_at
from games.research.kuhn_poker import KuhnPoker
from games.support.array_types import Rows
from gs2.play.shedding import SHEDDING
from tests.games.climbing.doudizhu.hands import round_of

ONE = np.zeros(1, np.int64)


def choice(game: DouDizhu, state: Rows) -> int:
    actions = game.actions(state)
    return int(actions.values[SHEDDING(Decisions.of(state, actions, game.player(state), game=game))[0]])


def played(game: DouDizhu, hands: list[str], moves: str) -> Rows:
    state = round_of(*hands)
    for move in moves.split():
        state = game.step(state, ONE, np.array([move_number(move)]))
    return state


def test_it_plays_as_its_rules_say() -> None:
    game = DouDizhu()
    for hands, moves, wanted in (
        (["345678K", "4566", "7899"], "", "345678"),  # the chain first, the king last
        (["3K", "4566", "7899"], "", "3"),
        (["3K", "4", "7899"], "", "K"),  # a farmer with one card
        (["3K", "466", "7899"], "3", "4"),
        (["33K", "446677", "889T"], "33 44", "pass"),  # a partner's move stands
        (["33K", "4467", "88"], "33 44", "88"),  # unless it ends the round
        (["345", "6666789", "77TTJ"], "3", "7"),  # no bomb while a single does
        (["KKA2", "446688", "QQQQ3"], "KK pass", "QQQQ"),
    ):
        assert move_letters(choice(game, played(game, hands, moves))) == wanted, hands
    kuhn = KuhnPoker()
    with pytest.raises(GameError, match="doudizhu alone"):
        SHEDDING(Decisions.of(kuhn.root(), kuhn.actions(kuhn.root()), 0, game=kuhn))


def test_it_bids_by_strength() -> None:
    game = DouDizhu(landlord="bid")
    state = game.sample_deals(1, np.random.default_rng(0))
    for cards, call in (("22BR", 3), ("2222", 3), ("2R", 2), ("22", 1), ("2", 0)):
        weak = "".join(rank * 3 for rank in "345678")
        state["hand"][0, 0] = read_multiset((cards + weak)[:17])
        assert choice(game, state) == CALLS + call
        after = game.step(state, ONE, np.array([CALLS + 2]))
        after["hand"][0, 1] = state["hand"][0, 0]
        assert choice(game, after) == CALLS + (call if call > 2 else 0)


def test_it_sees_its_own_cards_alone() -> None:
    game = DouDizhu()
    rng = np.random.default_rng(1)
    state = game.sample_deals(1, rng)
    for _ in range(25):
        seat = int(game.player(state)[0])
        if seat < 0:
            break
        action = choice(game, state)
        drawn = game.root()
        for before in game.sample_histories(infoset_at(game, state, seat), 1, rng)[0]:
            drawn = game.step(drawn, ONE, np.array([before]))
        assert choice(game, drawn) == action
        state = game.step(state, ONE, np.array([action]))


def test_it_beats_random_play_in_every_seat() -> None:
    game = DouDizhu(returns="win_loss")
    rng = np.random.default_rng(2)
    for landlord in (True, False):
        states = game.sample_deals(100, rng)
        while len(going := np.flatnonzero(game.player(states) >= 0)):
            actions = game.actions(states[going])
            pick = (rng.random(len(going)) * actions.counts).astype(np.int64)
            who = game.player(states[going])
            for seat in range(3):
                mine = np.flatnonzero(who == seat)
                if (seat == 0) == landlord and len(mine):
                    asked = Decisions.of(states[going[mine]], actions.take(mine), seat, game=game)
                    pick[mine] = SHEDDING(asked)
            states[going] = game.step(states, going, actions.values[actions.offsets[:-1] + pick])
        assert game.returns(states)[:, 0 if landlord else 1].mean() > 0.5
