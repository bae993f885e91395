"""What the README shows works."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from gs2.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()


def test_the_python_example_runs_and_refines(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    result = names["result"]
    assert [round(share, 4) for share in result.blueprint.values()] == _shown("blueprint")
    assert [round(share, 4) for share in result.refined.values()] == _shown("refined")
    assert min(result.margins) > 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def _shown(column: str) -> list[float]:
    """Return a column of the actions that the README prints."""
    rows = re.findall(r"^(?:fold|call|raise) +([\d.]+) +([\d.]+)", README, re.M)
    return [float(row[("blueprint", "refined").index(column)]) for row in rows]


def test_every_command_named_is_there() -> None:
    named = set(re.findall(r"`gs2 ([a-z]+)", COMMANDS))
    commands = set(main.list_commands(click.Context(main)))
    assert named <= commands, named - commands
    assert commands <= named, "the page of commands names every one"


def test_guandan_is_played_and_searched_on_its_page_as_any_other_game(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / "docs" / "how-to" / "guandan_agent.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"## GuanDan as any other game.*?```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(compile(code, "guandan_agent.md", "exec"), names)
    assert names["match"].net.mean() > 0
    assert sum(names["result"].refined.values()) == pytest.approx(1)
    assert names["result"].sampled.histories > 0
    played, move = capsys.readouterr().out.splitlines()
    assert played.endswith("levels a round") and move in names["result"].refined
