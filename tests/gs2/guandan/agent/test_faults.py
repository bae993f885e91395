"""Rounds with faults injected: every move stays legal, and whatever search lost is said."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from games.game import GameError
from games.guandan.rounds.round import deal, legal
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.agent_presets import agent_preset
from gs2.guandan.agent.deals import dealing
from gs2.guandan.agent.deals.determinize import sample_worlds
from gs2.guandan.agent.decision import Decision
from tests.gs2.guandan.blueprints import CountEvaluator

FAULTS = ("q", "nan", "values", "shape", "sampler", "hurry")
CONFIG = agent_preset("rollout-fast").replace(worlds=4, wave=2, depth=1, deadline=600.0, gap=1.0)


class Flaky(CountEvaluator):
    """An evaluator that fails now and then in one way."""

    def __init__(self, fault: str, rng: np.random.Generator, rate: float = 0.2) -> None:
        super().__init__()
        self.fault, self.rng, self.rate = fault, rng, rate
        self.failed = 0

    def _fails(self, *faults: str) -> bool:
        fails = self.fault in faults and self.rng.random() < self.rate
        self.failed += fails
        return fails

    def q(self, decisions: Decisions) -> np.ndarray:
        if self._fails("q"):
            raise RuntimeError("the network is gone")
        out = super().q(decisions)
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


def play_with_faults(fault: str, rounds: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play rounds of an agent with faults against random players; check every decision."""
    rng = np.random.default_rng(seed)
    evaluator = Flaky(fault, rng)
    config = CONFIG.replace(deadline=1e-6) if fault == "hurry" else CONFIG
    seen = {"decisions": 0, "fell back": 0, "searched": 0}

    def watch(decision: Decision) -> None:
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

    if fault == "sampler":

        def often_none(*args, **kwargs):
            if rng.random() < 0.3:
                evaluator.failed += 1
                raise GameError("guandan: no deal agrees with what the seat knows")
            return sample_worlds(*args, **kwargs)

        monkeypatch.setattr(dealing, "sample_worlds", often_none)
    agent = Gs2Agent(evaluator, config, rng, watch=watch)
    for begin in range(0, rounds, 50):
        n = min(50, rounds - begin)
        states = deal(n, rng, level=rng.integers(0, 13, n))
        final = play_rounds(states, [agent, random_side], Scratch(), record=False).final
        assert np.all(final["player"] < 0)
    assert seen["fell back"] > 0 and seen["decisions"] >= 10 * rounds
    assert evaluator.failed or fault == "hurry"
    if fault != "hurry":
        assert seen["searched"] > seen["decisions"] / 10


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.some(2)
def test_rounds_with_faults_stay_legal_and_say_why(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play_with_faults(fault, 4, 1, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_twelve_thousand_rounds_with_faults_stay_legal(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play_with_faults(fault, 2000, 2, monkeypatch)
