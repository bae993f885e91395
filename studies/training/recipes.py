"""The systems of the source papers at equal processor time, on one ladder: GuanDan, DouDiZhu or Big2.

    python -m studies.training.recipes -o runs/recipes --minutes 120
    python -m studies.training.recipes -o runs/recipes-ddz --game doudizhu --minutes 120 --first 0.05

Every recipe trains on one thread in a folder of its own, in turns of some minutes, so that a busy hour of the
machine falls on all of them. What counts is the processor's time, which other programs do not shorten. After
each turn its agent plays a rule agent on fixed chance, from which the learning curves are drawn, and the time
until that agent is passed is read. At the end all play each other on the same chance. `turns.jsonl` and the
results are appended to: the same command goes on after a kill, and more minutes go on from fewer.

Schedules of recipes are made for two hours: `policy_from` and `guide` shrink with shorter runs, and are those
of the minutes that are asked for last. All else stays as a run was begun: other `--set` are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from games.support.files import check_folder
from gs2.commands.common import OUTPUT_FOLDER, POSITIVE, CountType
from gs2.commands.groups import run_alone
from studies.training.equal_time.plan_run import run_plan
from studies.training.equal_time.rule_passed import passing_table
from studies.training.equal_time.turns import WHOLE, Course, Plan

__all__ = ["recipes"]

GAMES = ("guandan", "doudizhu", "big2")


def _course(game: str) -> Course:
    """Return how recipes are trained and compared in a game."""
    if game == GAMES[0]:
        from studies.training.equal_time.guandan_course import GuandanCourse

        return GuandanCourse()
    from studies.training.equal_time.climbing_course import ClimbingCourse

    return ClimbingCourse(game)


def _changes(game: str, settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of training that are changed. Raises ConfigError for one that the game has not."""
    from blueprint.climbing.move_config import ClimbingConfig
    from blueprint.guandan.train_config import TrainConfig
    from games.support.configuration import ConfigError
    from games.support.spec import field_types, read_settings

    found = read_settings(settings, field_types(TrainConfig if game == GAMES[0] else ClimbingConfig))
    if "recipe" in found:
        raise ConfigError(f"--set recipe={found['recipe']} makes no recipe; name them with --recipes")
    return {"seed": 0} | found


def _chosen(names: str | None) -> tuple[str, ...]:
    """Return the recipes that are asked for, all by default. Raises ConfigError for one that there is not."""
    from blueprint.papers.recipes import RECIPES, named_recipe

    return tuple(named_recipe(name.strip()).name for name in names.split(",")) if names else tuple(RECIPES)


@click.command()
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, required=True, help="Folder of the runs, new or to continue."
)
@click.option("--game", type=click.Choice(GAMES), default=GAMES[0], show_default=True)
@click.option(
    "--minutes",
    type=POSITIVE,
    default=WHOLE,
    show_default=True,
    help="Minutes of processor time for each recipe.",
)
@click.option("--recipes", "names", help="Names, separated by commas.  [default: all]")
@click.option("--turn", type=POSITIVE, default=10.0, show_default=True, help="Minutes of a turn, at most.")
@click.option(
    "--first",
    type=POSITIVE,
    help="Minutes of the first turn; each later one is as long as all before it, up to --turn.  "
    "[default: --turn]",
)
@click.option(
    "--rounds",
    type=CountType(2),
    default=2000,
    show_default=True,
    help="Deals of each pair at the end.",
)
@click.option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change every recipe's training; repeatable.",
)
def recipes(
    output: Path, game: str, names: str | None, rounds: int, settings: tuple[str, ...], **spans: Any
) -> None:
    """Train the recipes in turns at equal processor time, then rate them on one ladder.

    After each turn a quarter of the deals is played against the rule agent. `--set seed=1` is another run of
    all.
    """
    from games.support.configuration import ConfigError

    course = _course(game)
    try:
        changes, chosen = _changes(game, settings), _chosen(names)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    plan = Plan(check_folder(output), chosen, deals=max(2, rounds // 4), changes=changes, **spans)
    click.echo(run_plan(course, plan, rounds, "recipes.md", lambda turns: [passing_table(course, turns)]))


if __name__ == "__main__":
    run_alone(recipes)
