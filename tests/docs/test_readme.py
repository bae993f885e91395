"""The programs in Python that the README and other pages show run, and print what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run_page(page: str, changes: dict[str, str] | None = None) -> dict[str, Any]:
    """Run the only program in Python of a page, or the first below `page#HEADING`; return its names."""
    name, _, heading = page.partition("#")
    text = (ROOT / name).read_text(encoding="utf-8").partition(heading or "#")[2]
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert heading or len(code) == 1
    for old, new in (changes or {}).items():
        assert old in code[0]
        code[0] = code[0].replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(code[0], page, "exec"), names)
    return names


def test_the_program_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_page("README.md")["result"]
    rows = re.findall(r"^(?:fold|call|raise) +([\d.]+) +([\d.]+)", (ROOT / "README.md").read_text(), re.M)
    for shares, shown in ((result.blueprint, 0), (result.refined, 1)):
        assert [round(share, 4) for share in shares.values()] == [float(row[shown]) for row in rows]
    assert min(result.margins) > 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_program_about_exploitation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/how-to/exploit.md", {"minutes=0.05": "minutes=0.01"})
    assert "of the exploitability" in capsys.readouterr().out


def test_guandan_is_played_and_searched_on_its_page_as_any_other_game(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = run_page("docs/how-to/guandan_agent.md### GuanDan as any other game")
    assert names["match"].net.mean() > 0
    assert sum(names["result"].refined.values()) == pytest.approx(1)
    assert names["result"].sampled.histories > 0
    played, move = capsys.readouterr().out.splitlines()
    assert played.endswith("levels a round") and move in names["result"].refined
