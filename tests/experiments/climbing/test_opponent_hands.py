"""What a model of hidden hands knows, what pruning takes away, and the command that measures both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.checkpoint import read_checkpoint
from blueprint.climbing.inputs.move_inputs import move_inputs
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.network.fast_moves import FastMoves
from blueprint.climbing.training.climbing_play import MoveChoices, play_in_lockstep
from blueprint.climbing.training.move_trainer import MoveTrainer
from experiments.climbing.hidden_cards import drawn_hands, hands_known, hidden_cards
from experiments.climbing.opponent_hands import opponent_hands, played_bombs, without_model
from experiments.climbing.pruning_shares import MARGINS, count_pruned, playing_agent, pruning_shares
from games import load_game
from games.climbing.doudizhu.move_table import BOMB, move_table
from games.climbing.doudizhu.multiset import count_ranks
from games.support.array_types import Ints

SMALL = ClimbingConfig(state=16, action=8, critic=0, rounds=16, batch=64, hands=0.2, prune=2, recipe="odmc")
GAMES = ("doudizhu", "big2")


def trained(path: Path, game: str, **changes: object) -> Path:
    trainer = MoveTrainer(load_game(game), SMALL.replace(**changes))
    trainer.run_generation()
    trainer.save(path)
    return path


@pytest.mark.parametrize("name", GAMES)
def test_hidden_bits_are_the_cards_of_the_others(name: str) -> None:
    game = load_game(name)
    inputs = move_inputs(game)
    cards = hidden_cards(inputs)
    states = inputs.deal(20, np.random.default_rng(1))
    seats = np.arange(20) % game.num_players
    bits = np.empty((20, inputs.hidden_bits), np.uint8)
    inputs.write_hidden(states, np.arange(20), seats, bits)
    held = cards.copies(bits).astype(np.int64)
    assert held.shape == (20, game.num_players - 1, cards.sorts)
    for k in range(20):
        for j in range(game.num_players - 1):
            packed = states["hand"][k, (seats[k] + 1 + j) % game.num_players]
            if name == "doudizhu":
                assert held[k, j].tolist() == count_ranks(packed).tolist()
            else:
                assert held[k, j].tolist() == [int(packed) >> c & 1 for c in range(52)]


@pytest.mark.parametrize("name", GAMES)
def test_expected_bombs_agree_with_draws_and_drawn_hands_have_the_true_sizes(name: str) -> None:
    cards = hidden_cards(move_inputs(load_game(name)))
    rng = np.random.default_rng(2)
    deck = np.array([4] * 13 + [1, 1]) if name == "doudizhu" else np.ones(52, np.int64)
    odds = rng.dirichlet(np.full(cards.others, 0.4), cards.sorts).T
    found = cards.bombs(odds[None], deck[None])[0]
    counts = np.zeros((3000, cards.others, cards.sorts), np.int64)
    for sort, copies in enumerate(deck):
        counts[:, :, sort] = rng.multinomial(copies, odds[:, sort], 3000)
    assert np.allclose(found, cards.held_bombs(counts).mean(0), atol=0.15)
    held = counts[0]
    drawn = drawn_hands(odds, held, rng)
    assert drawn.sum(1).tolist() == held.sum(1).tolist() and drawn.sum(0).tolist() == held.sum(0).tolist()
    sure = (held > 0).astype(np.float64)
    alone = held * (held.sum(0) == held)  # sorts that one seat has all of are dealt right by sure odds
    certain = drawn_hands(sure / np.maximum(sure.sum(0), 1), held, rng)
    assert np.all(certain >= alone)


@pytest.mark.parametrize("name", GAMES)
def test_a_model_that_knows_all_is_told_from_one_that_knows_numbers_alone(name: str) -> None:
    game = load_game(name)
    inputs = move_inputs(game)
    tensors = MoveTrainer(game, SMALL).learner.tensors()

    class Oracle(FastMoves):
        def log_odds(self, states: np.ndarray, rows: Ints, seats: Ints) -> np.ndarray:
            bits = np.empty((len(rows), inputs.hidden_bits), np.uint8)
            inputs.write_hidden(states, rows, seats, bits)
            return 40.0 * (bits.astype(np.float32) - 0.5)

    states = inputs.deal(12, np.random.default_rng(3))
    seats = states["player"].astype(np.int64)
    oracle = Oracle(inputs, tensors, half=False)
    found = hands_known(oracle, hidden_cards(inputs), states, seats, np.random.default_rng(4))
    nats, right, bombs, turns = found.values()
    assert nats[0].mean() < nats[1].mean() and np.all(right[0] > right[1])
    assert bombs[0].mean() <= bombs[1].mean() and turns[0].mean() < turns[1].mean()
    if name == "big2":
        assert np.allclose(nats[0], 0, atol=1e-6) and np.allclose(right[0], 1) and np.allclose(turns[0], 0)
        assert np.allclose(nats[1], np.log(3))


def test_bombs_are_known_among_moves() -> None:
    inputs = move_inputs(load_game("doudizhu"))
    words = np.arange(len(move_table().cards) + 4)
    kinds = np.append(move_table().heads & 255, [0] * 4)
    assert np.array_equal(played_bombs(inputs, words), kinds >= BOMB)
    game = load_game("big2")
    read = game.words.read_play  # type: ignore[attr-defined]
    plays = ["D3 C3 H3 S3 D4", "D3 D4 D5 D6 D7", "D3 C3 H3 D4 C4", "D3 D5 D7 D9 DJ", "D3"]
    words = np.array([read(play) for play in plays], np.uint64).view(np.int64)
    assert played_bombs(move_inputs(game), words).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("name", GAMES)
def test_counts_of_pruned_moves_are_those_of_each_decision(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.climbing.pruning_shares.TOGETHER", 6)
    inputs = move_inputs(load_game(name))
    found = count_pruned(
        inputs, playing_agent(inputs, "rule", np.random.default_rng(5)), 1, np.random.default_rng(6)
    )
    assert len(found.moves) == 6 and np.all(found.left <= found.moves[:, None])
    assert np.all(np.diff(found.left[:, : len(MARGINS)], axis=1) >= 0)
    assert np.all(found.left[:, len(MARGINS) : -1] >= found.left[:, : len(MARGINS)])
    moves = left = 0
    rule = playing_agent(inputs, "rule", np.random.default_rng(5))

    def watch(d: MoveChoices) -> Ints:
        nonlocal moves, left
        turns = inputs.turns_left(d.states, d.seats, d.offsets, d.words)
        for j in range(len(d)):
            own = turns[d.offsets[j] : d.offsets[j + 1]]
            moves, left = moves + len(own), left + int((own <= own.min() + 2).sum())
        return rule(d)

    played = play_in_lockstep(inputs, inputs.deal(6, np.random.default_rng(6)), watch)
    forced = played.steps - len(played)
    assert found.turns.sum() == played.steps
    assert found.moves.sum() == moves + forced and found.left[:, 0].sum() == left + forced
    for share, low, high in found.shares():
        assert 0 <= low <= share <= high < 1


def test_pruning_shares_are_printed_beside_the_papers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("experiments.climbing.pruning_shares.TOGETHER", 4)
    words = ["--game", "big2", "--turns", "1"]
    done = CliRunner().invoke(pruning_shares, [*words, "--json"])
    assert done.exit_code == 0, done.output + str(done.exception)
    told = json.loads(done.stdout)
    assert told["rounds"] == 4 and len(told["shares"]) == 2 * len(MARGINS) + 1
    assert "| 12.83% |" in CliRunner().invoke(pruning_shares, words).output
    refused = CliRunner().invoke(pruning_shares, [*words, "--play", str(tmp_path / "none")])
    assert refused.exit_code == 2 and "random, rule or a checkpoint" in refused.output


@pytest.mark.parametrize("name", GAMES)
def test_a_network_is_measured_against_its_deaf_copy_and_others_are_refused(
    name: str, tmp_path: Path
) -> None:
    path = trained(tmp_path / "x.safetensors", name)
    words = [str(path), "--game", name, "--rounds", "4"]
    done = CliRunner().invoke(opponent_hands, [*words, "--json"])
    assert done.exit_code == 0, done.output + str(done.exception)
    found = json.loads(done.stdout)
    assert set(found) == {"knowledge", "pruned", "microseconds", "match"} and len(found["knowledge"]) == 4
    for pair in found["knowledge"].values():
        for mean, low, high in pair:
            assert 0 <= low <= mean <= high
    ours, deaf = found["match"].values()
    seats = 1 if name == "doudizhu" else 3
    assert ours["points"][0] == pytest.approx(-seats * deaf["points"][0])
    assert ours["won"][0] + seats * deaf["won"][0] == pytest.approx(1)
    plain = trained(tmp_path / "y.safetensors", name, hands=0.0, recipe="danzero")
    beside = CliRunner().invoke(opponent_hands, [*words, "--against", str(plain)])
    assert beside.exit_code == 0 and "hears its model" in beside.output and str(plain) in beside.output
    refused = CliRunner().invoke(opponent_hands, [str(plain), "--game", name])
    assert refused.exit_code == 2 and "train --recipe odmc" in refused.output


def test_a_network_without_ears_answers_as_one_that_was_never_told(tmp_path: Path) -> None:
    path = trained(tmp_path / "x.safetensors", "doudizhu")
    inputs = move_inputs(load_game("doudizhu"))
    tensors, _ = read_checkpoint(path, prefix="network.")
    tensors["network.foreseen.weight"] = tensors["network.foreseen.weight"] + 1
    silent = dict(tensors) | {"network.foreseen.weight": 0 * tensors["network.foreseen.weight"]}
    deals = inputs.deal(3, np.random.default_rng(7))
    legal = inputs.legal(deals)
    asked = (deals, np.arange(3), deals["player"].astype(np.int64), legal.offsets, legal.values)
    answers = [
        FastMoves(inputs, some, half=False).answer(*asked)[1]
        for some in (without_model(tensors), silent, tensors)
    ]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-5)
    assert np.abs(answers[0] - answers[2]).max() > 0.01
