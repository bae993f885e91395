"""Reviews that were made before: a folder of files, each named by what the review follows from."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from games.support.files import FileProblem, read_text, write_text
from gs2.guandan.review.recorded_rounds import printable
from gs2.guandan.review.review_data import FORMAT, VERSION

__all__ = ["default_cache", "keep_review", "kept_review", "review_key"]

JUDGING = 3
"""Counts up with every change of how decisions are judged: older reviews are made anew."""


def default_cache() -> Path:
    """Return the folder of this user's reviews."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gs2" / "reviews"


def review_key(text: str, settings: dict[str, Any], fingerprint: str) -> str:
    """Return the name of a review: of the record's text, the settings and the networks that judge."""
    told = json.dumps([JUDGING, VERSION, settings, fingerprint], sort_keys=True).encode()
    return hashlib.blake2b(told + b"\0" + text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def kept_review(folder: Path | None, key: str, name: str) -> dict[str, Any] | None:
    """Return the review kept under a key; None if there is none, its file is damaged, or no folder is given.

    name: of the record's file today.
    """
    if folder is None:
        return None
    try:
        found = json.loads(read_text(folder / f"{key}.json"))
    except (FileNotFoundError, FileProblem, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        return None
    whole = all(isinstance(found.get(part), list) for part in ("rounds", "players", "names"))
    if not whole or found.pop("key", None) != key:
        return None
    return {**found, "name": printable(name) or "record"}


def keep_review(folder: Path | None, key: str, review: dict[str, Any]) -> None:
    """Keep a review; a folder that cannot be written to, or none, keeps none."""
    with suppress(FileProblem, OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / f"{key}.json", json.dumps({**review, "key": key}, allow_nan=False))
