"""What code a machine would run: versions and a digest of the sources, so that two machines can be compared.

Nothing in here needs gs2: a cluster's machines are sent these functions themselves, so that one with an old
gs2, or none, can say so.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from pathlib import Path

LIBRARIES = ("numpy", "numba", "scipy", "torch", "open_spiel")
"""Libraries that results may depend on; compared by their first two numbers, or by not being there."""
PART_GROUPS = ("gs2.games", "gs2.generators", "gs2.agents")
"""Entry points through which installed packages add games, generation functions and agents."""


def this_build() -> dict[str, str]:
    """Return what of this machine's installation can change results, in words."""
    try:
        ours = importlib.metadata.distribution("gs2")
    except importlib.metadata.PackageNotFoundError:
        return {"gs2": "not installed", "python": "{}.{}".format(*sys.version_info)}
    told = {
        "gs2": ours.version,
        "source of gs2": _source_digest((ours.read_text("top_level.txt") or "").split()),
        "python": "{}.{}".format(*sys.version_info),
        "processor": platform.machine(),
    }
    for name in LIBRARIES:
        try:
            told[name] = ".".join(importlib.metadata.version(name).split(".")[:2])
        except importlib.metadata.PackageNotFoundError:
            told[name] = "not installed"
    parts = {
        f"{point.dist.name} {point.dist.version}"
        for group in PART_GROUPS
        for point in importlib.metadata.entry_points(group=group)
        if point.dist is not None
    }
    told["packages with parts"] = ", ".join(sorted(parts)) or "none"
    return told


def build_differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Return a line for each thing in which another machine's build differs from the one here."""
    return [
        f"{name} is {there.get(name, 'unknown')} there and {here.get(name, 'unknown')} here"
        for name in sorted({*here, *there}, key=[*here, *there].index)
        if here.get(name) != there.get(name) and not ("gs2" in name and name != "gs2" and name not in there)
    ]


def _source_digest(packages: list[str]) -> str:
    """Return a digest of every Python source of some packages."""
    digest = hashlib.sha256()
    for package in sorted(packages):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(Path(root).rglob("*.py")):
                source = path.read_bytes()
                digest.update(f"{package}/{path.relative_to(root).as_posix()} {len(source)}\n".encode())
                digest.update(source)
    return digest.hexdigest()[:12]
