"""Commands run in this process, as a person types them, and in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from gs2.cli import main

TINY = (
    *("--set", "rounds=4", "--set", "batch=64", "--threads", "1", "--evaluate-minutes", "0"),
    *("--network", "state=16", "--network", "blocks=1", "--network", "action=16", "--network", "critic=16"),
)
"""Options of `gs2 train` with which a network of GuanDan is made at once."""


def gs2(*words: object) -> Result:
    """Return what `gs2 WORDS…` prints and how it ends."""
    return CliRunner().invoke(main, [str(word) for word in words])


def ran(*words: object) -> Result:
    """Return what a command that must succeed prints."""
    result = gs2(*words)
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result


def refused(*words: object) -> str:
    """Return the error of a command that must be refused, on one line: exit code 2, and nothing else said."""
    result = gs2(*words)
    assert result.exit_code == 2, (words, result.output, result.exception)
    assert result.stdout == "" and "Traceback" not in result.stderr, (words, result.output)
    return " ".join(result.stderr.split())


def one_line(*words: object) -> str:
    """Return the error of a command that must be refused in one line, before any work."""
    result = gs2(*words)
    assert result.exit_code == 2 and result.stdout == "", (words, result.output, result.exception)
    (line,) = result.stderr.strip().splitlines()
    return line


def as_json(*words: object) -> Any:
    """Return what a command that must succeed prints as JSON."""
    return json.loads(ran(*words, "--json").stdout)


def started(*words: object, code: str = "", cwd: Path | None = None) -> subprocess.Popen[str]:
    """Return `gs2 WORDS…` in a process of its own, which leads its group. code: what is run before."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{code}\nfrom gs2.cli import main\nmain()", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
