"""A plan of trainings from its first turn to its page: trained, compared, written down, or interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from games.support.files import write_text
from games.support.interruption import Interrupted
from games.support.locks import hold
from gs2.commands.common import Interruption, stderr
from studies.training.equal_time.curves import learning_curves
from studies.training.equal_time.turns import Course, Plan, Turn, train_in_turns

__all__ = ["run_plan"]

Turns = dict[str, list[Turn]]


def _nothing(turns: Turns) -> Sequence[str]:
    return ()


def run_plan(
    course: Course,
    plan: Plan,
    rounds: int,
    page: str,
    more: Callable[[Turns], Sequence[str]] = _nothing,
) -> str:
    """Return what all that a plan trains comes to, as Markdown; go on from what its folder holds.

    rounds: deals of each pair at the end. page: the file of the folder that gets the text. more: further
    tables, from the turns of those trained. The learning curves are drawn into the folder, too.
    Raises SystemExit once a signal has stopped it, after saying how to go on, and UsageError for a folder of
    another plan.
    """
    with hold(plan.folder, folder=True), Interruption() as stop:
        try:
            all_turns = train_in_turns(course, plan, stop)
            found = course.compare(plan, rounds, stop)
        except Interrupted:
            found = None
        if found is None:
            stderr().print("interrupted; the same command continues from there")
            raise SystemExit(stop.exit_code)
        turns = {name: all_turns[name] for name in plan.names}
        text = "\n\n".join([*found.tables, *more(turns)])
        write_text(plan.folder / page, text + "\n")
        learning_curves(course, turns, plan.folder / "curves.svg")
    return text
