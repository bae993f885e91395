"""Recipes trained in turns at equal processor time, whatever the game.

A turn is told of in `turns.jsonl` once its checkpoint is saved; a kill in between leaves the turn before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from games.support.configuration import Configuration
from games.support.files import LineFile, check_folder, read_bytes
from gs2.commands.common import Interruption, stderr

__all__ = [
    "RIVAL",
    "SCHEDULES",
    "WHOLE",
    "Course",
    "Outcome",
    "Plan",
    "Trainee",
    "Turn",
    "read_turns",
    "shortened",
    "train_in_turns",
]

TURNS = "turns.jsonl"
WHOLE = 120.0
"""Minutes that the recipes' schedules are made for."""
SCHEDULES = ("policy_from", "guide")
RIVAL = "danzero"
"""Whom the papers compare their systems with: plain Deep Monte Carlo."""
GUANDAN = "guandan"
Turn = dict[str, Any]
"""A line of turns.jsonl."""


@dataclass(frozen=True)
class Plan:
    """What is trained. minutes: of the processor for each recipe; turn: of each turn.

    deals: against the rule agent after a turn, each played from every side. changes: of every recipe's
    training. first: minutes of the first turn; each later one is as long as all before it, up to `turn`.
    """

    folder: Path
    names: tuple[str, ...]
    minutes: float
    turn: float
    deals: int
    changes: dict[str, Any]
    first: float | None = None

    def next_end(self, spent: float) -> float:
        """Return the seconds at which the turn ends that begins after so many."""
        least = self.turn if self.first is None else max(self.first, spent / 60)
        return min(60 * self.minutes, spent + 60 * min(self.turn, least))


class Trainee(Protocol):
    """A trainer of any game, as turns need it."""

    decisions: int
    rounds: int

    def run_generation(self) -> Any:
        """Play one generation, and learn from it or from the one before."""
        ...

    def learn_pending(self) -> Any:
        """Learn from what was played last, if that is still to be done."""
        ...

    def save(self, path: str | Path) -> None:
        """Write a checkpoint."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What a comparison of all recipes came to: tables in Markdown, and the picture that shows them."""

    tables: Sequence[str]


class Course(Protocol):
    """A game in which recipes are trained and compared.

    game: its name. rule: the field of a turn that tells of games against the rule agent, with `net`,
    `net_interval` and `won`. unit: of `net`, in words. opponent: the rule agent's name.
    """

    game: str
    rule: str
    unit: str
    opponent: str

    def wanted(self, plan: Plan, name: str) -> Configuration:
        """Return the training of a recipe as a plan has it."""
        ...

    def begin(self, plan: Plan, name: str) -> Trainee:
        """Return a new trainer of a recipe."""
        ...

    def saved(self, path: Path) -> Configuration:
        """Return the training that a checkpoint was written by."""
        ...

    def load(self, path: Path, plan: Plan, name: str) -> Trainee:
        """Return the trainer of a recipe's checkpoint, with the schedules of a plan."""
        ...

    def against_rule(self, name: str, path: Path, deals: int) -> dict[str, Any]:
        """Return what a recipe's agent comes to against the rule agent, as plain JSON."""
        ...

    def compare(self, plan: Plan, rounds: int, stop: Interruption) -> Outcome | None:
        """Return what all recipes come to against each other, None if it was stopped.

        rounds: deals of each pair. The picture of the ladder is written to the folder.
        """
        ...


def shortened(fields: dict[str, Any], minutes: float) -> dict[str, float]:
    """Return the schedules among the fields of a configuration as they are in a run of so many minutes."""
    return {name: fields[name] * min(1.0, minutes / WHOLE) for name in SCHEDULES if name in fields}


def read_turns(folder: Path) -> dict[str, list[Turn]]:
    """Return the turns so far by recipe, oldest first."""
    found: dict[str, list[Turn]] = {}
    path = folder / TURNS
    for line in read_bytes(path).splitlines() if path.exists() else ():
        row = json.loads(line)
        found.setdefault(row["recipe"], []).append(row)
    return found


