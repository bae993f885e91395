"""The table of studies names each of them, and one writes its report from the rows that are kept."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from studies.agent.ablate_agent import ablate_guandan

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"


def test_the_table_of_studies_names_every_program_and_no_other() -> None:
    programs = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "studies").rglob("*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    }
    table = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`python -m ([\w.]+)`", table)) == programs


def test_the_report_of_the_agents_parts_is_made_from_its_rows(tmp_path: Path) -> None:
    files = ("choices", "deep", "early-std", "fast", "std", "std183", "fast326", "std326", "std1215")
    words = [str(RESULTS / "rows" / "agent" / f"{name}.jsonl.gz") for name in files]
    made = tmp_path / "made.md"
    done = CliRunner().invoke(ablate_guandan, ["report", *words, "-o", str(made)])
    assert done.exit_code == 0, done.output
    assert made.read_text() == (RESULTS / "ABLATIONS_GUANDAN.md").read_text()
