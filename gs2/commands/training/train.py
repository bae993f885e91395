"""`gs2 train`: train GuanDan's blueprint, alone or on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gs2.commands.common import (
    CORES,
    COUNT,
    NOT_NEGATIVE,
    ON,
    OUTPUT_FOLDER,
    Interruption,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.training.recipe_options import (
    GAMES,
    RECIPE,
    OtherRun,
    run_configurations,
    train_other_game,
)
from gs2.commands.training.setting_type import SettingType
from gs2.commands.training.train_climbing import OF_CLIMBING
from gs2.commands.training.train_display import row_display, scalar_writer, training_table

if TYPE_CHECKING:
    from games.support.work.where import Place

__all__ = ["OF_ANY_GAME", "TrainCommand", "train"]

PRESETS = ("ours", "danzero")
OF_ANY_GAME = {
    *("directory", "output", "minutes", "resume", "recipe", "game", "settings", "sizes", "threads"),
    *("checkpoint_minutes", "as_json"),
}
"""Parameters that the training of another game takes too."""


class FieldType(SettingType):
    """FIELD=VALUE of a configuration of GuanDan's training, or of the training of the game that is named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting; one that the configuration cannot have is refused."""
        other = ctx is not None and ctx.params.get("game") not in (None, GAMES[0])
        return OF_CLIMBING.convert(value, param, ctx) if other else super().convert(value, param, ctx)


class TrainCommand(click.Command):
    """`gs2 train`, which hands the training of any other game to a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command that the first word is for: a game's name, or a directory."""
        from games.registry import is_game_name
        from games.support.own import is_own

        first = args[0] if args else ""
        game = is_game_name(first) or is_own(first) or _writes_network(args)
        if first.lower() != "guandan" and game and not Path(first).is_dir():
            from gs2.commands.training.train_game import train_game

            return train_game.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _writes_network(args: list[str]) -> bool:
    """Return whether a word stands in front and --output names a network, as only other games ask."""
    named = [value for flag, value in pairwise(args) if flag in ("-o", "--output")]
    named += [word.partition("=")[2] for word in args if word.startswith("--output=")]
    return bool(args) and not args[0].startswith("-") and any(word.endswith(".safetensors") for word in named)