def _check_begun(course: Course, plan: Plan, name: str, path: Path) -> None:
    """Raise UsageError where a recipe was begun with other fields than a plan has; schedules may move."""
    saved, wanted = course.saved(path).to_json(), course.wanted(plan, name).to_json()
    for field in wanted:
        if field not in SCHEDULES and saved[field] != wanted[field]:
            raise click.UsageError(
                f"{plan.folder}: {name} was begun with {field}={saved[field]}, and would continue "
                f"with {wanted[field]}; use the --set that it was begun with, or name another folder"
            )


def _take_turn(course: Course, plan: Plan, name: str, before: list[Turn], stop: Interruption) -> bool:
    """Train one recipe for a turn; return whether it came to its end.

    All that was played is learned from before the turn ends, within its time: a checkpoint does not hold it.
    """
    folder = check_folder(plan.folder / name)
    spent = float(before[-1]["processor_seconds"]) if before else 0.0
    if before:
        trainer = course.load(folder / before[-1]["file"], plan, name)
    else:
        trainer = course.begin(plan, name)
        _keep(course, plan, name, trainer, (0, 0.0))
    until = plan.next_end(spent)
    while True:  # however short a turn is, it has a generation
        spent += _seconds(trainer.run_generation, stop)
        if spent >= until:
            break
    spent += _seconds(trainer.learn_pending, stop)
    _keep(course, plan, name, trainer, (len(before) or 1, spent))
    if before:
        _remove(folder / before[-1]["file"])
    return spent >= 60 * plan.minutes


def _seconds(step: Callable[[], Any], stop: Interruption) -> float:
    """Return what a step of training took of the processor; a signal ends it at once."""
    began = time.process_time()
    with stop.at_once():
        step()
    return time.process_time() - began


def _keep(course: Course, plan: Plan, name: str, trainer: Trainee, at: tuple[int, float]) -> None:
    """Save a checkpoint, then tell of it. at: the turn's number, and the seconds spent so far."""
    turn, spent = at
    path = plan.folder / name / f"turn-{turn:04d}.safetensors"
    trainer.save(path)
    found = course.against_rule(name, path, plan.deals)
    row = {
        "recipe": name,
        **({} if course.game == GUANDAN else {"game": course.game}),
        "file": path.name,
        "processor_seconds": spent,
        "decisions": trainer.decisions,
        "rounds": trainer.rounds,
        course.rule: found,
    }
    with LineFile(plan.folder / TURNS) as file:
        file.append([json.dumps(row)])
    told = f"{spent / 60:.1f} min, {trainer.decisions:,} decisions, {course.opponent} {found['net']:+.2f}"
    stderr().print(f"{name}: {told}")


def _remove(path: Path) -> None:
    for each in (path, path.with_suffix(".json")):
        each.unlink(missing_ok=True)


def train_in_turns(course: Course, plan: Plan, stop: Interruption) -> dict[str, list[Turn]]:
    """Return all turns once every recipe has had its minutes.

    Raises UsageError for a folder with turns of another game or of other settings, Interrupted where it is
    stopped; what was told in the folder stays.
    """
    for row in (row for rows in read_turns(plan.folder).values() for row in rows):
        if row.get("game", GUANDAN) != course.game:
            raise click.UsageError(
                f"{plan.folder} holds turns of {row.get('game', GUANDAN)}; got --game {course.game}; name "
                "another folder"
            )
    for name in plan.names:
        if begun := read_turns(plan.folder).get(name):
            _check_begun(course, plan, name, plan.folder / name / begun[-1]["file"])
    left = list(plan.names)
    while left:
        for name in tuple(left):
            before = read_turns(plan.folder).get(name, [])
            done = before and before[-1]["processor_seconds"] >= 60 * plan.minutes
            if done or _take_turn(course, plan, name, before, stop):
                left.remove(name)
    return read_turns(plan.folder)
