"""Ways to train a GuanDan network further, from the same checkpoint, for equal processor time, on one ladder.

    python -m studies.training.equal_time.variations -o runs/varied --minutes 12 \
        --try plain --try ppo:policy=3,temperature=0.04,cooling=1e15 --try past@runs/grown.safetensors

Each way trains on one thread in a folder of its own, in turns of some minutes of the processor, and plays the
checkpoint that all began with after each turn. A way may begin with another file, such as the same network
grown by new inputs. At the end all play each other, that checkpoint, and whoever else is named, on the same
deals. It goes on after a kill; more minutes go on from fewer.

So little training moves the running mean of weights little, and the mean is what plays: it looks back on
`average=0.005` of all decisions here, unless `--set` or `--try` says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.markdown import markdown_table
from games.support.files import check_folder
from gs2.commands.common import OUTPUT_FOLDER, POSITIVE, CountType, Interruption
from gs2.commands.groups import run_alone
from studies.training.equal_time.guandan_course import GuandanCourse
from studies.training.equal_time.levels_ladder import LevelsLadder, play_levels_ladder
from studies.training.equal_time.plan_run import run_plan
from studies.training.equal_time.turns import Outcome, Plan, Turn, read_turns

if TYPE_CHECKING:
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["Variation", "read_variation", "variations"]

START = "start"
AVERAGE = 0.005
NAME = r"[A-Za-z0-9_+-][\w.+-]*"


@dataclass(frozen=True)
class Variation:
    """A way to train further. file: what it begins with. changes: of the training that the file had."""

    name: str
    file: Path
    changes: dict[str, Any]


def read_variation(words: str, start: Path) -> Variation:
    """Return the way that `NAME[@FILE][:FIELD=VALUE,...]` names. Raises ConfigError for other words."""
    from blueprint.guandan.train_config import TrainConfig
    from games.support.configuration import ConfigError
    from games.support.spec import field_types, read_settings

    found = re.fullmatch(rf"({NAME})(?:@(.+?))?(?::([a-z_]+=.*))?", words)
    if found is None:
        raise ConfigError(f"--try: a way to train is NAME[@FILE][:FIELD=VALUE,...]; got {words!r}")
    name, file, settings = found.groups()
    if name == START:
        raise ConfigError(f"--try: {START!r} is what all begin with; choose another name")
    changes = read_settings(settings.split(",") if settings else (), field_types(TrainConfig), label="--try")
    return Variation(name, start if file is None else Path(file), changes)


class VariedCourse(GuandanCourse):
    """Ways to train further, in levels a round against what they began with."""

    rule = START
    opponent = "the start"

    def __init__(self, start: Path, ways: dict[str, Variation], beside: dict[str, str]) -> None:
        """Take what all are compared with, the ways by name, and other agents of the ladder by name."""
        self.start, self.ways, self.beside = start, ways, beside
        self.met = str(start)

    def agent(self, name: str, path: Path) -> str:
        """Return the checkpoint itself as an agent."""
        return str(path)

    def wanted(self, plan: Plan, name: str) -> TrainConfig:
        """Return the training of a way: that of its file, with the changes for all and its own."""
        way = self.ways[name]
        return self.saved(way.file).replace(**{**plan.changes, **way.changes})

    def begin(self, plan: Plan, name: str) -> Trainer:
        """Return a trainer that goes on from a way's file, with new moments where the file has none."""
        from blueprint.guandan.training.trainer import Trainer

        return Trainer.load(self.ways[name].file, threads=1, config=self.wanted(plan, name))

    def compare(self, plan: Plan, rounds: int, stop: Interruption) -> Outcome | None:
        """Return a table of the ways, and one of all against all."""
        turns = read_turns(plan.folder)
        agents = {START: str(self.start)}
        agents |= {name: str(plan.folder / name / turns[name][-1]["file"]) for name in plan.names}
        found = play_levels_ladder(plan, agents | self.beside, rounds, stop)
        if found is None:
            return None
        return Outcome([_ways(plan, turns, found), _pairs([*agents, *self.beside], found)])


