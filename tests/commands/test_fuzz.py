"""Random command lines, most of them nonsense: refused in words, or run; never a traceback, never a hang."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import pytest

from gs2.startup.refusals import refusals
from tests.commands.fuzz_lines import Drawn
from tests.commands.runner import gs2
from tests.commands.tree import COMMANDS
from tests.forked import run_module


def test_every_command_is_met() -> None:
    draw = Drawn(np.random.default_rng(0))
    paths = sorted((path for path, _ in COMMANDS), key=len, reverse=True)
    met = {
        next((path for path in paths if tuple(line[: len(path)]) == path), None)
        for line in (draw.line() for _ in range(3000))
    }
    assert set(paths) <= met


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 81))])
def test_random_command_lines_are_answered_in_words(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run_module("tests.commands.fuzz_lines", str(seed), cwd=tmp_path)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def test_a_kernel_that_is_interrupted_as_it_returns_is_an_interruption() -> None:
    @click.command(cls=click.Command)
    def stopped() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(SystemExit) as ending, refusals():
        stopped.main([], standalone_mode=False)
    assert ending.value.code == 130


def test_an_interruption_while_an_object_is_deleted_is_one() -> None:
    class Held:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass

    @click.command(cls=click.Command)
    def stopped() -> None:
        held = [Held()]
        held.clear()
        time.sleep(60)

    with pytest.raises(SystemExit) as ending, refusals():
        stopped.main([], standalone_mode=False)
    assert ending.value.code == 130


def test_an_error_that_an_interruption_leaves_behind_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from gs2.commands.games import infosets

    def torn(**words: object) -> None:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        raise RuntimeError("element 0 of tensors does not require grad")

    monkeypatch.setattr(infosets, "callback", torn)
    done = gs2("infosets", "kuhn_poker")
    assert done.exit_code == 130 and "interrupted" in done.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setattr(infosets, "callback", lambda **words: 1 / 0)
    assert isinstance(gs2("infosets", "kuhn_poker").exception, ZeroDivisionError)
