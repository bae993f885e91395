"""Agents of any game by name: every kind, search over each, and words that name none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError
from blueprint.protocol import Blueprint, GameAgent, UnknownAgent
from blueprint.research.game_network import GameNetworkConfig
from blueprint.research.game_training import Budget, TrainingFiles, train_game_network
from cfr.policies.policy import save_policy, tabular_policy
from cfr.solver import solve
from cfr.tree import grow
from games import load_game
from games.support.configuration import ConfigError
from gs2.play.agent_names import (
    agent_identity,
    load_game_agent,
    load_game_blueprint,
    parse_agent,
)
from gs2.play.game_pairs import play_agents
from gs2.play.search_agent import SearchAgent
from gs2.policies.policy_spec import policy_from_spec
from gs2.policies.tabulate import policy_of
from gs2.search.context import SearchContext
from gs2.search.pipeline import refine_infoset

OWN = """
import numpy as np

class Last:
    name = "last"

    def policy(self, game, states, player, actions):
        found = np.zeros(len(actions.values))
        found[actions.offsets[1:] - 1] = 1.0
        return found

class Silent:
    name = "silent"

def broken():
    raise RuntimeError("no")
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("uniform", ("uniform", None)),
        ("cfr+:100", ("cfr+:100", None)),
        ("cfr+:100+gs2+", ("cfr+:100", "gs2+")),
        ("cfr:10+gs2+path:k=2,iterations=50", ("cfr:10", "gs2+path:k=2,iterations=50")),
        ("a+b.safetensors+gs2-d", ("a+b.safetensors", "gs2-d")),
        ("a+b.safetensors", ("a+b.safetensors", None)),
    ],
)
def test_names_are_taken_apart_at_the_search(text: str, parts: tuple[str, str | None]) -> None:
    name = parse_agent(text)
    assert (name.text, name.search) == parts


def test_a_file_of_that_very_name_is_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine+gs2+").write_text("x")
    name = parse_agent("mine+gs2+")
    assert (name.text, name.file, name.search) == ("mine+gs2+", Path("mine+gs2+"), None)


@pytest.mark.parametrize("text", ["uniform", "cfr:20", "dcfr:20", "noise:0.5", "dmc:500"])
def test_strategies_of_small_games_play_as_they_are(text: str) -> None:
    game = load_game("leduc_poker")
    tree = grow(game)
    agent = load_game_agent(game, text)
    assert isinstance(agent, GameAgent)
    np.testing.assert_allclose(policy_of(agent, game, tree), policy_from_spec(text, game, tree), atol=1e-12)


def test_files_of_policies_and_networks_play(tmp_path: Path) -> None:
    game = load_game("kuhn_poker")
    tree = grow(game)
    probs = solve(tree, variant="cfr+", iterations=30).policy
    save_policy(tmp_path / "kuhn.npz", tabular_policy(game.name, tree, probs, "cfr+"))
    config = GameNetworkConfig(width=16, blocks=1, episodes=64)
    files = TrainingFiles(tmp_path / "kuhn.safetensors")
    network = train_game_network(game, np.random.default_rng(0), Budget(1000), config=config, files=files)
    for name, wanted in (("kuhn.npz", probs), ("kuhn.safetensors", policy_of(network, game, tree))):
        blueprint = load_game_blueprint(game, str(tmp_path / name))
        assert isinstance(blueprint, Blueprint)
        np.testing.assert_allclose(policy_of(blueprint, game, tree), wanted, atol=1e-6)
    with pytest.raises(CheckpointError, match="must be a network for leduc_poker"):
        load_game_agent(load_game("leduc_poker"), str(tmp_path / "kuhn.safetensors"))


def test_a_search_by_name_is_the_search_at_every_infoset() -> None:
    game = load_game("kuhn_poker")
    agent = load_game_agent(game, "noise:0.6+resolve:iterations=40", seed=3)
    assert isinstance(agent, SearchAgent) and agent.config.solve.iterations == 40
    context = SearchContext(game)
    base = load_game_blueprint(game, "noise:0.6", seed=3)
    strategy = context.strategy(base)
    found = policy_of(agent, game, context.tree)
    for number in range(context.tree.n_infosets):
        refined = refine_infoset(context, strategy, number, agent.config, np.random.default_rng(0))
        np.testing.assert_allclose(
            found[context.tree.slots(number)], refined.at(context.tree, number), atol=1e-12
        )
    assert not np.allclose(found, strategy.probs)


def test_a_searching_agent_is_one_fixed_strategy() -> None:
    game = load_game("leduc_poker")
    one, two = (load_game_agent(game, "cfr:5+gs2-r:k=2,iterations=20", seed=1) for _ in range(2))
    played = play_agents(game, (one, two), np.random.default_rng(0), 15)
    assert np.array_equal(played.net, np.zeros(15))
    assert isinstance(one, SearchAgent) and 0 < one.searches <= played.paces[0].decisions
    before = one.searches
    play_agents(game, (one, two), np.random.default_rng(0), 15)
    assert one.searches == before


def test_agents_of_ones_own_play(own: Path) -> None:
    game = load_game("kuhn_poker")
    agent = load_game_agent(game, f"{own}:Last")
    assert agent.name == "last"
    assert play_agents(game, (agent, agent), np.random.default_rng(0), 5).net.tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("unifrom", UnknownAgent, "did you mean uniform"),
        ("cfr:x", UnknownAgent, "iterations must be an integer of at least 1"),
        ("network:0", UnknownAgent, "decisions must be an integer of at least 1"),
        ("uniform+gs22", UnknownAgent, "did you mean gs2"),
        ("cfr:10+gs22", UnknownAgent, "did you mean gs2"),
        ("dcfr+:10+gs22", UnknownAgent, "did you mean gs2"),
        ("uniform+gs2+:kk=3", ConfigError, "there is no field 'kk' to set; did you mean k"),
        ("uniform+gs2+:k=three", ConfigError, "k must be of type int"),
        ("none.safetensors+gs2+", UnknownAgent, "is called 'none.safetensors'"),
        ("none.py:Agent", UnknownAgent, "does not exist"),
        ("OWN:Silent", UnknownAgent, "must have a name and policy"),
        ("OWN:broken", UnknownAgent, "cannot be made without arguments"),
    ],
)
def test_words_that_name_no_agent_say_what_to_do(
    text: str, error: type[Exception], says: str, own: Path
) -> None:
    with pytest.raises(error, match=says):
        load_game_agent(load_game("kuhn_poker"), text.replace("OWN", str(own)))


def test_an_identity_changes_with_the_file(own: Path, tmp_path: Path) -> None:
    first = agent_identity(f"{own}:Last")
    assert first == agent_identity(f"{own}:Last") != agent_identity("uniform")
    own.write_text(OWN + "\n")
    assert agent_identity(f"{own}:Last") != first
    network = tmp_path / "n.safetensors"
    network.write_bytes(b"one")
    before = agent_identity(f"{network}+gs2+")
    network.write_bytes(b"two")
    assert agent_identity(f"{network}+gs2+") != before != agent_identity(f"{network}+gs2-d")
