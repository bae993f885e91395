"""What the README shows works."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from gs2.cli import main

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_python_example_runs_and_refines(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    before, after = (
        names["cfr"].best_response_values(names["tree"], policy)[0]
        for policy in (names["blueprint"], names["refined"].policy)
    )
    assert after < before - 0.1, "the opponent gains less against the refined policy"
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_every_command_named_is_there() -> None:
    named = set(re.findall(r"`gs2 ([a-z]+)", README))
    commands = set(main.list_commands(click.Context(main)))
    assert named <= commands, named - commands
    assert commands <= named, "the README names every command"
