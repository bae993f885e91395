"""Compiling is said once: driven by events and a clock of the test's own, and by Numba."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from games.support import compiling
from games.support.compiling import EVERY, PATIENCE, VARIABLE, Compiling
from gs2.commands.groups import Boundary
from tests.forked import run_module


class Clock:
    """A clock that the test moves, and what is to be called when it gets there."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        entry = (self.now + seconds, call)
        self.calls.append(entry)
        return lambda: self.calls.remove(entry) if entry in self.calls else None

    def forward(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [entry for entry in self.calls if entry[0] <= end]:
            entry = min(due, key=lambda entry: entry[0])
            self.calls.remove(entry)
            self.now = entry[0]
            entry[1]()
        self.now = end


def test_generated_runs_of_compiling_are_said_by_their_sum(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for run in range(50):
        clock, said = Clock(), list[str]()
        heard = Compiling(str(tmp_path / str(run)), said.append, clock, clock.later)
        total = 0.0
        for seconds in rng.exponential(rng.choice([0.05, 2.0, 8.0]), int(rng.integers(1, 9))):
            heard.began()
            for _ in range(int(rng.integers(3))):  # functions that this one calls
                heard.began()
                heard.ended()
            clock.forward(float(seconds))
            heard.ended()
            total += float(seconds)
            clock.forward(100.0)  # other work is not compiling
        lines = 0 if total < PATIENCE else 1 + int((total - PATIENCE) // EVERY)
        assert len(said) == lines and said[:1] == ["compiling, this once …"][:lines]
        assert said[1:] == [f"compiling, this once: {PATIENCE + EVERY * k:.0f} s" for k in range(1, lines)]


def test_of_several_processes_one_speaks(tmp_path: Path) -> None:
    clock, said = Clock(), list[tuple[int, str]]()

    def speaker(number: int) -> Callable[[str], None]:
        return lambda text: said.append((number, text))

    several = [Compiling(str(tmp_path / "said"), speaker(number), clock, clock.later) for number in range(4)]
    for one in several:
        one.began()
    clock.forward(PATIENCE + 2 * EVERY)
    assert len(said) == 3 and len({number for number, _ in said}) == 1


KERNEL = """
from games.support.kernel import kernel

@kernel
def plus(value):
    return value + 1
"""


def loaded(file: Path) -> Callable[[int], int]:
    """Return the kernel in a file, as a process that just imported it has it."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[int], int] = module.plus
    return found


class AtOnce:
    """A timer that calls within `start` if nothing is to be waited for, and else never."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self.daemon = seconds, call, False

    def start(self) -> None:
        if self.seconds <= 0:
            self.call()

    def cancel(self) -> None: ...


def test_a_command_says_what_numba_compiles_and_not_what_it_loads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    monkeypatch.setattr("games.support.compiling.threading.Timer", AtOnce)
    (tmp_path / "made.py").write_text(KERNEL)

    @click.command(cls=Boundary)
    def work() -> None:
        click.echo(loaded(tmp_path / "made.py")(1))

    first, second = (CliRunner().invoke(work, []) for _ in range(2))
    assert first.stderr == "compiling, this once …\n" and first.stdout == "2\n"
    assert second.stderr == "" and second.stdout == "2\n"
    assert VARIABLE not in os.environ


def test_a_process_that_a_command_starts_speaks_for_it(tmp_path: Path) -> None:
    said = tmp_path / "said"
    (tmp_path / "made.py").write_text(
        f"import os; os.environ['{VARIABLE}'] = {str(said)!r}\n"
        "from games.support import compiling\ncompiling.PATIENCE = 0.0\n"
        f"compiling.listen()  # as when it is imported\n{KERNEL}\nplus(1)\n"
    )
    done = run_module("made", cwd=tmp_path)
    assert done.stderr == "compiling, this once …\n" and said.exists()
