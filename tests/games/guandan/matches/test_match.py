"""Whole matches: deals, phases, tribute in place, lockstep against single tables, bad input."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from blueprint.guandan.play.deals import card_choice, exchange_cards
from games.game import TERMINAL, GameError
from games.guandan.cards import CARD_NAMES, DECK, NO_ACTION, as_level, unpack
from games.guandan.combos import ORDER
from games.guandan.matches.lockstep import BACK, OVER, PLAY, TRIBUTE, Matches, deal_round, mix_seeds
from games.guandan.matches.match import (
    AntiTribute,
    Dealt,
    Leads,
    Match,
    MatchOver,
    Played,
    Returned,
    RoundOver,
    Tribute,
    parse_move,
)
from games.guandan.matches.tribute import CARD_RANK, payers
from games.guandan.notation import action_list, action_text
from games.guandan.rounds.playout import random_playouts
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS
from studies.simulate_guandan import replay_match, simulate_matches
from tests.games.guandan.positions import random_cards
from tests.patience import LONG, amount


def play_round(match: Match, rng: np.random.Generator) -> list:
    """Play at random until a round ends; return the events since its first move."""
    events: list = []
    while not any(isinstance(event, RoundOver) for event in events):
        due = match.pending()[0]
        events += match.apply(due.seat, int(rng.integers(len(due.actions))))
    return events


@cache
def found() -> dict[str, Match]:
    """Return matches of random play that have come to a single, a double and a refused tribute."""
    matches: dict[str, Match] = {}
    for seed in range(200):
        match, rng = Match(seed), np.random.default_rng(seed)
        for _ in range(2):
            play_round(match, rng)
            owes = sum(due.stage == "tribute" for due in match.pending())
            matches.setdefault(("refused", "single", "double")[owes], match.copy())
        if len(matches) == 3:
            return matches
    raise AssertionError("no such matches among 200 seeds")


def snapshot(match: Match) -> tuple:
    return (match.state.tobytes(), match._row.tobytes(), len(match.events), match.phase)


def test_a_match_begins_at_level_two_with_a_deal_and_a_random_lead() -> None:
    leads = set()
    for seed in range(24):
        match = Match(seed)
        dealt, lead = match.events
        assert isinstance(dealt, Dealt) and isinstance(lead, Leads)
        assert (dealt.round, dealt.level, dealt.levels, dealt.owner) == (1, 0, (0, 0), None)
        assert np.array_equal(dealt.hands.sum(0), DECK) and np.all(dealt.hands.sum(1) == 27)
        assert [due.seat for due in match.pending()] == [lead.seat]
        leads.add(lead.seat)
    assert leads == {0, 1, 2, 3}
    assert {Match(seed, rules="openguandan").pending()[0].seat for seed in range(24)} == {0}


def test_single_tribute_goes_from_last_to_first_and_the_payer_leads() -> None:
    match = found()["single"].copy()
    assert match.state["player"][0] == TERMINAL
    order = next(e for e in reversed(match.events) if isinstance(e, RoundOver)).order
    (due,) = match.pending()
    assert (due.seat, due.stage) == (order[3], "tribute")
    before = match.hands
    (paid,) = match.apply(due.seat, 0)
    assert isinstance(paid, Tribute) and match.phase == "back"
    ((giver, taker, card),) = paid.transfers
    assert (giver, taker) == (order[3], order[0])
    (due,) = match.pending()
    assert (due.seat, due.stage) == (order[0], "back") and match.hands[order[0]].sum() == 28
    returned, lead = match.apply(due.seat, 0)
    ((_, _, back),) = returned.transfers
    assert lead == Leads(order[3]) and match.phase == "play"
    change = match.hands.astype(int) - before
    want = np.zeros((4, 54), int)
    want[giver, card] -= 1
    want[taker, card] += 1
    want[taker, back] -= 1
    want[giver, back] += 1
    assert np.array_equal(change, want)
    assert match.tributes == paid.transfers and match.returns == returned.transfers
    assert match.state["plays"][0] == 0 and np.all(match.state["last"]["type"] == NO_ACTION)
    assert found()["single"].phase == "tribute", "copies leave the match alone"


def test_double_tribute_is_told_when_both_have_paid() -> None:
    match = found()["double"].copy()
    order = next(e for e in reversed(match.events) if isinstance(e, RoundOver)).order
    first, second = match.pending()
    assert {first.seat, second.seat} == {order[2], order[3]}
    assert match.apply(second.seat, 0) == []
    with pytest.raises(GameError, match=f"seat {second.seat} is not to act; waiting for seat {first.seat}"):
        match.apply(second.seat, 0)
    (paid,) = match.apply(first.seat, 0)
    assert isinstance(paid, Tribute) and {giver for giver, _, _ in paid.transfers} == {order[2], order[3]}
    assert {taker for _, taker, _ in paid.transfers} == {order[0], order[1]}
    by_taker = {taker: card for _, taker, card in paid.transfers}
    place = ORDER[match.level][CARD_RANK]
    assert place[by_taker[order[0]]] >= place[by_taker[order[1]]]
    for due in list(match.pending()):
        last = match.apply(due.seat, 0)
    pairs = {(taker, giver) for giver, taker, _ in paid.transfers}
    assert {(giver, taker) for giver, taker, _ in last[0].transfers} == pairs


def test_two_big_jokers_cancel_the_tribute_and_the_first_finisher_leads() -> None:
    match = found()["refused"]
    over, dealt, anti, lead = match.events[-4:]
    assert isinstance(over, RoundOver) and isinstance(anti, AntiTribute) and lead == Leads(over.order[0])
    big = CARD_NAMES.index("HR")
    assert sum(int(dealt.hands[seat][big]) for seat in anti.seats) == 2
    losers = {over.order[3]} if over.order[1] % 2 != over.order[0] % 2 else {over.order[2], over.order[3]}
    assert set(anti.seats) <= losers
    known = unpack(match.state["known"][0])
    assert known[:, big].sum() == known.sum() == 2 and match.state["known"][0].any(1).sum() <= 2


def test_what_tribute_shows_is_known_in_play() -> None:
    """The receiver holds the tribute card, the payer the returned one and nothing above what he paid."""
    matches = Matches(np.arange(150))
    rng = np.random.default_rng(5)
    matches.states[:] = random_playouts(matches.states, rng, canonical=True)[0]
    matches.settle()
    while len(due := matches.card_decisions()):
        matches.give(due, random_cards(due, rng))
    table, states = matches.table, matches.states
    assert np.all(matches.phase == PLAY)
    known, hands = unpack(states["known"]), unpack(states["hand"])
    assert np.all(known <= hands) and np.all(hands.sum(2) == 27) and np.all(hands.sum(1) == DECK)
    seen = 0
    for i in np.flatnonzero(table["payer"][:, 0] != NOBODY):
        place = ORDER[states["level"][i]][CARD_RANK]
        for slot in np.flatnonzero(table["payer"][i] != NOBODY):
            payer, taker, paid, back = (table[f][i, slot] for f in ("payer", "receiver", "paid", "back"))
            assert known[i, payer, back] == 1
            assert known[i, taker, paid] == (paid != back)
            others = hands[i, payer].astype(int)
            others[back] -= 1
            others[4 * int(states["level"][i])] = 0
            highest = place[np.flatnonzero(others)].max()
            assert highest <= states["cap"][i, payer] == min(place[paid], 13)
            seen += 1
    assert seen > 75
    spared = table["payer"][:, 0] == NOBODY
    assert np.all(states["cap"][spared] == 14)


def test_before_play_a_round_says_what_it_says_in_play_of_levels_failures_and_rules() -> None:
    failed = 0
    for seed in range(amount(30, 4)):
        match = Match(seed, levels=("A", "A"), owner=seed % 2, rules=sorted(PRESETS)[seed % len(PRESETS)])
        rng = np.random.default_rng(seed)
        while not match.over and len(match.events) < 2000 and failed < 40:
            play_round(match, rng)
            before = match.unplayed()
            while not match.over and match.phase != "play":
                due = match.pending()[0]
                match.apply(due.seat, int(rng.integers(len(due.actions))))
            if not match.over:
                for name in ("level", "levels", "owner", "fails", "ace"):
                    assert np.array_equal(before[name], match.state[name]), name
                failed += bool(match.state["fails"].any())
    assert failed


def test_the_next_round_is_played_at_the_winners_level_and_its_deal_follows_from_seed_and_number() -> None:
    rng = np.random.default_rng(2)
    match = Match(3)
    for number in range(2, 5):
        play_round(match, rng)
        over = next(e for e in reversed(match.events) if isinstance(e, RoundOver))
        dealt = next(e for e in reversed(match.events) if isinstance(e, Dealt))
        assert dealt.owner == over.order[0] % 2 and dealt.level == over.levels[dealt.owner]
        assert match.level == dealt.level and match.levels == over.levels
        assert np.array_equal(dealt.hands, unpack(deal_round(np.array([3], np.uint64), number))[0])
        if match.phase == "play":
            assert match.state["level"][0] == dealt.level and match.state["owner"][0] == dealt.owner


def test_a_match_ends_only_with_a_win_at_the_winners_own_ace() -> None:
    match, rng = Match(0, levels=("A", "K"), owner=0), np.random.default_rng(3)
    while not match.over:
        events = play_round(match, rng)
    last, over = events[-2:]
    dealt = next(e for e in reversed(match.events) if isinstance(e, Dealt))
    assert isinstance(over, MatchOver) and over.winner == last.order[0] % 2 == dealt.owner == match.winner
    assert dealt.level == as_level("A") and last.order[3] % 2 != over.winner
    assert match.pending() == [] and match.phase == "over"
    with pytest.raises(GameError, match="the match is over"):
        match.apply(0, 0)


def test_max_rounds_ends_a_match_without_a_winner_and_without_log_it_keeps_no_events() -> None:
    match = Match(1, rules={"max_rounds": 1}, log=False)
    events = play_round(match, np.random.default_rng(1))
    assert events[-1] == MatchOver(None, 1) and match.over and match.winner is None
    assert len(events) > 30 and match.events == []


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.some(1)
def test_matches_in_lockstep_are_those_at_single_tables(name: str) -> None:
    """Same seeds and choices: same deals, tribute, moves and results."""
    n, rules = amount(6, 3), PRESETS[name]
    if LONG not in os.environ:
        rules = replace(rules, max_rounds=4)
    summary = simulate_matches(n, 11, rules=rules, batch=2)
    seeds = np.random.default_rng(11).integers(0, 2**63, n)
    tables = [replay_match(int(seed), rules=rules) for seed in seeds]
    assert summary.rounds == sum(match.round for match in tables)
    assert summary.doubles + summary.singles + summary.lasts == summary.rounds
    # every round but a match's first begins with tribute, or would but for the big jokers
    assert summary.tributes + summary.antis == summary.rounds - n
    assert summary.wins == tuple(sum(match.winner == team for match in tables) for team in (0, 1))
    decisions = sum(
        sum(
            1 if isinstance(e, Played) else len(e.transfers) if isinstance(e, Tribute | Returned) else 0
            for e in match.events
        )
        for match in tables
    )
    assert summary.decisions == decisions
    last_rounds = b"".join(match.state["hash"].tobytes() for match in tables)
    assert summary.digest == hashlib.sha256(last_rounds).hexdigest()[:16]


def test_tribute_in_lockstep_is_due_phase_by_phase_and_takes_options_alone() -> None:
    matches = Matches(np.arange(64))
    rng = np.random.default_rng(1)
    matches.states[:] = random_playouts(matches.states, rng)[0]
    matches.settle()
    assert set(matches.phase) <= {TRIBUTE, PLAY}
    waiting = matches.phase == TRIBUTE
    assert np.all(matches.states["player"][waiting] == TERMINAL)
    due = matches.card_decisions()
    assert set(due.rows) == set(np.flatnonzero(waiting)) and not due.back.any()
    seats = payers(matches.table["order"])
    assert np.array_equal(due.seats, seats[due.rows, due.slots])
    before, cards = matches.table.copy(), card_choice(due)
    wrong = cards.copy()
    wrong[-1] = np.flatnonzero(~due.options[-1])[0]
    for bad, message in (
        (wrong, "must be one of its options"),
        (cards[:-1], f"cards are {len(due)} card indices"),
        (np.where(cards >= 0, 54, 0), "card indices 0..53"),
    ):
        with pytest.raises(GameError, match=message):
            matches.give(due, bad)
        assert np.array_equal(matches.table, before)
    matches.give(due, cards)
    again = matches.card_decisions()
    assert again.back.all() and np.array_equal(again.rows, due.rows)
    assert np.all(matches.phase[due.rows] == BACK)
    with pytest.raises(GameError, match="is chosen once"):
        matches.give(due, cards)
    exchange_cards(matches)
    assert np.all(matches.phase == PLAY) and not np.any(matches.phase == OVER)


def test_rounds_can_begin_after_any_other_with_tribute() -> None:
    rng = np.random.default_rng(6)
    order = rng.permuted(np.tile(np.arange(4), (300, 1)), axis=1)
    levels = rng.integers(0, 13, (300, 2))
    matches = Matches(np.arange(300), levels=levels, order=order)
    assert np.array_equal(matches.table["owner"], order[:, 0] % 2)
    assert np.array_equal(matches.level(), levels[np.arange(300), order[:, 0] % 2])
    waiting = matches.phase == TRIBUTE
    assert np.array_equal(waiting, matches.table["anti"] == 0) and 0 < waiting.sum() < 300
    assert np.array_equal(matches.table["payer"][waiting], payers(order)[waiting])
    exchange_cards(matches)
    assert np.all(matches.phase == PLAY) and np.array_equal(matches.states["levels"], levels)
    without = Matches(np.arange(300), levels=levels, owner=1)
    assert np.all(without.phase == PLAY) and np.array_equal(without.level(), levels[:, 1])


def test_moves_are_taken_by_index_action_or_words() -> None:
    match = Match(5)
    (due,) = match.pending()
    a, b, c, d = (match.copy() for _ in range(4))
    index = len(due.actions) // 2
    level = match.level
    a.apply(due.seat, index)
    b.apply(due.seat, due.actions[index])
    c.apply(due.seat, action_list(due.actions[index], level))
    d.apply(due.seat, action_text(due.actions[index], level))
    assert snapshot(a) == snapshot(b) == snapshot(c) == snapshot(d) != snapshot(match)
    assert match.pending()[0].seat == due.seat, "copies leave the match alone"


def test_tribute_cards_are_taken_by_name_or_move() -> None:
    match = found()["single"]
    (due,) = match.pending()
    card = CARD_NAMES[np.flatnonzero(unpack(np.array([due.actions["lo"][0], due.actions["hi"][0]])))[0]]
    for choice in (
        0,
        card,
        ["tribute", "tribute", [card]],
        f'["tribute","tribute",["{card}"]]',
        due.actions[0],
    ):
        copy = match.copy()
        (paid,) = copy.apply(due.seat, choice)
        assert CARD_NAMES[paid.transfers[0][2]] == card
    with pytest.raises(GameError, match='this is the time for \\["tribute"'):
        match.apply(due.seat, ["back", "back", [card]])
    with pytest.raises(GameError, match="names one card"):
        parse_move("tribute", ["tribute", "tribute", []], 0)
    with pytest.raises(GameError, match="got '5'"):
        parse_move("tribute", ["tribute", "tribute", 5], 0)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (99_999, "an index lies in 0.."),
        (-1, "an index lies in 0.."),
        (True, "a choice is an index, an ACTION or a move"),
        (None, "a choice is an index, an ACTION or a move"),
        ("Pair 6 S6 X6", "got 'X6'"),
        ("Pair 6 S6 D7", "do not make Pair 6"),
        (["PASS", "PASS", "PASS"], "is not legal for seat"),
        (["Single", "2"], "a move is"),
        (["Bomb", "3", ["S3"] * 4], "a third time"),
    ],
)
def test_bad_moves_and_seats_not_to_act_are_refused_and_change_nothing(choice: object, message: str) -> None:
    match = Match(5)
    before, seat = snapshot(match), match.pending()[0].seat
    with pytest.raises(GameError, match=message):
        match.apply(seat, choice)  # type: ignore[arg-type]
    for other in (*({0, 1, 2, 3} - {seat}), 4, -1, "0"):
        with pytest.raises(GameError, match=f"is not to act; waiting for seat {seat}"):
            match.apply(other, choice)  # type: ignore[arg-type]
    assert snapshot(match) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "a seed is an integer"),
        ({"seed": 1.5}, "a seed is an integer"),
        ({"levels": ("1", "2")}, "a level must be one of 2, 3"),
        ({"levels": ("3", "2")}, "need an owner"),
        ({"levels": ("3", "2"), "owner": 2}, "need an owner"),
        ({"rules": "house"}, "rules are one of"),
        # in lockstep
        ({"seeds": np.arange(3), "order": [[0, 1, 2, 2]] * 3}, "an order names each of the four seats once"),
        ({"seeds": np.arange(2), "levels": [[1, 1], [13, 0]]}, "levels are rank codes 0..12"),
        ({"seeds": np.arange(2), "levels": [[1, 1], [2, 0]]}, "need an owner"),
        ({"seeds": np.arange(3), "owner": [0, 1, 3]}, "need an owner"),
    ],
)
def test_matches_that_cannot_begin_are_refused(options: dict, message: str) -> None:
    with pytest.raises(GameError, match=message):
        (Matches if "seeds" in options else Match)(**options)


@pytest.mark.parametrize(
    ("hands", "first", "message"),
    [
        (unpack(deal_round(np.array([5], np.uint64), 1))[0], 4, "first is a seat"),
        (np.zeros((4, 54), np.uint8), 0, "27 of the 108 cards"),
        (np.zeros((3, 54), np.uint8), 0, "deals are counts"),
    ],
)
def test_hands_that_are_no_deal_are_refused_and_change_nothing(
    hands: np.ndarray, first: int, message: str
) -> None:
    match = Match(5)
    before = snapshot(match)
    with pytest.raises(GameError, match=message):
        match.redeal(hands, first)
    assert snapshot(match) == before


def test_every_round_of_every_seed_deals_the_whole_deck() -> None:
    seeds = np.arange(50, dtype=np.uint64)
    for number in (1, 2, 30):
        hands = unpack(deal_round(seeds, number))
        assert np.all(hands.sum(1) == DECK) and np.all(hands.sum(2) == 27)
    first, second = deal_round(seeds, 1), deal_round(seeds, 2)
    assert len(np.unique(np.concatenate([first, second]).reshape(100, 8), axis=0)) == 100


def test_matches_are_dealt_what_their_seeds_say_unless_hands_are_given() -> None:
    seeds = np.arange(8, dtype=np.uint64)
    drawn, matches = Matches(seeds), Matches(seeds)
    assert np.array_equal(drawn.states["hand"], deal_round(seeds, 1))
    given = unpack(deal_round(seeds + np.uint64(100), 7))
    matches.redeal(given, 2)
    assert np.array_equal(unpack(matches.states["hand"]), given)
    assert np.all(matches.states["first"] == 2) and not np.any(drawn.states["first"] > 3)


def test_mixed_seeds_are_splitmix64s() -> None:
    """The first output of SplitMix64 for the seed 1234567, from Vigna's reference implementation in C."""
    assert int(mix_seeds(np.array([1234567], np.uint64))[0]) == 6457827717110365317
