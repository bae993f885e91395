"""Types of play: who plays by which rule, what is learned of it, and what a network says of others."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.game_lockstep import play_rounds
from blueprint.guandan.network.inputs import PAST_WIDTH
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.network_play import NetworkPlay, network_agent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.rules.min_combination import min_combinations
from blueprint.guandan.rules.split_agents import StrongAgent
from blueprint.guandan.training.trainer import Trainer
from blueprint.papers.danzero import DanZeroPlay, hidden_moves
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.players import OWN, Guided, drawn_types, guidance_share
from blueprint.papers.recipes import named_recipe
from blueprint.papers.styles import StyledAgent, blended_scores
from blueprint.protocol import Decisions
from blueprint.soft_choices import near_best
from games.support.configuration import ConfigError
from tests.blueprint.guandan.positions import FAST, SMALL, random_decisions, random_states

SIZES = {"state": 16, "blocks": 4, "personality": 8}
SHORT = {"rounds": 12, "batch": 128, "seed": 1}


def pdhqn(**changes: float) -> Trainer:
    recipe = named_recipe("pdhqn")
    return Trainer(recipe.network_config(**SIZES), recipe.train_config(**SHORT, **changes), threads=1)


@pytest.fixture(scope="module")
def trained() -> Trainer:
    """Return a trainer after its first generation, which nobody changes."""
    trainer = pdhqn()
    trainer.run_generation()
    return trainer


def test_types_follow_from_the_seed_in_the_share_asked_for() -> None:
    types, again = (drawn_types(0.25, (4000, 4), np.random.default_rng(7), np.uint8) for _ in range(2))
    assert np.array_equal(types, again)
    counts = np.bincount(types.ravel(), minlength=4) / types.size
    assert counts == pytest.approx([1 / 12] * 3 + [0.75], abs=0.01)
    rng = np.random.default_rng(7)
    assert (drawn_types(1.0, (50, 4), rng) < OWN).all() and (drawn_types(0.0, (50, 4), rng) == OWN).all()


def test_the_labels_of_a_sample_start_with_who_decides(trained: Trainer) -> None:
    (samples,) = trained.pending
    assert samples.types is not None and samples.types.shape == (len(samples), 4)
    seats = samples.states["player"].astype(np.int64)
    absolute = np.stack([samples.types[np.arange(len(seats)), (s - seats) % 4] for s in range(4)], 1)
    # a round is known by the cards with which it was dealt, and its types stay
    dealt = (samples.states["hand"] + samples.states["played"]).reshape(len(seats), -1)
    _, of = np.unique(dealt, axis=0, return_inverse=True)
    rounds = np.unique(np.concatenate([of.reshape(-1, 1), absolute], 1), axis=0)
    assert len(rounds) == of.max() + 1
    with_types = samples.take(np.arange(3))
    joined = type(samples).joined([with_types, samples])
    assert np.array_equal(joined.types[:3], samples.types[:3]) and len(joined) == len(samples) + 3


def test_a_network_learns_to_tell_types_from_play() -> None:
    """On the games that it learns from, recognition and personality losses fall far below a guess."""
    trainer = pdhqn(personas=0.75)
    trainer.run_generation()
    (samples,) = trainer.pending
    learner = trainer.learner
    for group in learner.optimiser.param_groups:
        group["factor"] = 1.0
    learner.longest = np.inf
    losses = [learner.descend(samples, 0.01) for _ in range(40)]
    assert losses[-1]["types"] < 0.6 * losses[0]["types"]
    assert losses[-1]["personality"] < 0.85 * losses[0]["personality"]  # 0.69 to 0.81 in eight runs
    seats = samples.states["player"].astype(np.int64)
    x = torch.from_numpy(learner.network.encode_seen(samples.states, seats)).float()
    with torch.inference_mode():
        said = learner.network.recogniser(x).numpy()
    assert (said.argmax(2) == samples.types[:, 1:]).mean() > 0.5


def plain_scores(values: list, labels: list, alpha: float) -> list:
    """Algorithm 2 of the source on one decision, one number at a time; values counted from the worst."""
    n, kinds = len(values), len(labels[0])
    worst = min(values)
    q = [v - worst for v in values]
    q = [v / (sum(q) + 1e-9) for v in q]
    sharp = []
    for row in labels:
        weights = [np.exp(p / 0.5) for p in row]
        sharp.append([w / sum(weights) for w in weights])
    out = [[0.0] * kinds for _ in range(n)]
    for j in range(kinds):
        weights = [np.exp(sharp[i][j] / 2.0) for i in range(n)]
        for i in range(n):
            out[i][j] = alpha * q[i] + (1 - alpha) * weights[i] / sum(weights)
    return out


def test_blended_scores_are_those_of_the_algorithm_and_at_one_the_values_order() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 7, 30)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    values, labels = rng.normal(size=offsets[-1]), rng.random((offsets[-1], 4))
    for alpha in (0.0, 0.3, 1.0):
        found = blended_scores(values, labels, offsets, alpha)
        for low, high in itertools.pairwise(offsets):
            wanted = plain_scores(values[low:high].tolist(), labels[low:high].tolist(), alpha)
            assert np.allclose(found[low:high], wanted, atol=1e-9)
            if alpha == 1:
                assert found[low:high, 0].argmax() == values[low:high].argmax()
    negative = blended_scores(np.array([-3.0, -1.0]), np.zeros((2, 4)), np.array([0, 2]), 1.0)
    assert negative[1, 0] > negative[0, 0]  # by the letter -1 / -4 is less than -3 / -4


def test_a_persona_plays_what_its_head_prefers_and_needs_one(trained: Trainer, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    trained.save(path)
    asked = random_decisions(20, np.random.default_rng(0))
    values, labels = DanZeroPlay(trained.learner.network).personalities(asked)
    chosen = [network_agent(path, NetworkPlay(persona=p, alpha=0.0))(asked) for p in PERSONALITIES]
    for j, (low, high) in enumerate(itertools.pairwise(asked.offsets)):
        scores = np.array(plain_scores(values[low:high].tolist(), labels[low:high].tolist(), 0.0))
        for k, choice in enumerate(chosen):
            assert scores[choice[j], k] == pytest.approx(scores[:, k].max(), abs=1e-4)
    for alpha in (None, 0.5):  # alone, a style weighs as much as the values
        styled = network_agent(path, NetworkPlay(persona="balanced", alpha=alpha))
        assert isinstance(styled, StyledAgent) and styled.alpha == 0.5
    told = [NetworkPlay(persona="balanced", alpha=alpha).told() for alpha in (None, 0.5, 0.25)]
    assert told[0] == told[1] != told[2]
    recipe, bare = named_recipe("danzero"), tmp_path / "bare.safetensors"
    other = Trainer(recipe.network_config(state=16, blocks=3), recipe.train_config())
    other.save(bare)
    with pytest.raises(ConfigError, match="needs a network with a personality head"):
        StyledAgent(DanZeroPlay(other.learner.network), "balanced", 0.5)
    for play, rule in (
        ({"heeds": False}, "models of the others"),
        ({"tribute": "value"}, "a value of pos"),
        ({"near": 0.1}, "a temperature too"),
        ({"alpha": 0.5}, "name a persona too"),
        ({"persona": "balanced", "alpha": 1.0}, r"alpha must be in \[0, 1\)"),  # no style at all
    ):
        with pytest.raises(ConfigError, match=rule):
            network_agent(bare, NetworkPlay(**play))


def test_what_is_recognised_is_an_input_that_can_be_left_out() -> None:
    trainer = pdhqn()
    asked = random_decisions(20, np.random.default_rng(1))
    network = trainer.learner.network
    grown = {
        name.partition(".")[0] for name, _ in network.named_parameters() if name.startswith(network.grown)
    }
    assert grown == {"personality", "recogniser", "answers"}  # which may learn faster
    before = [DanZeroPlay(network, heeds=heeds).advantages(asked) for heeds in (True, False)]
    assert np.array_equal(*before)  # it weighs nothing yet
    with torch.no_grad():
        network.answers.normal_()
    after = [DanZeroPlay(network, heeds=heeds).advantages(asked) for heeds in (True, False)]
    assert np.array_equal(before[1], after[1]) and not np.allclose(after[0], after[1])
    x = network.encode_seen(asked.states, asked.seats)
    assert x.shape[1] == 513 + PAST_WIDTH


def test_the_fewest_moves_of_the_others_are_those_of_their_hands() -> None:
    states = random_states(15, np.random.default_rng(4))
    seats = states["player"].astype(np.int64)
    found = hidden_moves(states, seats)
    for i in range(0, len(states), 7):
        for j in (1, 2, 3):
            hand = states["hand"][i, (seats[i] + j) % 4]
            assert found[i, j - 1] == min(19, min_combinations(hand, int(states["level"][i]))[0])


def test_a_near_choice_leaves_out_what_is_far_from_the_best() -> None:
    values, offsets = np.array([1.0, 0.95, 0.5, -2.0, -2.05]), np.array([0, 3, 5])
    assert np.array_equal(near_best(values, offsets, 0.1), [1.0, 0.95, -np.inf, -2.0, -2.05])
    assert np.array_equal(near_best(values, offsets, 0.0), [1.0, -np.inf, -np.inf, -2.0, -np.inf])


def first(decisions: Decisions) -> np.ndarray:
    return np.zeros(len(decisions), np.int64)


def last(decisions: Decisions) -> np.ndarray:
    return np.diff(decisions.offsets) - 1


def test_the_teachers_share_falls_linearly_to_zero_and_stays_there() -> None:
    assert [guidance_share(d, 100, 0.5) for d in (0, 50, 100, 500)] == [0.5, 0.25, 0.0, 0.0]
    assert guidance_share(0, 0, 0.5) == 0


def test_the_teacher_makes_its_share_of_the_decisions() -> None:
    counts = np.zeros(2)
    rng = np.random.default_rng(0)
    guided = Guided(first, last, 0.3, rng)

    def watch(decisions: Decisions) -> np.ndarray:
        choice = guided(decisions)
        counts[0] += (choice == last(decisions)).sum()
        counts[1] += len(decisions)
        assert np.all((choice == last(decisions)) | (choice == 0))
        return choice

    play_rounds(deal_rounds(20, np.random.default_rng(1)), watch, GUANDAN)
    share = counts[0] / counts[1]
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / counts[1])


def test_training_with_guidance_plays_the_teachers_moves_until_it_ends() -> None:
    config = FAST.replace(guide=50, guide_share=1.0)
    trainer = Trainer(SMALL, config, threads=1)
    trainer.run_generation()
    teacher, (record,) = StrongAgent(), trainer.pending
    (piece,) = Trainer(SMALL, config, threads=1).deal()
    taught = play_rounds(piece.states(), teacher, GUANDAN)
    assert np.array_equal(record.actions, taught.actions)
    assert trainer.decisions > 50
    unguided = Trainer(SMALL, FAST, threads=1)
    ended, never = (t.learner.seated(t.learner.agent(), t.deal()[0], t.rng) for t in (trainer, unguided))
    assert type(ended) is type(never)
