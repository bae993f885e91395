"""Ablations of the blueprint's training at equal processor time: network, guidance, pruning, and others.

    python -m studies.training.ablate_training run DIRECTORY --cpu-seconds 120 --seeds 2
    python -m studies.training.ablate_training report DIRECTORY --checkout

Every arm is the same self-play with one thing changed. Runs take one thread and end after the same processor
time (the machine may be shared, so the clock on the wall says little); checkpoints are also kept at round
numbers of decisions, to compare at equal data. Agents then play greedily on duplicate deals, all on the same.
Everything is appended to `rows.jsonl`; what is there is not done again. Matches of more deals are played
anew, and other seconds are refused: in a directory all arms have the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from experiments.markdown import markdown_table
from experiments.outputs import report_file
from games.support.files import LineFile, check_folder, read_bytes, read_text, unique, write_text
from games.support.locks import hold
from gs2.commands.common import COUNT, OUTPUT_FILE, OUTPUT_FOLDER, CountType, FiniteRange
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.protocol import Agent

__all__ = ["ARMS", "Arm", "ablate_blueprint", "report", "run"]


@dataclass(frozen=True)
class Arm:
    """One way of training. network: preset's name; train: fields of TrainConfig that it changes."""

    name: str
    network: str
    train: dict[str, Any]


ARMS = (
    Arm("ours", "ours", {}),
    Arm("DanZero's network", "danzero", {}),
    Arm("with guidance", "ours", {"guide": 200_000, "guide_share": 0.5}),
    Arm("with pruning", "ours", {"prune": 1}),
    Arm("with focus", "ours", {"focus": 3.0, "trace": 0.98}),
    Arm("with strangers", "ours", {"strangers": "strong", "strangers_share": 0.2}),
)
COMMON = {"rounds": 256, "batch": 512}
"""Generations and batches small enough for runs of minutes."""
MILESTONES = (100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)
"""Decisions at which checkpoints are kept."""
YARDSTICKS = ("greedy", "strong")
REPORT = "ABLATIONS_BLUEPRINT.md"
BEGIN, END = "<!-- rows -->", "<!-- end of rows -->"
"""Marks in the Markdown file between which the tables stand."""


def _trainer(arm: Arm, seed: int, **changes: float) -> Any:
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer
    from blueprint.papers.recipes import named_recipe

    config = TrainConfig(**{**COMMON, **arm.train, **changes, "seed": seed})
    return Trainer(named_recipe(arm.network).network_config(), config, threads=1)


def run(directory: Path, *, cpu_seconds: float, seeds: int, deals: int, arms: Iterable[Arm] = ARMS) -> None:
    """Train every arm with every seed for `cpu_seconds` of processor time each, then play all matches.

    directory: gets checkpoints and `rows.jsonl`; what it already holds is not done again. deals: of each
    match, each played twice with the seats swapped.
    Raises LockHeld if another process runs there, FileProblem if the directory cannot be written to, and
    ValueError if its arms had other seconds.
    """
    arms = tuple(arms)
    with hold(check_folder(directory), folder=True):
        _check_seconds(directory, cpu_seconds)
        for seed in range(seeds):
            for arm in arms:
                if not any(r["arm"] == arm.name and r["seed"] == seed for r in _rows(directory, "run")):
                    _train(directory, arm, seed, cpu_seconds)
            _matches(directory, seed, deals)


def _check_seconds(directory: Path, cpu_seconds: float) -> None:
    for row in _rows(directory, "run"):
        had = row.get("asked_seconds")
        if had != cpu_seconds:
            told = "not noted" if had is None else f"{had:g}"
            raise ValueError(
                f"{directory}: --cpu-seconds must be those of the arms that are there, {told}; got "
                f"{cpu_seconds:g}; name another directory"
            )


