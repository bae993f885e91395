"""Train the belief network on a blueprint's self-play: which seat holds a card that I cannot see?

`python -m gs2.guandan.beliefs.train_beliefs CHECKPOINT -o FILE --rounds N`
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.network.bfloat import native_half
from blueprint.guandan.network.input_layout import STATE_WIDTH
from blueprint.guandan.network.inputs import encode_states
from blueprint.guandan.structured import join
from blueprint.soft_choice import choose_soft
from games.guandan.cards import unpack
from games.guandan.rounds.round import deal
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real
from gs2.guandan.agent.evaluator import Evaluator
from gs2.guandan.agent.rollout import Rollouts, play_best
from gs2.guandan.beliefs.belief_network import BeliefNetwork, save_beliefs

__all__ = ["BeliefConfig", "collect_positions", "train_beliefs"]


def collect_positions(
    evaluator: Evaluator,
    rounds: int,
    rng: np.random.Generator,
    *,
    share: float = 0.25,
    temperature: float = 0.05,
    epsilon: float = 0.01,
) -> Array:
    """Return positions met in self-play, [n] STATE, all four hands included.

    share: of decisions kept. temperature, epsilon: of the soft play, see `selfplay.choose_soft`.
    """
    rollouts = Rollouts(evaluator)
    states = deal(rounds, rng, level=rng.integers(0, 13, rounds))
    live = np.arange(rounds)
    found = []
    while len(live):
        kept = [live[:0]]
        for decisions in rollouts.due(states, live):
            rows, offsets = decisions.rows, decisions.offsets
            found.append(states[rows[rng.random(len(rows)) < share]])
            picked = np.zeros(len(decisions.actions), np.float32)
            q = evaluator.q(decisions)
            picked[offsets[:-1] + choose_soft(q, offsets, temperature, epsilon, rng)] = 1.0
            play_best(decisions, picked)
            kept.append(rows.copy())
        live = np.concatenate(kept)
    return join(found)


def hidden_hands(states: Array, seats: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the hands of the three seats after each `seats`, [n, 3, 54] counts."""
    hands = unpack(states["hand"])
    rows = np.arange(len(states))
    return np.stack([hands[rows, (seats + j) % 4] for j in (1, 2, 3)], 1)


@attrs.frozen(slots=False)
class BeliefConfig(Configuration):
    """How a belief network is trained.

    rounds: of self-play to learn from. passes: over its positions. width: of the two hidden layers.
    batch: positions per gradient step. learning_rate: of AdamW; it falls linearly to zero.
    """

    label: ClassVar[str] = "BeliefConfig"

    rounds: int = attrs.field(default=20_000, validator=integer(1))
    passes: float = attrs.field(default=4.0, validator=real(0, above=True))
    width: int = attrs.field(default=512, validator=integer(1))
    batch: int = attrs.field(default=1024, validator=integer(1))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, above=True))


def train_beliefs(
    evaluator: Evaluator,
    rng: np.random.Generator,
    config: BeliefConfig | None = None,
    *,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> tuple[BeliefNetwork, dict[str, float]]:
    """Return a trained belief network and how it did on rounds it had not seen.

    The score: nats per hidden card gained over uniform deals.
    """
    config = config or BeliefConfig()
    import torch
    from torch import nn

    torch.manual_seed(int(rng.integers(2**31)))
    states = collect_positions(evaluator, config.rounds, rng)
    held_out = collect_positions(evaluator, max(64, config.rounds // 40), rng)
    model = nn.Sequential(
        nn.Linear(STATE_WIDTH, config.width),
        nn.ReLU(),
        nn.Linear(config.width, config.width),
        nn.ReLU(),
        nn.Linear(config.width, 162),
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=1e-3)

    def loss(rows: Array) -> tuple[torch.Tensor, torch.Tensor]:
        seats = rows["player"].astype(np.int64)
        x = torch.from_numpy(encode_states(rows, seats))
        y = torch.from_numpy(hidden_hands(rows, seats)).float()
        total = y.sum((1, 2)).clamp(min=1)
        odds = model(x.bfloat16() if half else x.float()).view(-1, 3, 54).float().log_softmax(1)
        left = y.sum(2, keepdim=True)
        even = (left / left.sum(1, keepdim=True)).clamp(min=1e-9).log()
        return -(odds * y).sum((1, 2)) / total, -(even * y).sum((1, 2)) / total

    half = native_half()
    steps = max(1, int(config.passes * len(states) / config.batch))
    began = time.perf_counter()
    score: dict[str, float] = {}
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1 - step / steps) + 1e-5
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            value = loss(states[rng.integers(0, len(states), config.batch)])[0].mean()
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # of torch
        optimiser.step()
        if step % 200 == 199 or step == steps - 1:
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
                parts = [loss(held_out[i : i + config.batch]) for i in range(0, len(held_out), config.batch)]
            ours, even = (torch.cat(column).mean().item() for column in zip(*parts, strict=True))
            score = {
                "step": step + 1,
                "steps": steps,
                "positions": len(states),
                "train": value.item(),
                "held_out": ours,
                "uniform": even,
                "gain": even - ours,
                "seconds": time.perf_counter() - began,
            }
            if progress is not None:
                progress(score)
    layers = [
        (layer.weight.detach().float().numpy(), layer.bias.detach().float().numpy())
        for layer in model
        if isinstance(layer, nn.Linear)
    ]
    return BeliefNetwork(layers), score


def main() -> None:
    """Train from the command line."""
    import argparse

    from gs2.guandan.agent.evaluator import load_evaluator

    parser = argparse.ArgumentParser(description="Train the belief network over hidden cards.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--passes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    evaluator = load_evaluator(options.checkpoint, critic=False)
    network, score = train_beliefs(
        evaluator,
        np.random.default_rng(options.seed),
        BeliefConfig(rounds=options.rounds, passes=options.passes),
        progress=lambda row: print(" ".join(f"{k}={v:.4g}" for k, v in row.items()), flush=True),
    )
    save_beliefs(options.output, network, {"blueprint": evaluator.name, "score": score})


if __name__ == "__main__":
    main()
