"""Agents by name and of one's own: each loads and plays, names are checked, checkpoints are told apart."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.play.quick_agents import RULE_AGENTS, GreedyAgent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.protocol import Agent, AgentFault, Decisions, UnknownAgent
from games.guandan.rounds.playout import legal
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.guandan_config import PRESETS
from gs2.guandan.agent_families import (
    check_agent,
    guandan_agent,
)
from gs2.guandan.beliefs.belief_network import DEALS, DEFAULT
from gs2.guandan.table.hosts import load_agent
from gs2.guandan.table.seat import AgentError, Observation, Seats
from gs2.play.arena import Meeting, play_match

SMALL = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two checkpoints of small untrained networks."""
    folder = tmp_path_factory.mktemp("networks")
    for seed in (1, 2):
        Trainer(SMALL, TrainConfig(seed=seed)).save(folder / f"{seed}.safetensors")
    return [str(folder / f"{seed}.safetensors") for seed in (1, 2)]


def loaded(name: str) -> Agent:
    return guandan_agent(name).load(np.random.default_rng(0))


def test_a_checkpoint_plays_the_move_it_scores_highest(checkpoints: list[str]) -> None:
    agent, evaluator = loaded(checkpoints[0]), load_inference(checkpoints[0])
    states = duplicate_deals(np.arange(60), 1)
    moves = legal(states, canonical=True)
    decisions = Decisions.of(states, moves)
    chosen = agent(decisions)
    for row in range(0, len(states), 6):
        q = evaluator.advantages(decisions.span(row, row + 1))
        assert q[chosen[row]] >= q.max() - 0.02 * np.ptp(q)  # batches of other sizes round otherwise


def test_search_without_a_method_plays_as_its_blueprint(checkpoints: list[str]) -> None:
    name = f"gs2-blueprint@{checkpoints[0]}"
    payoffs = play_match(Meeting("guandan", name, checkpoints[0], 4)).games.payoffs
    assert np.mean(payoffs[:, 0] == -payoffs[:, 1]) >= 0.75  # a tie may be rounded either way


def test_fields_of_a_configuration_follow_a_colon(checkpoints: list[str]) -> None:
    agent = loaded(f"gs2-fast:worlds=5,per_type=none,theirs=blueprint+bomb@{checkpoints[0]}")
    assert isinstance(agent, Gs2Agent)
    config = agent.config
    assert (config.deals.worlds, config.moves.per_type, config.subgame.theirs) == (5, None, "blueprint+bomb")
    assert agent.config.moves.gap == PRESETS["fast"].moves.gap
    for wrong, says in (
        ("wolds=5", "no field 'wolds'"),
        ("worlds=0", "worlds must be"),
        ("leaf=x", "leaf must"),
    ):
        with pytest.raises(ConfigError, match=says):
            check_agent(f"gs2:{wrong}")


def fingerprint(name: str) -> str:
    return guandan_agent(name).fingerprint()