def _ways(plan: Plan, turns: dict[str, list[Turn]], ladder: LevelsLadder) -> str:
    rows = []
    for name in plan.names:
        first, last = turns[name][0], turns[name][-1]
        minutes, decisions = last["processor_seconds"] / 60, last["decisions"] - first["decisions"]
        made = f"{decisions / 1e6:.1f} M"
        rows.append((f"`{name}`", f"{minutes:.1f}", made, ladder.levels(name, START), ladder.rating(name)))
    heads = ("way", "processor minutes", "decisions", "levels against the start", "rating")
    return markdown_table(heads, rows, "lrrrr")


def _pairs(names: list[str], ladder: LevelsLadder) -> str:
    rows = [
        (f"`{a}`", ladder.rating(a), *("" if a == b else ladder.levels(a, b) for b in names)) for a in names
    ]
    return markdown_table(
        ("levels against", "rating", *(f"`{b}`" for b in names)), rows, "l" + "r" * (1 + len(names))
    )


def _named_agents(beside: tuple[str, ...], taken: set[str]) -> dict[str, str]:
    """Return other agents by name, of `NAME=AGENT`. Raises ConfigError for other words and a name twice."""
    from games.support.configuration import ConfigError

    found: dict[str, str] = {}
    for words in beside:
        name, equals, agent = words.partition("=")
        if not (equals and agent and re.fullmatch(NAME, name)):
            raise ConfigError(f"--beside: an agent is NAME=AGENT; got {words!r}")
        if name in taken | found.keys():
            raise ConfigError(f"--beside: the name {name!r} is taken; choose another")
        found[name] = agent
    return found


def _read(
    checkpoint: Path | None, tries: tuple[str, ...], beside: tuple[str, ...], settings: tuple[str, ...]
) -> tuple[VariedCourse, dict[str, Any]]:
    """Return the course, and the changes for all ways. Raises ConfigError and CheckpointError."""
    from blueprint.guandan import SHIPPED
    from blueprint.guandan.train_config import TrainConfig
    from games.support.configuration import ConfigError
    from games.support.spec import field_types, read_settings

    start = SHIPPED if checkpoint is None else checkpoint
    ways: dict[str, Variation] = {}
    for words in tries:
        way = read_variation(words, start)
        if way.name in ways:
            raise ConfigError(f"--try: there are two ways called {way.name!r}; choose another name")
        ways[way.name] = way
    changes = {"seed": 0, "average": AVERAGE} | read_settings(settings, field_types(TrainConfig))
    course = VariedCourse(start, ways, _named_agents(beside, {START, *ways}))
    for way in (Variation(START, start, {}), *ways.values()):
        course.saved(way.file).replace(**{**changes, **way.changes})
    return course, changes


@click.command()
@click.argument("checkpoint", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, required=True, help="Folder of the runs, new or to continue."
)
@click.option(
    "--try",
    "tries",
    metavar="NAME[@FILE][:FIELD=VALUE,...]",
    multiple=True,
    required=True,
    help="A way to train, from FILE where that is not CHECKPOINT; repeatable.",
)
@click.option(
    "--beside", metavar="NAME=AGENT", multiple=True, help="Another agent of the ladder; repeatable."
)
@click.option(
    "--minutes",
    type=POSITIVE,
    default=12.0,
    show_default=True,
    help="Minutes of processor time for each way.",
)
@click.option("--turn", type=POSITIVE, default=3.0, show_default=True, help="Minutes of a turn, at most.")
@click.option(
    "--rounds",
    type=CountType(2),
    default=4000,
    show_default=True,
    help="Deals of each pair at the end.",
)
@click.option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change every way's training; repeatable.",
)
def variations(
    checkpoint: Path | None,
    output: Path,
    tries: tuple[str, ...],
    beside: tuple[str, ...],
    rounds: int,
    settings: tuple[str, ...],
    **spans: Any,
) -> None:
    """Train CHECKPOINT further in several ways at equal processor time, then rate them on one ladder.

    By default the shipped network is trained further. After each turn a quarter of the deals is played
    against CHECKPOINT.
    """
    from blueprint.checkpoint import CheckpointError
    from games.support.configuration import ConfigError

    try:
        course, changes = _read(checkpoint, tries, beside, settings)
    except (ConfigError, CheckpointError) as error:
        raise click.UsageError(str(error)) from error
    plan = Plan(check_folder(output), tuple(course.ways), deals=max(2, rounds // 4), changes=changes, **spans)
    click.echo(run_plan(course, plan, rounds, "variations.md"))


if __name__ == "__main__":
    run_alone(variations)
