"""`gs2 train doudizhu`, `gs2 train big2`: a network whose inputs are moves, by Deep Monte Carlo self-play."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    CORES,
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    POSITIVE,
    GameType,
    Interruption,
    number,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.progress import working
from gs2.commands.training.run_options import chosen_seed, run_options, whole_length
from gs2.commands.training.setting_type import SettingType

if TYPE_CHECKING:
    from blueprint.protocol import GameAgent
    from games.game import Game

__all__ = ["OF_CLIMBING", "rule_agent", "train_climbing_game"]


OF_CLIMBING = SettingType("blueprint.climbing.move_config", "ClimbingConfig")


class AnyGame(GameType):
    """A game string; payoffs need not sum to zero over its teams, so that a landlord may be found by bids."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Game:
        """Return the game."""
        from games.registry import load_game

        return load_game(value, general_sum=True) if isinstance(value, str) else value


class RunType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """A .safetensors file to write, or a folder that gets one."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, once it is known that it can be written."""
        wanted = OUTPUT_FILE if Path(value).suffix == ".safetensors" else OUTPUT_FOLDER
        return wanted.convert(value, param, ctx)


def rule_agent(game: Game) -> GameAgent:
    """Return the rule agent of a climbing game, who teaches where there is a guide."""
    from games.climbing.doudizhu.doudizhu import DouDizhu
    from gs2.play.big2_shedding import BIG2_SHEDDING
    from gs2.play.shedding import SHEDDING

    return SHEDDING if isinstance(game, DouDizhu) else BIG2_SHEDDING


@click.command("train")
@click.argument("game", type=AnyGame())
@click.option(
    "-o",
    "--output",
    type=RunType(),
    required=True,
    help="A .safetensors file, or a folder that gets last.safetensors; the curve is kept beside it.",
)
@click.option(
    "--processor-minutes",
    type=POSITIVE,
    help="The same in processor time, which other programs do not shorten.",
)
@click.option("--threads", type=CORES, default=1, show_default=True, help="Threads that play and learn.")
@run_options(OF_CLIMBING, 60.0)
def train_climbing_game(
    game: Game, output: Path, resume: bool, settings: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Train a network for DouDiZhu or Big2 by Deep Monte Carlo self-play.

    These games have too many moves for a column each, so the network sees the effect of a move. The
    checkpoint is an agent of `gs2 match --game GAME`. It is saved every minute. The same command with
    --resume continues from there, also after Ctrl-C or a kill, with the same result as a run without a break.
    `--set target=win`, `--set state=512`, `--set hands=0.1` and so on change the training.
    """
    from blueprint.climbing.move_config import ClimbingConfig
    from blueprint.climbing.training.move_run import RunLimits, RunManner, RunPlace, train_climbing

    place = RunPlace.of(output)
    goes_on = resume and place.checkpoint.exists()
    if goes_on and settings:
        raise click.UsageError("a resumed run keeps its settings, so --set must not be given; leave it out")
    changes = OF_CLIMBING.changes(settings)
    if "recipe" in changes:
        raise click.UsageError(
            f"--set recipe={changes['recipe']} does not make a recipe; use gs2 train --recipe, with --game"
        )
    kept = place.checkpoint if goes_on else None
    seed = chosen_seed(options["seed"], changes, kept)
    config = None if goes_on else ClimbingConfig(**{**changes, "seed": seed})
    minutes, processor, decisions = (options[name] for name in ("minutes", "processor_minutes", "decisions"))
    if minutes is processor is decisions is None:
        minutes = 10.0
    limits = RunLimits(
        whole_length(minutes, kept), whole_length(processor, kept, "processor_seconds"), decisions
    )
    last: dict[str, float] = {}
    with Interruption() as asked, working("the first generation …") as tell:

        def progress(row: dict[str, float]) -> None:
            last.update(row)
            words = (
                f"{min(row['share'], 1):4.0%}  {int(row['decisions']):,} decisions, "
                f"{row['decisions_per_second']:,.0f} a second  A loss {row['advantage']:.4f}  "
                f"V loss {row['value']:.4f}"
            )
            tell(words)
            if row["share"] >= 1:
                click.echo(words, err=True)

        manner = RunManner(
            resume, options["checkpoint_seconds"], options["threads"], rule_agent(game), progress
        )
        trainer = train_climbing(game, place, config, limits, manner, asked)
    result = {
        "game": game.name,
        "output": str(place.checkpoint),
        "complete": not asked.stop,
        "generation": trainer.generation,
        "decisions": trainer.decisions,
        "choices": trainer.choices,
        "rounds": trainer.rounds,
        "seconds": trainer.seconds,
        "processor_seconds": trainer.processor_seconds,
        **{name: last.get(name) for name in ("advantage", "value", "critic", "hands")},
    }
    if as_json:
        print_json(result)
    elif last:
        stdout().print(
            f"{place.checkpoint}: {trainer.decisions:,} decisions in {trainer.rounds:,} rounds, "
            f"{trainer.seconds:.0f} s, losses {number(last['advantage'])} (A), {number(last['value'])} (V)",
            soft_wrap=True,
        )
        stdout().print(f"try: gs2 match --game '{game.name}' {place.checkpoint} uniform", soft_wrap=True)
    elif asked.stop:
        stderr().print("interrupted before the first generation was done; nothing is lost but that")
    else:
        stdout().print(
            f"{place.checkpoint}: the training is complete; --minutes or a larger --decisions continues it",
            soft_wrap=True,
        )
    if asked.stop:
        raise SystemExit(asked.exit_code)
