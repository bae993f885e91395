"""Deep Monte Carlo on research games: features, self-play, the blueprint and its checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.check import check_blueprint
from blueprint.checkpoint import CheckpointError
from blueprint.protocol import Blueprint
from blueprint.research.infoset_table import list_infosets
from blueprint.research.research_network import ResearchBlueprint, ResearchConfig, load_research_blueprint
from blueprint.research.research_training import Budget, sample_games, train_research_blueprint
from cfr.best_response import best_response_values, expected_value
from cfr.policies.policy import uniform_policy
from cfr.sequence_form import sequence_form
from cfr.tree import FlatTree, grow
from games.game import GameError
from games.registry import load_game
from games.support.configuration import ConfigError

SMALL = ResearchConfig(width=32, blocks=1, episodes=512, batch=256, epsilon=0.3)
GAMES = ("kuhn_poker", "leduc_poker", "liars_dice(sides=3)", "goofspiel(cards=3)")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def on_tree(blueprint: ResearchBlueprint, tree: FlatTree) -> tuple[np.ndarray, np.ndarray]:
    return blueprint.on_slots(tree.infoset_player, tree.infoset_key, tree.infoset_offset)


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResearchBlueprint, Path]:
    path = tmp_path_factory.mktemp("kuhn") / "kuhn.safetensors"
    return train_research_blueprint(
        load_game("kuhn_poker"), rng(), Budget(60_000), config=SMALL, output=path
    ), path


@pytest.mark.parametrize("name", GAMES)
def test_infosets_that_differ_differ_in_a_feature(name: str) -> None:
    infosets = list_infosets(load_game(name))
    assert len(np.unique(infosets.features, axis=0)) == len(infosets.features)
    assert len(infosets.words) == infosets.features.shape[1]


@pytest.mark.parametrize("name", GAMES)
def test_every_infoset_of_the_tree_is_listed_with_its_actions(name: str) -> None:
    game = load_game(name)
    tree, infosets = grow(game), list_infosets(game)
    slots = tree.slot_actions()
    for player in (0, 1):
        mine = np.flatnonzero(tree.infoset_player == player)
        rows = infosets.rows_of_keys(tree.infoset_key[mine], player)
        assert np.array_equal(infosets.counts[rows], np.diff(tree.infoset_offset)[mine])
        own = infosets.counts[infosets.start[player] : infosets.start[player + 1]]
        assert np.count_nonzero(own) == len(mine)
        for infoset, row in zip(mine, rows, strict=True):
            legal = infosets.actions[infosets.columns[row, : infosets.counts[row]]]
            assert np.array_equal(
                legal, slots[tree.infoset_offset[infoset] : tree.infoset_offset[infoset + 1]]
            )


def test_self_play_follows_the_policy_and_pays_what_the_game_pays() -> None:
    """Mean gains of many games agree with the policy's exact value; actions come as often as they should."""
    game = load_game("leduc_poker")
    tree, infosets = grow(game), list_infosets(game)
    k = len(infosets.features)
    blueprint = ResearchBlueprint(infosets, np.zeros(k), rng(1).normal(size=(k, 3)), 1.0)
    policy, _ = on_tree(blueprint, tree)
    plays = sample_games(infosets, blueprint, 30_000, rng(2), epsilon=0.0)
    unit = (game.payoff_range[1] - game.payoff_range[0]) / 2
    openings = [row for row, count in enumerate(infosets.counts[: infosets.start[1]]) if count == 2][:6]
    gains = plays.gain[np.isin(plays.view, openings)] * unit
    assert len(gains) == 30_000
    value = expected_value(sequence_form(tree), policy)
    assert abs(gains.mean() - value) < 5 * gains.std() / np.sqrt(len(gains))
    mine = np.flatnonzero(tree.infoset_player == 0)
    rows = infosets.rows_of_keys(tree.infoset_key[mine], 0)
    for view in openings:
        taken = plays.column[plays.view == view]
        first = policy[tree.infoset_offset[mine[rows == view][0]]]
        share = np.mean(taken == infosets.columns[view, 0])
        assert len(taken) > 4000 and abs(share - first) < 5 * np.sqrt(0.25 / len(taken))


