"""How fast climbing games with kernels of their own are: random play, network, self-play and training.

    gs2 bench climbing --seconds 2

Everything is compiled before a clock starts. Rates are per second of processor time of one thread, so that
what else runs on the machine does not count; the rate by the wall stands beside it. The network is the one
that `gs2 train` begins with: its speed does not hang on what it has learned, but on what rounds it plays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import InputLists, MoveInputs
from blueprint.climbing.training.move_trainer import MoveTrainer
from blueprint.game_lockstep import play_rounds
from blueprint.networks import OF_GAMES
from blueprint.protocol import Decisions
from experiments.bench.bench import Rate, figures, measured_rate
from games.game import Game, GameError
from games.ragged import Ragged
from games.registry import load_game
from games.support.array_types import Array, Ints

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["CLIMBING_GAMES", "ClimbingSpeed", "climbing_tables", "measure_climbing"]

CLIMBING_GAMES = tuple(name for name, own in OF_GAMES.items() if own.inputs)
RANDOM_ROUNDS = 4096
"""Rounds of a piece of random play."""
ASKED = 1024
"""Decisions that the network is asked together."""


@dataclass(frozen=True)
class ClimbingSpeed:
    """The speeds of one game.

    state_bytes: of one state. random: decisions a second of uniformly random play, forced passes included.
    network: decisions a second in batches of 1,024, in float32 and, where the processor multiplies it, in
    bfloat16. moves: legal moves of a decision, the mean in those batches. selfplay: decisions a second of
    self-play by the trainer, forced ones included; training: with learning from every decision once.
    choices: share of the decisions in self-play where there is a choice. rounds: played in lockstep.
    """

    game: str
    state_bytes: int
    random: Rate
    network: dict[str, Rate]
    moves: float
    selfplay: Rate
    training: Rate
    choices: float
    rounds: int
    seed: int


def measure_climbing(
    games: Sequence[str] = (),
    *,
    seconds: float = 2.0,
    rounds: int = 1024,
    seed: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> list[ClimbingSpeed]:
    """Return the speeds of climbing games. torch is left with one thread per product.

    games: their strings, by default both. seconds: of each part. rounds: of a generation.
    progress: told what is next.
    Raises GameError for a game that is no climbing game.
    """
    torch.set_num_threads(1)
    loaded = [load_game(name, general_sum=True) for name in games or CLIMBING_GAMES]
    for game in loaded:
        if game.name.partition("(")[0] not in CLIMBING_GAMES:
            known = " or ".join(CLIMBING_GAMES)
            raise GameError(f"bench climbing: games must be {known}; got {game.name}; name one")
    return [_measure(game, seconds, rounds, seed, progress) for game in loaded]


def _measure(
    game: Game, seconds: float, rounds: int, seed: int, progress: Callable[[str], None]
) -> ClimbingSpeed:
    rng = np.random.default_rng(seed)
    trainer = MoveTrainer(game, ClimbingConfig(rounds=rounds, seed=seed))
    inputs = trainer.inputs
    progress(f"{game.name}: random play")
    random = measured_rate(lambda: _random_play(game, inputs, rng), seconds, 1)
    progress(f"{game.name}: the network")
    asked = _decisions(inputs, np.random.default_rng([seed, 1]))  # the same however fast random play was
    network = {}
    for half in sorted({False, trainer.learner.half}):
        trainer.learner.half = half
        answer = trainer.learner.snapshot().answer
        rows, words = np.arange(len(asked)), trainer.inputs.words(asked.actions)

        def ask() -> int:
            answer(asked.states, rows, asked.seats, asked.offsets, words)  # noqa: B023 - asked at once
            return len(asked)

        network["bfloat16" if half else "float32"] = measured_rate(ask, seconds, 1)
    progress(f"{game.name}: self-play")
    steps = choices = 0

    def play() -> int:
        nonlocal steps, choices
        played = trainer.play()[0]
        steps, choices = steps + played.steps, choices + len(played)
        return played.steps

    selfplay = measured_rate(play, seconds, 1)
    progress(f"{game.name}: training")

    def generation() -> int:
        before = trainer.decisions
        trainer.run_generation()
        return trainer.decisions - before

    training = measured_rate(generation, seconds, 1)
    size = game.root().dtype.itemsize
    moves = len(asked.actions) / len(asked)
    share = choices / steps
    return ClimbingSpeed(game.name, size, random, network, moves, selfplay, training, share, rounds, seed)


def _random_play(game: Any, inputs: MoveInputs, rng: np.random.Generator) -> int:
    """Play rounds at random, the deal included; return the decisions."""
    states = inputs.deal(RANDOM_ROUNDS, rng)
    return int(game.play_randomly(states, rng)[1].sum())


def _decisions(inputs: MoveInputs, rng: np.random.Generator) -> Decisions:
    """Return decisions with a choice, drawn from rounds of random play."""
    seen: list[Decisions] = []

    def watch(d: Decisions) -> Ints:
        seen.append(replace(d, states=d.states[d.rows], rows=np.arange(len(d))))
        counts = np.diff(d.offsets)
        drawn: Ints = np.minimum((rng.random(len(d)) * counts).astype(np.int64), counts - 1)
        return drawn

    play_rounds(inputs.deal(ASKED, rng), watch, InputLists(inputs))
    which = np.concatenate([np.full(len(d), k) for k, d in enumerate(seen)])
    within = np.concatenate([np.arange(len(d)) for d in seen])
    parts: list[tuple[Array, int, Ints]] = []
    for at in np.sort(rng.permutation(len(which))[:ASKED]):
        d, j = seen[which[at]], within[at]
        parts.append((d.states[j : j + 1], int(d.seats[j]), d.actions[d.offsets[j] : d.offsets[j + 1]]))
    states, seats, actions = zip(*parts, strict=True)
    table = Ragged.from_counts(np.array([len(each) for each in actions]), np.concatenate(actions))
    return Decisions.of(np.concatenate(states), table, np.array(seats, np.int64))


def climbing_tables(result: Sequence[ClimbingSpeed]) -> list[Table]:
    """Return the figures as tables to print."""
    lines = []
    for speed in result:
        rows = [("random play", speed.random)]
        rows += [(f"network, {kind}", rate) for kind, rate in speed.network.items()]
        rows += [("self-play", speed.selfplay), ("self-play and training", speed.training)]
        for place, (what, rate) in enumerate(rows):
            name = f"{speed.game}, {speed.state_bytes} bytes a state" if place == 0 else ""
            lines.append((name, what, rate))
    caption = "\n".join(
        f"{speed.game}: {speed.moves:.1f} legal moves a decision of the network; {speed.choices:.0%} of the "
        "moves in self-play are chosen"
        for speed in result
    )
    heads = " |  | processor time | wall | share of a core"
    cells = "{0} | {1} | {2.processor:,.0f} | {2.wall:,.0f} | {2.share:.0%}"
    title = "Decisions a second of one thread"
    return [figures(title, heads, cells, lines, words=2, title_justify="left", caption=caption)]
