"""Agents of any game by name: every kind, networks and how they play, search, and words that name none."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.learning.run import RunLimits, RunPlace, train
from blueprint.networks import shipped_file
from blueprint.papers.listening import load_persona_agent
from blueprint.protocol import (
    Blueprint,
    Decisions,
    UnknownAgent,
    agent_name,
    agent_of,
    blueprint_of,
    probabilities,
)
from blueprint.research.game_network import GameNetworkConfig
from blueprint.research.game_training import train_game_network
from cfr.policies.policy import save_policy, tabular_policy
from cfr.solver import solve
from cfr.tree import grow
from games import load_game
from games.game import CHANCE, Game
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.play.agent_names import (
    agent_identity,
    load_game_agent,
    load_game_blueprint,
    network_file,
    parse_agent,
)
from gs2.play.game_pairs import play_agents
from gs2.play.search_agent import SearchAgent
from gs2.policies.policy_spec import policy_from_spec
from gs2.policies.tabulate import policy_of
from gs2.search.context import SearchContext
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.policy_only import AgentPlay
from tests.gs2.search.setting import refined_at

OWN = """
import numpy as np

class Last:
    name = "last"

    def __call__(self, decisions):
        return np.diff(decisions.offsets) - 1

class Silent:
    name = "silent"

class Older:
    name = "older"

    def policy(self, game, states, player, actions):
        return np.zeros(len(actions.values))

def broken():
    raise RuntimeError("no")
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_names_are_taken_apart_at_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, parts in (
        ("uniform", ("uniform", None)),
        ("cfr+:100", ("cfr+:100", None)),
        ("cfr+:100+gs2+", ("cfr+:100", "gs2+")),
        ("cfr:10+gs2+path:k=2,iterations=50", ("cfr:10", "gs2+path:k=2,iterations=50")),
        ("a+b.safetensors+gs2-d", ("a+b.safetensors", "gs2-d")),
        ("a+b.safetensors", ("a+b.safetensors", None)),
    ):
        name = parse_agent(text)
        assert (name.text, name.search) == parts
    for text in ("network:300", "networks", "cfr:100", "network:x", "n.safetensors", ""):
        assert network_file("big2", parse_agent(text)) is None
    monkeypatch.chdir(tmp_path)  # a file of that very name is no search
    Path("mine+gs2+").write_text("x")
    name = parse_agent("mine+gs2+")
    assert (name.text, name.file, name.search) == ("mine+gs2+", Path("mine+gs2+"), None)


def test_strategies_of_small_games_play_as_they_are() -> None:
    game = load_game("leduc_poker")
    tree = grow(game)
    for text in ("uniform", "dcfr:10", "noise:0.5", "dmc:300"):
        agent = load_game_agent(game, text)
        wanted = policy_from_spec(text, game, tree)
        np.testing.assert_allclose(policy_of(AgentPlay(agent), game, tree), wanted, atol=1e-12)


def test_files_of_policies_and_networks_play(tmp_path: Path) -> None:
    game = load_game("kuhn_poker")
    tree = grow(game)
    probs = solve(tree, variant="cfr+", iterations=30).policy
    save_policy(tmp_path / "kuhn.npz", tabular_policy(game.name, tree, probs, "cfr+"))
    config = GameNetworkConfig(width=16, blocks=1, episodes=64)
    limits, output = RunLimits(decisions=1000), tmp_path / "kuhn.safetensors"
    network = train_game_network(game, np.random.default_rng(0), limits, config=config, output=output)
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
    found = policy_of(AgentPlay(agent), game, context.tree)
    for number in range(context.tree.n_infosets):
        refined = refine_infoset(context, strategy, number, agent.config, np.random.default_rng(0))
        np.testing.assert_allclose(
            found[context.tree.slots(number)], refined_at(refined, context.tree, number), atol=1e-12
        )
    assert not np.allclose(found, strategy.probs)


def test_a_searching_agent_is_one_fixed_strategy() -> None:
    game = load_game("leduc_poker")
    one, two = (load_game_agent(game, "cfr:5+gs2-r:k=2,iterations=20", seed=1) for _ in range(2))
    played = play_agents(game, (one, two), np.random.default_rng(0), 8)
    assert np.array_equal(played.net, np.zeros(8))
    assert isinstance(one, SearchAgent) and 0 < one.searches <= played.paces[0].decisions
    before = one.searches
    play_agents(game, (one, two), np.random.default_rng(0), 8)
    assert one.searches == before


