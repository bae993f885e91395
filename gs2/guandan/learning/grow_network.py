"""Grow a network without changing what it plays: it remembers, knows hands or is wider, and learns on.

`python -m gs2.guandan.learning.grow_network CHECKPOINT -o FILE --past --hands --state 640`

How it grows is in `blueprint.guandan.training.growing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gs2.commands.common import COUNT, held_checkpoint
from gs2.commands.groups import run_alone

WIDTH = COUNT


@click.command("grow-network")
@click.argument("checkpoint", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="A new checkpoint.")
@click.option("--past", is_flag=True, help="Add the past moves of the other seats to the inputs.")
@click.option("--hands", is_flag=True, help="Add a head that predicts the hidden cards.")
@click.option("--stakes", is_flag=True, help="Add the value of results in a match to the inputs.")
@click.option("--state", type=WIDTH, help="Width of the tower.")
@click.option("--blocks", type=WIDTH, help="Its residual layers.")
@click.option("--action", type=WIDTH, help="Width of the head.")
@click.option("--action-blocks", type=WIDTH, help="Its residual layers.")
@click.option("--critic", type=WIDTH, help="Width of the critic.")
def grow_network(checkpoint: Path | None, output: Path, **changes: Any) -> None:
    """Write CHECKPOINT, by default the shipped network, with more inputs or units; it plays as before.

    Training goes on from there: gs2 train -o FOLDER --resume, if the file is FOLDER/last.safetensors.
    """
    from blueprint.guandan.training.growing import grow_checkpoint
    from blueprint.guandan.training.training_run import CURVE, KEPT
    from games.support.files import check_folder
    from games.support.locks import hold

    folder = check_folder(output.parent)
    click.get_current_context().with_resource(hold(folder, folder=True))
    run = (folder / CURVE, *folder.glob(f"{KEPT}*")) if output.name == "last.safetensors" else ()
    held_checkpoint(output, new=run)
    wanted = {name: value for name, value in changes.items() if value}
    click.echo(grow_checkpoint(checkpoint, output, wanted))


if __name__ == "__main__":
    run_alone(grow_network)