@click.command(cls=TrainCommand)
@click.argument("directory", required=False, type=OUTPUT_FOLDER)
@click.option(
    "--minutes",
    type=NOT_NEGATIVE,
    default=60.0,
    show_default=True,
    help="Length of this call, on top of what a resumed run has; GuanDan ends in time.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    help="Directory of the run, where it is not the argument.",
)
@click.option("--resume", is_flag=True, help="Continue the run in the directory, if one exists.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N.")
@click.option(
    "--preset", type=click.Choice(PRESETS), help="Network.  [default: ours, or that of the resumed run]"
)
@click.option(
    "--recipe",
    type=RECIPE,
    metavar="NAME",
    help="System of a source paper: danzero, danzero+, sdmc, pdhqn, odmc, ours; help lists them.",
)
@click.option(
    "--game",
    type=click.Choice(GAMES),
    default=GAMES[0],
    show_default=True,
    is_eager=True,  # what --set and --network change depends on it
    help="Game to train; more of them: gs2 train GAME -o FILE.",
)
@click.option(
    "--set",
    "settings",
    type=FieldType("blueprint.guandan.train_config", "TrainConfig"),
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change a field of training; repeatable.",
)
@click.option(
    "--network",
    "sizes",
    type=FieldType("blueprint.guandan.train_config", "NetworkConfig"),
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change a size of the network; repeatable.",
)
@click.option("--threads", type=CORES, help="Threads that play and learn.  [default: all cores]")
@ON
@click.option(
    "--actors",
    type=CORES,
    help="Actors of --on ray that play, a core each.  [default: its cores]",
)
@click.option(
    "--checkpoint-minutes",
    type=NOT_NEGATIVE,
    default=5.0,
    show_default=True,
    help="Minutes between checkpoints.",
)
@click.option("--anneal", is_flag=True, help="Let the learning rate fall to zero over these minutes.")
@click.option(
    "--evaluate-minutes",
    type=NOT_NEGATIVE,
    default=15.0,
    show_default=True,
    help="Minutes between evaluations; 0 for never.",
)
@click.option(
    "--against",
    default="greedy,strong",
    show_default=True,
    help="Opponents of the evaluations, separated by commas.",
)
@click.option("--rounds", type=COUNT, default=100, show_default=True, help="Deals of each evaluation.")
@click.option("--tensorboard", is_flag=True, help="Write scalars for TensorBoard (extra: gs2[tensorboard]).")
@click.option("--json", "as_json", is_flag=True, help="Print the last generation as JSON.")
def train(
    directory: Path | None,
    minutes: float,
    output: Path | None,
    resume: bool,
    device: str,
    preset: str | None,
    recipe: str | None,
    game: str,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
    threads: int | None,
    on: Place,
    actors: int | None,
    checkpoint_minutes: float,
    anneal: bool,
    evaluate_minutes: float,
    against: str,
    rounds: int,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Train a GuanDan network by Deep Monte Carlo self-play, in DIRECTORY.

    The run lives in the directory: last.safetensors is what --resume goes on from and what `gs2 match` plays,
    curve.jsonl has a line per generation. Ctrl-C ends a run at once, with a checkpoint of its last whole
    generation; a killed one loses what came after its last checkpoint. One run at a time has a directory.
    `--set rounds=4096`, `--set passes=2` and so on change the training, `--network state=1024` the network.
    With `--on ray --actors N` actors of a cluster play, and this process learns; `--set staleness=1` lets
    them go on while it does. `--recipe NAME` trains a system of the source papers, `--recipe help` lists
    them.
    Any other game: gs2 train GAME -o FILE, see gs2 train leduc_poker --help.
    """
    if (directory is None) == (output is None):
        got = "neither" if output is None else "both"
        raise click.UsageError(f"give the directory of the run as DIRECTORY or by --output; got {got}")
    output = directory or output
    assert output is not None
    from games.support.work.executor import available_cores

    if game != GAMES[0]:
        _check_other_game(game)
        one = OtherRun(
            (*settings, *sizes), minutes, resume, 60 * checkpoint_minutes, threads or available_cores()
        )
        found = train_other_game(game, recipe, output, one)
        if as_json:
            print_json(found)
        else:
            stdout().print(f"{found['output']}: {found['decisions']:,} decisions; --resume continues")
        return
    from blueprint.guandan.play.choosers import load_chooser
    from blueprint.guandan.training.training_run import RunConfig, RunWatch
    from blueprint.guandan.training.training_run import train as run

    network, config = run_configurations(output, resume, recipe, preset, settings, sizes)
    opponents: list[str] = [name for name in against.split(",") if name] if evaluate_minutes else []
    for name in opponents:
        load_chooser(name, _generator())
    _check_device(device)
    if on.is_local and actors is not None:
        raise click.UsageError(f"--actors {actors} needs --on ray; here --threads say how many play")
    with ExitStack() as stack:
        asked = stack.enter_context(Interruption())
        write = scalar_writer(output, stack) if tensorboard else None
        show = row_display(stack)
        last: dict[str, Any] = {}

        def progress(row: dict[str, Any]) -> None:
            last.clear()
            last.update(row)
            show(row)
            if write is not None:
                write(row)

        trainer = run(
            output,
            RunConfig(
                minutes=minutes,
                resume=resume,
                checkpoint_minutes=checkpoint_minutes,
                anneal=anneal,
                evaluate_minutes=evaluate_minutes,
                opponents=tuple(opponents),
                rounds=rounds,
                device=device,
                threads=threads or available_cores(),
                on=str(on),
                actors=actors or 0,
            ),
            network=network,
            config=config,
            watch=RunWatch(progress, interruption=asked),
        )
    if not last:
        stderr().print("interrupted before the first generation was done; nothing is lost but that")
        raise SystemExit(asked.exit_code)
    if as_json:
        print_json(last | {"evaluation": trainer.evaluation, "output": str(output)})
    else:
        stdout().print(training_table([last]))
        done = f"{last['decisions']:,} decisions, {last['hours']:.2f} hours"
        stdout().print(f"{output / 'last.safetensors'}: {done}; the same command with --resume continues")
    if asked.stop:
        raise SystemExit(asked.exit_code)


def _check_other_game(game: str) -> None:
    """Raise UsageError where an option is given that the training of another game has not."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        if given and option.name not in OF_ANY_GAME:
            raise click.UsageError(
                f"{option.opts[0]} is for GuanDan alone; train {game} without {option.opts[0]}"
            )


def _generator() -> Any:
    import numpy as np

    return np.random.default_rng(0)


def _check_device(device: str) -> None:
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise click.UsageError(f"device must be cpu, cuda or cuda:N; got {device!r}") from None
    if kind not in ("cpu", "cuda"):
        raise click.UsageError(f"device must be cpu, cuda or cuda:N; got {device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("device cuda: torch sees no GPU here; use --device cpu")
