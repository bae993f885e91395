"""Words of DouDiZhu: cards, actions, histories and infosets, written and read back; and features."""

from __future__ import annotations

import numpy as np
import pytest

from games import GameError
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.multiset import cards_text, count_ranks, pack_ranks, read_multiset
from games.climbing.doudizhu.round_state import CALLS
from games.infosets import infoset_at


def test_multisets_are_packed_and_written_and_read_back() -> None:
    rng = np.random.default_rng(0)
    counts = np.concatenate([rng.integers(0, 5, (50, 13)), rng.integers(0, 2, (50, 2))], axis=1)
    packed = pack_ranks(counts)
    assert np.array_equal(count_ranks(packed), counts)
    assert [read_multiset(cards_text(cards)) for cards in packed] == packed.tolist()


@pytest.mark.parametrize("options", [{}, {"landlord": "bid"}, {"ranks": 7}])
def test_every_decision_of_a_round_is_named_and_read_back(options: dict[str, object]) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    state = game.deal(1, rng)
    named = set()
    while (seat := int(game.player(state)[0])) >= 0:
        infoset = infoset_at(game, state, seat)
        assert game.parse_infoset(infoset.text) == infoset
        assert game.parse_infoset(infoset.text.lower().replace("dealt ", "dealt  ")) == infoset
        assert infoset.text not in named
        named.add(infoset.text)
        actions = game.actions(state).values
        words = [game.action_text(state[0], action) for action in actions]
        assert len(set(words)) == len(words)
        state = game.step(state, np.zeros(1, np.int64), rng.choice(actions, 1))
    assert game.state_text(state).count(" dealt ") == 3


def test_an_endgame_is_named_and_read_back() -> None:
    game = DouDizhu(start=rounds_from_hands(["3344R", "667", "558"]))
    infoset = game.parse_infoset("p1 dealt 667 | bottom - | play 3")
    assert infoset.text == "P1 dealt 667 | bottom - | play 3"
    with pytest.raises(GameError, match="other cards"):
        game.parse_infoset("P1 dealt 678 | bottom - | play 3")


def test_a_deal_and_an_auction_in_words() -> None:
    game = DouDizhu(landlord="bid", ranks=1)
    state, said = game.root(), []
    for at in (3, 1, 0):
        action = game.actions(state).values[at]
        said.append(game.action_text(state[0], action))
        state = game.step(state, np.zeros(1, np.int64), np.array([action]))
    assert said == ["3: 0/0/1, 3 below", "B: 0/1/0", "R: 1/0/0"]
    assert game.state_text(state) == "P0 dealt R | P1 dealt B | P2 dealt 3 | bottom 333"
    for call in (0, 2, 0, 0):
        state = game.step(state, np.zeros(1, np.int64), np.array([CALLS + call]))
    assert game.infoset_text(state[0], 2) == "P2 dealt 3 | bottom 333 | calls pass 2 pass pass"
    assert game.infoset_text(state, 1) == "P1 dealt B | bottom 333 | calls pass 2 pass pass"
    assert game.action_text(game.root(), np.int64(CALLS + 1)) == "call 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "an infoset reads like"),
        ("P3 dealt 3", "an infoset reads like"),
        ("P1 dealt 3 | bottom 3 | bottom 3", "an infoset reads like"),
        ("P1 dealt 3Z | bottom 333", "a card is one of"),
        ("P1 dealt B | play 3", "bottom is shown once"),
        ("P1 dealt B | bottom 33R | play 3 pass pass pass", "not legal"),
        ("P1 dealt B | bottom 33R | play 3 3", "not legal|must agree"),
        ("P1 dealt B | bottom 33R | calls 5", "a call is"),
    ],
)
def test_infosets_that_cannot_be_are_refused(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        DouDizhu(ranks=1).parse_infoset(text)


def test_nobody_plays_before_there_is_a_landlord() -> None:
    with pytest.raises(GameError, match="before there is a landlord"):
        DouDizhu(landlord="bid", ranks=1).parse_infoset("P1 dealt B | calls pass | play 3")


def test_features_tell_infosets_apart_and_nothing_more() -> None:
    game = DouDizhu()
    rng = np.random.default_rng(2)
    states = game.deal(40, rng)
    for _ in range(6):
        actions = game.actions(states)
        pick = actions.offsets[:-1] + (rng.random(len(states)) * actions.counts).astype(np.int64)
        states = game.step(states, np.arange(len(states)), actions.values[pick])
    for seat in range(3):
        seen = game.features(states, seat)
        assert seen.dtype == np.uint8 and seen.max() == 1
        assert len(np.unique(seen, axis=0)) == len(states)
        held = count_ranks(states["hand"][:, seat]).sum(1)
        assert np.array_equal(seen[:, :54].sum(1), held)
        assert np.array_equal(seen[:, 54:108].sum(1), states["left"].sum(1) - held)
        # another deal of the hidden cards looks the same
        key = infoset_at(game, states[:1], seat)
        drawn = game.root()
        for action in game.sample_histories(key, 1, rng)[0]:
            drawn = game.step(drawn, np.zeros(1, np.int64), np.array([action]))
        assert np.array_equal(game.features(drawn, seat), seen[:1])
