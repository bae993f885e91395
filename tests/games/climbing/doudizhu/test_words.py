"""Words of DouDiZhu, written and read back; deals, and hidden cards drawn again from one view."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from games import CHANCE, GameError
from games.check import chi_square_bound
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.move_table import PASS
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text, count_ranks, read_multiset
from games.climbing.doudizhu.round_state import CALLS
from tests.patience import amount


def test_multisets_are_packed_and_written_and_read_back() -> None:
    rng = np.random.default_rng(0)
    counts = np.concatenate([rng.integers(0, 5, (50, 13)), rng.integers(0, 2, (50, 2))], axis=1)
    packed = [read_multiset("".join(np.repeat(list(RANK_LETTERS), row)[::-1])) for row in counts]
    assert np.array_equal(count_ranks(packed), counts)
    assert [read_multiset(cards_text(cards)) for cards in packed] == packed


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


@pytest.mark.parametrize("options", [{}, {"ranks": 7}, {"landlord": "bid"}])
@pytest.mark.some(2)
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
        ("P1 dealt B | bottom 33R | play 3344", "combination"),
        # an auction
        ("P1 dealt B | calls 2 1", 'call 2, "1" of seat 1, is not above 2; call 3 or pass'),
        ("P1 dealt B | calls pass pass pass 1", 'call 4, "1", comes after the end of the auction'),
        ("P1 dealt B | bottom 333 | calls 3 pass", 'call 2, "pass", comes after the end of the auction'),
        ("P1 dealt B | calls pass | play 3", "before there is a landlord"),
    ],
)
def test_infosets_that_cannot_be_are_refused(text: str, message: str) -> None:
    by_bid = "calls" in text and "calls 5" not in text
    with pytest.raises(GameError, match=message):
        DouDizhu(landlord="bid" if by_bid else "first", ranks=1).parse_infoset(text)


@pytest.mark.parametrize("landlord", ["first", "bid"])
def test_chance_deals_as_a_shuffled_deck_does(landlord: str) -> None:
    game = DouDizhu(landlord=landlord, ranks=1)
    rng = np.random.default_rng(0)
    deals = game.sample_deals(20_000, rng)
    seen = Counter(state.tobytes() for state in deals)
    expected: dict[bytes, float] = {game.root()[0].tobytes(): 1.0}
    for _ in range(3):
        states = np.concatenate([np.frombuffer(name, game.root().dtype) for name in expected])
        actions = game.actions(states)
        share = np.array(list(expected.values()))[actions.rows] * game.chance_probs(states, actions)
        after = game.step(states, actions.rows, actions.values)
        expected = {state.tobytes(): float(part) for state, part in zip(after, share, strict=True)}
    assert set(seen) <= set(expected)
    cells = [(seen[name] - 20_000 * part) ** 2 / (20_000 * part) for name, part in expected.items()]
    assert sum(cells) <= chi_square_bound(len(cells) - 1)


def test_both_ways_to_deal_a_whole_deck_agree() -> None:
    game, n = DouDizhu(), amount(4000, 1500)
    rng = np.random.default_rng(1)
    walk, deck = np.repeat(game.root(), n), game.sample_deals(n, rng)
    while (game.player(walk) == CHANCE).any():
        actions = game.actions(walk)
        total = np.cumsum(game.chance_probs(walk, actions))
        picked = np.searchsorted(total, np.arange(n) + rng.random(n))
        walk = game.step(walk, np.arange(n), actions.values[picked])
    # five standard deviations of the difference of two means, and more
    for field in ("hand", "bottom"):
        means = [count_ranks(states[field]).mean(0) for states in (walk, deck)]
        assert np.abs(means[0] - means[1]).max() < 7.5 / np.sqrt(n)
    fours = [(count_ranks(states["hand"][:, 1]) == 4).mean() for states in (walk, deck)]
    assert abs(fours[0] - fours[1]) < 0.16 / np.sqrt(n)


def test_bottom_cards_are_hidden_until_there_is_a_landlord() -> None:
    game = DouDizhu(landlord="bid")
    deals = game.sample_deals(2, np.random.default_rng(2))
    assert "bottom" not in game.infoset_text(deals[0], 0)
    other = deals[:1].copy()
    # the next seat's first card for one of the bottom
    low = int(other["hand"][0, 1]) & -int(other["hand"][0, 1])
    rank = (low.bit_length() - 1) // 4
    there = next(r for r in range(15) if int(other["bottom"][0]) >> 4 * r & 15 and r != rank)
    other["hand"][0, 1] = int(other["hand"][0, 1]) + (1 << 4 * there) - (1 << 4 * rank)
    other["bottom"][0] = int(other["bottom"][0]) - (1 << 4 * there) + (1 << 4 * rank)
    for player, same in ((0, True), (1, False), (2, True)):
        keys = [game.infoset_key(states, player)[0].tolist() for states in (deals[:1], other)]
        assert (keys[0] == keys[1]) == same


def test_hidden_cards_are_drawn_as_often_as_chance_has_them() -> None:
    # With four unknown 3s of which the landlord is known to have held one, one more is likelier with it than
    # a fresh deal of the others would say: all four of the deal count, not the three unseen ones.
    game = DouDizhu(ranks=4)
    rng = np.random.default_rng(4)
    infoset = game.parse_infoset("P1 dealt 44556 | bottom 66R | play 3")
    lines = game.sample_histories(infoset, 20_000, rng)
    first = lines.values.reshape(20_000, -1)[:, 0] - 27_476
    ours = np.bincount(first % 5, minlength=5) / 20_000
    # by hand: of 10 unknown cards, four 3s, 5 go to the landlord
    ways = np.array([0.0] + [[1, 4, 6, 4, 1][k] * [1, 6, 15, 20, 15, 6][5 - k] for k in range(1, 5)])
    assert np.abs(ours - ways / ways.sum()).max() < 0.015


def test_an_infoset_that_no_deal_agrees_with_is_refused() -> None:
    game = DouDizhu()
    for text in (
        "P1 dealt 33334567789TJJQKA | bottom 4TR | play 3",
        "P1 dealt 3334567789TJJQKAA | bottom 34R | play 33",
        "P1 dealt 3334567789TJJQKA | bottom 4TR",
    ):
        with pytest.raises(GameError, match="deal must agree"):
            game.parse_infoset(text)
