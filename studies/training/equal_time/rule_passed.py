"""When a learning curve passes the rule agent: minutes of the processor until its games come to above zero.

The time is read off the curve, which is straight between two turns: where it first comes to zero payoff a
game on the way to a turn above zero. Its range is where the ends of the turns' 95 % intervals do so. Luo and
Tan (2024, tables 8 and 9) add the days until the points against three programs are zero, and report 25.5 % of
those of the plain network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.markdown import markdown_table
from studies.training.equal_time.turns import RIVAL, Course, Turn

__all__ = ["Passing", "first_above", "passing_table", "time_until_passed"]

PAPER = "25.5 %"


@dataclass(frozen=True)
class Passing:
    """When the rule agent is passed, in minutes of the processor; None where it never was.

    early, late: by the upper and the lower ends of the turns' intervals. trained: minutes in all.
    """

    at: float | None
    early: float | None
    late: float | None
    trained: float


def first_above(minutes: Sequence[float], values: Sequence[float]) -> float | None:
    """Return when a curve first comes to zero on its way to a point above, None where none is above.

    It is straight between its points; one that begins above zero is there at its beginning.
    """
    for k, value in enumerate(values):
        if value > 0:
            if k == 0:
                return float(minutes[0])
            share = -values[k - 1] / (value - values[k - 1])
            return float(minutes[k - 1] + share * (minutes[k] - minutes[k - 1]))
    return None


def time_until_passed(turns: Sequence[Turn], rule: str) -> Passing:
    """Return when a recipe passed the rule agent. rule: the field of a turn that tells of those games."""
    minutes = [row["processor_seconds"] / 60 for row in turns]
    net = [row[rule]["net"] for row in turns]
    low, high = zip(*(row[rule]["net_interval"] for row in turns), strict=True)
    at, early, late = (first_above(minutes, values) for values in (net, high, low))
    return Passing(at, early, late, minutes[-1])


def _minutes(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"


def _share(own: Passing, rival: Passing) -> str:
    """Return the share of the rival's time in words; a bound where one of the two never passed."""
    if own.at is None:
        return f"above {100 * own.trained / rival.at:.1f} %" if rival.at else ""
    if rival.at is None:
        return f"below {100 * own.at / rival.trained:.1f} %"
    return f"{100 * own.at / rival.at:.1f} %" if rival.at else ""


def passing_table(course: Course, turns: dict[str, list[Turn]]) -> str:
    """Return in Markdown when each recipe passed the rule agent, beside the plain network's time."""
    found = {name: time_until_passed(rows, course.rule) for name, rows in turns.items()}
    rows = []
    for name, one in found.items():
        share = _share(one, found[RIVAL]) if RIVAL in found and name != RIVAL else ""
        spread = f"{_minutes(one.early)} to {_minutes(one.late)}"
        rows.append((f"`{name}`", _minutes(one.at), spread, f"{one.trained:.1f}", share))
    heads = ("recipe", f"minutes until {course.opponent} is passed", "by the intervals", "trained")
    table = markdown_table((*heads, f"of {RIVAL}'s"), rows, "lrrrr")
    return f"{table}\n\nThe paper: {PAPER} (odmc, three programs). Curves are straight between two turns."
