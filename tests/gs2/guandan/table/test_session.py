"""The session of games, and what a seat can know of it from messages alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from games.guandan.cards import RANKS
from games.guandan.notation import action_list
from games.guandan.rounds.round import GuanDan
from games.guandan.rules import PRESETS, Rules
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.client.tracker import ClientResult, Tracker
from gs2.guandan.table.hosts import FirstSeat, RandomSeat
from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.server.room import Room, RoomConfig
from gs2.guandan.table.session import GameCount, Listener, Session
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.dialects import Dialect, Njupt, OpenGuanDan, notify
from tests.gs2.guandan.table.scenario import Ear
from tests.patience import amount

DIALECTS = (OpenGuanDan, lambda: OpenGuanDan(official=True), Njupt)

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


class Hears(Ear):
    """In place of a connection: its client notes all that it is sent; a request waits until it is read.

    visit: what the client knows. tracker: what it knows that came back in the middle of a round.
    """

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self.visit = self.tracker = Tracker(rules, ClientResult("c"))
        self.kinds: set[type] = set()
        self.beginning = self.request = b""

    def send(self, frame: bytes) -> None:
        if frame.startswith(b'{"type":"act"'):
            self.request = frame
        elif frame.startswith(b'{"type":"notify"'):
            self.beginning = frame if b'"beginning"' in frame else self.beginning
            self.read(frame)

    queue = send

    def read(self, frame: bytes) -> m.ServerMessage:
        message = m.decode_server_message(frame)
        self.kinds.add(type(message))
        for tracker in {self.visit, self.tracker}:
            tracker.note(message)
        return message

    def observed(self) -> tuple[Any, list[int]]:
        act = self.read(self.request)
        assert isinstance(act, m.Act)
        return self.tracker.observe(act)


def table(
    dialect: Dialect, games: int, seed: int, rules: Rules | None = None, **first_game: Any
) -> tuple[Session, list[Hears]]:
    """Return the session of a room of the server, begun, and what its four clients hear."""
    rules = rules or PRESETS["njupt" if dialect.name == "njupt" else "ruling"]
    room = Room(1, dialect, RoomConfig(rules=rules))
    room.session = Session(room, games=games, rules=rules, seed=seed, **first_game)
    ears = [Hears(rules) for _ in range(4)]
    for ear in ears:
        room.take(ear, "c")  # type: ignore[arg-type]
    room.state = "playing"
    room.session.begin()
    return room.session, ears


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.some(1)
def test_messages_alone_lead_a_seat_to_the_very_infoset_it_is_in(dialect):
    dialect = dialect()
    # near A, where failures are counted though no message tells of them
    session, ears = table(dialect, games=2, seed=8, levels=(12, 9), owner=0)
    rng = np.random.default_rng(2)
    game = GuanDan()
    plays, fails = 0, set()
    while session.pending:
        for seat in list(session.pending):
            seen = session.observe(seat)
            if seen.stage == "play" and rng.random() < 0.85:
                session.choose(seat, int(rng.integers(len(seen.moves))))
                continue
            told, places = ears[seat].observed()
            assert told.stage == seen.stage and told.seat == seen.seat
            wanted = seen.moves.tolist()
            if dialect.official and seen.stage != "play":
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
                assert ears[seat].tracker.followed
                for name in seen.state.dtype.names:
                    assert np.array_equal(told.state[name], seen.state[name]), name
                assert np.array_equal(
                    game.infoset_key(told.state, seat), game.infoset_key(session.match.state, seat)
                )
                assert told.plays == seen.plays
                assert told.trick == seen.trick and told.greater == seen.greater
            session.choose(seat, int(rng.integers(len(seen.moves))))
    assert plays > 100 and len(fails) > 2, fails
    notices = {m.Beginning, m.PlayNotice, m.TributeNotice, m.Back, m.EpisodeOver, m.GameOver, m.GameResult}
    assert notices <= ears[0].kinds


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("words", [None, official_words, njupt_words, one_word])
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.some(2)
def test_games_and_the_owner_of_the_level_are_told_apart_whatever_words_end_a_game(dialect, words, away):
    dialect, games = dialect(), amount(3, 2)
    dialect.game_over = words or dialect.game_over
    session, ears = table(dialect, games=games, seed=4)
    result = session.listener.result
    rng = np.random.default_rng(1)
    begun: set[tuple[int, int, int]] = set()
    while session.pending:
        for seat, ear in ((seat, ears[seat]) for seat in list(session.pending)):
            place = (session.played, session.match.round, seat)
            fresh = place not in begun
            begun.add(place)
            if fresh and away and rng.random() < 0.5:
                # back after a lost connection, with nothing but the deal
                ear.tracker = Tracker()
                ear.tracker.note(m.decode_server_message(ear.beginning))
            if fresh or rng.random() < 0.02:
                owner, levels = session.observe(seat).state["owner"].tolist(), session.match.levels
                told, _ = ear.observed()
                if not away or levels[0] != levels[1]:
                    assert told.state["owner"].tolist() == owner, (place, levels)
                assert session.match.round > 1 or owner == [255]
            session.choose(seat, int(rng.integers(len(session.due(seat).actions))))
    ended = [(game.rounds, game.winner) for game in result.games]
    assert len(ended) == games < len(begun) / 8
    for seat, ear in enumerate(ears):
        heard = ear.visit.result
        assert [(game.rounds, game.won) for game in heard.ended] == [
            (rounds, won == seat % 2) for rounds, won in ended
        ]
        assert heard.summary()["ended"][0]["rounds"] == ended[0][0]


def test_a_game_that_drops_ended_is_drawn_and_not_won_by_the_winners_of_its_last_round():
    rules, winners = Rules(ace_win="double", ace_limit=1, max_drops=1), set()
    for seed in range(8):
        session, ears = table(Njupt(), 1, seed, rules=rules, levels=("A", "2"), owner=0)
        rng = np.random.default_rng(seed)
        while session.pending:
            for seat in list(session.pending):
                ears[seat].observed()
                session.choose(seat, int(rng.integers(len(session.due(seat).actions))))
        (winner,) = {game.winner for game in session.listener.result.games}
        winners.add(winner)
        for seat, ear in enumerate(ears):
            (ended,) = ear.visit.result.ended
            assert ended.won == (None if winner is None else winner == seat % 2)
    assert winners == {None, 0}


def test_a_game_of_fewer_rounds_than_drops_end_one_is_won_by_the_winners_of_its_last_round():
    strict, rounds, short = Rules(ace_win="double", max_drops=50), 0, 0
    for seed in range(6):  # the server ends a game that these rules would let go on
        session, ears = table(Njupt(), 1, seed, rules=Rules(), levels=("A", "2"), owner=0)
        for ear in ears:
            ear.visit = ear.tracker = Tracker(strict, ClientResult("c"))
            ear.tracker.note(m.decode_server_message(ear.beginning))
        rng = np.random.default_rng(seed)
        while session.pending:
            for seat in list(session.pending):
                ears[seat].observed()
                session.choose(seat, int(rng.integers(len(session.due(seat).actions))))
        (game,) = session.listener.result.games
        short += ears[0].visit.result.shares[2] + ears[0].visit.result.shares[-2] > 0
        rounds = max(rounds, game.rounds)
        for seat, ear in enumerate(ears):
            assert [one.won for one in ear.visit.result.ended] == [game.winner == seat % 2]
    assert short and rounds < 50


def test_an_observation_shows_nothing_of_the_other_hands_and_no_choice_out_of_turn_changes_anything():
    session = Session(Listener(), seed=3)
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
    for wrong, games, says in (
        (agents[:3], 1, "four seats"),
        ([Nonsense()] * 4, 1, "an agent returns an index"),
        *((agents, games, "games must be an integer of at least 1") for games in (0, -1, 1.5, True, "2")),
    ):
        with pytest.raises(AgentError, match=says):
            play_games(wrong, games=games)
