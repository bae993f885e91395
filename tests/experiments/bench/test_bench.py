"""What a bench must be: ours are held to it, and what is none is told which rule it breaks."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import click
import pytest
from rich.table import Table

from experiments.bench import benches
from experiments.bench.bench import GROUP, BenchError, SpeedBench, check_bench
from experiments.bench.guandan import benches as guandan
from experiments.browser_load import WEB

OURS = [
    *(one for module in (benches, guandan) for one in vars(module).values() if isinstance(one, SpeedBench)),
    WEB,
]


class Good:
    name = "good"
    title = "Good"
    help = "Measure nothing."
    about = "Not at all."
    options = (click.Option(["--often"], is_flag=True),)

    def run(self, progress: Any, *, often: bool) -> int:
        return 1

    def tables(self, result: int) -> list[Table]:
        return []


@pytest.mark.parametrize("bench", OURS, ids=lambda bench: bench.name)
def test_our_benches_keep_the_rules(bench: Any) -> None:
    check_bench(bench)
    assert bench.help.startswith("Measure ")


def test_each_of_our_benches_is_offered_under_its_name() -> None:
    offered = {
        entry.name: entry.load() for entry in entry_points(group=GROUP) if "experiments" in entry.value
    }
    assert {bench.name: bench for bench in OURS} == offered


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "Two Words"}, "small letters"),
        ({"name": None}, "name must be text"),
        ({"help": " "}, "help must be text"),
        ({"options": None}, "options must be a sequence"),
        ({"options": (click.Option(["--json", "as_json"]),)}, "every bench's own options"),
        ({"options": (click.Option(["--seldom"]),)}, "run must take"),
        ({"run": None}, "run must be a method"),
        ({"tables": lambda result, more: []}, "tables a result"),
    ],
)
def test_what_is_no_bench_is_told_why(change: dict[str, Any], says: str) -> None:
    check_bench(Good())
    bad = Good()
    for name, value in change.items():
        setattr(bad, name, value)
    with pytest.raises(BenchError, match=says):
        check_bench(bad)
