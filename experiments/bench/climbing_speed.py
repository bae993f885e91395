"""Pieces of work at climbing games with kernels of their own: random play, network, self-play and training.

    gs2 bench climbing --seconds 2

The network is the one that `gs2 train` begins with: its speed does not hang on what it has learned, but on
what rounds it plays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.game_lockstep import play_rounds
from blueprint.learning.pieces import PieceGame
from blueprint.networks import OF_GAMES
from blueprint.protocol import Decisions
from experiments.bench.works import Speed, Work, in_turns
from games.game import Game, GameError
from games.registry import load_game
from games.support.array_types import Ints

CLIMBING_GAMES = tuple(name for name, own in OF_GAMES.items() if own.kind == "climbing")
HERE = "experiments.bench.climbing_speed:"
Do = Callable[[], int]


def measure_climbing(
    games: Sequence[str] = (),
    *,
    seconds: float = 2.0,
    rounds: int = 1024,
    seed: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> list[Speed]:
    """Return the speeds of climbing games by one thread. torch is left with one thread per product.

    games: their strings, by default both. seconds: of each piece of work. rounds: of a generation.
    progress: told what is next.
    Raises GameError for a game that is no climbing game.
    """
    works = []
    for name in games or CLIMBING_GAMES:
        game = _climbing(name)
        if game.name.partition("(")[0] not in CLIMBING_GAMES:
            known = " or ".join(CLIMBING_GAMES)
            raise GameError(f"bench climbing: games must be {known}; got {game.name}; name one")
        how = {"game": name, "seed": seed}
        halves = sorted({False, MoveTrainer(game, ClimbingConfig(rounds=rounds, seed=seed)).learner.half})
        works += [
            Work(f"{name}: random play", f"{HERE}random_play", how),
            *(
                Work(
                    f"{name}: network, {'bfloat16' if half else 'float32'}",
                    f"{HERE}network",
                    how | {"half": half, "rounds": rounds},
                )
                for half in halves
            ),
            Work(f"{name}: self-play", f"{HERE}self_play", how | {"rounds": rounds}),
            Work(f"{name}: self-play and training", f"{HERE}training", how | {"rounds": rounds}),
        ]
    return in_turns(works, progress, seconds=seconds)


def _climbing(name: str) -> Game:
    return load_game(name, general_sum=True)


def _trainer(game: str, seed: int, rounds: int = 1024) -> MoveTrainer:
    torch.set_num_threads(1)
    return MoveTrainer(_climbing(game), ClimbingConfig(rounds=rounds, seed=seed))


def random_play(*, game: str, seed: int) -> Do:
    """Return the work of 4,096 rounds of random play, the deal and forced passes included."""
    trainer, rng = _trainer(game, seed), np.random.default_rng(seed)
    rules: Any = trainer.inputs.game
    return lambda: int(rules.play_randomly(trainer.inputs.deal(4096, rng), rng)[1].sum())


def network(*, game: str, half: bool, rounds: int, seed: int) -> Do:
    """Return the work of a network's answers at every choice of random rounds. half: in bfloat16."""
    trainer, rng = _trainer(game, seed), np.random.default_rng(seed)
    trainer.learner.half = half
    answer, inputs = trainer.learner.snapshot().answer, trainer.inputs
    asked: list[tuple[Any, ...]] = []

    def watch(d: Decisions) -> Ints:
        words = inputs.words(d.actions)
        asked.append((d.states[d.rows], np.arange(len(d)), d.seats, d.offsets, words))
        drawn: Ints = (rng.random(len(d)) * np.diff(d.offsets)).astype(np.int64)
        return drawn

    play_rounds(inputs.deal(rounds, rng), watch, inputs, record=False)

    def ask() -> int:
        for words in asked:
            answer(*words)
        return sum(len(words[1]) for words in asked)

    return ask


def self_play(*, game: str, rounds: int, seed: int) -> Do:
    """Return the work of a generation's rounds, forced decisions included."""
    trainer = _trainer(game, seed, rounds)
    learner = trainer.learner

    def play() -> int:
        games = (PieceGame(piece, learner, None) for piece in trainer.deal())
        return sum(game.play(lambda: False).steps for game in games)

    return play


def training(*, game: str, rounds: int, seed: int) -> Do:
    """Return the work of a generation: its rounds, and learning from every decision once."""
    trainer = _trainer(game, seed, rounds)

    def generation() -> int:
        before = trainer.decisions
        trainer.run_generation()
        return trainer.decisions - before

    return generation
