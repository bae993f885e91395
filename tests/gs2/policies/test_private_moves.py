"""Agents on the form of private moves: asked once at each infoset, and measured as on the tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.learning.run import RunLimits
from blueprint.research.game_network import GameNetworkConfig
from blueprint.research.game_training import GameTrainer, train_game_network
from cfr.best_response import exploitability
from cfr.private_moves.form import list_private_moves
from cfr.tree import grow
from games import load_game
from gs2.policies.policy_spec import exact_exploitability, measured_privately, policy_on
from gs2.policies.tabulate import policy_of
from gs2.search.refine.policy_only import UniformPlay

GAMES = ("dark_hex(size=2)", "dark_hex(size=2,abrupt=true)")


@pytest.mark.parametrize("name", [*GAMES, pytest.param("phantom_ttt", marks=pytest.mark.long)])
def test_the_history_at_an_infoset_is_one_that_its_player_cannot_tell(name: str) -> None:
    game = load_game(name)
    form = list_private_moves(game)
    draw = np.random.default_rng(1)
    for player, side in enumerate(form.sides):
        states = form.decisions(player)
        assert np.all(game.player(states) == player)
        for row in draw.integers(0, side.n_infosets, 60):
            assert game.infoset_text(states[row], player) == form.infoset_text(player, int(row))
            assert game.actions(states[row : row + 1]).values.tolist() == side.cells(int(row))
            assert game.infoset_key(states[row : row + 1], player).tolist() == [
                list(game.parse_infoset(form.infoset_text(player, int(row))).key)
            ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(2)
def test_a_network_is_as_exploitable_there_as_on_the_tree(name: str, seed: int) -> None:
    game = load_game(name)
    network = GameTrainer(game, GameNetworkConfig(width=16, temperature=0.01, seed=seed)).network()
    tree = grow(game)
    listed = exploitability(tree, policy_of(network, game, tree))
    form = list_private_moves(game)
    # In single precision, and on some processors a row's values depend on the rows beside it.
    assert form.evaluate(policy_on(form, network)).exploitability == pytest.approx(listed, abs=1e-6)
    assert exact_exploitability(game)(network) == pytest.approx(listed, abs=1e-6)


def test_uniform_play_is_uniform_at_every_slot() -> None:
    form = list_private_moves(load_game(GAMES[0]))
    for asked, even in zip(policy_on(form, UniformPlay()), form.uniform(), strict=True):
        assert np.array_equal(asked, even)


def test_a_networks_file_is_measured(tmp_path: Path) -> None:
    game = load_game(GAMES[0])
    path = tmp_path / "hex.safetensors"
    config = GameNetworkConfig(width=16)
    network = train_game_network(
        game, np.random.default_rng(0), RunLimits(decisions=300), config=config, output=path
    )
    found = measured_privately(game, str(path))
    assert found["form"] == "private"
    assert found["exploitability"] == pytest.approx(exact_exploitability(game)(network), abs=1e-6)
