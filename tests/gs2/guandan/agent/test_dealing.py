"""Deals of a decision: a few at first, more where a comparison needs them, all of them where they are few."""

from __future__ import annotations

import numpy as np
import pytest

from gs2.guandan.agent.agent import AT_FIRST, Gs2Agent
from gs2.guandan.agent.deals.dealing import Dealer, DealNetworks
from gs2.guandan.agent.evaluator import BlueprintEvaluator
from gs2.guandan.agent.guandan_config import DealsConfig, GuanDanConfig
from tests.gs2.guandan.agent.test_agent import PLIES
from tests.gs2.guandan.blueprints import CountBlueprint, midgame
from tests.patience import amount

WAVE, WORLDS = 4, 40


def agent_that(confidence: float) -> Gs2Agent:
    config = GuanDanConfig.of(
        method="rollout",
        deadline=600,
        worlds=WORLDS,
        wave=WAVE,
        candidates=3,
        gap=100.0,
        depth=2,
        pool=60,
        confidence=confidence,
        endgame=0,
    )
    return Gs2Agent(CountBlueprint(noise=0.1), config, np.random.default_rng(0))


@pytest.mark.parametrize(("confidence", "patient"), [(0.0, False), (100.0, True)])
def test_more_deals_are_drawn_only_where_the_first_do_not_settle_it(confidence: float, patient: bool) -> None:
    agent, seen = agent_that(confidence), 0
    for row in midgame(20, np.random.default_rng(1), plies=20, least=4):
        decision = agent.decide(np.atleast_1d(row))
        comparison = decision.comparison
        if comparison is None or comparison.worlds.exact:
            continue
        seen += 1
        assert decision.worlds is comparison.worlds
        assert len(comparison.payoffs) == len(comparison.weights) <= len(comparison.worlds)
        if patient:
            assert comparison.stopped == "worlds" and len(comparison.payoffs) == WORLDS
        elif len(comparison.payoffs) < AT_FIRST * WAVE:
            assert len(comparison.worlds) == AT_FIRST * WAVE
    assert seen > 8


class Likes:
    """A deal network that finds deals likelier where the next seat holds many low cards."""

    def log_ratios(self, states, seat):
        return 1.5 * self.share(states, seat)

    @staticmethod
    def share(states, seat):
        low = states["hand"][:, (seat + 1) % 4, 0]
        return np.array([bin(int(x)).count("1") for x in low]) / 8.0


def test_deals_drawn_in_two_parts_are_as_likely_as_those_drawn_at_once() -> None:
    state = np.atleast_1d(midgame(1, np.random.default_rng(2), plies=10, least=10)[0])
    seat = int(state["player"][0])
    networks = DealNetworks(BlueprintEvaluator(CountBlueprint()), None, Likes())
    means: dict[str, list[float]] = {"at once": [], "in two parts": [], "unweighed": []}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        weighed = Dealer(state, None, networks, DealsConfig(worlds=40, pool=120), rng)
        plain = Dealer(state, None, networks, DealsConfig(worlds=40, reach=0.0), rng)
        whole = weighed.draw(40, 40)
        parts = weighed.draw(10, 40).joined(weighed.draw(30, 40, listing=False))
        for name, worlds in (("at once", whole), ("in two parts", parts), ("unweighed", plain.draw(40, 40))):
            assert not worlds.exact and worlds.weights.sum() == pytest.approx(40)
            means[name].append(float(np.average(Likes.share(worlds.states, seat), weights=worlds.weights)))
    once, twice, without = (np.array(means[name]) for name in means)
    error = np.hypot(once.std(), twice.std()) / np.sqrt(60)
    assert abs(once.mean() - twice.mean()) < 4 * error
    assert min(once.mean(), twice.mean()) > without.mean() + 4 * error


def test_few_deals_are_listed_once_and_never_drawn() -> None:
    rows = midgame(amount(200, 100), np.random.default_rng(3), plies=110, least=1)
    listed = 0
    for row in rows:
        state = np.atleast_1d(row)
        networks = DealNetworks(BlueprintEvaluator(CountBlueprint()))
        dealer = Dealer(state, None, networks, DealsConfig(), np.random.default_rng(0))
        worlds = dealer.draw(12, 400)
        if worlds.exact:
            listed += 1
            hands = worlds.states["hand"].reshape(len(worlds), -1)
            assert len(np.unique(hands, axis=0)) == len(worlds) <= 400
            assert not dealer.draw(12, 400, listing=False).exact
        else:
            assert len(worlds) == 12
    assert listed > 3


@pytest.mark.parametrize("config", [agent_that(1.0).config, PLIES], ids=("comparison", "plies"))
def test_with_draws_of_the_infoset_agents_that_differ_see_the_same_deals(config: GuanDanConfig) -> None:
    states = midgame(12, np.random.default_rng(3), plies=24, least=5)
    config = config.replace(draws=5)

    def deals(config: GuanDanConfig, order: slice = slice(None)) -> list[bytes]:
        agent = Gs2Agent(CountBlueprint(noise=0.1), config, np.random.default_rng())
        found = [agent.decide(np.atleast_1d(row)).worlds for row in states[order]][order]
        return [b"" if worlds is None else worlds.states["hand"].tobytes() for worlds in found]

    usual = deals(config)
    assert sum(map(bool, usual)) > 6
    assert deals(config, slice(None, None, -1)) == usual, "whatever was decided before"
    assert deals(config.replace(objective="levels")) == usual
    assert deals(config.replace(draws=6)) != usual
    states["fails"] = 0  # as in a match
    assert deals(config) == usual
