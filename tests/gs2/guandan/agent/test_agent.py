"""The agent: always a legal move, whatever fails, and it says why; on the shipped networks, too."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.game_lockstep import Seated, play_rounds
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.selfplay import GUANDAN, PastMoves
from blueprint.protocol import Decisions
from games.game import GameError
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from gs2.guandan.agent.agent import Gs2Agent, make_agent
from gs2.guandan.agent.deals import dealing
from gs2.guandan.agent.deals.dealing import DealNetworks, load_networks
from gs2.guandan.agent.deals.determinize import sample_worlds
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.evaluator import load_quick, quick_file
from gs2.guandan.agent.guandan_config import GuanDanConfig, agent_preset
from gs2.guandan.agent_families import guandan_agent
from tests.gs2.guandan.beliefs.rounds import Played, some_rounds
from tests.gs2.guandan.blueprints import CountEvaluator, counting, midgame
from tests.gs2.guandan.test_endgame import endgames
from tests.patience import amount

QUICK = agent_preset("rollout-fast").replace(worlds=8, wave=4, depth=4, deadline=600.0, gap=1.0)
STYLED = QUICK.replace(method="subgame", leaf_worlds=6)
PLIES = QUICK.replace(method="subgame", leaf="value", k=3, sample=10, subgame_depth=2, crowd_depth=2)


def is_legal(decision: Decision) -> bool:
    return bool(np.any(legal(decision.state)[0] == decision.action[0]))


@pytest.mark.parametrize("fault", ["q", "nan", "values", "shape", "hurry"])
@pytest.mark.parametrize("config", [QUICK, STYLED, PLIES], ids=["rollout", "styles", "plies"])
def test_a_fault_or_no_time_costs_the_search_but_not_the_move(fault: str, config: GuanDanConfig) -> None:
    rng = np.random.default_rng(2)
    config = config.replace(deadline=1e-6) if fault == "hurry" else config
    fell_back = 0
    for row in midgame(5, rng, plies=30, least=3):
        decision = Gs2Agent(DealNetworks(Flaky(fault, rng, rate=1.0)), config, rng).decide(np.atleast_1d(row))
        assert is_legal(decision)
        if fault in ("q", "nan"):
            assert decision.stage == "first" and "blueprint failed" in decision.notes[0]
            assert decision.choice == 0
        elif decision.stage == "blueprint":
            fell_back += 1
            assert decision.choice == decision.blueprint
            assert "time" in decision.notes[-1] or fault != "hurry"
            assert "the blueprint's move is played" in decision.notes[-1]
    assert fell_back or fault in ("q", "nan")


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
        played = play_rounds(starts.copy(), Seated(agents, sides), GUANDAN, record=False).final
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
        final = play_rounds(states, seated, GUANDAN, record=False).final
        assert np.all(final["player"] < 0)
    assert seen["fell back"] > 0 and seen["decisions"] >= 10 * rounds
    assert evaluator.failed or fault == "hurry"
    if fault != "hurry":
        assert seen["searched"] > seen["decisions"] / 10


LITTLE = {"worlds": 6, "wave": 3, "depth": 2, "pool": 12}
CONFIGS: dict[str, GuanDanConfig] = {
    "standard": agent_preset("standard").replace(**LITTLE, leaf_worlds=4),
    "fast": agent_preset("fast").replace(**LITTLE, leaf_worlds=4),
    "rollout": agent_preset("rollout").replace(**LITTLE),
    "paper": agent_preset("paper").replace(
        leaf="value", sample=20, k=3, room=60, subgame_depth=3, crowd_depth=2, iterations=10
    ),
}


@pytest.fixture(scope="module")
def networks() -> DealNetworks:
    """Return the networks that the agents share."""
    return load_networks()


def agent_of(name: str, networks: DealNetworks, seed: int = 0) -> Gs2Agent:
    config = CONFIGS[name].replace(deadline=600.0)
    rng = np.random.default_rng(seed)
    return Gs2Agent(networks, config, rng)


def assert_told(decision: Decision, config: GuanDanConfig) -> None:
    """Check that a decision has what its method promises."""
    assert np.any(legal(decision.state)[0] == decision.action[0])
    assert not decision.notes or decision.stage in ("rollout", "subgame"), decision.notes
    if config.method == "rollout":
        assert decision.solution is None and decision.stage != "subgame"
    if decision.comparison is not None and decision.comparison.rollouts and config.method == "subgame":
        contested = np.flatnonzero(~np.isnan(decision.comparison.payoffs[-1]))
        assert (decision.solution is not None) == (len(contested) > 1)
        assert (decision.stage == "subgame") == (decision.solution is not None)
    if decision.solution is not None:
        policy, moves = decision.solution.policy, decision.solution.moves
        assert policy.sum() == pytest.approx(1) and set(moves) <= set(decision.candidates)
        assert decision.choice == moves[np.argmax(policy)]


@pytest.mark.parametrize("known", [True, False], ids=["with moves", "without"])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.some(2)
def test_presets_play_a_round(name: str, known: bool, networks: DealNetworks) -> None:
    agent = agent_of(name, networks)
    other = Gs2Agent(networks, "blueprint")
    state = deal(1, np.random.default_rng(1), level=4)
    past = PastMoves(state)
    stages = []
    while state["player"][0] >= 0:
        if state["player"][0] == 0:
            decision = agent.decide(state, moves=past.of(0) if known else None)
            assert_told(decision, agent.config)
            stages.append(decision.stage)
            move = decision.action
        else:
            move = other.decide(state).action
        advance(state, move)
        past.step()
    assert ("rollout" if agent.config.method == "rollout" else "subgame") in stages, stages


def positions(n: int, seed: int) -> list[Played]:
    """Return n positions with a choice, and the moves of their rounds."""
    drawn = some_rounds(12 * n, np.random.default_rng(seed), most=50)
    return [one for one in drawn if len(legal(one.state, canonical=True).values) >= 4][:n]


@pytest.mark.parametrize("known", [True, False], ids=["with moves", "without"])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.some(3)
def test_hidden_cards_dealt_otherwise_change_nothing(name: str, known: bool, networks: DealNetworks) -> None:
    rng = np.random.default_rng(7)
    searched = 0
    for seed, one in enumerate(positions(2, 3)):
        state, moves = one.state, one.moves
        dealt = determinise(state, int(state["player"][0]), rng)
        assert np.any(dealt["hand"] != state["hand"])
        told, blind = (
            agent_of(name, networks, seed).decide(here, moves=moves if known else None)
            for here in (state, dealt)
        )
        assert told.choice == blind.choice and told.stage == blind.stage
        assert told.notes == blind.notes
        if told.comparison is not None:
            searched += 1
            assert np.array_equal(told.comparison.payoffs, blind.comparison.payoffs, equal_nan=True)
        if told.solution is not None:
            searched += 1
            assert np.array_equal(told.solution.policy, blind.solution.policy)
    assert searched


def test_what_was_played_changes_which_deals_are_thought_likely(networks: DealNetworks) -> None:
    changed = 0
    for seed, one in enumerate(positions(3, 5)):
        state, forgotten = one.state, one.state.copy()
        forgotten["acts"] = 0
        known, without = (agent_of("rollout", networks, seed).decide(given) for given in (state, forgotten))
        if known.worlds is not None and not known.worlds.exact:
            changed += not np.array_equal(known.worlds.states["hand"], without.worlds.states["hand"])
    assert changed >= 2


def test_the_shipped_blueprint_has_one_and_agents_play_rollouts_by_it() -> None:
    quick = load_quick()
    assert quick is not None and quick_file().is_file() and not quick.sees_all
    agent = make_agent(config="fast")
    assert agent.rollouts.player is not agent.evaluator and agent.rollouts.evaluator is agent.evaluator
    for config in (agent_preset("fast").replace(playing="blueprint"), agent_preset("paper")):
        own = make_agent(config=config)
        assert own.rollouts.player is own.evaluator


def test_a_blueprint_without_one_plays_its_own_rollouts(tmp_path) -> None:
    path = tmp_path / "alone.safetensors"
    shutil.copy(SHIPPED, path)
    assert load_quick(path) is None
    agent, before = make_agent(path, "fast"), guandan_agent(f"gs2@{path}").fingerprint()
    assert agent.rollouts.player is agent.evaluator
    shutil.copy(quick_file(), quick_file(path))
    again = make_agent(path, "fast")
    assert again.rollouts.player is not again.evaluator
    assert guandan_agent(f"gs2@{path}").fingerprint() != before, "results are of the quick network too"


def test_one_that_another_network_taught_is_refused(tmp_path) -> None:
    path = tmp_path / "other.safetensors"
    shutil.copy(SHIPPED, path)
    tensors, description = read_checkpoint(quick_file())
    write_checkpoint(quick_file(path), tensors, description | {"teacher_decisions": 1})
    with pytest.raises(CheckpointError, match="must have been taught by the network beside it"):
        make_agent(path, "fast")
    quick_file(path).write_bytes(b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        make_agent(path, "fast")


def test_an_agent_without_a_network_takes_any_evaluator_for_its_rollouts() -> None:
    evaluator, quick = (CountEvaluator(noise=noise) for noise in (0.0, 1.0))
    agent = Gs2Agent(DealNetworks(evaluator, quick=quick), "fast", np.random.default_rng(0))
    assert agent.rollouts.player is quick
