"""What is built: every module, the data that they read, and none of the measured results."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import PACKAGES

ROOT = Path(__file__).parent.parent
DATA = {
    "blueprint/MODEL_CARD.md",
    *(
        f"blueprint/weights/{game}.{kind}"
        for game in ("big2", "big2-of-two", "doudizhu")
        for kind in ("json", "safetensors")
    ),
    "blueprint/weights/guandan-quick.json",
    "blueprint/weights/guandan-quick.safetensors",
    "blueprint/weights/guandan.json",
    "blueprint/weights/guandan.safetensors",
    "games/climbing/doudizhu/rulings.json",
    "games/research/research_games.json",
    "gs2/guandan/positions.json",
    "gs2/guandan/beliefs/BELIEFS.md",
    "gs2/guandan/beliefs/beliefs.safetensors",
    "gs2/guandan/beliefs/deals.safetensors",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Yield the wheel built from a copy of the sources, with results beside them as in a checkout."""
    pytest.importorskip("setuptools", minversion="77")
    place = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    code = "import setuptools.build_meta as build; build.build_wheel('dist')"
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (place / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


def test_the_wheel_holds_every_module_and_stub(wheel: zipfile.ZipFile) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for kind in ("*.py", "*.pyi", "py.typed")
        for path in (ROOT / name).rglob(kind)
    }
    assert not wanted - set(wheel.namelist())


def test_the_wheel_holds_data_that_is_read_and_no_results(wheel: zipfile.ZipFile) -> None:
    others = {
        name
        for name in wheel.namelist()
        if not name.endswith((".py", ".pyi", "/py.typed")) and ".dist-info/" not in name
    }
    client = {f.relative_to(ROOT).as_posix() for f in (ROOT / "gs2/web/static").rglob("*") if f.is_file()}
    assert len(client) > 20
    assert others == DATA | client


def test_every_entry_point_names_a_module_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    (listed,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    entries = configparser.ConfigParser()
    entries.read_string(wheel.read(listed).decode())
    assert {"console_scripts", "gs2.commands", "gs2.experiments", "gs2.benches"} <= set(entries.sections())
    for group in entries.sections():
        for value in entries[group].values():
            module = value.partition(":")[0].replace(".", "/")
            assert f"{module}.py" in wheel.namelist(), value
