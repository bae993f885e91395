"""Words of DouDiZhu: cards, actions, histories and infosets, written and read back; and features."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from games import GameError
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.move_table import PASS
from games.climbing.doudizhu.multiset import cards_text, count_ranks, pack_ranks, read_multiset
from games.climbing.doudizhu.round_state import CALLS
from games.infosets import infoset_at
from tests.patience import amount


def test_multisets_are_packed_and_written_and_read_back() -> None:
    rng = np.random.default_rng(0)
    counts = np.concatenate([rng.integers(0, 5, (50, 13)), rng.integers(0, 2, (50, 2))], axis=1)
    packed = pack_ranks(counts)
    assert np.array_equal(count_ranks(packed), counts)
    assert [read_multiset(cards_text(cards)) for cards in packed] == packed.tolist()


@pytest.mark.parametrize("options", [{}, {"landlord": "bid"}, {"ranks": 7}])
@pytest.mark.some(2)
def test_every_decision_of_a_round_is_named_and_read_back(options: dict[str, object]) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    state = game.sample_deals(1, rng)
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


@pytest.mark.parametrize("options", [{}, {"landlord": "bid"}, {"ranks": 7}])
def test_a_wrong_move_or_call_of_an_infoset_is_named_by_its_number_and_letters(
    options: dict[str, object],
) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    told: Counter[str] = Counter()
    for _ in range(amount(6, 4)):
        state = game.sample_deals(1, rng)
        made = {"call": 0, "move": 0}
        while (seat := int(game.player(state)[0])) >= 0:
            actions = game.actions(state).values
            sort = "call" if actions[-1] >= CALLS else "move"
            free = state.copy()
            free["beat"] = 0
            calls = np.arange(CALLS, CALLS + 4)
            wrong = np.setdiff1d(calls if sort == "call" else game.actions(free).values, actions)
            if sort == "move" and not state["beat"][0]:
                wrong = np.array([PASS])
            if len(wrong):
                action = rng.choice(wrong)
                word = game.action_text(state[0], action).removeprefix("call ")
                # as the seat before sees it, whose hand the move does not change
                line = game.infoset_text(state[0], (seat + 2) % 3)
                line += f" {word}" if made[sort] else f" | {'calls' if sort == 'call' else 'play'} {word}"
                why = "is not above|does not beat" if action != PASS else "is no lead"
                with pytest.raises(
                    GameError, match=f'{sort} {made[sort] + 1}, "{word}" of seat {seat}, ({why})'
                ):
                    game.parse_infoset(line)
                told[f"{sort} {action == PASS}"] += 1
            made[sort] += 1
            state = game.step(state, np.zeros(1, np.int64), rng.choice(actions, 1))
        # the others' cards are all known by now
        after = f"{game.infoset_text(state[0], 0)} {game.action_text(state[0], np.int64(PASS))}"
        if made["move"]:
            with pytest.raises(
                GameError, match=f'move {made["move"] + 1}, "pass", comes after the end of the round'
            ):
                game.parse_infoset(after)
    assert told["move False"] > 20 and told["move True"] > 10
    assert bool(told["call False"]) == ("landlord" in options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "play 5 3",
            'move 2, "3" of seat 1, does not beat "5"; play a higher solo, a bomb, the rocket or pass',
        ),
        ("play pass", 'move 1, "pass" of seat 0, is no lead; who leads plays cards'),
        ("play 34567 45678 56789", 'move 3, "56789" of seat 2, is not in its hand, 558; play what it holds'),
        ("play TTTT 9999", 'does not beat "TTTT"; play a higher bomb, the rocket or pass'),
        ("play 34567 3", "play a higher chain of solos as long, a bomb, the rocket or pass"),
        ("play BR 9999", 'does not beat "BR"; nothing does, so pass'),
        ("play 34567 pass pass TTTT pass pass BR pass", 'move 8, "pass", comes after the end of the round'),
        ("calls 1 | play 5", "leave the calls out"),
    ],
)
def test_a_refusal_tells_what_may_be_played_instead(line: str, message: str) -> None:
    game = DouDizhu(start=rounds_from_hands(["34567TTTTBR", "333456789999", "558"]))
    with pytest.raises(GameError, match=message):
        game.parse_infoset(f"P2 dealt 558 | bottom - | {line}")


def test_a_call_that_is_not_above_the_last_or_after_the_auction_is_refused() -> None:
    game = DouDizhu(landlord="bid", ranks=1)
    for calls, message in (
        ("2 1", 'call 2, "1" of seat 1, is not above 2; call 3 or pass'),
        ("pass pass pass 1", 'call 4, "1", comes after the end of the auction'),
    ):
        with pytest.raises(GameError, match=message):
            game.parse_infoset(f"P1 dealt B | calls {calls}")
    with pytest.raises(GameError, match='call 2, "pass", comes after the end of the auction'):
        game.parse_infoset("P1 dealt B | bottom 333 | calls 3 pass")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "an infoset reads like"),
        ("P3 dealt 3", "an infoset reads like"),
        ("P1 dealt 3 | bottom 3 | bottom 3", "an infoset reads like"),
        ("P1 dealt 3Z | bottom 333", "a card is one of"),
        ("P1 dealt B | play 3", "bottom is shown once"),
        ("P1 dealt B | bottom 33R | play 3 pass pass pass", 'move 4, "pass" of seat 0, is no lead'),
        ("P1 dealt B | bottom 33R | play 3 3", 'move 2, "3" of seat 1, is not in its hand, B'),
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
    states = game.sample_deals(40, rng)
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
