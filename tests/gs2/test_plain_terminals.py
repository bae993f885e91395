"""What the commands print comes out on terminals that know few characters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from gs2.cli import main
from gs2.startup.plain import spell
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
LINES = (
    ["solve", "--iterations", "3"],
    ["solve", "--methods"],
    ["games"],
    ["infosets", "leduc_poker", "--limit", "2"],
    ["knowledge", "kuhn_poker", "--infoset", "P0 holds K"],
    ["exploitability", "kuhn_poker", "uniform"],
    ["guandan", "play-random"],
    ["solve", "guandan", "--positions"],
    ["experiment", "refine", "--list"],
    ["bench", "--help"],
    ["solve", "--infoset", "Käse → 🂡"],
    ["games", "kühn"],
)
FEW = (0, 1, 3, 10, 11)
"""Lines with characters of every kind, in tables, sentences and errors."""
CODE = """
from gs2.cli import main
for words in {lines!a}:
    try:
        main(words, standalone_mode=True)
    except SystemExit as end:
        print("code", end.code)
"""


def check(out: str, err: str) -> None:
    """Fail unless the few lines were printed, with what the encoding lacks spelled out."""
    assert "Traceback" not in err
    assert "... and " in out and "…" not in out
    assert 'no infoset is called "K' in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_every_character_is_spelled_on_a_stream_of_few_characters(encoding: str) -> None:
    done = [CliRunner(charset=encoding).invoke(main, LINES[k]) for k in FEW]
    assert [result.exit_code for result in done] == [0, 0, 0, 2, 2], [result.exception for result in done]
    out, err = ("".join(getattr(result, name) for result in done) for name in ("stdout", "stderr"))
    check(out, err)


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        pytest.param({"PYTHONIOENCODING": "ascii"}, range(len(LINES)), marks=pytest.mark.long),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, FEW),
    ],
)
def test_every_character_is_printed_or_spelled(settings: dict[str, str], lines: Sequence[int]) -> None:
    command = [sys.executable, "-c", CODE.format(lines=tuple(LINES[k] for k in lines))]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "LC_ALL")} | settings
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment, timeout=PATIENCE)
    out, err = done.stdout.decode("latin-1"), done.stderr.decode("latin-1")
    assert done.returncode == 0, err
    assert out.count("code 0") == len(lines) - 2 and out.count("code 2") == 2, (out, err)
    check(out, err)


def test_words_are_spelled_and_nothing_else_is_changed() -> None:
    assert spell("0.1 → 0.2 ± 0.01 … 3 µs × 2 –") == "0.1 -> 0.2 +/- 0.01 ... 3 us x 2 -"
    assert spell("plain | text") == "plain | text"
    assert spell("♠") == "?"
