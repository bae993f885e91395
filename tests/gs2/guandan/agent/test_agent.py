"""The agent: always a legal move, whatever fails, and it says why."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.game_lockstep import Seated, play_rounds
from blueprint.guandan.play.selfplay import Scratch
from blueprint.protocol import Decisions
from games.game import GameError
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals import dealing
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.agent.deals.determinize import sample_worlds
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.guandan_config import PRESETS, GuanDanConfig, agent_preset
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame, random_choice
from tests.gs2.guandan.test_endgame import endgames
from tests.patience import amount

QUICK = agent_preset("rollout-fast").replace(worlds=8, wave=4, depth=4, deadline=600.0, gap=1.0)
STYLED = QUICK.replace(method="subgame", leaf_worlds=6)
PLIES = QUICK.replace(method="subgame", leaf="value", k=3, sample=10, subgame_depth=2, crowd_depth=2)


def quick(config: GuanDanConfig) -> GuanDanConfig:
    """Return a preset with little to do and much time for it."""
    if config.method == "none":
        return config
    if config.compares:
        return config.replace(worlds=4, wave=2, depth=2, deadline=600.0)
    small = {"sample": 20, "k": 3, "room": 60, "iterations": 10, "subgame_depth": 3, "crowd_depth": 2}
    return config.replace(leaf="value", deadline=600.0, **small)


def is_legal(decision: Decision) -> bool:
    return bool(np.any(legal(decision.state)[0] == decision.action[0]))


def test_whole_rounds_of_legal_moves_in_every_preset() -> None:
    rng = np.random.default_rng(0)
    for name in PRESETS:
        config = quick(agent_preset(name))
        agent = Gs2Agent(counting(), config, rng)
        state = deal(1, rng, level=5)
        stages = set()
        while state["player"][0] >= 0:
            if state["player"][0] % 2 == 0:
                decision = agent.decide(state)
                assert is_legal(decision), name
                searched = decision.stage in ("rollout", "subgame", "clear")  # clear after an ending as well
                assert searched or not decision.notes, decision.notes
                stages.add(decision.stage)
                move = decision.action
            else:
                move = random_choice(state, rng)
            advance(state, move)
        wanted = {"none": "blueprint", "rollout": "rollout", "subgame": "subgame"}[config.method]
        assert wanted in stages, (name, stages)


@pytest.mark.parametrize("fault", ["q", "nan", "values", "shape"])
@pytest.mark.parametrize("config", [QUICK, STYLED, PLIES], ids=["rollout", "styles", "plies"])
def test_a_failing_evaluator_costs_the_search_but_not_the_move(fault: str, config: GuanDanConfig) -> None:
    rng = np.random.default_rng(2)
    noted = 0
    for row in midgame(5, rng, plies=30, least=3):
        agent = Gs2Agent(DealNetworks(Flaky(fault, rng, rate=1.0)), config, rng)
        decision = agent.decide(np.atleast_1d(row))
        assert is_legal(decision)
        if fault in ("q", "nan"):
            assert decision.stage == "first" and "blueprint failed" in decision.notes[0]
            assert decision.choice == 0
        elif decision.notes:
            noted += 1
            assert decision.choice == decision.blueprint
            assert "the blueprint's move is played" in decision.notes[-1]
    assert noted or fault in ("q", "nan")


def test_what_fails_half_way_is_said_and_leaves_the_blueprints_move(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def log_odds(self, states, seats):
            raise OSError("no weights")

    def none(*args, **kwargs):
        raise GameError("guandan: no deal agrees with what seat 0 knows")

    rng = np.random.default_rng(4)
    states = [np.atleast_1d(row) for row in midgame(3, rng, plies=12, least=6)]
    network = Gs2Agent(DealNetworks(Flaky("q", rng, rate=1.0, after=3)), QUICK, rng)
    belief = Gs2Agent(DealNetworks(CountEvaluator(), Silent()), QUICK, rng)
    for agent, word in ((network, "the network is gone"), (belief, "no weights")):
        decision = agent.decide(states[0])
        assert is_legal(decision) and decision.choice == decision.blueprint
        assert "search failed" in decision.notes[0] and word in decision.notes[0]
    monkeypatch.setattr(dealing, "sample_worlds", none)
    for state in states:
        decision = Gs2Agent(counting(), QUICK, rng).decide(state)
        assert is_legal(decision) and decision.choice == decision.blueprint
        assert decision.stage == "clear" or "no deal agrees" in decision.notes[0]
    states[0]["player"] = -2
    with pytest.raises(GameError, match="the round is over"):
        network.decide(states[0])


def test_a_deadline_of_a_millisecond_still_plays() -> None:
    rng = np.random.default_rng(5)
    for config in (QUICK, STYLED, PLIES):
        agent = Gs2Agent(counting(), config.replace(deadline=0.001), rng)
        for row in midgame(5, rng, plies=40, least=3):
            decision = agent.decide(np.atleast_1d(row))
            assert is_legal(decision)
            if decision.stage == "blueprint":
                assert decision.choice == decision.blueprint
                assert any("time" in note for note in decision.notes)


def test_endgames_of_two_are_decided_exactly() -> None:
    rng = np.random.default_rng(8)
    agent = Gs2Agent(counting(noise=0.5), agent_preset("standard").replace(deadline=600.0), rng)
    stages = []
    for state in endgames(amount(25, 12), rng, most=16):
        decision = agent.decide(state, legal(state).values)
        stages.append(decision.stage)
        assert is_legal(decision)
        if decision.stage == "endgame":
            assert decision.endgame is not None
            values = decision.endgame.values[0]
            assert values[decision.choice] == np.nanmax(values)
        else:
            assert decision.endgame is None
    assert stages.count("endgame") >= 4


def paired_gain(config, deals: int, seed: int) -> tuple[float, float]:
    """Return (levels a round won over the blueprint, standard error) on paired deals."""
    rng = np.random.default_rng(seed)
    blueprint = counting(0.05)
    agent = Gs2Agent(blueprint, config, rng)
    base = Gs2Agent(blueprint, "blueprint", rng)
    starts = deal(deals, rng, level=rng.integers(0, 13, deals))
    gains = np.zeros(deals)
    sides = np.tile(np.arange(4) & 1, (deals, 1))
    for side, agents in enumerate(((agent, base), (base, agent))):
        played = play_rounds(starts.copy(), Seated(agents, sides), Scratch(), record=False).final
        gains += GuanDan().returns(played)[:, side] / 2
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(deals))


@pytest.mark.long
def test_search_beats_a_weak_blueprint_on_paired_deals() -> None:
    gain, error = paired_gain(
        agent_preset("rollout-fast").replace(worlds=12, wave=6, depth=None, deadline=600.0), 12, 1
    )
    assert gain > 2 * error, (gain, error)


def test_warming_up_searches_by_the_agents_own_method_and_leaves_its_random_stream_alone() -> None:
    for name, stage in (("fast", "subgame"), ("rollout-fast", "rollout"), ("paper", "subgame")):
        rng = np.random.default_rng(3)
        before = rng.bit_generator.state
        agent = Gs2Agent(counting(noise=0.05), name, rng)
        agent.warm_up()
        assert rng.bit_generator.state == before
        assert agent.rollouts.decisions == 0
        assert stage in agent.warm_up()


FAULTS = ("q", "nan", "values", "shape", "sampler", "hurry")
CONFIG = agent_preset("rollout-fast").replace(worlds=4, wave=2, depth=1, deadline=600.0, gap=1.0)


class Flaky(CountEvaluator):
    """An evaluator that fails now and then in one way, after a number of calls."""

    def __init__(self, fault: str, rng: np.random.Generator, rate: float = 0.2, after: int = 0) -> None:
        super().__init__()
        self.fault, self.rng, self.rate, self.after = fault, rng, rate, after
        self.failed = 0

    def _fails(self, fault: str) -> bool:
        self.after -= fault == self.fault
        fails = fault == self.fault and self.after < 0 and self.rng.random() < self.rate
        self.failed += fails
        return fails

    def advantages(self, decisions: Decisions) -> np.ndarray:
        if self._fails("q"):
            raise RuntimeError("the network is gone")
        out = super().advantages(decisions)
        if self._fails("nan"):
            out[0] = np.nan
        return out

    def values(self, states, rows, seats):
        if self._fails("values"):
            raise OSError("the critic is gone")
        return super().values(states, rows, seats)[: -1 if self._fails("shape") else None]


def random_side(decisions: Decisions) -> np.ndarray:
    """Return a random move of each decision."""
    counts = np.diff(decisions.offsets)
    return np.random.default_rng(len(decisions)).integers(0, counts)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.some(2)
def test_rounds_with_faults_stay_legal_and_say_why(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, rounds = np.random.default_rng(1), amount(2000, 3)
    evaluator = Flaky(fault, rng)
    config = CONFIG.replace(deadline=1e-6) if fault == "hurry" else CONFIG
    seen = {"decisions": 0, "fell back": 0, "searched": 0}

    class Watched(Gs2Agent):
        def decide_all(self, situations) -> list[Decision]:
            decisions = super().decide_all(situations)
            for decision in decisions:
                seen["decisions"] += 1
                seen["searched"] += decision.stage == "rollout"
                assert 0 <= decision.choice < len(decision.actions)
                assert np.any(legal(decision.state, canonical=True)[0] == decision.action[0])
                if decision.stage == "first":
                    assert "the blueprint failed, the first legal move is played" in decision.notes[0]
                elif decision.stage == "blueprint":
                    assert decision.choice == decision.blueprint
                    assert any("the blueprint's move is played" in note for note in decision.notes)
                seen["fell back"] += decision.stage in ("first", "blueprint")
            return decisions

    if fault == "sampler":

        def often_none(*args, **kwargs):
            if rng.random() < 0.3:
                evaluator.failed += 1
                raise GameError("guandan: no deal agrees with what the seat knows")
            return sample_worlds(*args, **kwargs)

        monkeypatch.setattr(dealing, "sample_worlds", often_none)
    agent = Watched(DealNetworks(evaluator), config, rng)
    for begin in range(0, rounds, 50):
        n = min(50, rounds - begin)
        states = deal(n, rng, level=rng.integers(0, 13, n))
        seated = Seated((agent, random_side), np.tile(np.arange(4) & 1, (n, 1)))
        final = play_rounds(states, seated, Scratch(), record=False).final
        assert np.all(final["player"] < 0)
    assert seen["fell back"] > 0 and seen["decisions"] >= 10 * rounds
    assert evaluator.failed or fault == "hurry"
    if fault != "hurry":
        assert seen["searched"] > seen["decisions"] / 10
