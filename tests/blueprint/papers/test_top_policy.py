"""Policy learning: what is drawn and kept, the loss against plain formulas, and that it learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.self_play import Setup
from blueprint.papers.top_policy import TopAgent, policy_loss
from blueprint.protocol import Decisions
from blueprint.soft_choices import TopChoices
from tests.blueprint.guandan.positions import FAST, random_decisions
from tests.blueprint.guandan.positions import TINY as SMALL

PPO = FAST.replace(policy=2.0, policy_top=3, focus=3.0)


@pytest.mark.parametrize("k", [2, 9])
def test_the_best_moves_are_kept_in_order_and_drawn_by_their_softmax(k: int) -> None:
    rng = np.random.default_rng(0)
    asked = random_decisions(20, rng)
    scores = rng.normal(size=len(asked.actions)).astype(np.float32)
    agent = TopAgent(lambda _: scores, k, 0.5, rng)
    times = 400
    played = np.zeros(len(scores))
    for _ in range(times):
        index, chance = agent.draw(asked)
        played[asked.offsets[:-1] + index] += 1 / times
    kept = agent.choices()
    assert kept is not None and len(kept) == times * len(asked) and agent.choices() is None
    for j in range(len(asked)):
        low, high = asked.offsets[j], asked.offsets[j + 1]
        order = np.argsort(-scores[low:high], kind="stable")[:k]
        assert kept.count[j] == len(order)
        assert np.array_equal(kept.actions[j][: len(order)], asked.actions[low:high][order])
        weight = np.exp(scores[low:high][order] / 0.5)
        wanted = np.zeros(high - low)
        wanted[order] = weight / weight.sum()
        assert np.allclose(played[low:high], wanted, atol=5 * np.sqrt(0.25 / times))
        last = -len(asked) + j
        assert np.exp(kept.log_chance[last]) == pytest.approx(wanted[order][kept.picked[last]], rel=1e-4)
        assert chance[j] == pytest.approx(wanted[index[j]], rel=1e-4)


def slow_loss(row: np.ndarray, count: int, picked: int, old: float, target: float, price: float) -> float:
    chance = np.exp(row[:count] / 0.1) / np.exp(row[:count] / 0.1).sum()
    ratio = chance[picked] / np.exp(old)
    gained = min(ratio * target, min(max(ratio, 0.8), 1.2) * target)
    return -0.1 * (gained - price * 0.1 * (chance * np.log(chance)).sum())


@pytest.mark.parametrize("price", [0.0, 2.5])
def test_the_loss_is_the_clipped_one_and_moves_only_what_is_within_the_clip(price: float) -> None:
    rng = np.random.default_rng(1)
    n, k = 200, 4
    values = torch.from_numpy(rng.normal(scale=0.1, size=(n, k)).astype(np.float32)).requires_grad_()
    count = rng.integers(2, k + 1, n)
    choices = TopChoices(
        np.zeros((n, k), np.int64), count, rng.integers(0, count), rng.normal(-1, 0.5, n).astype(np.float32)
    )
    target = rng.normal(size=n).astype(np.float32)
    loss = policy_loss(values, choices, torch.from_numpy(target), (0.1, 0.2, price), torch.ones(n))
    for j in range(n):
        row = values.detach().numpy()[j].astype(float)
        wanted = slow_loss(row, count[j], choices.picked[j], choices.log_chance[j], target[j], price)
        assert float(loss[j].detach()) == pytest.approx(wanted, abs=1e-4)
    if price:
        return
    loss.sum().backward()
    moved = values.grad.numpy()
    logits = np.where(np.arange(k) < count[:, None], values.detach().numpy() / 0.1, -np.inf)
    now = np.exp(logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(n), choices.picked]
    ratio = now / np.exp(choices.log_chance)
    clipped = np.where(target > 0, ratio > 1.2, ratio < 0.8)
    assert 20 < clipped.sum() < n - 20
    assert np.all(moved[clipped] == 0) and np.all(np.abs(moved[~clipped]).sum(1) > 0)
    assert np.all(moved[np.arange(k) >= count[:, None]] == 0)
    # a good return makes its move likelier
    assert np.all((moved[np.arange(n), choices.picked] * target)[~clipped] < 0)


@pytest.mark.parametrize("price", [0.5, 1.0, 3.0])
def test_a_policy_rests_where_what_it_gains_pays_its_price(price: float) -> None:
    """At exp(value / (price * temperature)), whatever it begins with; at price 1 scores are values."""
    rng, k, temperature = np.random.default_rng(3), 5, 0.1
    worth = rng.normal(scale=0.1, size=k).astype(np.float32)
    scores = torch.from_numpy(rng.normal(scale=0.1, size=k).astype(np.float32)).requires_grad_()
    optimiser = torch.optim.Adam([scores], lr=0.01)
    every = np.arange(k)  # each move played once, as often as the policy plays it
    for _ in range(800):
        log = (scores.detach() / temperature).log_softmax(0).numpy()
        told = TopChoices(np.tile(every, (k, 1)), np.full(k, k), every, log.copy())
        args = torch.from_numpy(worth), (temperature, 0.2, price), torch.from_numpy(np.exp(log))
        optimiser.zero_grad()
        policy_loss(scores.expand(k, k), told, *args).sum().backward()
        optimiser.step()
    log = (scores.detach() / temperature).log_softmax(0)
    wanted = torch.from_numpy(worth / (price * temperature)).log_softmax(0)
    assert torch.allclose(log.exp(), wanted.exp(), atol=0.01)


@pytest.mark.parametrize(("threads", "strangers"), [(1, ""), (3, "greedy")])
def test_training_keeps_choices_beside_their_decisions_and_resumes(
    threads: int, strangers: str, tmp_path: Path
) -> None:
    config = PPO.replace(strangers=strangers, strangers_share=0.5 if strangers else 0.0)
    trainer = Trainer(SMALL, config, threads=threads)
    rows = [trainer.run_generation() for _ in range(3)]
    assert np.isfinite(rows[-1]["policy"]) and rows[-1]["policy"] != 0
    for samples in trainer.pending:
        assert samples.choices is not None and len(samples.choices) == len(samples) > 0
        picked = samples.choices.actions[np.arange(len(samples)), samples.choices.picked]
        assert np.array_equal(picked, samples.actions)
        assert np.all((samples.share > 0) & (samples.share <= 1))
    trainer.save(tmp_path / "a.safetensors")
    again = Trainer.begun(tmp_path / "a.safetensors", setup=Setup(threads=1))
    assert again.config == config
    again.run_generation()
    assert again.decisions > trainer.decisions


def test_a_policy_learns_to_prefer_what_pays() -> None:
    """Returns that reward the worst move of each choice: it becomes likelier, wherever it is."""
    rng = np.random.default_rng(2)
    trainer = Trainer(SMALL, PPO.replace(learning_rate=3e-3, halving=1e12), threads=1)
    trainer.run_generation()
    learner, samples = trainer.learner, trainer.pending[0]
    choices, n = samples.choices, len(samples)
    rows, seats = np.arange(n), samples.states["player"].astype(np.int64)

    def chance_of_the_worst() -> float:
        offsets = np.arange(n + 1) * choices.actions.shape[1]
        asked = Decisions(samples.states, rows, seats, offsets, choices.actions.reshape(-1))
        scores = learner.players(0)(rng).scores(asked).reshape(n, -1)
        weight = np.exp(scores / 0.06) * (np.arange(scores.shape[1]) < choices.count[:, None])
        return float((weight[rows, choices.count - 1] / weight.sum(1)).mean())

    before = chance_of_the_worst()
    for _ in range(60):
        picked = rng.integers(0, choices.count)
        paid = np.where(picked == choices.count - 1, 1.0, -1.0).astype(np.float32)
        told = TopChoices(choices.actions, choices.count, picked, -np.log(choices.count).astype(np.float32))
        actions = choices.actions[rows, picked]
        batch = type(samples)(samples.states, actions, samples.outcome, paid, samples.share, told)
        learner.descend(batch, learner.rate(batch, 0))
    assert chance_of_the_worst() > 2 * before
