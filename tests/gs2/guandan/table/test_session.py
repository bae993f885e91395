"""The session of games, and what a seat can know of it from messages alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from games.guandan.cards import RANKS
from games.guandan.notation import action_list
from games.guandan.rounds.round import GuanDan
from games.guandan.rules import PRESETS
from gs2.guandan.table.agents import FirstSeat, RandomSeat
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.client.visit import ClientConfig, ClientResult, Ending
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.server.room import encode_card
from gs2.guandan.table.session import GameCount, Session
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.dialects import Choices, Dialect, Njupt, OpenGuanDan, Trick, notify
from gs2.guandan.table.wire.encode import encode_hand, encode_moves
from tests.patience import amount

Words = Callable[[GameCount], list[bytes]]


def official_words(count: GameCount) -> list[bytes]:
    """Return what was seen on the wire: a result after each game, one gameOver after all."""
    ranks = [RANKS[level] for level in count.levels]
    words = [notify("gameResult", victory=count.winner, victoryRank=ranks, gameRound=count.played)]
    return words + one_word(count)


def njupt_words(count: GameCount) -> list[bytes]:
    words = [notify("gameOver", curTimes=count.played, settingTimes=count.wanted)]
    if count.played == count.wanted:
        words.append(notify("gameResult", victoryNum=list(count.wins) * 2, draws=[0] * 4))
    return words


def one_word(count: GameCount) -> list[bytes]:
    """Return a gameOver after the last game, and nothing before."""
    if count.played < count.wanted:
        return []
    return [notify("gameOver", curTimes=count.wanted, settingTimes=count.wanted)]


class Wire:
    """A listener that puts every message into four trackers, as if they sat at the end of a wire."""

    def __init__(self, dialect: Dialect, words: Words | None = None) -> None:
        """words: in which this server tells the end of a game; the dialect's own by default."""
        self.dialect, self.words = dialect, words or dialect.game_over
        self.rules = PRESETS["njupt" if dialect.name == "njupt" else "ruling"]
        self.trackers = [Tracker(self.rules) for _ in range(4)]
        self.results = [ClientResult(f"c{k}") for k in range(4)]
        self.endings = [Ending(ClientConfig("ws://h"), result) for result in self.results]
        self.games: list[tuple[int, int | None]] = []
        self.rounds = 0
        self.trick = Trick()
        self.kinds: set[str] = set()
        self.session: Session

    def say(self, payload: bytes, seats: Sequence[int] = range(4)) -> m.ServerMessage:
        message = m.decode_server_message(payload)
        self.kinds.add(json.loads(payload)["stage"])
        for seat in seats:
            self.trackers[seat].note(message)
            self.results[seat].note(message)
            self.endings[seat].note(message)
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
        self.rounds += 1
        self.say(self.dialect.episode_over(result.order, result.level, result.left))

    def game_over(self, count: GameCount) -> None:
        self.games.append((self.rounds, count.winner))
        self.rounds = 0
        for payload in self.words(count):
            self.say(payload)

    def request(self, seat: int) -> m.Act:
        session, due = self.session, self.session.pending[seat]
        hand, view = self.hand(seat), session.view()
        if due.stage == "play":
            if session.match.state["leader"][0] > 3:
                self.trick = Trick()
            moves = encode_moves(due.actions, session.level, dialect=self.dialect.name)
            choices = Choices(moves.json, len(moves))
            payload = self.dialect.ask(due.stage, seat, hand, view, choices, trick=self.trick)
        else:
            cards = b"[" + b",".join(encode_card(due.stage, a) for a in due.actions) + b"]"
            paid = session.paid_to(seat) if due.stage == "back" else None
            if paid is not None and not self.dialect.tribute_in_hand:
                names = json.loads(hand)
                names.remove(paid[2])
                hand = json.dumps(names).encode()
            choices = Choices(cards, len(due.actions))
            payload = self.dialect.ask(due.stage, seat, hand, view, choices, paid=paid)
        message = self.say(payload, [seat])
        assert isinstance(message, m.Act)
        return message


