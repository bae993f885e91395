"""A user's own parts by name: `FILE.py:NAME`, `MODULE:NAME`, and the entry points of installed packages.

Games, generation functions, gadgets and agents are all named this way, wherever a name is asked for. Naming
a file runs it, as `python FILE.py` would: it may import what lies beside it. A MODULE may lie in the current
folder. What is installed comes first in either case.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

PREFIX = "gs2_own_"
"""What the modules are called that files are loaded as."""
OWN = re.compile(r"(?P<where>.+\.py|[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)", re.S)


def is_own(text: str) -> bool:
    """Return whether a name looks like FILE.py:NAME or MODULE:NAME."""
    return OWN.fullmatch(text) is not None


def own_object(text: str, what: str, error: type[ValueError]) -> Any:
    """Return what FILE.py:NAME or MODULE:NAME names.

    what: the word for it in messages. error: what is raised for a file or name that does not exist, and for
    code that fails when it is loaded.
    """
    match = OWN.fullmatch(text)
    if match is None:
        raise error(f"{what} must be named FILE.py:NAME or MODULE:NAME; got {text!r}")
    where, name = match["where"], match["name"]
    try:
        found = _module(where, what, text, error)
        for part in name.split("."):
            found = getattr(found, part)
    except error:
        raise
    except AttributeError as problem:
        raise error(f"{what} {text!r} cannot be made: {where} must define {name}; got {problem}") from problem
    except Exception as problem:
        raise error(f"{what} {text!r} cannot be made: {problem!r}; mend {where}") from problem
    return found


def _module(where: str, what: str, text: str, error: type[Exception]) -> Any:
    if not where.endswith(".py"):
        _importable(Path())
        return importlib.import_module(where)
    path = Path(where).resolve()
    if not path.is_file():
        raise error(f"{what} {text!r}: file {where!r} does not exist; check the path")
    source = path.read_bytes()
    # A name of its own: a file called games.py must not stand in for our package of that name.
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()[:12]
    name = f"{PREFIX}{path.stem}_{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise error(f"{what} {text!r}: {where!r} must be Python source; rename it to end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        _importable(path.parent)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _importable(folder: Path) -> None:
    """Let what lies in a folder be imported, after everything that is installed: it must replace nothing."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.append(place)


def entry_points_of(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points that installed packages have in a group, by name.

    Each package on the path is read once: it takes as long as loading a small game.
    """
    return dict(_points(group, tuple(sys.path)))


@lru_cache(maxsize=64)
def _points(group: str, path: tuple[str, ...]) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points of a group as they are while `sys.path` is this."""
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}


def entry_point(group: str, name: str, error: type[ValueError]) -> Any | None:
    """Return what an installed package offers under a name, or None if none does.

    error: what is raised where it cannot be loaded.
    """
    point = entry_points_of(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as problem:
        package = point.dist.name if point.dist is not None else "a package"
        raise error(
            f"{name!r} of {package} (entry point {group}) cannot be loaded: {problem!r}; mend or remove it"
        ) from problem
