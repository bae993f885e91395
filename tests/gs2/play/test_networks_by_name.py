"""Networks by name: the shipped one, a file, and how they play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError, shipped_file
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.persona_agent import load_persona_agent
from blueprint.climbing.training.move_run import RunLimits, RunManner, RunPlace, train_climbing
from blueprint.protocol import Blueprint, UnknownAgent
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

STYLED = ClimbingConfig(state=16, action=8, critic=0, rounds=8, batch=64, personality=8, personas=0.5)


@pytest.fixture(scope="module")
def styled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a network with a personality head that was hardly trained."""
    place = RunPlace.of(tmp_path_factory.mktemp("run"))
    train_climbing(load_game("big2"), place, STYLED, RunLimits(decisions=1), RunManner(every=0.0))
    return place.checkpoint


def some_states(game: Game, seat: int, n: int) -> Array:
    """Return states at which a seat acts, from random play."""
    rng = np.random.default_rng(seat)
    states = np.repeat(game.root(), 8 * n, axis=0)
    while len(found := states[game.player(states) == seat]) < n:
        legal = game.actions(states)
        chance = game.player(states)[0] == CHANCE
        probs = game.chance_probs(states, legal) if chance else rng.random(len(legal.values))
        at = [
            low + int(np.argmax(probs[low:high] * rng.random(high - low)))
            for low, high in legal_bounds(legal)
        ]
        states = game.step(states, np.arange(len(states)), legal.values[at])
    return found[:n]


def legal_bounds(legal) -> list[tuple[int, int]]:
    return list(zip(legal.offsets[:-1].tolist(), legal.offsets[1:].tolist(), strict=True))


def test_a_way_to_play_is_that_of_the_loaders(styled: Path) -> None:
    game = load_game("big2")
    states = some_states(game, 1, 12)
    legal = game.actions(states)
    shipped = shipped_file("big2")
    assert shipped is not None
    wanted = {
        "network": load_climbing_blueprint(shipped, game),
        "Network:temperature=0.3": load_climbing_blueprint(shipped, game, temperature=0.3),
        f"network:prune=0@{shipped}": load_climbing_blueprint(shipped, game, prune=0),
        f"network@{styled}": load_climbing_blueprint(styled, game),
        f"network:persona=balanced,alpha=0.25@{styled}": load_persona_agent(
            styled, game, "balanced", alpha=0.25
        ),
    }
    answers = {}
    for name, same in wanted.items():
        agent = load_game_agent(game, name)
        answers[name] = agent.policy(game, states, 1, legal)
        assert np.array_equal(answers[name], same.policy(game, states, 1, legal)), name
    soft = answers["Network:temperature=0.3"]
    assert ((soft > 0) & (soft < 1)).any() and np.isin(answers["network"], (0, 1)).all()


@pytest.mark.long
def test_every_way_to_play_ends_its_games_and_searches_where_it_has_values(styled: Path) -> None:
    game = load_game("big2")
    persona = f"network:persona=aggressive@{styled}"
    for name in (f"network:temperature=0.1@{styled}", persona, f"network:prune=1@{styled}+rollout:samples=4"):
        agent = load_game_agent(game, name)
        games = play_agents(game, (agent, load_game_agent(game, "uniform")), np.random.default_rng(0), 1)
        assert games.payoffs.shape == (1, 4)
    assert not isinstance(load_game_agent(game, persona), Blueprint)
    for words in (persona, f"{persona}+rollout"):
        with pytest.raises(UnknownAgent, match="must have values"):
            load_game_blueprint(game, words) if "+" not in words else load_game_agent(game, words)


def test_an_identity_follows_the_file_behind_the_name(styled: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.safetensors"
    path.write_bytes(styled.read_bytes())
    names = (f"network:temperature=0.1@{path}", f"network@{path}+rollout", str(path))
    before = [agent_identity(name, "big2") for name in names]
    path.write_bytes(styled.read_bytes() + b" ")
    after = [agent_identity(name, "big2") for name in names]
    assert not set(before) & set(after) and len(set(before)) == 3
    assert agent_identity("network", "big2") != agent_identity("network", "doudizhu")


@pytest.mark.parametrize("name", ["network:300", "networks", "cfr:100", "network:x", "n.safetensors", ""])
def test_other_names_are_of_something_else(name: str) -> None:
    assert network_file("big2", parse_agent(name)) is None


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        ("network:temperature=-1", ConfigError, "temperature"),
        ("network:temprature=0.1", ConfigError, "did you mean temperature"),
        ("network:alpha=0.5", ConfigError, "name a persona too"),
        ("network:persona=balanced,temperature=0.1", ConfigError, "leave temperature and prune out"),
        ("network:persona=balanced", CheckpointError, "must have a personality head"),
        ("network:persona=bold", ConfigError, "persona"),
        ("network:temperature=0.1@none.safetensors", UnknownAgent, "is no file"),
        ("network@none.safetensors", UnknownAgent, "is no file"),
    ],
)
def test_what_cannot_be_played_says_what_to_do(words: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        load_game_agent(load_game("big2"), words)


@pytest.mark.parametrize("words", ["network", "network:temperature=0.1"])
@pytest.mark.parametrize("name", ["kuhn_poker", "big2(players=3)", "doudizhu(landlord=bid)"])
def test_a_game_without_a_shipped_network_says_which_have_one(name: str, words: str) -> None:
    with pytest.raises(UnknownAgent, match="one of doudizhu, big2"):
        load_game_agent(load_game(name, general_sum=True), words)