def test_training_leaves_uniform_play_far_behind(kuhn: tuple[ResearchBlueprint, Path]) -> None:
    tree = grow(load_game("kuhn_poker"))
    form = sequence_form(tree)
    policy, q = on_tree(kuhn[0], tree)
    assert np.isfinite(q).all()
    uniform = sum(best_response_values(form, uniform_policy(tree)))
    assert sum(best_response_values(form, policy)) < 0.7 * uniform


def test_q_finds_what_is_sure_in_kuhn_poker(kuhn: tuple[ResearchBlueprint, Path]) -> None:
    """Facing a bet, a king wins 2 by calling and a jack loses 2; folding always loses 1."""
    game = load_game("kuhn_poker")
    tree = grow(game)
    _, q = on_tree(kuhn[0], tree)
    for text, call in (("P1 holds K | bet", 2.0), ("P1 holds J | bet", -2.0)):
        key = np.array(game.parse_infoset(text).key, np.uint64)
        at = int(np.flatnonzero((tree.infoset_player == 1) & (tree.infoset_key == key).all(1))[0])
        fold, called = q[tree.infoset_offset[at] : tree.infoset_offset[at + 1]]
        assert called == pytest.approx(call, abs=0.5)
        assert fold == pytest.approx(-1.0, abs=0.5)


def test_states_and_slots_get_the_same_answers(kuhn: tuple[ResearchBlueprint, Path]) -> None:
    game, blueprint = load_game("kuhn_poker"), kuhn[0]
    tree = grow(game)
    assert isinstance(blueprint, Blueprint)
    policy, q = on_tree(blueprint, tree)
    for player in (0, 1):
        nodes = np.flatnonzero(tree.player == player)
        states = tree.states[nodes]
        actions = game.actions(states)
        slots = (tree.infoset_offset[tree.infoset[nodes]][:, None] + np.arange(2)).ravel()
        assert np.array_equal(blueprint.policy(game, states, player, actions), policy[slots])
        assert np.array_equal(blueprint.q(game, states, player, actions), q[slots])
        other = blueprint.value(game, states, 1 - player)
        assert other.shape == (len(states),) and np.abs(other).max() <= 2.5
        assert policy[slots].reshape(-1, 2).sum(1) == pytest.approx(1)


def test_it_keeps_the_contract_of_a_blueprint(kuhn: tuple[ResearchBlueprint, Path]) -> None:
    assert check_blueprint(kuhn[0], load_game("kuhn_poker"), rng()).decisions > 20


def test_a_checkpoint_gives_the_same_blueprint_back(kuhn: tuple[ResearchBlueprint, Path]) -> None:
    blueprint, path = kuhn
    again = load_research_blueprint(path, load_game("kuhn_poker"))
    assert np.array_equal(again.q_table, blueprint.q_table) and again.temperature == blueprint.temperature
    with pytest.raises(CheckpointError, match="must be a network for leduc_poker"):
        load_research_blueprint(path, load_game("leduc_poker"))
    with pytest.raises(CheckpointError, match="must be a file"):
        load_research_blueprint(path.with_name("none"), load_game("leduc_poker"))


def test_one_seed_trains_one_blueprint() -> None:
    game = load_game("kuhn_poker")
    tables = [train_research_blueprint(game, rng(4), Budget(3000), config=SMALL).q_table for _ in range(2)]
    assert np.array_equal(*tables)


def test_training_ends_in_time_and_reports(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    train_research_blueprint(
        load_game("kuhn_poker"), rng(), Budget(minutes=0.002), config=SMALL, progress=rows.append
    )
    assert rows[-1]["share"] >= 1 > rows[0]["share"] or len(rows) == 1
    assert [row["generation"] for row in rows] == list(range(1, len(rows) + 1))


def test_bad_input_is_refused() -> None:
    game = load_game("kuhn_poker")
    with pytest.raises(ConfigError, match="neither"):
        Budget()
    with pytest.raises(ConfigError, match="epsilon"):
        ResearchConfig(epsilon=1.5)
    with pytest.raises(GameError, match="histories"):
        list_infosets(game, max_histories=20)
    infosets = list_infosets(game)
    with pytest.raises(GameError, match="infoset key"):
        infosets.rows_of_keys(np.array([[12345]], np.uint64), 0)
