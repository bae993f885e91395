"""Distil a network into a small one that plays nearly the same moves at a fraction of the time.

`python -m gs2.guandan.learning.distil_network CHECKPOINT -o FILE --decisions N`

How it is taught is in `blueprint.guandan.training.distilling`.
"""

from __future__ import annotations

from pathlib import Path

import attrs
import click
import numpy as np
import torch

from blueprint.checkpoint import SHIPPED, read_checkpoint
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.training.distilling import SMALL, DistilConfig, distil, save_student
from gs2.commands.common import COUNT, SEED, held_checkpoint
from gs2.commands.groups import run_alone


@click.command("distil-network")
@click.argument("checkpoint", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="A new checkpoint.")
@click.option(
    "--decisions",
    type=COUNT,
    default=DistilConfig().decisions,
    show_default=True,
    help="Decisions to label.",
)
@click.option(
    "--state",
    type=COUNT,
    default=SMALL.state,
    show_default=True,
    help="Width of the student's tower.",
)
@click.option(
    "--action",
    type=COUNT,
    default=SMALL.action,
    show_default=True,
    help="Width of the student's head.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the deals and the learning.")
def distil_network(
    checkpoint: Path | None, output: Path, decisions: int, state: int, action: int, seed: int
) -> None:
    """Teach a small network the moves of CHECKPOINT, by default of the shipped network."""
    held_checkpoint(output)
    torch.set_num_threads(1)
    teacher = load_inference(checkpoint, critic=False)
    taught = read_checkpoint(SHIPPED if checkpoint is None else checkpoint, prefix="-")[1]
    config = DistilConfig(decisions=decisions)
    student, score = distil(
        teacher,
        np.random.default_rng(seed),
        config,
        attrs.evolve(SMALL, state=state, action=action),
        progress=lambda row: click.echo(" ".join(f"{k}={v:.4g}" for k, v in row.items())),
    )
    notes = {
        "teacher": teacher.name,
        "teacher_decisions": taught.get("decisions"),
        "decisions": score["decisions"],
    }
    save_student(output, student, {**notes, "distil": config.to_json(), "score": score})


if __name__ == "__main__":
    run_alone(distil_network)
