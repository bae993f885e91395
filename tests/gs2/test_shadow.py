"""A folder of somebody's that is called as a package of ours is named, not imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

WAYS = {
    "module": [sys.executable, "-m", "gs2", "games"],
    "file of the command line": [sys.executable, "-m", "gs2.cli", "games"],
    "script": [str(Path(sys.executable).with_name("gs2")), "games"],
}


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{path}" if "-m" not in command else path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize(("way", "name"), [*zip(WAYS, ["games", "cfr", "blueprint"], strict=True)])
def test_a_folder_that_hides_a_package_is_named_in_one_line(way: str, name: str, tmp_path: Path) -> None:
    if not Path(WAYS[way][0]).exists():
        pytest.skip("gs2 is not installed as a script here")
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = run(WAYS[way], tmp_path)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert str((tmp_path / name).resolve()) in line and f"hides the package '{name}'" in line
    assert "another folder" in line


def test_a_file_that_hides_a_package_is_named_where_gs2_is_imported(tmp_path: Path) -> None:
    (tmp_path / "games.py").write_text("")
    done = run([sys.executable, "-m", "timeit", "-n", "1", "-r", "1", "import gs2"], tmp_path)
    assert done.returncode != 0
    assert "HiddenPackageError" in done.stderr and "games.py hides the package 'games'" in done.stderr


def test_records_and_what_a_command_does_not_need_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("")
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "room00001.jsonl").write_text("")
    done = run(WAYS["module"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "leduc_poker" in done.stdout
