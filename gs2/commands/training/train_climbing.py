"""The learner of `gs2 train` for games whose moves are inputs of the network."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gs2.commands.training.run_options import changed_fields, check_recipe, check_seed, watched

if TYPE_CHECKING:
    from blueprint.protocol import Agent
    from games.game import Game

__all__ = ["rule_agent", "train_climbing_game"]


def rule_agent(game: Game) -> Agent | None:
    """Return the rule agent of a climbing game, who teaches where there is a guide; None if it has none."""
    from gs2.wings import own_part

    teacher: Agent | None = own_part(game.name, "teacher")
    return teacher


def train_climbing_game(
    game: Game,
    output: Path,
    *,
    minutes: float | None,
    processor_minutes: float | None,
    decisions: int | None,
    resume: bool,
    recipe: str | None,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
    seed: int | None,
    threads: int | None,
    checkpoint_minutes: float | None,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Train a network in a directory or a .safetensors file and print where it stands.

    Raises UsageError for options that contradict the run, ConfigError for fields, and as
    `blueprint.learning.run.train`.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.climbing.move_config import ClimbingConfig, described_config
    from blueprint.climbing.training.move_trainer import MoveTrainer
    from blueprint.learning.run import RunLimits, RunManner, RunPlace, train
    from blueprint.paper_parts import paper_part

    place = RunPlace.of(output)
    changes = changed_fields(ClimbingConfig, seed, set=settings, network=sizes)
    kept = place.checkpoint if resume and place.checkpoint.exists() else None
    if kept is not None:
        saved = described_config(kept, read_checkpoint(kept, prefix="-")[1], game)
        check_seed(saved.seed, changes)
        check_recipe(recipe, saved.recipe, output)
        config = saved.replace(**changes)
    else:
        made = paper_part("recipe", "--recipe")(recipe).climbing_config if recipe else ClimbingConfig
        config = made(**changes)
    if minutes is processor_minutes is decisions is None:
        minutes = 10.0
    limits = RunLimits(minutes, processor_minutes, decisions)
    with watched("rounds", {"A": "advantage", "V": "value"}, output if tensorboard else None) as run:
        every = 60.0 * (1.0 if checkpoint_minutes is None else checkpoint_minutes)
        begin = partial(
            MoveTrainer.begun, game=game, config=config, threads=threads or 1, teacher=rule_agent(game)
        )
        manner = RunManner(resume, every, progress=run.progress, interruption=run.asked)
        trainer = train(place, begin, limits, manner)
    result = {
        "game": game.name,
        "recipe": trainer.config.recipe,
        "output": str(place.checkpoint),
        "complete": not run.asked.stop,
        "generation": trainer.generation,
        "decisions": trainer.decisions,
        "choices": trainer.choices,
        "rounds": trainer.rounds,
        "seconds": trainer.seconds,
        "processor_seconds": trainer.processor_seconds,
        **{name: run.last.get(name) for name in ("advantage", "value", "critic", "hands")},
    }
    run.end(place.checkpoint, result, as_json)
