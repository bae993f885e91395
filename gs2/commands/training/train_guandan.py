"""GuanDan's learner for `gs2 train`: a run in a directory, alone or on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import Interruption, print_json, stderr, stdout
from gs2.commands.training.run_options import changed_fields, check_device, check_recipe, check_seed
from gs2.commands.training.train_display import row_display, scalar_writer, training_table

if TYPE_CHECKING:
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from games.game import Game
    from games.support.work.where import Place

__all__ = ["PRESETS", "train_guandan"]

PRESETS = ("ours", "danzero")


def train_guandan(
    game: Game,
    output: Path,
    *,
    minutes: float | None,
    resume: bool,
    device: str,
    preset: str | None,
    recipe: str | None,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
    seed: int | None,
    threads: int | None,
    on: Place,
    actors: int | None,
    checkpoint_minutes: float | None,
    anneal: bool,
    evaluate_minutes: float,
    against: str,
    rounds: int,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Train a network in a directory and print its last generation.

    Raises UsageError for options that contradict each other, the run or the machine, and as
    `blueprint.learning.run.train`.
    """
    import numpy as np

    from blueprint.guandan.play.quick_agents import load_chooser
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from blueprint.guandan.training.trainer import Setup, Trainer
    from blueprint.learning.run import RunLimits, RunManner, train
    from games.support.work.executor import available_cores

    if game.name != "guandan(moves=full)":
        raise click.UsageError(f"gs2 train takes GuanDan with moves=full; got {game.name}; write guandan")
    changes = changed_fields(TrainConfig, seed, set=settings)
    widths = changed_fields(NetworkConfig, None, network=sizes)
    network, config = _configurations(output, resume, recipe, preset, changes, widths)
    opponents: list[str] = [name for name in against.split(",") if name] if evaluate_minutes else []
    for name in opponents:
        load_chooser(name, np.random.default_rng(0))
    check_device(device)
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

        setup = Setup(
            device=device,
            threads=threads or available_cores(),
            on=str(on),
            actors=actors or 0,
            anneal=anneal,
            evaluate_minutes=evaluate_minutes,
            opponents=tuple(opponents),
            rounds=rounds,
        )
        trainer = train(
            output,
            partial(Trainer.begun, network=network, config=config, setup=setup),
            RunLimits(call_minutes=60.0 if minutes is None else minutes),
            RunManner(
                resume=resume,
                every=60.0 * (5.0 if checkpoint_minutes is None else checkpoint_minutes),
                keep_every=60.0,
                progress=progress,
                interruption=asked,
            ),
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


def _configurations(
    output: Path,
    resume: bool,
    recipe: str | None,
    preset: str | None,
    changes: dict[str, Any],
    widths: dict[str, Any],
) -> tuple[NetworkConfig | None, TrainConfig | None]:
    """Return the network and the training to begin or go on with; None is what the run has.

    changes, widths: fields of the training and of the network to change.
    Raises UsageError for options that contradict each other or the run, ConfigError for fields.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from blueprint.paper_parts import paper_part

    last = output / "last.safetensors"
    if recipe is not None:
        if preset is not None:
            raise click.UsageError(
                f"--recipe {recipe} has a network of its own; got --preset {preset} as well; leave one of "
                "them out"
            )
        system = paper_part("recipe", "--recipe")(recipe)
        network, config = system.network_config(**widths), system.train_config(**changes)
    else:
        network, config = NetworkConfig(), TrainConfig(**changes)
        if preset == "danzero":
            network = paper_part("recipe", "--preset danzero")(preset).network_config()
        network = network.replace(**widths)
    if not resume or not last.exists():
        return network, config  # a run that is there and not resumed is refused when it would begin
    wanted = network if preset is not None or widths else None
    if not changes and recipe is None:
        return wanted, None
    _, description = read_checkpoint(last, prefix="-")
    saved = TrainConfig.from_json(description.get("train", {}))
    check_seed(saved.seed, changes)
    check_recipe(recipe, saved.recipe, output)
    return wanted, saved.replace(**changes) if changes else None
