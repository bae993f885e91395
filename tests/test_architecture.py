"""The imports run one way, and the command line starts light."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from tests.house import House, limits, moved

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "games": {"games"},
    "cfr": {"cfr", "games"},
    "blueprint": {"blueprint", "games"},
    "gs2": {"gs2", "cfr", "games", "blueprint"},
    "experiments": {"experiments", "gs2", "cfr", "games", "blueprint"},
}
LAZY = ("games", "cfr", "blueprint", "gs2")
"""Packages whose names are imported on first use."""
HEAVY = {
    "torch",
    "numba",
    "matplotlib",
    "sklearn",
    "scipy",
    "pyspiel",
    "websockets",
    "msgspec",
    "ray",
    "pettingzoo",
    "starlette",
    "uvicorn",
}


@cache
def _read(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the modules that a file imports anywhere, by their full names, and its words of one line."""
    modules, words = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            words.add(node.value)
    return frozenset(modules), frozenset(words)


def imported_modules(path: Path) -> frozenset[str]:
    """Return the modules that a file imports anywhere, by their full names."""
    return _read(path)[0]


def imported_packages(path: Path) -> set[str]:
    """Return the top-level packages that a file imports anywhere."""
    return {name.split(".")[0] for name in imported_modules(path)}


def named_packages(path: Path) -> set[str]:
    """Return the top-level packages of modules that a file names as text, as if to import them."""
    found = set()
    for word in _read(path)[1]:
        module = word.partition(":")[0]
        place = ROOT / module.replace(".", "/")
        dotted = re.fullmatch(r"\w+(\.\w+)+", module) is not None
        if module == "experiments" or (dotted and (place.is_dir() or place.with_suffix(".py").is_file())):
            found.add(module.split(".")[0])
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        wrong = (imported_packages(path) & set(MAY_IMPORT)) - MAY_IMPORT[package]
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"
        wrong = (named_packages(path) & set(MAY_IMPORT)) - MAY_IMPORT[package]
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))} by a string"


SEARCH = ("gs2/search",)


@pytest.mark.parametrize("folder", SEARCH)
def test_generic_search_sees_only_the_blueprint_protocol(folder: str) -> None:
    allowed = {"blueprint.protocol", "blueprint.tabular", "blueprint.check"}
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    for path in files:
        seen = {name for name in imported_modules(path) if name.split(".")[0] == "blueprint"}
        assert seen <= allowed, f"{path.relative_to(ROOT)} imports {', '.join(sorted(seen - allowed))}"


@pytest.mark.parametrize(
    "folder", [*SEARCH, "gs2/policies", "blueprint", "cfr", "gs2/play", "gs2/environments", "gs2/explore"]
)
def test_what_serves_every_game_imports_nothing_of_guandan(folder: str) -> None:
    wings = {"guandan", "papers"}
    files = [path for path in (ROOT / folder).rglob("*.py") if not wings & set(path.relative_to(ROOT).parts)]
    assert files
    for path in files:
        seen = {name for name in imported_modules(path) if "guandan" in name.split(".")}
        assert not seen, f"{path.relative_to(ROOT)} imports {', '.join(sorted(seen))}"


def test_nothing_but_its_table_names_the_wing_of_published_systems() -> None:
    wing, table = ROOT / "blueprint" / "papers", ROOT / "blueprint" / "paper_parts.py"
    for package in MAY_IMPORT:
        for path in (ROOT / package).rglob("*.py"):
            if wing in path.parents or path == table:
                continue
            modules, words = _read(path)
            wrong = sorted(name for name in modules | words if name.startswith("blueprint.papers"))
            assert not wrong, f"{path.relative_to(ROOT)} names {', '.join(wrong)}; ask `paper_part` for it"


