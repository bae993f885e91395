"""Games are told apart, counted and reported, whatever words a server ends them with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from games.guandan.cards import PASS, RANKS
from games.guandan.rounds.state import NOBODY
from gs2.guandan.table.agents import RandomAgent
from gs2.guandan.table.client.client import TableClient
from gs2.guandan.table.client.visit import ClientConfig
from gs2.guandan.table.hosts import InstantHost
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.session import GameCount, Session
from gs2.guandan.table.wire.dialect import notify
from gs2.guandan.table.wire.njupt import Njupt
from gs2.guandan.table.wire.openguandan import OpenGuanDan
from tests.patience import PATIENCE, amount

GAMES = amount(3, 2)
DIALECTS = {OpenGuanDan: "openguandan", Njupt: "njupt"}
SEED = 18
"""Of games in which, at an OpenGuanDan table, a team falls from A while the others are still at 2."""


def official_words(count: GameCount) -> list[bytes]:
    """Return what was seen on the wire: a result after each game, one gameOver after all."""
    ranks = [RANKS[level] for level in count.levels]
    words = [notify("gameResult", victory=count.winner, victoryRank=ranks, gameRound=count.played)]
    if count.played == count.wanted:
        words.append(notify("gameOver", curTimes=count.played, settingTimes=count.played, gameRound=2))
    return words


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


def one_result(count: GameCount) -> list[bytes]:
    return njupt_words(count) if count.played == count.wanted else []


def random_agent(seat: int) -> Callable[[], RandomAgent]:
    return lambda: RandomAgent(np.random.default_rng(seat))


class Watched(InstantHost):
    """Agents that keep what they are told of the levels, and of who owns the one that is played at."""

    def __init__(self, seat: int) -> None:
        super().__init__(random_agent(seat))
        self.standings: list[tuple[list[int], int]] = []

    def answer_now(self, key: Any, observation: Any) -> int:
        state = observation.state
        self.standings.append((state["levels"][0].tolist(), int(state["owner"][0])))
        return super().answer_now(key, observation)


ENDINGS = [
    (kind, words) for kind in DIALECTS for words in (official_words, njupt_words, one_word, one_result)
]
OFTEN = [(OpenGuanDan, official_words), (Njupt, njupt_words)]
"""What servers are known to say; clients must bear the rest, too."""


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        pytest.param(DIALECTS[kind], words, marks=() if (kind, words) in OFTEN else pytest.mark.long)
        for kind, words in ENDINGS
    ],
)
@pytest.mark.some(1)
def test_every_game_is_counted_with_its_rounds_and_its_winner(words, dialect, monkeypatch):
    kind = Njupt if dialect == "njupt" else OpenGuanDan
    monkeypatch.setattr(kind, "game_over", lambda self, count: words(count))
    truth: dict[int, list[tuple[list[int], int]]] = {seat: [] for seat in range(4)}
    choose = Session.choose

    def watched_choice(session: Session, seat: int, index: int) -> None:
        owner, choices = session.match.owner, session.choices(seat)
        # an agent that must lead its only card, or pay its only tribute, is not asked
        if len(choices) > 1 or choices[0]["type"] == PASS:
            truth[seat].append((list(session.levels), NOBODY if owner is None else owner))
        choose(session, seat, index)

    monkeypatch.setattr(Session, "choose", watched_choice)

    async def scenario() -> tuple[Sequence[Any], Any, Watched]:
        host = Watched(0)
        async with TableServer(ServerConfig(dialect=dialect, port=0, seed=SEED, games=GAMES)) as server:
            url = server.url.removesuffix("/game/{name}")
            tasks, room = [], None
            for k in range(4):
                # who joins a room is not told of how many games
                config = ClientConfig(
                    url, dialect, user=f"c{k}", room=room, games=GAMES if k == 0 else 1, linger=0.05
                )
                client = TableClient(config, host if k == 0 else InstantHost(random_agent(k)))
                tasks.append(asyncio.create_task(client.run()))
                room = await client.seated if dialect == "openguandan" else None
            results = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
            return results, server.results[0], host

    results, session, host = asyncio.run(scenario())
    rounds = [game.rounds for game in session.games]
    for result in results:
        assert [game.rounds for game in result.ended] == rounds
        wins = [game.winner == result.seat % 2 for game in session.games]
        assert [game.won for game in result.ended] == wins
        assert result.games == GAMES and result.rounds == sum(rounds)
        assert result.refused == result.unread == result.fallbacks == 0
        assert result.summary()["ended"][0] == {"rounds": rounds[0], "won": wins[0]}
    # nobody owns the level of a first round; a team that fell from A may own a later one with both at 2
    assert host.standings == truth[results[0].seat]
    if dialect == "openguandan":
        assert {owner for levels, owner in host.standings if levels == [0, 0]} > {NOBODY}
