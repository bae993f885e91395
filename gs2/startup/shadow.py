"""Whether a folder or file of somebody's hides one of our packages from Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGES = ("games", "cfr", "blueprint")
"""The packages that this one imports; their names are common words."""


class HiddenPackageError(ImportError):
    """Another package of the same name stands before ours: which one, and what to do."""


def check_packages() -> None:
    """Return None if Python finds our own packages; else say what hides one.

    Raises HiddenPackageError; as the command `gs2` or `python -m gs2`, prints one line and ends with code 2.
    """
    ours = Path(__file__).resolve().parents[2]
    for name in PACKAGES:
        place = _place(name)
        if place is None or place == ours / name:
            continue
        message = (
            f"{place} hides the package {name!r} of gs2, which is in {ours}; "
            "run gs2 in another folder, or rename that one"
        )
        if _is_command():
            print(f"gs2: {message}", file=sys.stderr)
            raise SystemExit(2)
        raise HiddenPackageError(message)


def _place(name: str) -> Path | None:
    """Return the folder or file that Python takes a package from; None if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module made by hand, as tests do
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    return origin.parent if origin.name == "__init__.py" else origin


def _is_command() -> bool:
    """Return whether this process is the command line, whose errors are lines."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":
        return bool({"gs2", "gs2.cli"} & set(sys.orig_argv))
    return Path(program).stem in ("gs2", "gs2-script")
