"""Agents in seats: by name, by class, people, language models, in threads and processes."""

from __future__ import annotations

import asyncio
import functools
import os
import time

import numpy as np
import pytest

from games.guandan.cards import unpack
from games.guandan.rounds.playout import legal
from gs2.guandan.table.client.human import HumanAgent
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.hosts import (
    FirstSeat,
    ProcessHost,
    RandomSeat,
    ThreadHost,
    answer_all,
    checked,
    host_for,
    load_agent,
)
from gs2.guandan.table.seat import AgentError, Observation, Seated, canonical_places
from gs2.guandan.table.session import Listener, Session
from tests.patience import PATIENCE


@functools.cache
def observations(n: int, seed: int = 0, stages: tuple[str, ...] = ("play", "tribute", "back")):
    """Return n observations from random play, of these stages."""
    session = Session(Listener(), games=100, seed=seed)
    session.begin()
    rng = np.random.default_rng(seed)
    seen = []
    while len(seen) < n:
        for seat, due in list(session.pending.items()):
            if due.stage in stages:
                seen.append(session.observe(seat))
            session.choose(seat, int(rng.integers(len(session.due(seat).actions))))
    return seen[:n]


class LastMove:
    """A stranger's agent."""

    def act(self, observation):
        return len(observation.actions) - 1


class HalfMove:
    """An agent whose answer is none."""

    def act(self, observation):
        return 0.5


class NoAgent:
    """A class that is none."""


def test_agents_are_loaded_by_name_by_module_and_by_file(tmp_path):
    assert isinstance(load_agent("random").agent, RandomSeat)
    assert isinstance(load_agent("human").agent, HumanAgent)
    observation = observations(1)[0]
    agent = load_agent("tests.gs2.guandan.table.test_agents:LastMove")
    assert agent.answers([observation]) == [len(observation.actions) - 1]
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def act(self, observation):\n        return 0\n")
    assert load_agent(f"{path}:Mine").answers([observation]) == [0]
    for name, host in (("random", ThreadHost), ("human", ThreadHost), ("my.module:Agent", ProcessHost)):
        assert isinstance(host_for(name), host), name
    for name, word in (
        ("tests.gs2.guandan.table.test_agents:NoAgent", "has no method act"),
        ("tests.gs2.guandan.table.test_agents:Nothing", "cannot be made"),
        ("no.such.module:Agent", "cannot be made"),
        (f"{tmp_path / 'none.py'}:Mine", "does not exist"),
    ):
        with pytest.raises(AgentError, match=word):
            load_agent(name)


class Odd:
    """Answers in batches with how many it was asked at once; hangs in seat 0, ends its process in seat 3."""

    def __call__(self, decisions):
        time.sleep(600 if decisions.seats[0] == 0 else 0.1)
        if decisions.seats[0] == 3:
            os._exit(3)
        return np.minimum(len(decisions), np.diff(decisions.offsets)) - 1


def test_an_answer_is_a_whole_number_of_a_choice_and_nothing_is_rounded_to_one():
    observation = observations(1)[0]
    assert {checked(answer, observation) for answer in (1, 1.0, np.int64(1), np.array(1))} == {1}
    for answer in (-1, 1.5, "1", True, None, [1], float("nan"), float("inf"), len(observation.moves)):
        with pytest.raises(AgentError, match="an agent returns an index into"):
            checked(answer, observation)
    # nor in a worker's process
    (said,) = answer_all(f"{__name__}:HalfMove", [("a", observation)], progress=lambda done, of: None)
    assert "an agent returns an index into" in str(said) and "got 0.5" in str(said)