def _train(directory: Path, arm: Arm, seed: int, cpu_seconds: float) -> None:
    warm = _trainer(arm, seed, rounds=2, batch=16)
    for _ in range(2):
        warm.run_generation()  # compiling is not training
    trainer = _trainer(arm, seed)
    kept: list[dict[str, Any]] = []
    milestones = list(MILESTONES)
    spent = longest = 0.0
    begin = time.perf_counter()
    while True:
        before = time.process_time()
        row = trainer.run_generation()
        took = time.process_time() - before
        spent, longest = spent + took, max(longest, took)
        last = spent + longest / 2 > cpu_seconds
        reached = bool(milestones) and trainer.decisions >= milestones[0]
        if reached or last:
            before = time.process_time()
            trainer.learn_pending()  # a checkpoint does not hold what was played
            spent += time.process_time() - before
        while milestones and trainer.decisions >= milestones[0]:
            milestones.pop(0)
        if reached or last:
            path = directory / f"{arm.name.replace(' ', '-')}-{seed}-{trainer.decisions}.safetensors"
            trainer.save(path)
            kept.append({"file": path.name, "decisions": trainer.decisions, "cpu_seconds": spent})
        if last:
            break
    _append(
        directory,
        {
            "kind": "run",
            "arm": arm.name,
            "seed": seed,
            "network": arm.network,
            "train": trainer.config.to_json(),
            "cpu_seconds": spent,
            "asked_seconds": cpu_seconds,
            "wall_seconds": time.perf_counter() - begin,
            "decisions": trainer.decisions,
            "steps_per_round": row["steps_per_round"],
            "kept": kept,
        },
    )


def _matches(directory: Path, seed: int, deals: int) -> None:
    """Play a seed's final checkpoints against the yardsticks and each other, earlier ones against greedy."""
    runs = [r for r in _rows(directory, "run") if r["seed"] == seed]
    done = {(r["a"], r["b"], r["deals"]) for r in _rows(directory, "match")}
    pairs = []
    for k, one in enumerate(runs):
        last = one["kept"][-1]["file"]
        pairs += [(last, b) for b in YARDSTICKS]
        pairs += [(last, other["kept"][-1]["file"]) for other in runs[:k]]
        pairs += [(point["file"], "greedy") for point in one["kept"][:-1]]
    agents: dict[str, Agent] = {}
    for a, b in pairs:
        if (a, b, deals) not in done:
            for name in (a, b):
                if name not in agents:
                    agents[name] = _agent(directory, name)
            _append(directory, {"kind": "match", "a": a, "b": b, **_play(agents[a], agents[b], deals)})


def _agent(directory: Path, name: str) -> Agent:
    from blueprint.guandan.rules.rule_agents import GreedyAgent
    from blueprint.guandan.rules.split_agents import StrongAgent
    from blueprint.guandan.training.trainer import Trainer

    if name == "greedy":
        return GreedyAgent()
    if name == "strong":
        return StrongAgent()
    trainer = Trainer.load(directory / name, threads=1)
    return trainer.learner.agent(0.0, 0.0, np.random.default_rng(0))


def _play(a: Agent, b: Agent, deals: int) -> dict[str, Any]:
    from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
    from games.support.bootstrap import bootstrap_interval

    payoffs = play_duplicate(a, b, duplicate_deals(np.arange(deals), 5))
    rng = np.random.default_rng(6)
    net, wins = payoffs.mean(1), (payoffs > 0).mean(1)
    return {
        "deals": deals,
        "net": float(net.mean()),
        "net_interval": list(bootstrap_interval(net, rng)),
        "wins": float(wins.mean()),
        "wins_interval": list(bootstrap_interval(wins, rng)),
    }


def _append(directory: Path, row: dict[str, Any]) -> None:
    with LineFile(directory / "rows.jsonl") as file:
        file.append([json.dumps(row)])


