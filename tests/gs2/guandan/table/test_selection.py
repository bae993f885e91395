"""Picked cards at generated positions: what fits is a choice, and what does not is told why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from games.guandan.cards import RANKS, pack, parse_cards
from games.guandan.combos import beats
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.playout import legal_moves
from gs2.guandan.table.seat import Observation
from gs2.guandan.table.selection import Reason, fitting, why_not, wild_words
from gs2.guandan.table.session import Listener, Session
from tests.patience import amount


def positions(seed: int, decisions: int) -> Iterator[Observation]:
    """Yield what the seats to act know, in a match of random moves that are rather long, lest rounds are."""
    rng = np.random.default_rng(seed)
    session = Session(Listener(), games=9, seed=seed)
    session.begin()
    for _ in range(decisions):
        seat = int(rng.choice(list(session.pending)))
        seen = session.observe(seat)
        yield seen
        tried = rng.integers(len(seen.moves), size=4)
        session.choose(seat, int(max(tried, key=lambda i: seen.moves["size"][i])))


def same(a: list[str], b: list[str]) -> bool:
    return len(a) == len(b) and sorted(a) == sorted(b)


def test_the_cards_of_a_choice_fit_that_choice_and_no_other_cards_do(seed=0):
    rng = np.random.default_rng(seed)
    stages = set()
    for seen in positions(seed, amount(750, 250)):
        stages.add(seen.stage)
        for index in rng.choice(len(seen.moves), min(5, len(seen.moves)), replace=False):
            cards = seen.actions[index][2]
            if cards == "PASS":
                continue
            shuffled = [str(card) for card in rng.permutation(cards)]
            found = fitting(seen.moves, shuffled)
            assert index in found
            assert all(same(seen.actions[i][2], cards) for i in found)
            assert found == [i for i, move in enumerate(seen.actions) if same(move[2], cards)]
            assert why_not(seen, shuffled) is None
    assert stages == {"play", "tribute", "back"}


def test_picked_cards_that_are_no_choice_are_told_why(seed=0):
    rng = np.random.default_rng(seed)
    codes: Counter[str] = Counter()
    for seen in positions(seed + 10, amount(750, 250)):
        hand = seen.hand
        level = RANKS.index(seen.level)
        # of neighbouring cards, which make a combination now and then
        start = int(rng.integers(len(hand)))
        picks = [
            [str(c) for c in rng.choice(hand, rng.integers(1, min(6, len(hand)) + 1), replace=False)],
            hand[start : start + int(rng.integers(1, 6))],
        ]
        # before a card is returned the hand is no hand
        leads = legal_moves(pack(parse_cards(hand[:27]))[None], level).values
        named = [action_list(move, level) for move in leads]
        picks += [named[i][2] for i in rng.choice(len(leads), 2)]
        for cards in picks:
            why = why_not(seen, cards)
            at = fitting(seen.moves, cards)
            assert (why is None) == bool(at)
            if why is None:
                continue
            codes[why.code] += 1
            assert why.text().endswith(".") and why.to_json()["code"] == why.code
            if seen.stage != "play":
                assert why.code == "card_not_allowed"
                assert why.details["cards"] == list(dict.fromkeys(move[2][0] for move in seen.actions))
                continue
            made = [i for i, name in enumerate(named) if same(name[2], cards)]
            assert (why.code in ("no_combination", "wrong_count")) == (not made)
            if why.code == "too_low":
                assert why.details["beat"] == seen.greater[1]
                assert not beats(leads[made], seen.state["beat"], level).any()
            if why.code == "wrong_type":
                assert why.details["need"] == seen.greater[1][0]
                assert why.details["need"] not in {named[i][0] for i in made}
            if why.code == "wrong_count":
                assert why.details["need"] == len(seen.greater[1][2]) != len(cards)
    assert {"no_combination", "wrong_type", "too_low", "wrong_count", "card_not_allowed"} <= set(codes)


def test_what_is_no_move_at_all_has_reasons_of_its_own():
    seen = next(positions(3, 1))
    assert why_not(seen, []) == Reason("none_selected") and fitting(seen.moves, []) == []
    assert why_not(seen, ["PASS"]) == Reason("must_lead")
    assert why_not(None, seen.hand[:1]) == Reason("not_your_turn")
    follows = next(s for s in positions(3, 30) if s.greater is not None)
    assert why_not(follows, ["PASS"]) is None
    held = seen.hand[0]
    assert why_not(seen, [held] * 3).details["cards"] == [held] * (3 - seen.hand.count(held))
    for cards in (["ZZ"], ["S2"] * 30, ["", "H2"], ["PASS", "PASS"]):
        assert fitting(seen.moves, cards) == []
        assert why_not(seen, cards).code == "not_held"
    # a server's list without a legal move is told from a bad move
    other = Observation(seen.seat, "play", seen.state, seen.moves[:1], seen.actors, seen.record)
    assert why_not(other, seen.actions[-1][2]) == Reason("not_offered")


@pytest.mark.parametrize("level", ["2", "5", "T", "A"])
def test_a_wild_card_stands_for_the_card_that_makes_the_same_move(level):
    """With the wild cards replaced by the cards named, the move is the same of natural cards."""
    rng = np.random.default_rng(RANKS.index(level))
    code = RANKS.index(level)
    wild = "H" + level
    told = 0
    deck = [c for c in map(str, (s + r for s in "HSCD" for r in RANKS[:13])) if c != wild] * 2
    for _ in range(amount(12, 4)):
        hand = [wild, wild, *rng.choice(deck, 18, replace=False)]
        moves = legal_moves(pack(parse_cards(hand))[None], code).values
        for move in moves[rng.choice(len(moves), min(80, len(moves)), replace=False)]:
            kind, rank, cards = action_list(move, code)
            words = wild_words(move, code)
            if words is None:
                # natural or not there at all: of another level the move is the same
                if wild in cards and kind != "Bomb":
                    assert parse_action([kind, rank, cards], (code + 1) % 13)["rank"][0] == move["rank"]
                continue
            if kind == "Bomb":
                assert {word.split(" as ")[1] for word in words.split(", ")} == {rank}
                continue
            told += 1
            left = list(cards)
            for word in words.split(", "):
                name, stands_for = word.split(" as ")
                assert name == wild
                left.remove(wild)
                suits = stands_for[0] if len(stands_for) == 2 else "SHCD"
                # of the suits the one that is held least: neither a flush nor a third copy
                suit = min(suits, key=lambda s: sum(c[0] == s for c in left))
                left.append(suit + stands_for[-1])
            # a wild card left over must be natural: the next level has another wild card
            assert parse_action([kind, rank, left], (code + 1) % 13)["type"][0] == move["type"]
    assert told > 100