def test_a_fingerprint_follows_the_weights_not_the_name(checkpoints: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(Path(checkpoints[0]).read_bytes())
    assert fingerprint(str(copy)) == fingerprint(checkpoints[0])
    assert (
        fingerprint(f"gs2@{copy}") == fingerprint(f"gs2-standard@{checkpoints[0]}") != fingerprint(str(copy))
    )
    assert fingerprint(f"gs2:worlds=7@{copy}") != fingerprint(f"gs2@{copy}")
    # as result files of earlier versions know it: numbers as they are written
    digest = hashlib.sha256(copy.read_bytes())
    digest.update(json.dumps(PRESETS["fast"].replace(deadline=60).to_json(), sort_keys=True).encode())
    digest.update(DEFAULT.read_bytes())
    digest.update(DEALS.read_bytes())
    assert fingerprint(f"gs2-fast:deadline=60@{copy}") == digest.hexdigest()[:16]
    copy.write_bytes(Path(checkpoints[1]).read_bytes())
    assert fingerprint(str(copy)) == fingerprint(checkpoints[1]) != fingerprint(checkpoints[0])
    assert fingerprint("strong") == "strong"
    assert fingerprint("network") == fingerprint("blueprint")
    assert fingerprint(f"network@{copy}") == fingerprint(f"blueprint@{copy}") == fingerprint(str(copy))


def test_how_many_deals_are_played_at_once_follows_the_cost_of_a_decision() -> None:
    assert all(guandan_agent(name).is_quick and guandan_agent(name).together > 100 for name in RULE_AGENTS)
    assert not guandan_agent("gs2-fast").is_quick and 1 < guandan_agent("gs2-fast").together < 50
    assert guandan_agent("gs2-deep").together == 1


def test_names_that_no_agent_has_and_files_that_are_no_checkpoint_are_refused(tmp_path: Path) -> None:
    for name, says in (
        ("stong", r"did you mean strong\? A \.safetensors"),
        ("xyz", "there are random, greedy"),
        ("gs2-slow", "the preset must be one of"),
        ("gs2-fast@none.safetensors", "does not exist"),
        ("none.safetensors", "does not exist"),
        ("", "no agent of guandan is called"),
    ):
        with pytest.raises(UnknownAgent, match=says):
            check_agent(name)
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        loaded(str(path))


OWN = """
import numpy as np

class Weakest:
    def act(self, observation):
        return 0

class WeakestOfMany:
    def __call__(self, decisions):
        return np.zeros(len(decisions), np.int64)

class Outside:
    def __call__(self, decisions):
        return np.diff(decisions.offsets)

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


def test_a_seats_agent_plays_one_seat_of_one_round_and_sees_no_other_hand() -> None:
    Watcher.everything.clear()
    agent = Seats(Watcher)
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
            return np.zeros(len(decisions), np.int64)

    class One:
        def act(self, observation: Observation) -> int:
            return 0

    deals = duplicate_deals(np.arange(4), 1)
    wanted = play_duplicate(First(), GreedyAgent(), deals)
    assert np.array_equal(play_duplicate(Seats(One), GreedyAgent(), deals), wanted)


def test_an_answer_that_is_no_choice_is_refused() -> None:
    class Wrong:
        def __init__(self, answer: object = "pass") -> None:
            self.answer = answer

        def act(self, observation: Observation) -> object:
            return self.answer

    deals = duplicate_deals(np.arange(12), 1)
    for agent, error, says in (
        (Wrong, AgentError, "must answer with an index; got"),
        (lambda: Wrong(99999), AgentFault, "index of its legal moves"),
    ):
        with pytest.raises(error, match=says):
            play_duplicate(Seats(agent), GreedyAgent(), deals)


@pytest.mark.parametrize("name", ["own.py:Weakest", "own.py:WeakestOfMany"])
def test_ones_own_agent_meets_others_in_the_arena(own: Path, name: str) -> None:
    assert not guandan_agent(name).is_quick and 1 < guandan_agent(name).together < 100
    before = guandan_agent(name).fingerprint()
    assert play_match(Meeting("guandan", name, "greedy", 3)).complete
    assert play_match(Meeting("guandan", name, "random", 1, terms={"whole": True})).complete
    own.write_text(OWN + "\n# another version\n")
    assert guandan_agent(name).fingerprint() != before


@pytest.mark.usefixtures("own")
def test_a_match_names_the_agent_whose_answer_is_no_choice() -> None:
    with pytest.raises(AgentFault, match=r"agent Outside: .* index of its legal moves"):
        play_match(Meeting("guandan", "own.py:Outside", "greedy", 1))


def test_a_name_of_ones_own_that_cannot_be_is_refused_and_what_makes_no_agent_when_it_is_loaded(
    own: Path,
) -> None:
    for name, says in (
        ("own.py:Nobody", "own.py must define Nobody"),
        ("none.py:Nobody", "file 'none.py' does not exist"),
        ("own.py:number", "must be a class or function; got int"),
    ):
        with pytest.raises(UnknownAgent, match=says):
            check_agent(name)
    for name, says in (("own.py:Neither", "has no method act"), ("own.py:broken", "no weights")):
        check_agent(name)
        with pytest.raises(UnknownAgent, match=says):
            loaded(name)
        with pytest.raises(AgentError, match=says):
            load_agent(name)