def _rows(directory: Path, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a kind, each once; a last line cut short by a kill is left out.

    Raises ValueError at a line that is no row. Warns with DoubleRows where one comes again.
    """
    path = directory / "rows.jsonl"
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(read_bytes(path).split(b"\n")[:-1], 1):
        try:
            row = json.loads(line)
            fields = ("arm", "seed") if row["kind"] == "run" else ("a", "b", "deals")
            key = tuple(row[field] for field in fields)
            hash(key)
            rows.append((row, (row["kind"], *key)))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not a row of this experiment ({error})") from error
    return [row for row, _ in unique(rows, lambda pair: pair[1], path) if row["kind"] == kind]


def report(directory: Path) -> str:
    """Return the tables of a run in Markdown; means over seeds, and each match with its own interval."""
    runs, matches = _rows(directory, "run"), _rows(directory, "match")
    if not runs:
        raise ValueError(f"ablate_blueprint: {directory} must hold rows of a run; it has none; run it first")
    owner = {point["file"]: (r, point) for r in runs for point in r["kept"]}
    final = {r["kept"][-1]["file"]: r for r in runs}
    table: list[tuple[object, ...]] = [
        (
            r["arm"],
            r["seed"],
            f"{r['cpu_seconds']:.0f}",
            f"{r['decisions']:,}",
            f"{r['decisions'] / r['cpu_seconds']:,.0f}",
        )
        for r in runs
    ]
    heads: tuple[str, ...] = ("arm", "seed", "processor seconds", "decisions", "decisions a second")
    lines = ["### Runs", "", markdown_table(heads, table, "lrrrr"), ""]
    table = [
        (
            final[m["a"]]["arm"],
            final[m["a"]]["seed"],
            final[m["b"]]["arm"] if m["b"] in final else m["b"],
            f"{m['deals']:,}",
            _mean(m, "net", 1),
            _mean(m, "wins", 100),
        )
        for m in matches
        if m["a"] in final
    ]
    heads = ("arm", "seed", "against", "deals", "net levels a round", "rounds won")
    lines += ["### Strength at equal time", "", markdown_table(heads, table, "lrlrrr"), ""]
    found = [(*owner[m["a"]], m) for m in matches if m["b"] == "greedy"]
    rising = sorted(found, key=lambda f: (f[0]["seed"], f[0]["arm"], f[1]["decisions"]))
    steps = [
        (
            r["arm"],
            r["seed"],
            f"{point['decisions']:,}",
            f"{point['cpu_seconds']:.0f}",
            f"{m['deals']:,}",
            _mean(m, "net", 1),
            _mean(m, "wins", 100),
        )
        for r, point, m in rising
    ]
    words = ("arm", "seed", "decisions", "processor seconds", "deals", "net levels a round", "rounds won")
    lines += ["### Strength against greedy by decisions trained", "", markdown_table(words, steps, "lrrrrrr")]
    return "\n".join(lines) + "\n"


def _mean(match: dict[str, Any], name: str, scale: float) -> str:
    """Return a mean and its interval in words; shares in percent."""
    mean, (low, high) = scale * match[name], (scale * v for v in match[f"{name}_interval"])
    digits, sign, unit = (2, "+", "") if scale == 1 else (1, "", " %")
    return f"{mean:{sign}.{digits}f} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]{unit}"


@click.group()
def ablate_blueprint() -> None:
    """Compare ways of training the blueprint at equal processor time."""


@ablate_blueprint.command("run")
@click.argument("directory", type=OUTPUT_FOLDER)
@click.option(
    "--cpu-seconds",
    type=FiniteRange(1),
    default=120.0,
    show_default=True,
    help="Processor seconds for each arm.",
)
@click.option("--seeds", type=COUNT, default=2, show_default=True)
@click.option("--deals", type=CountType(2), default=400, show_default=True, help="Deals of each match.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def run_command(directory: Path, cpu_seconds: float, seeds: int, deals: int, as_json: bool) -> None:
    """Train every arm and play the matches; rows go to DIRECTORY/rows.jsonl."""
    from gs2.commands.common import print_json
    from gs2.commands.progress import working

    with working(f"training and playing, {cpu_seconds:g} s an arm …"):
        run(directory, cpu_seconds=cpu_seconds, seeds=seeds, deals=deals)
    path = directory / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if as_json:
        print_json({"file": str(path), "rows": rows})
    else:
        click.echo(f"{len(rows):,} rows in {path}")


@ablate_blueprint.command("report")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("-o", "--output", type=OUTPUT_FILE, help="Markdown file to update between its marks.")
@click.option(
    "--checkout", is_flag=True, help=f"Update experiments/results/{REPORT} of gs2's checkout instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows behind the tables as JSON instead.")
def report_command(directory: Path, output: Path | None, checkout: bool, as_json: bool) -> None:
    """Print the tables of a run, or put them between the marks of a Markdown file."""
    if as_json:
        from gs2.commands.common import print_json

        lines = (directory / "rows.jsonl").read_text(encoding="utf-8").splitlines()
        print_json({"rows": [json.loads(line) for line in lines]})
        return
    text = report(directory)
    if checkout:
        output = report_file(REPORT, output, checkout)
    if output is None:
        click.echo(text, nl=False)
        return
    before, _, rest = read_text(output).partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise click.UsageError(f"{output} must hold the lines {BEGIN} and {END}; it does not")
    write_text(output, f"{before}{BEGIN}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    run_alone(ablate_blueprint)
