"""The memory of every process while actors of a cluster play and this process learns.

    python -m studies.training.scale.process_memory runs/memory --minutes 60 --actors 2
    python -m studies.training.scale.process_memory runs/memory --plot memory.png

The first line trains and samples; the second draws what was sampled. Pages of Ray's object store count for
every process that has them mapped, so they are told apart from those that are a process's own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from gs2.commands.common import CORES, COUNT, OUTPUT_FILE, OUTPUT_FOLDER
from gs2.commands.groups import run_alone

__all__ = ["memory", "read_samples"]

SAMPLES = "memory.jsonl"
SECONDS = 10.0
"""Between two samples."""


def read_samples(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the samples of each process that was there for a twentieth of the run or more, by name."""
    rows = [json.loads(line) for line in (folder / SAMPLES).read_text().splitlines()]
    by_pid: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_pid[row["pid"]].append(row)
    times = len({row["minutes"] for row in rows})
    found: dict[str, list[dict[str, Any]]] = {}
    for samples in by_pid.values():
        if 20 * len(samples) < times:
            continue
        name = samples[-1]["name"]
        number = sum(other.split(" #")[0] == name for other in found)
        found[f"{name} #{number + 1}"] = samples
    return found


@click.command("memory")
@click.argument("folder", type=OUTPUT_FOLDER)
@click.option("--minutes", type=click.FloatRange(min=0), default=60.0, show_default=True)
@click.option("--actors", type=CORES, default=2, show_default=True)
@click.option("--rounds", type=COUNT, default=2048, show_default=True, help="Rounds of a generation.")
@click.option("--plot", type=OUTPUT_FILE, help="Draw what FOLDER holds there, and do not train.")
def memory(folder: Path, minutes: float, actors: int, rounds: int, plot: Path | None) -> None:
    """Train in FOLDER by actors of a cluster, and sample the memory of every process."""
    if plot is None:
        from blueprint.guandan.train_config import TrainConfig
        from blueprint.guandan.training.trainer import Setup, Trainer
        from blueprint.learning.run import RunLimits, RunManner, train
        from studies.training.scale.processes import sampled

        setup = Setup(on="ray", actors=actors, evaluate_minutes=0.0)
        config = TrainConfig(rounds=rounds, staleness=1)
        begin = partial(Trainer.begun, config=config, setup=setup)
        folder.mkdir(parents=True, exist_ok=True)
        with sampled(folder / SAMPLES, SECONDS) as beside:

            def progress(row: dict[str, Any]) -> None:
                beside["decisions"] = row["decisions"]

            manner = RunManner(resume=True, every=300.0, progress=progress)
            train(folder, begin, RunLimits(call_minutes=minutes), manner)
    found = read_samples(folder)
    for name, samples in found.items():
        early, late = (_mean(part) for part in (samples[len(samples) // 4 : len(samples) // 2], samples[-8:]))
        most = max(row["private"] + row["shared"] for row in samples)
        click.echo(f"{name:24} second quarter {early:7.1f} MB, at the end {late:7.1f}, most {most:7.1f}")
    if plot is not None:
        _draw(found, plot)
        click.echo(plot)


def _mean(samples: list[dict[str, Any]]) -> float:
    return float(sum(row["private"] + row["shared"] for row in samples) / max(len(samples), 1))


def _draw(found: dict[str, list[dict[str, Any]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), sharex=True, layout="constrained")
    for name, samples in found.items():
        minutes = [row["minutes"] for row in samples]
        for axis, kind in zip(axes, ("private", "shared"), strict=True):
            axis.plot(minutes, [row[kind] for row in samples], label=name, linewidth=1.2)
    axes[0].set(title="pages of its own", xlabel="minutes", ylabel="MB", ylim=(0, None))
    axes[1].set(title="shared memory mapped (the object store)", xlabel="minutes", ylim=(0, None))
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    run_alone(memory)
