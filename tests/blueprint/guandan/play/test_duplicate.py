"""Rounds in lockstep: duplicate deals and whole games from both sides, and what agents that follow get."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.game_lockstep import Seated, play_rounds
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.duplicate import (
    BLOCK,
    duplicate_deals,
    game_seeds,
    play_duplicate,
    play_games_duplicate,
)
from blueprint.guandan.play.quick_agents import GreedyAgent
from blueprint.guandan.play.selfplay import GUANDAN, PastMoves
from blueprint.protocol import AgentFault, Decisions
from games.guandan.matches.lockstep import CardDecisions, Matches
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, restarted


class Watcher:
    """Plays greedily and notes which seats of which rounds it decided for, in what order."""

    def __init__(self) -> None:
        self.seats: dict[int, set[int]] = defaultdict(set)
        self.plays: dict[int, list[int]] = defaultdict(list)
        self.greedy = GreedyAgent()

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        for row, seat in zip(decisions.rows, decisions.seats, strict=True):
            self.seats[int(row)].add(int(seat))
            self.plays[int(row)].append(int(decisions.states["plays"][row]))
        return self.greedy(decisions)


def test_a_deal_follows_from_seed_and_number_alone_and_keeps_to_one_level_if_told() -> None:
    whole = duplicate_deals(np.arange(BLOCK + 3), 5)
    some = np.array([BLOCK + 1, 4, 0, BLOCK - 1])
    assert np.array_equal(duplicate_deals(some, 5), whole[some])
    assert not np.array_equal(duplicate_deals(some, 6), whole[some])
    assert len(np.unique(whole["level"])) > 6
    assert set(duplicate_deals(np.arange(64), 1, tribute=0.5, level=7)["level"]) == {7}


def test_every_deal_is_played_from_both_sides_and_each_round_seen_in_order() -> None:
    a, b = Watcher(), Watcher()
    play_duplicate(a, b, duplicate_deals(np.arange(5), 2))
    for row in range(10):
        mine, theirs = ({0, 2}, {1, 3}) if row < 5 else ({1, 3}, {0, 2})
        assert a.seats[row] == mine and b.seats[row] == theirs
        assert a.plays[row] == sorted(a.plays[row])


def test_payoffs_are_those_of_playing_the_rounds_one_by_one() -> None:
    deals = duplicate_deals(np.arange(3), 4)
    payoffs = play_duplicate(GreedyAgent(), StrongestFirst(), deals)
    game = GuanDan(moves="canonical")
    for deal in range(3):
        for side in (0, 1):
            state = deals[deal : deal + 1].copy()
            while state["player"][0] >= 0:
                moves = legal(state, canonical=True)
                seats = state["player"].astype(np.int64)
                asked = Decisions.of(state, moves)
                agent = GreedyAgent() if seats[0] % 2 == side else StrongestFirst()
                at = int(agent(asked)[0])
                advance(state, moves.values[at : at + 1])
            assert payoffs[deal, side] == game.returns(state)[0, side]
    # an agent against itself gains on one side what it loses on the other
    even = play_duplicate(GreedyAgent(), GreedyAgent(), duplicate_deals(np.arange(10), 3))
    assert np.array_equal(even[:, 0], -even[:, 1])


class StrongestFirst:
    """Plays the last move of each list."""

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        return np.diff(decisions.offsets) - 1


def test_an_answer_that_is_no_choice_is_refused() -> None:
    def wrong(decisions: Decisions) -> NDArray[np.int64]:
        return np.diff(decisions.offsets)

    with pytest.raises(AgentFault, match="index of its legal moves"):
        play_duplicate(GreedyAgent(), wrong, duplicate_deals(np.arange(2), 0))


def test_whole_games_of_one_seed_see_the_same_cards_from_both_sides() -> None:
    seeds = game_seeds(np.arange(2), 1)
    score, rounds = play_games_duplicate(GreedyAgent(), GreedyAgent(), seeds)
    assert np.array_equal(score[:, 0], 1 - score[:, 1])
    assert np.array_equal(rounds[:, 0], rounds[:, 1])
    assert rounds.min() >= 5  # 2 to A takes 12 levels of at most 3, and A must be won
    assert len(np.unique(Matches(seeds).table["seed"])) == 2


def test_an_agent_may_choose_tribute_cards_itself() -> None:
    asked: list[set[int]] = []

    class Payer(GreedyAgent):
        def cards(self, decisions: CardDecisions) -> NDArray[np.int64]:
            asked.append({int(seat) % 2 for seat in decisions.seats[decisions.rows == 0]})
            return decisions.options.argmax(1)

    play_games_duplicate(Payer(), GreedyAgent(), game_seeds(np.arange(1), 0))
    assert set().union(*asked) == {0}


def test_the_second_plays_may_have_cards_of_their_own() -> None:
    first, second = duplicate_deals(np.arange(3), 1), duplicate_deals(np.arange(3, 6), 1)
    payoffs = play_duplicate(GreedyAgent(), StrongestFirst(), first, others=second)
    apart = [play_duplicate(GreedyAgent(), StrongestFirst(), deals) for deals in (first, second)]
    assert np.array_equal(payoffs, np.stack([apart[0][:, 0], apart[1][:, 1]], 1))
    seeds = game_seeds(np.arange(2), 1)
    score, _ = play_games_duplicate(GreedyAgent(), GreedyAgent(), seeds[:1], others=seeds[1:])
    alone = [play_games_duplicate(GreedyAgent(), GreedyAgent(), seeds[k : k + 1])[0][0, k] for k in (0, 1)]
    assert score.tolist() == [alone]


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
    seated = Seated((follower, forgetful), np.tile(np.arange(4) & 1, (4, 1)))
    play_rounds(deal_rounds(4, rng, tribute=0.5), seated, GUANDAN)
    assert min(follower.lengths) <= 1 and max(follower.lengths) > 40
    # the other side gets what is kept anyway, and nothing is kept where nobody follows
    assert all(isinstance(past, PastMoves) for past in forgetful.seen)
    alone = Forgetful(rng)
    play_rounds(deal_rounds(2, rng), alone, GUANDAN, record=False)
    assert alone.seen and set(alone.seen) == {None}
