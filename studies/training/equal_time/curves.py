"""Learning curves: what recipes come to against the rule agent, by minutes of the processor."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.training.equal_time.turns import Course, Turn

__all__ = ["learning_curves"]


def learning_curves(course: Course, turns: dict[str, list[Turn]], path: Path) -> None:
    """Draw a line a recipe, with 95 % intervals; needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, rows in turns.items():
        x = [row["processor_seconds"] / 60 for row in rows]
        y = np.array([row[course.rule]["net"] for row in rows])
        low, high = np.array([row[course.rule]["net_interval"] for row in rows]).T
        axes.errorbar(
            x, y, [np.maximum(y - low, 0), np.maximum(high - y, 0)], marker="o", capsize=2, label=name
        )
    axes.axhline(0, color="0.7", linewidth=0.8)
    axes.set(xlabel="minutes of one processor", ylabel=f"{course.unit} against {course.opponent}")
    axes.legend(frameon=False)
    figure.savefig(path)
