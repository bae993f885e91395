"""What agents of the command line are called on the page: others may see it, so no folder is said."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["seat_labels"]

FOLDERS = re.compile(r"(^|@)[^@]*/(?=[^/]+/[^/]+$)")
"""All but the last two parts of a path, which a name is or has after an @."""
FOLDER = re.compile(r"(^|@)[^@]*/")


def seat_labels(given: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Return what each agent that was given is called: its name without folders.

    Where two would be called alike, or as one of `taken`, the last folder is said too, and where that does
    not tell them apart, a number.
    """
    names = list(dict.fromkeys(given))
    short = [FOLDER.sub(r"\1", name) for name in names]
    labels: dict[str, str] = {}
    for name, label in zip(names, short, strict=True):
        if label != name and (label in taken or short.count(label) > 1):
            label = FOLDERS.sub(r"\1", name)
        wanted, number = label, 2
        while label in labels.values() or (label in taken and label != name):
            label, number = f"{wanted} ({number})", number + 1
        labels[name] = label
    return labels
