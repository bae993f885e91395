"""The session of games, and what a seat can know of it from messages alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from games.guandan.notation import action_list
from games.guandan.rounds.round import GuanDan
from games.guandan.rules import PRESETS
from gs2.guandan.table.agents import FirstAgent, RandomAgent
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.runner import play_games
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.server.announcer import encode_card
from gs2.guandan.table.session import Session
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.dialect import Choices, Dialect, Trick
from gs2.guandan.table.wire.encode import encode_hand, encode_moves
from gs2.guandan.table.wire.njupt import Njupt
from gs2.guandan.table.wire.openguandan import OpenGuanDan
from tests.patience import amount


class Wire:
    """A listener that puts every message into four trackers, as if they sat at the end of a wire."""

    def __init__(self, dialect: Dialect, withheld: Sequence[str] = ()) -> None:
        """withheld: stages that this server never tells of."""
        self.dialect, self.withheld = dialect, withheld
        self.rules = PRESETS["njupt" if dialect.name == "njupt" else "ruling"]
        self.trackers = [Tracker(self.rules) for _ in range(4)]
        self.trick = Trick()
        self.kinds: set[str] = set()
        self.session: Session

    def say(self, payload: bytes, seats: Sequence[int] = range(4)) -> m.ServerMessage:
        message = m.decode_server_message(payload)
        self.kinds.add(json.loads(payload)["stage"])
        for seat in seats:
            self.trackers[seat].note(message)
        return message

    def hand(self, seat: int) -> bytes:
        return encode_hand(*self.session.hand(seat), self.session.level, dialect=self.dialect.name)

    def game_begun(self, number: int, match: Any) -> None: ...

    def happened(self, events: Any) -> None: ...

    def round_begun(self) -> None:
        self.trick = Trick()
        for seat in range(4):
            self.say(self.dialect.beginning(seat, self.hand(seat), self.session.view()), [seat])

    def anti_tribute(self, seats: Any) -> None:
        self.say(self.dialect.anti_tribute(seats))

    def chosen(self, seat: int, due: Any, index: int) -> None:
        if due.stage == "play":
            move = encode_moves(due.actions, self.session.level, dialect=self.dialect.name)[index]
            self.say(self.dialect.played(self.trick, seat, move))
            self.trick.play(seat, move)

    def exchanged(self, stage: str, transfers: Any) -> None:
        self.say(self.dialect.exchanged(stage, transfers))

    def asked(self, seats: Any) -> None: ...

    def round_over(self, result: Any) -> None:
        self.say(self.dialect.episode_over(result.order, result.level, result.left))

    def game_over(self, count: Any) -> None:
        for payload in self.dialect.game_over(count):
            if json.loads(payload)["stage"] not in self.withheld:
                self.say(payload)

    def request(self, seat: int) -> m.Act:
        session, due = self.session, self.session.pending[seat]
        hand, view = self.hand(seat), session.view()
        if due.stage == "play":
            if session.match.state["leader"][0] > 3:
                self.trick = Trick()
            moves = encode_moves(due.actions, session.level, dialect=self.dialect.name)
            payload = self.dialect.ask_play(seat, hand, view, self.trick, moves)
        else:
            cards = b"[" + b",".join(encode_card(due.stage, a) for a in due.actions) + b"]"
            paid = session.paid_to(seat) if due.stage == "back" else None
            if paid is not None and not self.dialect.tribute_in_hand:
                names = json.loads(hand)
                names.remove(paid[2])
                hand = json.dumps(names).encode()
            choices = Choices(cards, len(due.actions))
            payload = self.dialect.ask_card(due.stage, seat, hand, view, choices, paid)
        self.kinds.add(due.stage)
        message = m.decode_server_message(payload)
        assert isinstance(message, m.Act)
        return message


@pytest.mark.parametrize("dialect", [OpenGuanDan(), OpenGuanDan(official=True), Njupt()])
@pytest.mark.some(1)
def test_messages_alone_lead_a_seat_to_the_very_infoset_it_is_in(dialect):
    wire = Wire(dialect)
    session = wire.session = Session(wire, games=1, rules=wire.rules, seed=12)
    rng = np.random.default_rng(0)
    game = GuanDan()
    session.begin()
    plays = 0
    while session.pending:
        for seat in list(session.pending):
            seen = session.observe(seat)
            if seen.stage == "play" and rng.random() < amount(60, 85) / 100:
                session.choose(seat, int(rng.integers(len(seen.moves))))
                continue
            told, places = wire.trackers[seat].observe(wire.request(seat))
            assert told.stage == seen.stage and told.seat == seen.seat
            wanted = seen.moves.tolist()
            if dialect.name == "openguandan" and dialect.official and seen.stage != "play":
                # the official server lists every return card twice, and one suit of tributes for all
                wanted = wanted * 2 if seen.stage == "back" else wanted[:1] * len(wanted)
            assert told.moves.tolist() == wanted
            assert places == list(range(len(told.moves)))
            assert told.hand == seen.hand
            assert (told.level, told.levels) == (seen.level, seen.levels)
            assert told.tributes == seen.tributes and told.returns == seen.returns
            if told.stage == "play":
                plays += 1
                assert wire.trackers[seat].followed
                for name in seen.state.dtype.names:
                    assert np.array_equal(told.state[name], seen.state[name]), name
                assert np.array_equal(
                    game.infoset_key(told.state, seat), game.infoset_key(session.match.state, seat)
                )
                assert told.plays == seen.plays
                assert told.trick == seen.trick and told.greater == seen.greater
            session.choose(seat, int(rng.integers(len(seen.moves))))
    assert plays > amount(300, 100)
    assert {"beginning", "play", "tribute", "back", "episodeOver", "gameOver", "gameResult"} <= wire.kinds


@pytest.mark.parametrize("dialect", [OpenGuanDan(), OpenGuanDan(official=True), Njupt()])
@pytest.mark.parametrize("withheld", [(), ("gameOver",), ("gameResult",), ("gameOver", "gameResult")])
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.some(2)
def test_the_owner_of_the_level_is_right_through_several_games(dialect, withheld, away):
    wire = Wire(dialect, withheld)
    games = amount(3, 2)
    session = wire.session = Session(wire, games=games, seed=4)
    rng = np.random.default_rng(1)
    session.begin()
    rounds: set[tuple[int, int]] = set()
    first_rounds = 0
    while session.pending:
        for seat in list(session.pending):
            place = (session.played, session.match.round)
            fresh = place not in rounds
            rounds.add(place)
            if fresh and away and rng.random() < 0.5:
                # back after a lost connection, with nothing but the deal
                tracker = wire.trackers[seat] = Tracker()
                tracker.note(
                    m.decode_server_message(dialect.beginning(seat, wire.hand(seat), session.view()))
                )
            owner = session.observe(seat).state["owner"].tolist()
            levels = session.match.levels
            if fresh or rng.random() < 0.02:
                request = wire.request(seat)
                told, _ = wire.trackers[seat].observe(request)
                if not away or levels[0] != levels[1]:
                    assert told.state["owner"].tolist() == owner, (place, levels)
                if session.match.round == 1:
                    first_rounds += 1
                    assert owner == [255]
            session.choose(seat, int(rng.integers(len(session.choices(seat)))))
    assert {game for game, _ in rounds} == set(range(games))
    assert len(rounds) > 2 * games and first_rounds >= games


@pytest.mark.parametrize("dialect", [OpenGuanDan(), OpenGuanDan(official=True), Njupt()])
@pytest.mark.some(1)
def test_failures_at_ace_are_counted_though_no_message_tells_them(dialect):
    wire = Wire(dialect)
    session = wire.session = Session(wire, games=3, rules=wire.rules, seed=8, levels=(12, 9), owner=0)
    rng = np.random.default_rng(2)
    session.begin()
    seen = set()
    while session.pending:
        for seat in list(session.pending):
            state = session.observe(seat).state
            if session.pending[seat].stage == "play" and rng.random() < 0.2:
                told = wire.trackers[seat].observe(wire.request(seat))[0].state
                assert told["fails"].tolist() == state["fails"].tolist()
                assert told["ace"] == state["ace"] == wire.rules.ace
                seen.add(tuple(state["fails"][0].tolist()))
            session.choose(seat, int(rng.integers(len(session.choices(seat)))))
    assert len(seen) > 2, seen


def test_an_observation_shows_nothing_of_the_other_hands():
    wire = Wire(OpenGuanDan())
    session = wire.session = Session(wire, seed=3)
    session.begin()
    for _ in range(30):
        seat = next(iter(session.pending))
        seen = session.observe(seat)
        others = [s for s in range(4) if s != seat]
        assert not seen.state["hand"][0, others].any()
        assert len(seen.hand) == seen.rest[seat]
        assert seen.actions == [action_list(move, session.level) for move in seen.moves]
        session.choose(seat, 0)


def test_a_choice_out_of_turn_or_out_of_range_changes_nothing():
    wire = Wire(OpenGuanDan())
    session = wire.session = Session(wire, seed=3)
    session.begin()
    seat = next(iter(session.pending))
    before = session.match.state.copy()
    for who, index in ((seat, -1), (seat, 10**6), ((seat + 1) % 4, 0)):
        with pytest.raises(AgentError):
            session.choose(who, index)
    assert np.array_equal(before, session.match.state)
    assert set(session.pending) == {seat}


def test_the_runner_plays_games_and_reports_them():
    agents = [RandomAgent(np.random.default_rng(1)), FirstAgent()] * 2
    result = play_games(agents, games=2, seed=5)
    again = play_games([RandomAgent(np.random.default_rng(1)), FirstAgent()] * 2, games=2, seed=5)
    assert len(result.games) == 2 and sum(result.wins) == 2
    assert sum(sum(share.values()) for share in result.shares) == result.rounds
    assert sum(timing.count for timing in result.timing) >= result.decisions
    assert result.games[-1].levels == again.games[-1].levels
    with pytest.raises(AgentError, match="four seats"):
        play_games(agents[:3])


def test_an_agent_that_answers_nonsense_is_named():
    class Nonsense:
        def act(self, observation):
            return "Pair"

    with pytest.raises(AgentError, match="an agent returns an index"):
        play_games([Nonsense()] * 4)
