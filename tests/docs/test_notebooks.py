"""The notebooks run from top to bottom, and print what they show."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gs2.guandan.agent.guandan_config import agent_preset
from tests.docs.notebooks import NOTEBOOKS, same_but_for_rounding

TOLERANCE = 0.02
"""Other processors sum in another order: figures may differ by so much, words may not."""
COUNTED = ("guandan_decision",)
"""Notebooks that count deals by what a network's play makes of each: rounding tips some."""
COUNTED_TOLERANCE = 0.11
LARGEST = 200_000
"""Bytes of a notebook with its pictures."""


def is_as_shown(path: Path, out: str, shown: str) -> bool:
    counts = path.stem in COUNTED
    return same_but_for_rounding(out, shown, COUNTED_TOLERANCE if counts else TOLERANCE, counts)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs gs2[plots]")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.some(1)
def test_the_code_of_a_notebook_prints_and_draws_what_it_shows(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in this process, which has imported all; a kernel of its own takes twice the time."""
    import matplotlib.pyplot as plt

    monkeypatch.chdir(path.parent)
    plt.switch_backend("agg")
    names: dict[str, Any] = {}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        code = "".join(line for line in cell["source"] if not line.startswith("%"))
        exec(compile(code, f"{path.name}[{number}]", "exec"), names)
        shown = "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        out = capsys.readouterr().out
        assert is_as_shown(path, out, shown), out
        pictures = sum(output["output_type"] == "display_data" for output in cell["outputs"])
        assert len(plt.get_fignums()) == pictures, f"cell {number}"
        plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_has_its_pictures(path: Path) -> None:
    assert path.stat().st_size <= LARGEST
    outputs = [o for cell in json.loads(path.read_text())["cells"] for o in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 3
    assert not any(output["output_type"] == "error" for output in outputs)


def test_the_guandan_notebook_says_whether_its_agent_solves_a_subgame() -> None:
    [path] = [path for path in NOTEBOOKS if path.stem == "guandan_decision"]
    cells = json.loads(path.read_text())["cells"]
    told = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert agent_preset("standard").method == "subgame"
    assert "solves a subgame" in " ".join(told.split()) and "solves no subgame" not in told


def test_texts_are_the_same_up_to_rounding() -> None:
    assert same_but_for_rounding("wins 0.123 of 1,000", "wins 0.125 of 1,000", 0.01)
    assert not same_but_for_rounding("wins 0.123", "wins 0.153", 0.01)
    assert not same_but_for_rounding("wins 0.123", "loses 0.123", 0.01)
    assert not same_but_for_rounding("wins 0.123", "wins", 0.01)
    assert same_but_for_rounding("better in 68 of 96", "better in 71 of 96", 0.02, counts=True)
    assert not same_but_for_rounding("better in 68 of 96", "better in 78 of 96", 0.02, counts=True)
    assert not same_but_for_rounding("wins 4.0", "wins 3.0", 0.02, counts=True)
