"""What agents of the command line are called on the page: others may see it, so no folder is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["seat_labels", "without_folders"]

NAME = re.compile(r"([^@/]*@)?(.*/)?(.*)", re.S)
"""A name's parts: how its file is to play (network:temperature=0.05@), the file's folders, and the rest."""
ELSEWHERE = re.compile(r"(?<![\w./~])~?/(?:[^/\s'\"<>|:]+/)+")
"""Folders before a file of any other program, as errors tell of them."""


def seat_labels(given: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Return what each agent that was given is called: its name without folders.

    Where two would be called alike, or as one of `taken`, the last folder is said too, and where that does
    not tell them apart, a number.
    """
    names = list(dict.fromkeys(given))
    parts = [_parts(name) for name in names]
    short = [way + file for way, _, file in parts]
    labels: dict[str, str] = {}
    for name, label, (way, folders, file) in zip(names, short, parts, strict=True):
        if label != name and (label in taken or short.count(label) > 1):
            label = way + "/".join(filter(None, (Path(folders).name, file)))
        wanted, number = label, 2
        while label in labels.values() or (label in taken and label != name):
            label, number = f"{wanted} ({number})", number + 1
        labels[name] = label
    return labels


def without_folders(text: str, name: str, label: str) -> str:
    """Return what is told of an agent, as its errors tell it, without the folders of this machine.

    name: as the command line gave it; label: what the page calls it.
    """
    text = text.replace(name, label)
    folders = Path(_parts(name)[1])
    if folders.name:
        written = (folders, folders.absolute(), folders.resolve())
        spelled = {_parts(name)[1], *(f"{folder}/" for folder in written)}
        spelled |= {str(folder) for folder in written if folder.is_absolute()}
        spelled |= {repr(one)[1:-1] for one in spelled}
        for one in sorted(spelled, key=len, reverse=True):
            text = text.replace(one, "")
    return ELSEWHERE.sub("", text)


def _parts(name: str) -> tuple[str, str, str]:
    """Return the parts of `NAME`, empty where a name has none."""
    match = NAME.fullmatch(name)
    assert match is not None
    way, folders, file = match.groups("")
    if way and folders and Path((way + folders).partition("/")[0]).is_dir():
        return "", way + folders, file  # a folder may have an @ in its name
    return way, folders, file
