"""Decisions judged by search: from what the seat knew, the same every time, the move played compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.guandan.rounds.belief import determinise
from games.guandan.rounds.round import advance, legal
from games.guandan.rounds.state import NOBODY
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.review.game_files import parse_game
from gs2.guandan.review.judging import Judge, Judgement, TakenDecision, choices_of, seen_by
from gs2.guandan.review.recorded_rounds import RecordedRound
from gs2.guandan.review.review_presets import BLUNDER, INACCURACY, MISTAKE, REVIEW_PRESETS, verdict_of
from gs2.guandan.review.value_curve import better_lines, value_curve
from tests.gs2.guandan.blueprints import CountEvaluator, midgame
from tests.gs2.guandan.review.spoken import record_text

SMALL = REVIEW_PRESETS["fast"].replace(reach=0.0, pool=1280, worlds=6, wave=6)


def small_judge() -> Judge:
    return Judge(DealNetworks(CountEvaluator(0.05)), SMALL)


def round_of(seed: int, level: str = "2") -> RecordedRound:
    return parse_game(record_text(seed, 1, level=level)).rounds[0]


def told(found: Judgement) -> tuple:
    arrays = (found.q, found.moves, found.gains, found.errors, found.values)
    words = (found.network, found.best, found.loss, found.error, found.behind_network, found.stage)
    return (*words, found.deals, found.better, found.worse, *(array.tobytes() for array in arrays))


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from("259QA"))
def test_every_decision_with_a_choice_is_judged_and_no_other(seed, level):
    played = round_of(seed, level)
    choices = choices_of(played)
    states = played.states()
    forced = set(range(len(played.actions))) - {choice.play for choice in choices}
    assert all(len(legal(states[k : k + 1], canonical=True)[0]) == 1 for k in forced)
    assert all(len(choice.actions) > 1 for choice in choices)
    for choice in choices:
        assert choice.actions[choice.played] == played.actions[choice.play]
    for found in small_judge().judge(choices):
        assert found.choice.played in found.moves
        assert found.moves[0] == found.best
        assert found.loss >= 0 <= found.error
        assert found.stage in ("endgame", "search", "clear")
        assert np.isfinite(found.gains).all()
        assert found.gains.max() == pytest.approx(found.loss)
        assert (found.verdict == "best") == (found.best == found.choice.played)


def test_the_same_round_gets_the_same_judgement_whatever_is_judged_beside_it():
    choices = choices_of(round_of(3))
    once = small_judge().judge(choices)
    again = small_judge().judge(choices[::-1])[::-1]
    alone = [small_judge().judge([choice])[0] for choice in choices[:6]]
    assert [told(found) for found in once] == [told(found) for found in again]
    assert [told(found) for found in once[:6]] == [told(found) for found in alone]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_hidden_hands_do_not_change_a_judgement(seed):
    rng = np.random.default_rng(seed)
    state = midgame(1, rng, plies=int(rng.integers(4, 70)))
    seat = int(state["player"][0])
    moves = legal(state, canonical=True)[0]
    at = int(rng.integers(len(moves)))
    other = determinise(state, seat, rng)
    assert not np.array_equal(other["hand"], state["hand"]) or int(np.count_nonzero(state["left"][0])) == 2
    found = [
        small_judge().judge([TakenDecision(0, seat, seen_by(given_, seat), moves, at)])[0]
        for given_ in (state, other)
    ]
    assert told(found[0]) == told(found[1])


def test_what_a_seat_sees_holds_no_card_of_another():
    state = midgame(1, np.random.default_rng(1))
    seen = seen_by(state, 2)
    assert not seen["hand"][0, [0, 1, 3]].any()
    assert np.array_equal(seen["hand"][0, 2], state["hand"][0, 2])
    assert state["hand"][0, [0, 1, 3]].any()


def test_a_move_of_another_form_is_judged_beside_the_canonical_ones():
    for seed in range(30):
        played = round_of(seed)
        full = legal(played.start)[0]
        canonical = legal(played.start, canonical=True)[0]
        other = next((move for move in full if not np.any(canonical == move)), None)
        if other is not None:
            break
    else:
        pytest.fail("no deal of thirty offers a move that is not canonical")
    actions = played.actions[:1].copy()
    actions[0] = other
    one = RecordedRound(1, 1, played.start, (True,) * 4, played.seats[:1], actions)
    choice = choices_of(one)[0]
    assert choice.played == len(canonical)
    assert choice.played in small_judge().judge([choice])[0].moves


def test_endgames_of_two_are_judged_exactly():
    found: list[Judgement] = []
    for seed in range(20, 60):
        ends = [
            choice for choice in choices_of(round_of(seed)) if np.count_nonzero(choice.state["left"][0]) == 2
        ]
        for choice in ends:
            choice.state["fails"] = NOBODY  # for itself, not in a match: levels are all that counts
        found += [judgement for judgement in small_judge().judge(ends) if judgement.stage == "endgame"]
        if any(judgement.loss > 0 for judgement in found):
            break
    lost = [judgement for judgement in found if judgement.loss > 0]
    assert lost
    assert all(judgement.error == 0 for judgement in found)
    # whose partner was first is out third instead of last, or holds the other team's partner back
    assert {judgement.loss for judgement in lost} == {1.0}


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
    assert value_curve(played, CountEvaluator())[0][-1] == played.end.payoffs[0]
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
    assert 0 < INACCURACY < MISTAKE < BLUNDER
