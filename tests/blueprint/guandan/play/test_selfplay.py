"""The moves of rounds that advance together, as agents that follow get them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import PastMoves, Scratch, play_rounds
from games.guandan.rounds.round import advance, deal, legal, restarted


class Follower:
    """Plays at random; replays every round of the batch at each decision."""

    follows = True

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lengths: list[int] = []

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        assert decisions.past is not None
        for row in decisions.rows:
            state = decisions.states[row : row + 1]
            moves = decisions.past.of(int(row))
            self.lengths.append(len(moves))
            at = restarted(state)
            for seat, move in zip(moves.seats, moves.actions, strict=True):
                assert at["player"][0] == seat
                advance(at, np.array([move]))
            assert np.array_equal(at["hash"], state["hash"])
            assert np.array_equal(at["hand"], state["hand"]) and at["player"] == state["player"]
        return self.rng.integers(0, np.diff(decisions.offsets))


class Forgetful:
    """Plays at random and does not ask for the past."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.seen: list[object] = []

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        self.seen.append(decisions.past)
        return self.rng.integers(0, np.diff(decisions.offsets))


def test_the_moves_of_a_round_lead_from_its_start_to_every_decision() -> None:
    rng = np.random.default_rng(0)
    follower, forgetful = Follower(rng), Forgetful(rng)
    play_rounds(deal_rounds(6, rng, tribute=0.5), [follower, forgetful], Scratch())
    assert min(follower.lengths) <= 1 and max(follower.lengths) > 40
    # the other side gets what is kept anyway
    assert all(isinstance(past, PastMoves) for past in forgetful.seen)


def test_nothing_is_kept_where_nobody_follows() -> None:
    rng = np.random.default_rng(1)
    agent = Forgetful(rng)
    play_rounds(deal_rounds(3, rng), [agent], Scratch(), record=False)
    assert agent.seen and set(agent.seen) == {None}


def test_moves_are_told_in_order() -> None:
    rng = np.random.default_rng(2)
    states = deal(3, rng)
    past = PastMoves(states)
    made: list[list[np.void]] = [[], [], []]
    while np.any(states["player"] >= 0):
        moves = legal(states)
        chosen = np.zeros(3, moves.values.dtype)
        for i in np.flatnonzero(moves.counts):
            chosen[i] = moves[i][int(rng.integers(moves.counts[i]))]
            made[i].append(chosen[i])
        advance(states, chosen)
        past.step()
    for i in range(3):
        found = past.of(i)
        assert len(found) == len(made[i])
        assert all(a == b for a, b in zip(found.actions, made[i], strict=True))
