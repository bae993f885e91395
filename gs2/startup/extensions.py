"""What installed packages add to the command line, found by the entry points that they declare.

    [project.entry-points."gs2.commands"]
    tournament = "mine.commands:tournament"

`gs2 tournament` then runs what `mine.commands` calls `tournament`: a click command, or a `Target` that names
one to import only when it runs. Other groups of names work alike: `gs2.experiments` adds to `gs2 experiment`,
`gs2.benches` to `gs2 bench`.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import EntryPoint, entry_points
from typing import Any

PREFIX = "gs2."
"""How the names of all our groups of entry points begin."""


class ExtensionError(ValueError):
    """An addition to the command line that cannot be used: which package's, why, and what to do."""


def extensions(group: str) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name, in the order of names; more than one is a conflict."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        same = found.setdefault(entry.name, [])
        if entry.value not in [other.value for other in same]:
            same.append(entry)
    return found


def extending_packages() -> frozenset[str]:
    """Return the top-level packages of everything that extends the command line."""
    found = entry_points()
    groups = [group for group in found.groups if group.startswith(PREFIX)]
    return frozenset(entry.module.split(".")[0] for group in groups for entry in found.select(group=group))


def load_extension(name: str, entries: list[EntryPoint]) -> Any:
    """Return the object that the entry points of one name stand for.

    Raises ExtensionError if two packages claim the name, or if the module or the object in it is missing.
    """
    if len(entries) > 1:
        owners = ", ".join(f"{_owner(entry)} ({entry.value})" for entry in entries)
        raise ExtensionError(f"{name}: only one package may add it; {owners} do; uninstall all but one")
    (entry,) = entries
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ExtensionError(
            f"{name}: {entry.value} of the package {_owner(entry)} cannot be loaded ({error}){_place(entry)}"
        ) from error


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module.split(".")[0]


def _place(entry: EntryPoint) -> str:
    """Return where Python finds the package and what to do about it, as the end of a message."""
    top = entry.module.split(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return f"; Python finds no package {top!r}; install {_owner(entry)} again"
    place = spec.origin or ", ".join(spec.submodule_search_locations or ())
    return (
        f"; Python takes {top!r} from {place}: if that hides the package of {_owner(entry)}, run gs2 in "
        "another folder or rename that one, else install what it needs"
    )