@pytest.mark.parametrize("dialect", [OpenGuanDan(), OpenGuanDan(official=True), Njupt()])
@pytest.mark.some(1)
def test_messages_alone_lead_a_seat_to_the_very_infoset_it_is_in(dialect):
    wire = Wire(dialect)
    # near A, where failures are counted though no message tells of them
    session = wire.session = Session(wire, games=2, rules=wire.rules, seed=8, levels=(12, 9), owner=0)
    rng = np.random.default_rng(2)
    game = GuanDan()
    session.begin()
    plays, fails = 0, set()
    while session.pending:
        for seat in list(session.pending):
            seen = session.observe(seat)
            if seen.stage == "play" and rng.random() < 0.85:
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
                fails.add(tuple(seen.state["fails"][0].tolist()))
                assert wire.trackers[seat].followed
                for name in seen.state.dtype.names:
                    assert np.array_equal(told.state[name], seen.state[name]), name
                assert np.array_equal(
                    game.infoset_key(told.state, seat), game.infoset_key(session.match.state, seat)
                )
                assert told.plays == seen.plays
                assert told.trick == seen.trick and told.greater == seen.greater
            session.choose(seat, int(rng.integers(len(seen.moves))))
    assert plays > 100 and len(fails) > 2, fails
    assert {"beginning", "play", "tribute", "back", "episodeOver", "gameOver", "gameResult"} <= wire.kinds


@pytest.mark.parametrize("dialect", [OpenGuanDan(), OpenGuanDan(official=True), Njupt()])
@pytest.mark.parametrize("words", [None, official_words, njupt_words, one_word])
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.some(2)
def test_games_and_the_owner_of_the_level_are_told_apart_whatever_words_end_a_game(dialect, words, away):
    wire = Wire(dialect, words)
    games = amount(3, 2)
    session = wire.session = Session(wire, games=games, seed=4)
    rng = np.random.default_rng(1)
    session.begin()
    begun: set[tuple[int, int, int]] = set()
    while session.pending:
        for seat in list(session.pending):
            place = (session.played, session.match.round, seat)
            fresh = place not in begun
            begun.add(place)
            if fresh and away and rng.random() < 0.5:
                # back after a lost connection, with nothing but the deal
                tracker = wire.trackers[seat] = Tracker()
                tracker.note(
                    m.decode_server_message(dialect.beginning(seat, wire.hand(seat), session.view()))
                )
            if fresh or rng.random() < 0.02:
                owner, levels = session.observe(seat).state["owner"].tolist(), session.match.levels
                told, _ = wire.trackers[seat].observe(wire.request(seat))
                if not away or levels[0] != levels[1]:
                    assert told.state["owner"].tolist() == owner, (place, levels)
                assert session.match.round > 1 or owner == [255]
            session.choose(seat, int(rng.integers(len(session.choices(seat)))))
    assert len(wire.games) == games < len(begun) / 8
    for result in wire.results:
        assert [game.rounds for game in result.ended] == [rounds for rounds, _ in wire.games]
        assert [game.won for game in result.ended] == [won == result.seat % 2 for _, won in wire.games]
        assert result.summary()["ended"][0]["rounds"] == wire.games[0][0]


def test_an_observation_shows_nothing_of_the_other_hands_and_no_choice_out_of_turn_changes_anything():
    wire = Wire(OpenGuanDan())
    session = wire.session = Session(wire, seed=3)
    session.begin()
    for _ in range(30):
        (seat,) = session.pending
        before = session.match.state.copy()
        for who, index in ((seat, -1), (seat, 10**6), ((seat + 1) % 4, 0)):
            with pytest.raises(AgentError):
                session.choose(who, index)
        assert np.array_equal(before, session.match.state) and set(session.pending) == {seat}
        seen = session.observe(seat)
        others = [s for s in range(4) if s != seat]
        assert not seen.state["hand"][0, others].any()
        assert len(seen.hand) == seen.rest[seat]
        assert seen.actions == [action_list(move, session.level) for move in seen.moves]
        session.choose(seat, 0)


def test_the_runner_plays_games_and_reports_them():
    class Nonsense:
        def act(self, observation):
            return "Pair"

    agents = [RandomSeat(np.random.default_rng(1)), FirstSeat()] * 2
    result = play_games(agents, games=2, seed=5)
    again = play_games([RandomSeat(np.random.default_rng(1)), FirstSeat()] * 2, games=2, seed=5)
    assert len(result.games) == 2 and sum(result.wins) == 2
    assert sum(sum(share.values()) for share in result.shares) == result.rounds
    assert sum(timing.count for timing in result.timing) >= result.decisions
    assert result.games[-1].levels == again.games[-1].levels
    for wrong, says in ((agents[:3], "four seats"), ([Nonsense()] * 4, "an agent returns an index")):
        with pytest.raises(AgentError, match=says):
            play_games(wrong)
