"""Agents of a table's seats in the arena: what they see, who plays which seat, and how they are named."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.duplicate import AgentFault, duplicate_deals, play_duplicate
from blueprint.guandan.rules.rule_agents import GreedyAgent
from blueprint.protocol import UnknownAgent
from games.guandan.rounds.round import legal
from gs2.guandan.agent_families import (
    check_agent,
    deals_at_once,
    fingerprint,
    is_batched,
    load_batched_agent,
)
from gs2.guandan.table.agents import ChooserSeat, load_agent
from gs2.guandan.table.seat import AgentError, Observation, Seats
from gs2.guandan.table.seated import SeatedChooser
from gs2.play.arena import Meeting, play_match

OWN = """
import numpy as np

class Weakest:
    def act(self, observation):
        return 0

class WeakestOfMany:
    def __call__(self, decisions):
        return np.zeros(len(decisions), np.int64)

class Neither:
    pass

def broken():
    raise RuntimeError("no weights")

number = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of some agents, in the folder we are in."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


class Watcher:
    """Plays the last move, and keeps what it was shown."""

    everything: ClassVar[list[tuple[int, Observation]]] = []

    def act(self, observation: Observation) -> int:
        self.everything.append((id(self), observation))
        return len(observation.moves) - 1


class Together:
    """Answers for many seats in one call."""

    calls: ClassVar[list[int]] = []

    def act_batch(self, observations: list[Observation]) -> list[int]:
        self.calls.append(len(observations))
        return [0] * len(observations)


def test_a_seats_agent_plays_one_seat_of_one_round_and_sees_no_other_hand() -> None:
    Watcher.everything.clear()
    agent = SeatedChooser("watcher", Seats(Watcher))
    play_duplicate(agent, GreedyAgent(), duplicate_deals(np.arange(3), 0))
    seats: dict[int, set[int]] = {}
    for who, seen in Watcher.everything:
        seats.setdefault(who, set()).add(seen.seat)
        hands = seen.state["hand"][0].sum(1)
        assert hands[seen.seat] > 0 and np.count_nonzero(hands) == 1
        assert seen.stage == "play" and len(seen.actions) == len(seen.moves) > 1
        with pytest.raises(AgentError, match="record of a round"):
            _ = seen.plays
    assert len(seats) == 3 * 2 * 2 and all(len(held) == 1 for held in seats.values())


def test_it_plays_as_the_same_rule_for_batches_does() -> None:
    class First:
        def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
            return np.diff(decisions.offsets) - 1

    deals = duplicate_deals(np.arange(4), 1)
    seated = play_duplicate(SeatedChooser("watcher", Seats(Watcher)), GreedyAgent(), deals)
    assert np.array_equal(seated, play_duplicate(First(), GreedyAgent(), deals))


def test_an_agent_for_many_seats_is_asked_for_all_of_them() -> None:
    Together.calls.clear()
    agent = SeatedChooser("together", Seats(Together))
    play_duplicate(agent, GreedyAgent(), duplicate_deals(np.arange(4), 1))
    assert max(Together.calls) > 4


def test_an_agent_for_many_seats_that_leaves_one_out_is_refused() -> None:
    class Forgets:
        def act_batch(self, observations: list[Observation]) -> list[int]:
            return [0] * (len(observations) - 1)

    with pytest.raises(AgentError, match="must answer all 12 observations; got 11 answers"):
        play_duplicate(
            SeatedChooser("forgets", Seats(Forgets)), GreedyAgent(), duplicate_deals(np.arange(12), 1)
        )


def test_an_answer_that_is_no_choice_is_refused() -> None:
    class Wrong:
        def __init__(self, answer: object = "pass") -> None:
            self.answer = answer

        def act(self, observation: Observation) -> object:
            return self.answer

    deals = duplicate_deals(np.arange(1), 1)
    with pytest.raises(AgentError, match="must answer with an index; got"):
        play_duplicate(SeatedChooser("wrong", Seats(Wrong)), GreedyAgent(), deals)
    with pytest.raises(AgentFault, match="index of its legal moves"):
        play_duplicate(SeatedChooser("wrong", Seats(lambda: Wrong(99999))), GreedyAgent(), deals)


@pytest.mark.parametrize("name", ["own.py:Weakest", "own.py:WeakestOfMany"])
def test_ones_own_agent_meets_others_in_the_arena(own: Path, name: str) -> None:
    assert not is_batched(name) and 1 < deals_at_once(name) < 100
    before = fingerprint(name)
    one, again = (play_match(Meeting("guandan", name, "greedy", 3)) for _ in range(2))
    assert one.complete and np.array_equal(one.games.payoffs, again.games.payoffs)
    assert play_match(Meeting("guandan", name, "random", 1, terms={"whole": True})).complete
    own.write_text(OWN + "\n# another version\n")
    assert fingerprint(name) != before


def test_ones_own_agent_for_batches_sits_at_a_table_too(own: Path) -> None:
    seat = load_agent("own.py:WeakestOfMany")
    assert isinstance(seat, ChooserSeat) and seat.name == "own.py:WeakestOfMany"
    state = duplicate_deals(np.arange(1), 0)
    moves = legal(state).values
    seen = Observation(int(state["player"][0]), "play", state, moves, np.zeros(0, np.uint8), moves[:0])
    assert 0 <= seat.act_batch([seen])[0] < len(moves)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("own.py:Nobody", "own.py must define Nobody"),
        ("none.py:Nobody", "file 'none.py' does not exist"),
        ("own.py:number", "must be a class or function; got int"),
    ],
)
def test_a_name_of_ones_own_that_cannot_be_is_refused_at_once(own: Path, name: str, says: str) -> None:
    with pytest.raises(UnknownAgent, match=says):
        check_agent(name)


@pytest.mark.parametrize(
    ("name", "says"), [("own.py:Neither", "has no method act"), ("own.py:broken", "no weights")]
)
def test_what_makes_no_agent_is_refused_when_it_is_loaded(own: Path, name: str, says: str) -> None:
    check_agent(name)
    with pytest.raises(UnknownAgent, match=says):
        load_batched_agent(name)
    with pytest.raises(AgentError, match=says):
        load_agent(name)
