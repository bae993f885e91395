"""The learner of `gs2 train` for games whose moves are inputs of the network: DouDiZhu, Big2, your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gs2.commands.training.run_options import changed_fields, check_recipe, check_seed, watched, whole_length

if TYPE_CHECKING:
    from blueprint.protocol import GameAgent
    from games.game import Game

__all__ = ["rule_agent", "train_climbing_game"]


def rule_agent(game: Game) -> GameAgent | None:
    """Return the rule agent of a climbing game, who teaches where there is a guide; None if it has none."""
    from games.climbing.big2.big2 import Big2
    from games.climbing.doudizhu.doudizhu import DouDizhu
    from gs2.play.big2_shedding import BIG2_SHEDDING
    from gs2.play.shedding import SHEDDING

    if isinstance(game, DouDizhu):
        return SHEDDING
    return BIG2_SHEDDING if isinstance(game, Big2) else None


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
    `blueprint.climbing.training.move_run.train_climbing`.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.climbing.move_config import ClimbingConfig, described_config
    from blueprint.climbing.training.move_run import RunLimits, RunManner, RunPlace, train_climbing
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
    limits = RunLimits(
        whole_length(minutes, kept), whole_length(processor_minutes, kept, "processor_seconds"), decisions
    )
    with watched("rounds", {"A": "advantage", "V": "value"}, output if tensorboard else None) as run:
        every = 60.0 * (1.0 if checkpoint_minutes is None else checkpoint_minutes)
        manner = RunManner(resume, every, threads or 1, rule_agent(game), run.progress)
        trainer = train_climbing(game, place, config, limits, manner, run.asked)
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
