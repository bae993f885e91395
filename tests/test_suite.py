"""What the suite adds to pytest: a test that hangs is ended and named, a repeat is listed with its reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import LIMITED, PATIENCE

ROOT = Path(__file__).parents[1]
HANGS = {
    "in its body": "def test_it(): wait()",
    "in a loop of events": "def test_it():\n    import asyncio\n    asyncio.run(asyncio.to_thread(wait))",
    "in what it is given": "@pytest.fixture\ndef given(): wait()\n\ndef test_it(given): pass",
    "in what it leaves": "@pytest.fixture\ndef given():\n    yield\n    wait()\n\ndef test_it(given): pass",
}
HANGING = """
import threading, pytest

def wait():
    threading.Event().wait({patience})

{hangs}
"""
REPEATED = """
import pytest

tried = []

@pytest.mark.flaky(reruns=1)
def test_it():
    tried.append(1)
    assert len(tried) > 1, "the first time"

@pytest.fixture
def given():
    yield
    tried.append(1)
    assert len(tried) > 3, "the last time"

@pytest.mark.flaky(reruns=1)
def test_what_it_leaves(given): pass
"""


def suite(file: Path, text: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return what a run of a file of tests with this suite's options says."""
    file.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(file.parent),
    ]
    return subprocess.run(
        [*command, "-p", "tests.conftest", "-p", "no:cacheprovider", *words, str(file)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.some(2)
@pytest.mark.parametrize("where", HANGS)
def test_a_test_that_hangs_is_ended_and_named(tmp_path: Path, where: str) -> None:
    text = HANGING.format(patience=5 if "loop" in where else PATIENCE, hangs=HANGS[where])
    done = suite(tmp_path / "test_hanging.py", text, **{LIMITED: "1.5"})
    assert done.returncode == 1 and "from pytest-timeout" in done.stdout, done.stdout + done.stderr
    assert re.search(r"(FAILED|ERROR) \S*test_hanging.py::test_it", done.stdout), done.stdout
    assert "in wait" in done.stdout or "in a loop" not in where, done.stdout


def test_a_repeat_is_listed_with_its_reason(tmp_path: Path) -> None:
    done = suite(tmp_path / "test_repeated.py", REPEATED, "-n", "1", COLUMNS="80")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.partition("reasons of repeats")[2]
    for name, when, words in (("it", "call", "first"), ("what_it_leaves", "teardown", "last")):
        listed = rf"::test_{name} \({when}\): \S*test_repeated.py:\d+\n +\S*.*the {words} time"
        assert re.search(listed, said), done.stdout