def test_agents_of_ones_own_play(own: Path) -> None:
    game = load_game("kuhn_poker")
    agent = load_game_agent(game, f"{own}:Last")
    assert agent_name(agent) == "last"
    assert play_agents(game, (agent, agent), np.random.default_rng(0), 5).net.tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("game", "text", "error", "says"),
    [
        ("kuhn_poker", "unifrom", UnknownAgent, "did you mean uniform"),
        ("kuhn_poker", "cfr:x", UnknownAgent, "iterations must be an integer of at least 1"),
        ("kuhn_poker", "network:0", UnknownAgent, "decisions must be an integer of at least 1"),
        ("kuhn_poker", "uniform+gs22", UnknownAgent, "did you mean gs2"),
        ("kuhn_poker", "dcfr+:10+gs22", UnknownAgent, "did you mean gs2"),
        ("kuhn_poker", "uniform+gs2+:kk=3", ConfigError, "there is no field 'kk' to set; did you mean k"),
        ("kuhn_poker", "uniform+gs2+:k=three", ConfigError, "k must be of type int"),
        ("kuhn_poker", "none.safetensors+gs2+", UnknownAgent, "none.safetensors: no such file; check"),
        ("kuhn_poker", "none.py:Agent", UnknownAgent, "does not exist"),
        ("kuhn_poker", "OWN:Silent", UnknownAgent, "it cannot be called; an agent is called with Decisions"),
        (
            "kuhn_poker",
            "OWN:Older",
            UnknownAgent,
            r"has policy\(…\) alone; an agent is called",
        ),
        ("kuhn_poker", "OWN:broken", UnknownAgent, "cannot be made without arguments"),
        ("kuhn_poker", "network", UnknownAgent, "one of doudizhu, big2"),
        ("leduc_poker", "network:temperature=0.1", UnknownAgent, "one of doudizhu, big2"),
        ("goofspiel", "network", UnknownAgent, "one of doudizhu, big2"),
        ("big2", "network:temperature=-1", ConfigError, "temperature"),
        ("big2", "network:temprature=0.1", ConfigError, "did you mean temperature"),
        ("big2", "network:alpha=0.5", ConfigError, "name a persona too"),
        ("big2", "network:persona=balanced,temperature=0.1", ConfigError, "leave temperature and prune out"),
        ("big2", "network:persona=balanced", CheckpointError, "must have a personality head"),
        ("big2", "network:persona=bold", ConfigError, "persona"),
        ("big2", "network:temperature=0.1@none.safetensors", UnknownAgent, "is no file"),
        ("big2", "network@none.safetensors", UnknownAgent, "is no file"),
    ],
)
def test_words_that_name_no_agent_say_what_to_do(
    game: str, text: str, error: type[Exception], says: str, own: Path
) -> None:
    with pytest.raises(error, match=says):
        load_game_agent(load_game(game, general_sum=True), text.replace("OWN", str(own)))


STYLED = ClimbingConfig(state=16, action=8, critic=0, rounds=8, batch=64, personality=8, personas=0.5)


@pytest.fixture(scope="module")
def styled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a network with a personality head that was hardly trained."""
    place = RunPlace.of(tmp_path_factory.mktemp("run"))
    begin = partial(MoveTrainer.begun, game=load_game("big2"), config=STYLED)
    train(place, begin, RunLimits(decisions=1))
    return place.checkpoint


def some_states(game: Game, seat: int, n: int) -> Array:
    """Return states at which a seat acts, from random play."""
    rng = np.random.default_rng(seat)
    states = np.repeat(game.root(), 8 * n, axis=0)
    while len(found := states[game.player(states) == seat]) < n:
        legal = game.actions(states)
        chance = game.player(states)[0] == CHANCE
        probs = game.chance_probs(states, legal) if chance else rng.random(len(legal.values))
        bounds = itertools.pairwise(legal.offsets.tolist())
        at = [low + int(np.argmax(probs[low:high] * rng.random(high - low))) for low, high in bounds]
        states = game.step(states, np.arange(len(states)), legal.values[at])
    return found[:n]


def test_a_way_to_play_is_that_of_the_loaders(styled: Path) -> None:
    game = load_game("big2")
    states = some_states(game, 1, 12)
    legal = game.actions(states)
    shipped = shipped_file("big2")
    assert shipped is not None
    balanced = load_persona_agent(styled, game, "balanced", alpha=0.25)
    wanted = {
        "network": load_climbing_blueprint(shipped, game),
        "Network:temperature=0.3": load_climbing_blueprint(shipped, game, temperature=0.3),
        f"network:prune=0@{shipped}": load_climbing_blueprint(shipped, game, prune=0),
        f"network@{styled}": load_climbing_blueprint(styled, game),
        f"network:persona=balanced,alpha=0.25@{styled}": balanced,
    }
    answers, asked = {}, Decisions.of(states, legal, 1, game=game)
    for name, same in wanted.items():
        answers[name] = probabilities(load_game_agent(game, name), asked)
        assert np.array_equal(answers[name], probabilities(agent_of(same), asked)), name
    persona = f"network:persona=aggressive@{styled}"
    assert blueprint_of(load_game_agent(game, persona)) is None
    for load, words in ((load_game_blueprint, persona), (load_game_agent, f"{persona}+rollout")):
        with pytest.raises(UnknownAgent, match="must have values"):
            load(game, words)
    soft = answers["Network:temperature=0.3"]
    assert ((soft > 0) & (soft < 1)).any() and np.isin(answers["network"], (0, 1)).all()


def test_an_identity_follows_the_file_behind_the_name(own: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.safetensors"
    path.write_bytes(b"one")
    networks = (f"network:temperature=0.1@{path}", f"network@{path}+rollout", f"{path}+gs2+", str(path))
    names = (f"{own}:Last", *networks)
    before = [agent_identity(name, "big2") for name in names]
    assert before == [agent_identity(name, "big2") for name in names] and len(set(before)) == 5
    own.write_text(OWN + "\n")
    path.write_bytes(b"two")
    assert not set(before) & {agent_identity(name, "big2") for name in names}
    assert agent_identity("network", "big2") != agent_identity("network", "doudizhu")