@pytest.mark.parametrize("words", ["", "'bench', ", "'experiment', "])
def test_help_loads_nothing_heavy(words: str) -> None:
    code = (
        "import sys; from gs2.cli import main\n"
        f"try: main([{words}'--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if '.' not in m))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()[-1]
    loaded = set(ast.literal_eval(out))
    assert not loaded & (HEAVY | {"numpy"}), loaded & HEAVY


@pytest.mark.parametrize("package", LAZY)
def test_every_exported_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ and dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


@pytest.mark.parametrize("package", LAZY)
def test_no_module_hides_an_exported_name(package: str) -> None:
    modules = {path.stem for path in (ROOT / package).iterdir()}
    hidden = modules & set(importlib.import_module(package).__all__)
    assert not hidden, f"importing {package}.{min(hidden, default='')} would replace the name by the module"


@pytest.mark.parametrize("package", LAZY)
def test_a_package_imports_none_of_its_modules_before_they_are_asked_for(package: str) -> None:
    code = f"import sys, {package}; print([m for m in sys.modules if m.split('.')[0] in {[*MAY_IMPORT]}])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(ast.literal_eval(out.stdout)) <= {package, "gs2.startup", "gs2.startup.shadow"}


def test_a_stub_says_what_its_package_exports_and_the_wheel_holds_it() -> None:
    import tomllib

    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for package in LAZY:
        assert {"py.typed", "*.pyi"} <= set(data[package])
        stub = ast.parse((ROOT / package / "__init__.pyi").read_text())
        names = [alias for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
        assert all(alias.asname == alias.name for alias in names), (
            "`as` tells type checkers that it is exported"
        )
        assert {alias.name for alias in names} == set(importlib.import_module(package).__all__)


def test_no_count_of_the_house_grows_and_a_fall_is_kept() -> None:
    counts = {what: len(found) for what, found in House(ROOT).counts().items()}
    kept = {what: limit for what, limit in limits().items() if not what.startswith("mypy")}
    assert kept.keys() <= counts.keys()
    assert not moved({what: counts[what] for what in kept}, kept)


def test_the_house_counts_what_is_put_into_a_small_one(tmp_path: Path) -> None:
    files = {
        "one/__init__.py": "",
        "one/low.py": "if TYPE_CHECKING:\n    from one.high import thing\ndef _hidden(): pass\n",
        "one/high.py": "from one.low import _hidden\n",
        "one/deep/low.py": "def kernel(): pass\n",
        "two/__init__.py": "",
        "two/__init__.pyi": "from .inner import thing as thing\n",
        "one/late.py": "def f():\n    from one import late_too\n",
        "one/late_too.py": "from one import late\nlate._x\n" + "\n" * 400,
        "tests/test_one.py": "from one.low import _hidden\n",
        "one/guandan/deep.py": "from one.arena import guandan\n",
        "one/arena.py": "def guandan(): pass\n",
        "two/game_arena.py": "from one.deep.low import kernel\nimport gs2.commands.common\n",
        "one/deep/up.py": "from two.game_arena import kernel\n",
        "one/divert.py": "class Long:\n    def make_context(self): pass\n",
        "blueprint/papers/system.py": "\n" * 101,
        "two/inner.py": "import two\nclass OneAgent(Protocol): pass\nclass OtherAgent(Protocol[T]): pass\n"
        "class RealAgent(OneAgent): pass\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house = House(tmp_path, ("one", "two", "blueprint"))
    assert house.private_imports(house.modules) == [
        "one/high.py: one.low._hidden",
        "one/late_too.py:2: one.late._x",
    ]
    assert house.private_imports(house.tests) == ["tests/test_one.py: one.low._hidden"]
    assert house.cycles({"load"}) == []
    assert house.hundreds() == {"one": 5, "two": 1, "blueprint": 0, "blueprint/papers": 2}
    assert house.doubled() == ["arena: two/game_arena.py"]
    assert house.agent_protocols() == ["two/inner.py: OneAgent", "two/inner.py: OtherAgent"]
    assert house.naming("guandan") == ["one/arena.py"]
    assert house.mutual() == ["one/deep <-> two"]
    small = [line.partition(":")[0] for line in house.small()]
    assert house.small()[0] == "one/arena.py: 1 lines, for one.guandan.deep" and len(small) == 7
    assert "one/late_too.py" not in small and "one/divert.py" not in small
    assert house.sparse() == ["blueprint/papers: 1", "one/deep: 2", "one/guandan: 1", "two: 2"]
    assert house.diverting() == ["one/divert.py:2"]
    assert house.commanding() == ["two/game_arena.py: gs2.commands.common"]
    assert sorted(house.cycles({"load", "type"})) == ["one.high <-> one.low", "two <-> two.inner"]
    assert "one.late <-> one.late_too" in house.cycles({"load", "type", "lazy"})


def test_a_count_that_rises_is_a_fault_and_one_that_falls_lowers_its_limit() -> None:
    assert moved({"steps": 3}, {"steps": 3}) == []
    assert moved({"steps": 4}, {"steps": 3})[0].startswith("steps: at most 3; got 4")
    assert moved({"steps": 2}, {"steps": 3})[0].startswith("steps: down to 2 from 3")
    assert moved({"stairs": 1}, {})[0].startswith("stairs: at most 0; got 1")


def functions(package: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what can be called of what a package exports, and the classes themselves for their fields."""
    for name in package.__all__:
        found = getattr(package, name)
        if inspect.isfunction(found) or inspect.isclass(found):
            yield name, found
        if inspect.isclass(found):
            for method, function in vars(found).items():
                function = function.fget if isinstance(function, property) else function
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    yield f"{name}.{method}", function


def types_of(hint: Any) -> Iterator[type]:
    """Yield our classes in a type hint, those within others included."""
    if isinstance(hint, type) and hint.__module__.partition(".")[0] in LAZY:
        yield hint
    for part in get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from types_of(inner)


@pytest.mark.parametrize("name", LAZY)
def test_every_type_in_a_public_signature_is_importable_from_its_package(name: str) -> None:
    everything = {
        exported: getattr(package, exported)
        for package in map(importlib.import_module, LAZY)
        for exported in package.__all__
    }
    missing, seen = {}, 0
    for called, function in functions(importlib.import_module(name)):
        for hint in get_type_hints(inspect.unwrap(function), localns=everything).values():
            for found in types_of(hint):
                seen += 1
                package = importlib.import_module(found.__module__.partition(".")[0])
                if not found.__name__.startswith("_") and getattr(package, found.__name__, None) is not found:
                    missing[f"{found.__module__}.{found.__name__}"] = called
    assert seen > 5 and missing == {}
