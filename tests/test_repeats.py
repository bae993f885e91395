"""A test that passes only when it is run once more is listed with the reason why it had failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
TEST = """
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


def test_a_repeat_is_listed_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "test_repeated.py"
    file.write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "1", str(file)],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.partition("reasons of repeats")[2]
    for name, when, words in (("it", "call", "first"), ("what_it_leaves", "teardown", "last")):
        listed = rf"::test_{name} \({when}\): \S*test_repeated.py:\d+\n +\S*.*the {words} time"
        assert re.search(listed, said), done.stdout
