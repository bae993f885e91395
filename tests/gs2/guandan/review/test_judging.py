"""Decisions and cards given, judged by what the seat knew, the same every time, the move played compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.guandan.cards import CARD_NAMES, pack, unpack
from games.guandan.matches.tribute import return_options, tribute_options
from games.guandan.notation import action_list
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance
from games.guandan.rounds.state import NOBODY
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.agent.decision import Decision
from gs2.guandan.review import match_review
from gs2.guandan.review.match_review import (
    REVIEW_PRESETS,
    Judge,
    MatchReview,
    better_lines,
    choices_of,
    judge_cards,
    value_curve,
)
from gs2.guandan.review.recorded_rounds import RecordedRound
from gs2.guandan.table.seat import seen_by
from gs2.review.review_data import THRESHOLDS, ReviewedDecision, verdict_of
from gs2.review.reviewing import parse_game
from tests.gs2.guandan.blueprints import CountEvaluator, midgame
from tests.gs2.guandan.review.spoken import record_text
from tests.patience import amount

SMALL = REVIEW_PRESETS["fast"].replace(reach=0.0, pool=1280, worlds=6, wave=6)


def small_review() -> MatchReview:
    """Return what reviews by a blueprint without weights."""
    review = MatchReview("guandan_match")
    review.networks, review.config = DealNetworks(CountEvaluator(0.05)), SMALL
    return review


def without_weights(patch: pytest.MonkeyPatch, cache: Path) -> list[int]:
    """Have reviews made by a blueprint without weights and kept in a folder; the list counts them."""
    made: list[int] = []
    patch.setattr(match_review, "_networks", lambda: made.append(1) or DealNetworks(CountEvaluator(0.05)))
    patch.setitem(REVIEW_PRESETS, "fast", SMALL)
    patch.setenv("XDG_CACHE_HOME", str(cache))
    return made


def small_judge() -> Judge:
    return Judge(DealNetworks(CountEvaluator(0.05)), SMALL)


def round_of(seed: int, level: str = "2") -> RecordedRound:
    return parse_game(record_text(seed, 1, level=level)).rounds[0]


def told(choices: list[Decision]) -> list[tuple]:
    """Return what is judged of some decisions."""
    found = small_judge().judge(choices)
    return [(choice.q.tobytes(), choice.choice, one) for choice, one in zip(choices, found, strict=True)]


def words(choice: Decision, move: int) -> list:
    return action_list(choice.actions[move], int(choice.state["level"][0]))


@settings(max_examples=amount(6, 2), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from("259QA"))
def test_every_decision_with_a_choice_is_judged_and_no_other(seed, level):
    played = round_of(seed, level)
    choices = choices_of(played)
    states = played.states()
    forced = set(range(len(played.actions))) - {int(choice.state["plays"][0]) for choice in choices}
    assert all(len(legal(states[k : k + 1], canonical=True)[0]) == 1 for k in forced)
    assert all(len(choice.actions) > 1 for choice in choices)
    for choice, decision in zip(choices, small_judge().judge(choices), strict=True):
        assert choice.actions[choice.asked] == played.actions[decision.play]
        gains = {tuple(map(str, row.move)): row.gain for row in decision.moves}
        assert gains[tuple(map(str, words(choice, choice.asked)))] == 0
        assert decision.moves[0].move == decision.best == words(choice, choice.choice)
        assert decision.loss >= 0 <= decision.error
        assert decision.stage in ("endgame", "search", "clear")
        assert np.isfinite(list(gains.values())).all()
        assert max(gains.values()) == pytest.approx(decision.loss)
        assert (decision.verdict == "best") == (choice.choice == choice.asked)


def test_the_same_round_gets_the_same_judgement_whatever_is_judged_beside_it():
    once = told(choices_of(round_of(3))[::2])
    assert once == told(choices_of(round_of(3))[::2][::-1])[::-1]
    assert once[:4] == [told([choice])[0] for choice in choices_of(round_of(3))[:8:2]]


@settings(max_examples=amount(8, 4), deadline=None)
@given(st.integers(0, 10**6))
def test_hidden_hands_do_not_change_a_judgement(seed):
    rng = np.random.default_rng(seed)
    state = midgame(1, rng, plies=int(rng.integers(4, 70)))
    seat = int(state["player"][0])
    moves = legal(state, canonical=True)[0]
    at = int(rng.integers(len(moves)))
    other, seen = determinise(state, seat, rng), seen_by(state, seat)
    assert not np.delete(seen["hand"][0], seat, 0).any() and state["hand"][0, seat].any()
    assert np.array_equal(seen["hand"][0, seat], state["hand"][0, seat])
    assert not np.array_equal(other["hand"], state["hand"]) or int(np.count_nonzero(state["left"][0])) == 2
    one, two = (told([Decision(seen_by(hands, seat), moves, asked=at)]) for hands in (state, other))
    assert one == two


def test_a_move_of_another_form_is_judged_beside_the_canonical_ones():
    for seed in range(30):
        played = round_of(seed)
        canonical = legal(played.start, canonical=True)[0]
        others = [move for move in legal(played.start)[0] if not np.any(canonical == move)]
        if others:
            break
    assert others, "no deal of thirty offers a move that is not canonical"
    actions = played.actions[:1].copy()
    actions[0] = others[0]
    one = RecordedRound(1, 1, played.start, (True,) * 4, played.seats[:1], actions)
    choice = choices_of(one)[0]
    assert choice.asked == len(canonical)
    (found,) = small_judge().judge([choice])
    assert words(choice, choice.asked) in [row.move for row in found.moves]


def test_endgames_of_two_are_judged_exactly():
    found: list[ReviewedDecision] = []
    for seed in range(20, 60):
        ends = [
            choice for choice in choices_of(round_of(seed)) if np.count_nonzero(choice.state["left"][0]) == 2
        ]
        for choice in ends:
            choice.state["fails"] = NOBODY  # for itself, not in a match: levels are all that counts
        found += [decision for decision in small_judge().judge(ends) if decision.stage == "endgame"]
        if any(decision.loss > 0 for decision in found):
            break
    lost = [decision for decision in found if decision.loss > 0]
    assert lost
    assert all(decision.error == 0 for decision in found)
    # whose partner was first is out third instead of last, or holds the other team's partner back
    assert {decision.loss for decision in lost} == {1.0}


def test_seats_whose_hands_are_not_known_are_not_judged():
    whole = round_of(5)
    part = RecordedRound(1, 1, whole.start, (False, True, False, False), whole.seats, whole.actions)
    assert {choice.seat for choice in choices_of(part)} == {1}
    nobody = RecordedRound(1, 1, whole.start, (False,) * 4, whole.seats, whole.actions)
    assert choices_of(nobody) == []
    assert small_judge().judge([]) == []


def test_a_curve_ends_in_the_result_and_one_seats_curve_looks_at_nothing_hidden():
    played = round_of(6)
    curve, viewer = value_curve(played, CountEvaluator())
    assert viewer is None
    assert len(curve) == len(played.actions) + 1
    assert played.end is not None
    played.start["fails"] = NOBODY
    assert value_curve(played, CountEvaluator())[0][-1] == played.end["payoffs"][0]
    half = len(played.actions) // 2
    part = RecordedRound(
        1, 1, played.start, (False, True, False, False), played.seats[:half], played.actions[:half]
    )
    curve, viewer = value_curve(part, CountEvaluator())
    assert viewer == 1
    assert np.isfinite(curve).all()


def test_a_better_line_is_legal_and_begins_with_the_move():
    played = round_of(7)
    states = played.states()
    at = np.array([0, len(played.actions) // 2, len(played.actions) - 1])
    moves = played.actions[at]
    lines = better_lines(states[at], moves, CountEvaluator(), plays=5)
    for k, line in zip(at, lines, strict=True):
        state = states[k : k + 1].copy()
        assert line[0][1][0] == played.actions[k]
        assert 1 <= len(line) <= 5
        for seat, action in line:
            assert int(state["player"][0]) == seat
            assert np.any(legal(state)[0] == action[0])
            advance(state, action)
    assert len(lines[-1]) == 1


@given(st.floats(0, 6), st.floats(0, 1))
def test_a_verdict_gets_no_better_as_the_loss_grows(loss, error):
    order = ["level", "inaccuracy", "mistake", "blunder"]
    one, other = (order.index(verdict_of(x, error, best=False)) for x in (loss, loss + 0.5))
    assert one <= other
    assert verdict_of(loss, error, best=True) == "best"
    assert 0 < THRESHOLDS["inaccuracy"] < THRESHOLDS["mistake"] < THRESHOLDS["blunder"]


WORTH = np.random.default_rng(5).normal(size=len(CARD_NAMES))


class Likes:
    """Values a hand by what each of its cards is worth."""

    name, sees_all = "likes", False

    def values(self, states, rows, seats):
        hands = unpack(states["hand"][rows, seats].reshape(len(rows), -1)).astype(float)
        return hands @ WORTH


def rounds_with_tribute():
    for seed in range(amount(6, 4)):
        for played in parse_game(record_text(seed, 4)).rounds:
            if played.tributes:
                yield played


def test_each_choice_of_a_card_is_judged_once_and_the_best_card_is_the_one_least_liked():
    checked = backs = 0
    for played in rounds_with_tribute():
        found = {(card.seat, card.back): card for card in judge_cards(played, Likes())}
        hands = unpack(played.start["hand"][0]).astype(int)
        for giver, taker, name in played.returns:
            hand = hands[giver].copy()
            hand[CARD_NAMES.index(name)] += 1
            received = next(card for one, other, card in played.tributes if (one, other) == (taker, giver))
            options = return_options(
                _packed(hand), played.start["level"], np.array([CARD_NAMES.index(received)], np.uint8)
            )[0]
            card = found.pop((giver, True), None)
            assert (card is None) == (options.sum() < 2)
            if card is not None:
                liked = np.where(options, WORTH, np.inf)
                assert card.choices == options.sum()
                at = CARD_NAMES.index(card.card)
                assert card.card == name
                assert card.best == (name if liked[at] <= liked.min() else CARD_NAMES[liked.argmin()])
                assert card.loss == pytest.approx(WORTH[at] - liked.min())
                backs += 1
        for giver, taker, name in played.tributes:
            hand = hands[giver].copy()
            hand[CARD_NAMES.index(name)] += 1
            back = next(card for one, other, card in played.returns if (one, other) == (taker, giver))
            hand[CARD_NAMES.index(back)] -= 1
            options = tribute_options(_packed(hand), played.start["level"])[0]
            card = found.pop((giver, False), None)
            assert (card is None) == (options.sum() < 2)
            checked += 1
        assert not found
        givers = {giver for giver, *_ in played.tributes + played.returns}
        hidden = replace(played, known=tuple(seat not in givers for seat in range(4)))
        assert judge_cards(hidden, Likes()) == [], "a seat whose hand is not known is not judged"
    assert checked > 5
    assert backs > 5


def _packed(hand):
    return pack(hand[None].astype(np.uint8))


def test_a_review_says_what_cards_lost_for_each_player():
    texts = (record_text(seed, 2) for seed in range(9))
    game = next(game for game in map(parse_game, texts) if game.rounds[1].tributes)
    reviewer = small_review()
    review = reviewer.review(game, rounds=[2])
    cards = review.rounds[0].cards
    assert all(card.loss >= 0 for card in cards)
    for player in review.players:
        assert player.cards == pytest.approx(sum(card.loss for card in cards if card.seat == player.seat))
