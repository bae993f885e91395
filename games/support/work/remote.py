"""What a process of a cluster does with a piece of work; it runs there, its gs2 checked before."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from games.support.work.carried import Parcel, unpack_parcels

__all__ = ["ENVIRONMENT", "Sent", "do_piece"]

ENVIRONMENT = "GS2_"
"""Environment variables that begin like this come along: how much memory a tree may take, and so on."""


@dataclass(frozen=True)
class Sent:
    """What a process needs before its first piece.

    token: of the executor. task: where to fetch a pickled Task. environment: variables to set. parcels: by
    name, a token that changes with its files and where to fetch the pickled Parcel.
    """

    token: str
    task: Any
    environment: dict[str, str]
    parcels: dict[str, tuple[str, Any]]


_token = ""
_state: Any = None
_work: Callable[[Any, Any], Any] | None = None
_known: dict[str, str] = {}


def do_piece(fetch: Callable[[Any], bytes], sent: Sent, piece: bytes) -> tuple[str, Any, str]:
    """Return ("done", result, ""), or ("failed", exception, where it came from).

    fetch: returns the bytes behind a reference. What is printed goes to the standard error output of the
    machine that sent the piece.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return "done", _done(fetch, sent, piece), ""
    except Exception as error:
        told = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return "failed", None, told
        return "failed", error, told


def _done(fetch: Callable[[Any], bytes], sent: Sent, piece: bytes) -> Any:
    global _token, _state, _work
    if sent.token != _token:
        _begin_anew(sent.environment)
    new = {name: packed for name, packed in sent.parcels.items() if _known.get(name) != packed[0]}
    parcels: list[Parcel] = [pickle.loads(fetch(where)) for _, where in new.values()]
    unpack_parcels(parcels)
    _known.update({name: token for name, (token, _) in new.items()})
    if sent.token != _token:
        task = pickle.loads(fetch(sent.task))
        _state, _work = task.prepare(*task.arguments), task.work
        _token = sent.token
    assert _work is not None
    return _work(_state, pickle.loads(piece))


def _begin_anew(environment: dict[str, str]) -> None:
    """Forget the work of before; stand in an empty folder, so that no relative path finds a file."""
    global _token, _state, _work
    _token, _state, _work = "", None, None
    _known.clear()
    for name in [name for name in os.environ if name.startswith(ENVIRONMENT)]:
        del os.environ[name]
    os.environ.update(environment)
    folder = os.path.join(
        tempfile.gettempdir(), f"gs2-nothing-{os.getuid() if hasattr(os, 'getuid') else ''}"
    )
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chdir(folder)
