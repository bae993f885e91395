"""A test that hangs is ended and named, with the stacks of its threads."""

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
TEST = """
import threading, pytest

def wait():
    threading.Event().wait({patience})

{hangs}
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("where", HANGS)
def test_a_test_that_hangs_is_ended_and_named(tmp_path: Path, where: str) -> None:
    file = tmp_path / "test_hanging.py"
    file.write_text(TEST.format(patience=5 if "loop" in where else PATIENCE, hangs=HANGS[where]))
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-p", "tests.conftest", "-p", "no:cacheprovider", str(file)],
        cwd=ROOT,
        env=os.environ | {LIMITED: "1.5"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "from pytest-timeout" in done.stdout, done.stdout + done.stderr
    assert re.search(r"(FAILED|ERROR) \S*test_hanging.py::test_it", done.stdout), done.stdout
    assert "in wait" in done.stdout or "in a loop" not in where, done.stdout
