"""Pieces of work of GuanDan's network: decisions, self-play, training, and its arithmetic alone.

    gs2 bench blueprint --seconds 2

The network is the shipped one; products take one thread each.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.bench.works import Speed, Work, in_turns

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference
    from blueprint.guandan.train_config import NetworkConfig
    from blueprint.protocol import Decisions

Do = Callable[[], float]
HERE = "experiments.bench.guandan.works:"
MOVES = 30
"""Legal moves of each decision that is asked of the network."""
DECISIONS = 512
"""Of these in one piece of work."""


def measure_network(
    *, seconds: float, threads: int, rounds: int, seed: int, progress: Callable[[str], None]
) -> list[Speed]:
    """Return the speeds of the shipped network, beside its arithmetic alone.

    seconds: of each. threads: of batches, self-play and training, which is as the shipped network was trained
    last. rounds: in lockstep on all threads, twice as many in training.
    """
    from blueprint.guandan.network.inference import load_inference

    kinds = ("float32", "bfloat16") if load_inference(critic=False).half else ("float32",)
    works = [Work(f"one decision with {MOVES} moves, float32", f"{HERE}one_by_one", {"seed": seed})]
    for kind in kinds:
        works.append(Work(f"arithmetic of a decision, {kind}", f"{HERE}arithmetic", {"kind": kind}))
        for n in sorted({1, threads}):
            how = {"half": kind == "bfloat16", "threads": n, "seed": seed}
            works.append(Work(f"batches of {MOVES} moves, {kind}", f"{HERE}batches", how, threads=n))
    how = {"rounds": rounds, "threads": threads, "seed": seed}
    works.append(Work("self-play, shipped network", f"{HERE}self_play", how, threads=threads))
    works.append(Work("self-play and training", f"{HERE}training", how, threads=threads))
    return in_turns(works, progress, seconds=seconds)


def _inference(half: bool | None = None) -> Inference:
    """Return the shipped network. half: whether batches are multiplied in bfloat16 (`load_inference`)."""
    import torch

    from blueprint.guandan.network.inference import load_inference

    torch.set_num_threads(1)
    return load_inference(critic=False, half=half)


@cache
def _decisions(seed: int) -> Decisions:
    """Return decisions of real play with exactly `MOVES` legal moves, each perhaps several times."""
    from blueprint.game_lockstep import play_rounds
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.network_play import InferenceAgent
    from blueprint.guandan.play.selfplay import GUANDAN
    from blueprint.protocol import Decisions
    from blueprint.structured import join

    agent, rng = InferenceAgent(_inference()), np.random.default_rng(seed)
    found: list[tuple[NDArray[Any], int, NDArray[Any]]] = []

    def watch(decisions: Decisions) -> NDArray[np.int64]:
        for j in np.flatnonzero(np.diff(decisions.offsets) == MOVES):
            part = slice(decisions.offsets[j], decisions.offsets[j + 1])
            rows = decisions.rows[j : j + 1]
            found.append((decisions.states[rows], int(decisions.seats[j]), decisions.actions[part].copy()))
        return agent(decisions)

    while len(found) < 64:
        play_rounds(deal_rounds(200, rng, tribute=0.5), watch, GUANDAN, record=False)
    states, seats, actions = zip(*(found[i % len(found)] for i in range(DECISIONS)), strict=True)
    offsets = np.arange(DECISIONS + 1, dtype=np.int64) * MOVES
    return Decisions(join(list(states)), np.arange(DECISIONS), np.array(seats), offsets, join(list(actions)))


def one_by_one(*, seed: int = 0) -> Do:
    """Return the work of decisions one after the other, inputs included, in single precision."""
    from blueprint.protocol import Decisions

    inference, d = _inference(half=False), _decisions(seed)
    offsets, row = d.offsets[:2], np.zeros(1, np.int64)
    parts = [
        Decisions(d.states[j : j + 1], row, one.seats, offsets, one.actions)
        for j, one in enumerate(d.spans(1))
    ]

    def decide() -> int:
        for part in parts:
            inference.advantages(part)
        return len(parts)

    return decide


def batches(*, half: bool, threads: int, seed: int = 0) -> Do:
    """Return the work of two batches of decisions a thread, inputs included."""
    inference, d = _inference(half), _decisions(seed)
    pool = ThreadPoolExecutor(threads)

    def ask() -> int:
        return len(d) * len([*pool.map(inference.advantages, [d] * (2 * threads))])

    return ask


def operations(config: NetworkConfig, moves: int) -> float:
    """Return the multiplications and additions of the scores of one decision, zeros included."""
    from blueprint.guandan.network.inputs import ACTION_WIDTH, STATE_WIDTH

    state, action = config.state, config.action
    tower = STATE_WIDTH * state + config.blocks * state * state + state * action
    head = ACTION_WIDTH * action + config.action_blocks * action * action + action
    return 2.0 * (tower + moves * head)


def arithmetic(*, kind: str) -> Do:
    """Return the work of large matrix products, counted in the decisions that have as many operations.

    kind: precision, a type of torch. The floor of a decision: its network needs no less.
    """
    import torch

    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan import SHIPPED
    from blueprint.guandan.train_config import NetworkConfig

    torch.set_num_threads(1)
    described = read_checkpoint(SHIPPED, prefix="-")[1]["network"]
    each = operations(NetworkConfig.from_json(described), MOVES)
    dtype = getattr(torch, kind)
    x, w = torch.rand(2048, 256).to(dtype), torch.rand(256, 256).to(dtype)

    def multiply() -> float:
        with torch.inference_mode():
            for _ in range(8):
                torch.nn.functional.linear(x, w)
        return 8 * 2 * 2048 * 256 * 256 / each

    return multiply


def self_play(*, rounds: int, threads: int = 1, seed: int = 0) -> Do:
    """Return the work of the network's self-play in lockstep, the rounds shared among threads."""
    from blueprint.game_lockstep import play_rounds
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.network_play import InferenceAgent
    from blueprint.guandan.play.selfplay import GUANDAN

    rng, inference, pool = np.random.default_rng(seed), _inference(), ThreadPoolExecutor(threads)
    agents = [InferenceAgent(inference, temperature=0.02, epsilon=0.01, rng=r) for r in rng.spawn(threads)]

    def play() -> int:
        parts = np.array_split(deal_rounds(rounds, rng, tribute=0.5), threads)

        def part(k: int) -> int:
            return play_rounds(parts[k].copy(), agents[k], GUANDAN).steps

        return sum(pool.map(part, range(threads)))

    return play


def training(*, rounds: int, threads: int = 1, seed: int = 0) -> Do:
    """Return the work of a generation: twice the rounds, then every decision learned from once."""
    import torch

    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan import SHIPPED
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer
    from blueprint.learning.self_play import Setup

    torch.set_num_threads(1)
    saved = TrainConfig.from_json(read_checkpoint(SHIPPED, prefix="-")[1]["train"])
    # with focus there is more to play than to learn: a thread more keeps the cores busy
    more = int(threads > 1 and saved.focus > 0)
    config, setup = saved.replace(rounds=2 * rounds, seed=seed), Setup(threads=threads + more)
    trainer = Trainer.begun(SHIPPED, config=config, setup=setup)
    trainer.run_generation()

    def generation() -> int:
        before = trainer.decisions
        trainer.run_generation()
        return trainer.decisions - before

    return generation
