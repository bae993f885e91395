"""How the house stands, counted: lines, mechanisms built twice, games named outside their wing, cycles.

    python -m tests.house            the counts, beside the limits that CI does not let grow
    python -m tests.house --names    and what is behind every count
    python -m tests.house --write    lower the limits to the counts of today
    python -m tests.house --root DIR counts another checkout

The counts need nothing but the source, so they can be taken of any commit. `tests/test_architecture.py` holds
those in `tests/house.json` to their limits, which only fall. A change that needs more lines of a package
removes others, or raises the limit and says why.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_name("house.json")
PACKAGES = ("games", "cfr", "blueprint", "gs2", "experiments")
PAPERS = "blueprint/papers"
"""A wing that may be missing, counted apart."""
HUNDRED = 100
"""Lines that a budget is counted by, so that not every change moves one."""
MECHANISMS = {
    "arena": r"(game_)?(arena|match)",
    "duplicate or ladder": r"(game_)?ladder|duplicate",
    "gate": r"(game_)?gate",
    "agents by name": r"named_agents|agent_names|network_names|named_agent",
    "record": r"record|record_file|record_lines|round_record|move_record",
    "environment": r"env|game_env",
    "trainer": r"trainer|move_trainer|game_training|research_training",
    "table in the browser": r"person_table|game_table|house|game_house",
    "best responder": r"best_responder|learned_response",
}
"""Modules that do the same thing, by their names; one of each is enough."""
FEW_LINES, FEW_MODULES = 60, 4
"""Modules of fewer lines with one importer could be part of it; folders of fewer modules, a file."""
WINGS = ("guandan", "doudizhu", "big2")
"""Games whose own folders and files bear their names."""


@dataclass
class Module:
    """One source file: its path from the root, dotted name and syntax tree."""

    path: Path
    name: str
    tree: ast.Module
    lines: int
    is_package: bool
    imports: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)
    """(module, names, kind) of each import: kind "load", "type" (TYPE_CHECKING) or "lazy" (in a function)."""


class House:
    """The source under a root, read once; every count is a list of what is behind it."""

    def __init__(self, root: Path, packages: tuple[str, ...] = PACKAGES) -> None:
        """Read every file of the packages and of the tests."""
        self.root = root
        self.packages = packages
        self.modules = [_module(root, path) for package in packages for path in _sources(root, package)]
        self.tests = [_module(root, path) for path in _sources(root, "tests")]
        self.by_name = {module.name: module for module in self.modules}

    def counts(self) -> dict[str, list[str]]:
        """Return, by what is counted, one line for each thing found."""
        return {
            **{
                f"hundreds of lines, {package}": [f"{n * HUNDRED} lines"] * n
                for package, n in self.hundreds().items()
            },
            "modules beyond one a mechanism": self.doubled(),
            "protocols of an agent beyond one": self.agent_protocols()[1:],
            **{f"files that name {game} outside its wing": self.naming(game) for game in WINGS},
            "pairs of folders that import each other": self.mutual(),
            "small modules with one importer": self.small(),
            "folders of few modules": self.sparse(),
            "commands that divert by make_context": self.diverting(),
            "imports of the command line by the library": self.commanding(),
            "private imports across modules": self.private_imports(self.modules),
            "private imports in tests": self.private_imports(self.tests),
            "import cycles, type-only imports included": self.cycles({"load", "type"}),
            "import cycles, lazy imports included": self.cycles({"load", "type", "lazy"}),
        }

    def hundreds(self) -> dict[str, int]:
        """Return the hundreds of lines of each package and of the papers' wing, begun ones included."""
        lines = dict.fromkeys((*self.packages, PAPERS), 0)
        for module in self.modules:
            lines[PAPERS if module.path.is_relative_to(PAPERS) else module.path.parts[0]] += module.lines
        return {room: -(-count // HUNDRED) for room, count in lines.items()}

    def doubled(self) -> list[str]:
        """Return the modules beyond the first of each mechanism."""
        found = []
        for what, names in MECHANISMS.items():
            same = [str(module.path) for module in self.modules if re.fullmatch(names, module.path.stem)]
            found += [f"{what}: {path}" for path in same[1:]]
        return found

    def agent_protocols(self) -> list[str]:
        """Return the protocols by which a decision is asked for; one that only adds to another is counted."""
        return [
            f"{module.path}: {node.name}"
            for module in self.modules
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
            and node.name.endswith("Agent")
            and any(ast.unparse(base).startswith("Protocol") for base in node.bases)
        ]

    def naming(self, game: str) -> list[str]:
        """Return the source files that name a game and do not bear its name themselves."""
        return [
            str(module.path)
            for module in self.modules
            if game not in str(module.path)
            and not module.path.is_relative_to(PAPERS)  # of systems that played these games
            and game in (self.root / module.path).read_text().lower()
        ]

    def mutual(self) -> list[str]:
        """Return the pairs of folders beside each other of which each imports a module of the other."""
        edges = {
            (module.path.parent, self.by_name[name].path.parent)
            for module in self.modules
            for target, names, kind in module.imports
            for name in (target, *(f"{target}.{part}" for part in names))
            if kind == "load" and name in self.by_name and not self.by_name[name].is_package
        }
        return [f"{a} <-> {b}" for a, b in sorted(edges) if a < b and (b, a) in edges and a not in b.parents]

    def small(self) -> list[str]:
        """Return the modules of few lines that one other module imports."""
        importers: dict[str, set[str]] = {module.name: set() for module in self.modules}
        for module in self.modules:
            for target, names, _ in module.imports:
                for name in {target, *(f"{target}.{part}" for part in names)} & importers.keys():
                    importers[name].add(module.name)
        return [
            f"{module.path}: {module.lines} lines, for {importer}"
            for module in self.modules
            if module.lines < FEW_LINES and not module.is_package
            for importer in (importers[module.name] if len(importers[module.name]) == 1 else ())
        ]

    def sparse(self) -> list[str]:
        """Return the folders of few modules."""
        modules = Counter(module.path.parent for module in self.modules if not module.is_package)
        return [f"{folder}: {count}" for folder, count in sorted(modules.items()) if count < FEW_MODULES]

    def diverting(self) -> list[str]:
        """Return the commands that hand their line to another program; `groups` holds the boundary of all."""
        return [
            f"{module.path}:{node.lineno}"
            for module in self.modules
            for kind in ast.walk(module.tree)
            if isinstance(kind, ast.ClassDef)
            for node in kind.body
            if isinstance(node, ast.FunctionDef)
            and node.name == "make_context"
            and module.path.stem != "groups"  # the boundary of all
        ]

    def commanding(self) -> list[str]:
        """Return the imports of `gs2.commands` by modules that are no commands."""
        return [
            f"{module.path}: {target}"
            for module in self.modules
            for target, _, _ in module.imports
            if target.startswith("gs2.commands")
            and module.path.parts[0] != "experiments"
            and module.path.parts[:2] not in (("gs2", "commands"), ("gs2", "cli.py"))
        ]

    def private_imports(self, modules: list[Module]) -> list[str]:
        """Return what modules take from each other though its name starts with an underscore."""
        found = []
        for module in modules:
            aliases = {}
            for target, names, _ in module.imports:
                if target.split(".")[0] not in (*self.packages, "tests"):
                    continue
                found += [f"{module.path}: {target}.{name}" for name in names if _is_private(name)]
                aliases |= {name: f"{target}.{name}" for name in names if f"{target}.{name}" in self.by_name}
            for node in ast.walk(module.tree) if aliases else ():
                if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                    continue
                if _is_private(node.attr) and node.value.id in aliases:
                    found.append(f"{module.path}:{node.lineno}: {aliases[node.value.id]}.{node.attr}")
        return found

    def cycles(self, kinds: set[str]) -> list[str]:
        """Return the groups of modules that import each other in a circle, by imports of these kinds."""
        edges: dict[str, set[str]] = {module.name: set() for module in self.modules}
        for module in self.modules:
            for target, names, kind in module.imports:
                if kind not in kinds:
                    continue
                for name in names:
                    if f"{target}.{name}" in edges:
                        edges[module.name].add(f"{target}.{name}")
                    elif target in edges:
                        edges[module.name].add(target)
                if not names and target in edges:
                    edges[module.name].add(target)
            edges[module.name].discard(module.name)
        return [" <-> ".join(sorted(group)) for group in _circles(edges)]


def limits() -> dict[str, int]:
    """Return the counts that may not grow."""
    found: dict[str, int] = json.loads(LIMITS.read_text())
    return found


def moved(counts: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """Return a line for each count that is not at its limit: a rise is a fault, a fall lowers the limit."""
    lines = []
    for what, count in counts.items():
        limit = allowed.get(what, 0)
        if count > limit:
            lines.append(f"{what}: at most {limit}; got {count}; `python -m tests.house --names` lists them")
        elif count < limit:
            lines.append(
                f"{what}: down to {count} from {limit}; `python -m tests.house --write` keeps it there"
            )
    return lines


def _sources(root: Path, package: str) -> list[Path]:
    return sorted(path for path in (root / package).rglob("*.py") if "__pycache__" not in path.parts)


def _module(root: Path, path: Path) -> Module:
    text = path.read_text()
    relative = path.relative_to(root)
    parts = relative.with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    module = Module(relative, name, ast.parse(text), text.count("\n"), is_package)
    module.imports = list(_imports(module.tree.body, "load"))
    if is_package and path.with_suffix(".pyi").is_file():
        module.imports += _exports(path.with_suffix(".pyi"), name)
    return module


def _exports(stub: Path, package: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield what a package imports on first use, from its stub; type checkers see these imports."""
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 1:
            yield f"{package}.{node.module}", tuple(alias.name for alias in node.names), "type"


def _imports(nodes: list[ast.stmt], kind: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, (), kind
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, tuple(alias.name for alias in node.names), kind
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(node.body, "lazy")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imports(node.body, "type")
            yield from _imports(node.orelse, kind)
        else:
            for block in ("body", "orelse", "finalbody", "handlers", "cases"):
                for inner in getattr(node, block, []):
                    if isinstance(inner, ast.stmt):
                        yield from _imports([inner], kind)
                    else:
                        yield from _imports(inner.body, kind)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of two or more that all lead to each other."""
    onward: dict[str, set[str]] = {}
    for name, others in edges.items():
        waiting, onward[name] = [*others], set[str]()
        while waiting:
            if (other := waiting.pop()) not in onward[name]:
                onward[name].add(other)
                waiting += edges[other]
    groups = ({name, *(o for o in onward[name] if name in onward[o])} for name in edges)
    return [set(group) for group in {frozenset(group) for group in groups} if len(group) > 1]


def main() -> int:
    """Print the counts; return 1 if one is over its limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to count")
    parser.add_argument("--names", action="store_true", help="list what is behind every count")
    parser.add_argument("--write", action="store_true", help="lower the limits to these counts")
    options = parser.parse_args()
    house = House(options.root.resolve())
    found = house.counts()
    counts = {what: len(lines) for what, lines in found.items()}
    allowed = limits() if LIMITS.is_file() else dict(counts)
    width = max(map(len, counts))
    for what, count in counts.items():
        print(f"{what:{width}}  {count:4}  {f'limit {allowed[what]}' if what in allowed else 'no limit'}")
        for line in found.get(what, []) if options.names else []:
            print(f"    {line}")
    over = [what for what, count in counts.items() if count > allowed.get(what, count)]
    if options.write:
        kept = {what: min(counts[what], limit) for what, limit in allowed.items() if what in counts}
        LIMITS.write_text(json.dumps(allowed | kept, indent=2) + "\n")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
