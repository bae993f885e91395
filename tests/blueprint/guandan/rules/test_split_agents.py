"""Agents that split their hand: the paper's own example, rules that hold for all, and how strong they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from blueprint.game_lockstep import play_rounds
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.play.quick_agents import GreedyAgent, RandomAgent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.rules.split_agents import (
    MinCombinationAgent,
    PersonalityAgent,
    StrongAgent,
    StrongParameters,
    personality_costs,
)
from blueprint.protocol import Agent, Decisions
from games.guandan.cards import BOMB, PAIR, PASS, STRAIGHT_FLUSH, pack, parse_cards
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import from_hands
from tests.reference.min_combination import cheapest_split

EXAMPLE = "S7 H7 C7 D7 CA CA S5 D5"
"""The hand of the paper's appendix B.2, at a level that it does not hold."""


def led(agent: Agent, cards: str, level: int = 8) -> tuple[int, int]:
    """Return (type, rank) of what the agent leads from a hand of these cards."""
    hand = parse_cards(cards)
    rest = np.repeat(np.arange(54), 2 - hand)
    hands = np.zeros((4, 54), np.int64)
    hands[0] = hand
    for seat in range(1, 4):
        np.add.at(hands[seat], rest[(seat - 1) * 27 : seat * 27], 1)
    states = from_hands(hands, level=level, first=0)
    decisions = Decisions.of(states, legal(states, canonical=True))
    move = decisions.actions[agent(decisions)[0]]
    return int(move["type"]), int(move["rank"])


def test_agents_lead_as_the_papers_example_and_their_rules_say() -> None:
    wanted = {"aggressive": (BOMB, 5), "conservative": (PAIR, 12), "balanced": (BOMB, 5)}
    for personality, move in wanted.items():
        assert led(PersonalityAgent(personality), EXAMPLE) == move
    cost, groups = cheapest_split(pack(parse_cards(EXAMPLE)), 8, personality_costs())
    assert cost == 0  # 1 for the bomb, 0 for the aces, -1 for the fives
    assert sorted(groups) == sorted([(BOMB, 5, 4), (PAIR, 12, 2), (PAIR, 3, 2)])
    with pytest.raises(ValueError, match="personality must be one of"):
        PersonalityAgent("shy")
    # a straight of one suit is led as a straight flush
    assert led(StrongAgent(), "S3 S4 S5 S6 S7") == (STRAIGHT_FLUSH, 1)


@pytest.mark.parametrize(
    "agent",
    [MinCombinationAgent(), StrongAgent(), *(PersonalityAgent(p) for p in ("aggressive", "balanced"))],
    ids=lambda agent: agent.name,
)
def test_every_agent_goes_out_when_it_can(agent: Agent) -> None:
    seen = [0]

    def watch(decisions: Decisions) -> np.ndarray:
        choice = agent(decisions)
        for j in range(len(decisions)):
            moves = decisions.actions[decisions.offsets[j] : decisions.offsets[j + 1]]
            left = decisions.states["left"][decisions.rows[j], decisions.seats[j]]
            if np.any(moves["size"] == left):
                assert moves["size"][choice[j]] == left
                seen[0] += 1
        return choice

    play_rounds(deal_rounds(6, np.random.default_rng(0)), watch, GUANDAN)
    assert seen[0] > 5


def test_personalities_pass_when_their_partner_leads_the_trick_and_they_cannot_go_out() -> None:
    agent = PersonalityAgent("balanced")
    seen = [0]

    def watch(decisions: Decisions) -> np.ndarray:
        choice = agent(decisions)
        for j in range(len(decisions)):
            state = decisions.states[decisions.rows[j]]
            moves = decisions.actions[decisions.offsets[j] : decisions.offsets[j + 1]]
            mates = state["beat"]["type"] != PASS and state["leader"] == (decisions.seats[j] + 2) % 4
            if mates and not np.any(moves["size"] == state["left"][decisions.seats[j]]):
                assert moves["type"][choice[j]] == PASS
                seen[0] += 1
        return choice

    play_rounds(deal_rounds(6, np.random.default_rng(1)), watch, GUANDAN)
    assert seen[0] > 20


@pytest.mark.long
def test_the_agents_stand_in_their_known_order() -> None:
    deals = duplicate_deals(np.arange(40), 3)
    ladder: list[Agent] = [StrongAgent(), MinCombinationAgent(), PersonalityAgent("balanced")]
    for better, worse in pairwise(ladder):
        assert play_duplicate(better, worse, deals).mean() > 0
    assert play_duplicate(StrongAgent(), GreedyAgent(), deals).mean() > 1
    chance = RandomAgent(np.random.default_rng(0))
    assert play_duplicate(PersonalityAgent("balanced"), chance, deals).mean() > 0


def test_parameters_change_the_strong_agent() -> None:
    other = StrongAgent(StrongParameters(follow=3.0))
    rounds = [
        play_rounds(deal_rounds(3, np.random.default_rng(2)), agent, GUANDAN)
        for agent in (StrongAgent(), other, StrongAgent(StrongParameters()))
    ]
    assert np.array_equal(rounds[0].actions, rounds[2].actions)
    assert rounds[1].steps != rounds[0].steps
