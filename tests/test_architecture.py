"""The imports run one way, and the command line starts light."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "games": {"games"},
    "cfr": {"cfr", "games"},
    "blueprint": {"blueprint", "games"},
    "gs2": {"gs2", "cfr", "games", "blueprint"},
    "experiments": {"experiments", "gs2", "cfr", "games", "blueprint"},
}
HEAVY = {"torch", "numba", "matplotlib", "sklearn", "scipy", "pyspiel", "websockets", "msgspec", "pettingzoo"}


def imported_packages(path: Path) -> set[str]:
    """Return the top-level packages that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        wrong = (imported_packages(path) & set(MAY_IMPORT)) - MAY_IMPORT[package]
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_generic_search_sees_only_the_blueprint_protocol() -> None:
    for path in (ROOT / "gs2").glob("*.py"):
        if path.name == "policy_spec.py":  # blueprints by name, for the commands
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("blueprint"):
                assert node.module in {"blueprint.protocol", "blueprint.tabular"}, path.name


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from gs2.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if '.' not in m))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()[-1]
    loaded = set(ast.literal_eval(out))
    assert not loaded & (HEAVY | {"numpy"}), loaded & HEAVY


def test_every_package_is_listed_for_the_wheel() -> None:
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for package in MAY_IMPORT
        for path in (ROOT / package).rglob("__init__.py")
    }
    assert listed == found


@pytest.mark.parametrize("package", ["games", "cfr", "gs2"])
def test_every_exported_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert set(dir(module)) == set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing
