"""`gs2 train --recipe NAME`: the systems of the source papers by name, for GuanDan and for other games."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import Interruption, stderr, stdout
from gs2.commands.training.run_options import check_seed, whole_length

if TYPE_CHECKING:
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig

__all__ = ["GAMES", "RECIPE", "OtherRun", "run_configurations", "train_other_game"]

GAMES = ("guandan", "doudizhu", "big2")
LIST = "help"
LEAST = 1e-6
"""Minutes of training at least: one generation, as at GuanDan."""


class RecipeType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """The name of a recipe; "help" prints them all instead."""

    name = "recipe"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; one that no recipe has is refused with those that there are."""
        from blueprint.guandan.training.recipe_book import named_recipe
        from games.support.configuration import ConfigError

        if value == LIST and ctx is not None:
            _show_recipes()
            ctx.exit()
        try:
            return named_recipe(str(value)).name
        except ConfigError as error:
            self.fail(str(error), param, ctx)


RECIPE = RecipeType()


@dataclass(frozen=True)
class OtherRun:
    """What a run of another game is asked for: settings FIELD=VALUE, how long, and how it is kept.

    minutes: of this call. every: seconds between checkpoints.
    """

    settings: tuple[str, ...]
    minutes: float
    resume: bool
    every: float
    threads: int


def _show_recipes() -> None:
    """Print what there is: each system, its source, its fields and what its paper claims."""
    from blueprint.guandan.training.recipe_book import RECIPES

    for recipe in RECIPES.values():
        network, train = (_told(fields) for fields in (recipe.network, recipe.train))
        rows = {
            "source": recipe.source,
            "network": network or "the default",
            "training": train or "the default",
            "plays": _told(recipe.play) or "its best move",
            ", ".join(GAMES[1:]): _told(recipe.climbing) or "the default",
            "claim": recipe.claim,
            "differs": recipe.differs,
        }
        stdout().print(f"[bold]{recipe.name}[/bold]: {recipe.system}", soft_wrap=True, highlight=False)
        for name, words in rows.items():
            stdout().print(f"  {name}: {words}", soft_wrap=True, highlight=False, markup=False)


def _told(fields: dict[str, Any]) -> str:
    words = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in fields.items()}
    return ", ".join(f"{name}={value}" for name, value in words.items())


def _of_recipe(
    name: str, preset: str | None, changes: dict[str, Any], sizes: dict[str, Any]
) -> tuple[NetworkConfig, TrainConfig]:
    """Return the network and the training of a recipe, some fields changed.

    Raises UsageError beside a preset, ConfigError for what the recipe stands on.
    """
    from blueprint.guandan.training.recipe_book import named_recipe

    if preset is not None:
        raise click.UsageError(
            f"--recipe {name} has a network of its own; got --preset {preset} as well; leave one of them out"
        )
    recipe = named_recipe(name)
    return recipe.network_config(**sizes), recipe.train_config(**changes)


def _check_resumed(name: str, saved: str, output: Path) -> None:
    """Raise UsageError where a run that goes on was begun with another recipe."""
    if name != saved:
        begun = f"the recipe {saved}" if saved else "no recipe"
        raise click.UsageError(
            f"--recipe must be that of the run in {output}, begun with {begun}; got {name}; leave it out, or "
            "train in another directory"
        )


def _check_named(changes: dict[str, Any]) -> None:
    """Raise UsageError where a recipe is set like a field."""
    if "recipe" in changes:
        raise click.UsageError(f"--recipe names a recipe; got --set recipe={changes['recipe']}; use --recipe")


def train_other_game(game: str, recipe: str | None, output: Path, asked: OtherRun) -> dict[str, Any]:
    """Return what a run of DouDiZhu or Big2 by a recipe came to; it lives in `output`.

    recipe: None for the defaults, or for those of the run that goes on.
    Raises ConfigError for a field that their trainer has not, or a value out of range; UsageError where there
    is a run already. Exits as interrupted commands do after Ctrl-C.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.climbing.move_config import ClimbingConfig, described_config
    from blueprint.climbing.training.move_run import RunLimits, RunManner, RunPlace, train_climbing
    from blueprint.guandan.training.recipe_book import named_recipe
    from games.registry import load_game
    from games.support.spec import field_types, read_settings
    from gs2.commands.training.train_climbing import rule_agent

    changes = read_settings(asked.settings, field_types(ClimbingConfig), label=f"--game {game}")
    _check_named(changes)
    loaded, place = load_game(game), RunPlace.of(output)
    if place.checkpoint.exists():
        if not asked.resume:
            raise click.UsageError(
                f"{output} holds a run; pass --resume to continue it, or give another directory"
            )
        _, description = read_checkpoint(place.checkpoint, prefix="-")
        saved = described_config(place.checkpoint, description, loaded)
        if recipe is not None:
            _check_resumed(recipe, saved.recipe, output)
        check_seed(saved.seed, changes.get("seed"))
        config = saved.replace(**changes)
    else:
        config = named_recipe(recipe).climbing_config(**changes) if recipe else ClimbingConfig(**changes)

    minutes = whole_length(max(asked.minutes, LEAST), place.checkpoint if place.checkpoint.exists() else None)

    def show(row: dict[str, float]) -> None:
        pace = f"{row['decisions_per_second']:,.0f} a second"
        stderr().print(f"{int(row['decisions']):,} decisions, {pace}", soft_wrap=True, highlight=False)

    manner = RunManner(asked.resume, asked.every, asked.threads, rule_agent(loaded), show)
    with Interruption() as stop:
        trainer = train_climbing(loaded, place, config, RunLimits(minutes), manner, stop)
    if stop.stop:
        raise SystemExit(stop.exit_code)
    return {
        "game": game,
        "recipe": trainer.config.recipe,
        "output": str(place.checkpoint),
        "generation": trainer.generation,
        "decisions": trainer.decisions,
        "rounds": trainer.rounds,
        "processor_seconds": trainer.processor_seconds,
    }


def run_configurations(
    output: Path,
    resume: bool,
    recipe: str | None,
    preset: str | None,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
) -> tuple[NetworkConfig | None, TrainConfig | None]:
    """Return the network and the training to begin or go on with; None is what the run has.

    Raises UsageError for options that contradict each other or the run, ConfigError for fields.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan.train_config import NETWORKS, NetworkConfig, TrainConfig
    from games.support.spec import field_types, read_settings

    last = output / "last.safetensors"
    changes = read_settings(settings, field_types(TrainConfig))
    widths = read_settings(sizes, field_types(NetworkConfig))
    _check_named(changes)
    if recipe is not None:
        network, config = _of_recipe(recipe, preset, changes, widths)
    else:
        network, config = NETWORKS[preset or "ours"].replace(**widths), TrainConfig(**changes)
    if not last.exists():
        return network, config
    if not resume:
        raise click.UsageError(
            f"{output} holds a run; pass --resume to continue it, or give another directory"
        )
    wanted = network if preset is not None or sizes else None
    if not changes and recipe is None:
        return wanted, None
    _, description = read_checkpoint(last, prefix="-")
    saved = TrainConfig.from_json(description.get("train", {}))
    check_seed(saved.seed, changes.get("seed"))
    if recipe is not None:
        _check_resumed(recipe, saved.recipe, output)
    return wanted, saved.replace(**changes) if changes else None
