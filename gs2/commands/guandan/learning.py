"""Commands of `gs2 guandan` that grow and distil networks, and train those of hidden cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.training.distilling import SMALL, DistilConfig, distil, save_student
from gs2.commands.common import COUNT, POSITIVE, SEED, held_checkpoint, print_json
from gs2.guandan.beliefs.belief_network import BeliefNetwork, load_network, save_network
from gs2.guandan.beliefs.train_beliefs import BeliefConfig, DealConfig, train_beliefs, train_deals

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
SHIPPED_OR_OWN = click.argument("checkpoint", type=EXISTING, required=False)
CHECKPOINT = click.argument("checkpoint", type=EXISTING)
OUTPUT = click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="A new checkpoint."
)
DEALS_SEED = click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Seed of the deals and the learning."
)


def _field(
    kind: Any, flag: str, about: str, number: Any = POSITIVE
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option of a configuration's field. kind: the configuration with its defaults."""
    default = getattr(kind, flag[2:].replace("-", "_"))
    return click.option(flag, type=number, default=default, show_default=True, help=about)


SELF_PLAY = _field(BeliefConfig(), "--rounds", "Rounds of self-play.", COUNT)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, once it is there.")


def _said(as_json: bool) -> Callable[[Mapping[str, float]], None] | None:
    """Return what prints a row of numbers as training goes on; None where only the result is wanted."""
    if as_json:
        return None
    return lambda row: click.echo(" ".join(f"{k}={v:.4g}" for k, v in row.items()))


def _result(as_json: bool, output: Path, score: Mapping[str, Any]) -> None:
    if as_json:
        print_json({"output": str(output), **score})


@click.command("grow")
@SHIPPED_OR_OWN
@OUTPUT
@click.option("--past", is_flag=True, help="Add the past moves of the other seats to the inputs.")
@click.option("--hands", is_flag=True, help="Add a head that predicts the hidden cards.")
@click.option("--stakes", is_flag=True, help="Add the value of results in a match to the inputs.")
@click.option("--state", type=COUNT, help="Width of the tower.")
@click.option("--blocks", type=COUNT, help="Residual layers of the tower.")
@click.option("--action", type=COUNT, help="Width of the head.")
@click.option("--action-blocks", type=COUNT, help="Residual layers of the head.")
@click.option("--critic", type=COUNT, help="Width of the critic.")
@AS_JSON
def grow(checkpoint: Path | None, output: Path, as_json: bool, **changes: Any) -> None:
    """Write CHECKPOINT, by default the shipped network, with more inputs or units; it plays as before.

    Training goes on from there: gs2 train guandan -o FOLDER --resume, if the file is FOLDER/last.safetensors.
    """
    from blueprint.guandan.training.growing import grow_checkpoint
    from blueprint.learning.run import RunPlace
    from games.support.files import check_folder
    from games.support.locks import hold

    folder = check_folder(output.parent)
    click.get_current_context().with_resource(hold(folder, folder=True))
    run = RunPlace.of(folder).others() if output.name == "last.safetensors" else ()
    held_checkpoint(output, new=run)
    grown = grow_checkpoint(checkpoint, output, {name: value for name, value in changes.items() if value})
    _result(as_json, output, grown.to_json())
    if not as_json:
        click.echo(grown)


@click.command("distil")
@SHIPPED_OR_OWN
@OUTPUT
@_field(DistilConfig(), "--decisions", "Decisions to label.", COUNT)
@_field(SMALL, "--state", "Width of the student's tower.", COUNT)
@_field(SMALL, "--action", "Width of the student's head.", COUNT)
@DEALS_SEED
@AS_JSON
def distil_network(
    checkpoint: Path | None, output: Path, decisions: int, seed: int, as_json: bool, **sizes: int
) -> None:
    """Teach a small network the moves of CHECKPOINT, by default of the shipped network.

    It plays nearly the same moves in a fraction of the time. Agents on X.safetensors find X-quick.safetensors
    beside it, and use it in rollouts.
    """
    held_checkpoint(output)
    torch.set_num_threads(1)
    teacher = load_inference(checkpoint, critic=False)
    taught = read_checkpoint(SHIPPED if checkpoint is None else checkpoint, prefix="-")[1]
    config, small = DistilConfig(decisions=decisions), SMALL.replace(**sizes)
    student, score = distil(teacher, np.random.default_rng(seed), config, small, progress=_said(as_json))
    notes: dict[str, object] = {"teacher": teacher.name, "teacher_decisions": taught.get("decisions")}
    notes |= {"decisions": score["decisions"], "distil": config.to_json(), "score": score}
    save_student(output, student, notes)
    _result(as_json, output, score)


@click.command("train-beliefs")
@CHECKPOINT
@OUTPUT
@SELF_PLAY
@_field(BeliefConfig(), "--passes", "Passes over the positions.")
@DEALS_SEED
@AS_JSON
def train_belief_network(checkpoint: Path, output: Path, seed: int, as_json: bool, **fields: Any) -> None:
    """Train the belief network over hidden cards on the self-play of CHECKPOINT."""
    held_checkpoint(output)
    evaluator = load_inference(checkpoint, critic=False)
    rng, config = np.random.default_rng(seed), BeliefConfig(**fields)
    network, score = train_beliefs(evaluator, rng, config, progress=_said(as_json))
    save_network(output, network, {"blueprint": evaluator.name, "score": score})
    _result(as_json, output, score)


@click.command("train-deals")
@CHECKPOINT
@OUTPUT
@click.option("--beliefs", type=EXISTING, help="Belief network that draws deals.  [default: the shipped]")
@SELF_PLAY
@_field(DealConfig(), "--passes", "Passes over the positions.")
@DEALS_SEED
@AS_JSON
def train_deal_network(
    checkpoint: Path, output: Path, beliefs: Path | None, seed: int, as_json: bool, **fields: Any
) -> None:
    """Train the network that weighs whole deals on the self-play of CHECKPOINT."""
    held_checkpoint(output)
    evaluator = load_inference(checkpoint, critic=False)
    rng, config = np.random.default_rng(seed), DealConfig(**fields)
    drawing = load_network(BeliefNetwork, beliefs)
    network, score = train_deals(evaluator, drawing, rng, config, progress=_said(as_json))
    save_network(output, network, {"blueprint": evaluator.name, "score": score})
    _result(as_json, output, score)