def test_a_worker_process_gathers_batches_survives_a_crash_and_is_given_up_when_it_hangs():
    seen = [o for o in observations(200) if len(o.moves) > 8]
    seats = {observation.seat: observation for observation in seen}
    together = [o for o in seen if o.seat in (1, 2)][:6]

    async def scenario():
        host = ProcessHost("tests.gs2.guandan.table.test_agents:Odd")
        try:
            await host.start()
            got = await asyncio.gather(*[host.answer(k, o) for k, o in enumerate(together)])
            lists = [(legal(o.state, canonical=True).values, o.moves) for o in together]
            places = [canonical_places(*both) for both in lists]
            assert got == [place[min(len(together), len(place)) - 1] for place in places]
            with pytest.raises(AgentError, match="died"):
                await host.answer(0, seats[3])
            host.forget(0)
            hung = host.answer("a", seats[0])
            while "a" not in host.busy.get(0, ()):
                await asyncio.sleep(0.01)
            waits, late = host.answer("b", seats[1]), host.answer("c", seats[1])
            host.give_up("c")
            assert not hung.done() and not waits.done() and late.cancelled()
            host.give_up("a")
            with pytest.raises(AgentError, match="died"):
                await hung
            assert seats[1].moves[await waits] == legal(seats[1].state, canonical=True).values[0]
        finally:
            host.close()

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
    # seats spread over the workers
    host = ProcessHost("random", workers=3)
    assert sorted(host._home((1, seat)) for seat in range(3)) == [0, 1, 2]
    host.forget((1, 1))
    assert host._home((2, 0)) == 1


def test_an_agent_for_many_seats_is_made_once_where_its_seats_take_turns():
    made = []

    class Together:
        def __init__(self):
            made.append(self)

        def __call__(self, decisions):
            return [0] * len(decisions)

    async def scenario(threads):
        answers = ThreadHost(Together, threads)
        try:
            return [await answers.answer(key, observations(1)[0]) for key in "aba"]
        finally:
            answers.close()

    for threads, instances in ((0, 1), (64, 3)):
        assert asyncio.run(asyncio.wait_for(scenario(threads), PATIENCE)) == [0, 0, 0]
        assert len(made) == instances


def test_an_agent_of_batches_plays_at_the_table():
    calls = []

    def strongest(decisions):
        calls.append(len(decisions.rows))
        assert len(decisions.actions) == decisions.offsets[-1]
        return np.diff(decisions.offsets) - 1

    seat = Seated(strongest, "last")
    seen = [*observations(60, seed=3), *observations(10, stages=("tribute", "back"))]
    answers = seat.answers(seen)
    assert len(calls) == 1 and 10 < calls[0] < 70
    for observation, answer in zip(seen, answers, strict=True):
        assert 0 <= answer < len(observation.moves)
        assert [answer] == seat.answers([observation])
    result = play_games([seat, FirstSeat(), seat, FirstSeat()], games=1, seed=2)
    assert result.wins == (1, 0)
    assert isinstance(seen[0], Observation)


@pytest.mark.parametrize("name", ["strong", "blueprint", "gs2-fast", "rollout-fast"])
def test_an_agent_of_the_arena_answers_at_a_table(name):
    seen = observations(8, seed=3)
    answers = load_agent(name).answers(seen)
    assert all(0 <= answer < len(one.moves) for answer, one in zip(answers, seen, strict=True))


def test_an_agent_that_chooses_cards_is_asked_for_tribute_at_the_table():
    seen = [one for one in observations(20, stages=("tribute", "back")) if len(one.moves) > 1]

    class LastCard:
        def __call__(self, decisions):
            raise AssertionError("a card to give is no move")

        def cards(self, decisions):
            return np.array([np.flatnonzero(row)[-1] for row in decisions.options])

    answers = Seated(LastCard()).answers(seen)
    given = [
        unpack(np.array([one.moves[k]["lo"], one.moves[k]["hi"]]))
        for one, k in zip(seen, answers, strict=True)
    ]
    offered = [[unpack(np.array([move["lo"], move["hi"]])).argmax() for move in one.moves] for one in seen]
    assert [card.argmax() for card in given] == [max(cards) for cards in offered]
    assert {one.stage for one in seen} == {"tribute", "back"}
    assert answers != Seated(lambda decisions: np.zeros(len(decisions), np.int64)).answers(seen)
