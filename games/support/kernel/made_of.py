"""What compiled code is made of, as a digest: it changes when code compiled before must not be used again.

A kernel is made of its own file, the files of the kernels it calls, of those that they call and so on, the
constants that all of them name (Numba copies globals into the code, tables too), and, where they call an
intrinsic or another function that is no kernel, of that function's module and of the modules which that one
uses. Numba, NumPy and the standard library are left out; Numba's version is part of every cache already.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type

from games.support.kernel.lazy import LazyKernel

OTHERS = frozenset({"numpy", "numba", "llvmlite"}) | sys.stdlib_module_names
"""Packages whose sources are not looked at."""
_VALUES = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, Type)
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders that a package manager fills."""
Named = tuple[str, Any]
"""Who names a thing and by what name, in one line, and the thing."""
_BEGAN = time.time()
_seen: dict[int, tuple[Any, str, list[Named]]] = {}
# By a thing's identity: the thing (kept, so that no other takes its identity), its digest, what it names.


def is_installed(source: str) -> bool:
    """Return whether a file was put where it is by a package manager."""
    return not INSTALLED.isdisjoint(Path(source).parts)


def made_of(function: Callable[..., Any]) -> str:
    """Return the digest of a Python function that is to be compiled, hexadecimal."""
    told: set[str] = set()
    done: set[int] = set()
    left = [*_named(function)]
    while left:
        by, thing = left.pop()
        digest, more = _part(thing)
        told.add(f"{by} {digest}")
        if more and id(thing) not in done:
            done.add(id(thing))
            left.extend(more)
    return _digest("\n".join(sorted(told)).encode())


def _part(thing: Any) -> tuple[str, list[Named]]:
    """Return the digest of one thing without those that it names, and these."""
    if isinstance(thing, _VALUES):
        return f"{type(thing).__qualname__} {thing!r}", []
    if id(thing) not in _seen:
        _seen[id(thing)] = (thing, *_part_of_object(thing))
    return _seen[id(thing)][1:]


def _part_of_object(thing: Any) -> tuple[str, list[Named]]:
    if isinstance(thing, LazyKernel):
        thing = thing.dispatcher
    if isinstance(thing, Dispatcher):
        function = thing.py_func
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        made = [_part(value)[0] for value in cells if isinstance(value, _VALUES)]
        own = file_digest(function.__code__.co_filename)
        return f"{own} {sorted(thing.targetoptions.items())} {made}", [*_named(function)]
    if isinstance(thing, np.ndarray):
        return f"{thing.dtype!r} {thing.shape} {_digest(np.ascontiguousarray(thing))}", []
    if isinstance(thing, tuple):
        parts = [_part(part) for part in (type(thing), *thing)]
        return _digest("\n".join(digest for digest, _ in parts).encode()), [
            n for _, named in parts for n in named
        ]
    if isinstance(thing, ModuleType):
        return (_module_file(thing), [*_used(thing)]) if _is_read(thing.__name__) else ("", [])
    module = getattr(thing, "__module__", None) or type(thing).__module__
    name = f"{module} {getattr(thing, '__qualname__', type(thing).__qualname__)}"
    if not _is_read(module):
        return name, []
    if isinstance(thing, type):
        return f"{name} {_module_file(sys.modules[module])}", []
    return name, [(name, sys.modules[module])]


def _named(function: Callable[..., Any]) -> Iterator[Named]:
    """Yield what a function's code names outside of it: globals, attributes of our modules, its closure."""
    by = f"{function.__module__}.{function.__qualname__}"
    names = _names(function.__code__)
    for name in names & function.__globals__.keys():
        found = function.__globals__[name]
        if not isinstance(found, ModuleType):
            yield f"{by} {name}", found
        elif _is_read(found.__name__):
            for other in names & vars(found).keys():
                yield f"{by} {name}.{other}", vars(found)[other]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"{by} {name}", cell.cell_contents


def _names(code: CodeType) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _used(module: ModuleType) -> Iterator[Named]:
    """Yield the modules that a module imports or imports something of, other installed packages' left out."""
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if not isinstance(name, str) or name == module.__name__ or not _is_read(name):
            continue
        used = sys.modules[name]
        same_package = name.partition(".")[0] == module.__name__.partition(".")[0]
        if same_package or not is_installed(getattr(used, "__file__", None) or ""):
            yield name, used


def _is_read(module: str) -> bool:
    return module.partition(".")[0] not in OTHERS and module in sys.modules


def _module_file(module: ModuleType) -> str:
    """Return the digest of a module's file; where it changed after this process began, of nothing else's."""
    path = getattr(module, "__file__", None) or ""
    try:
        changed = os.stat(path).st_mtime
    except OSError:
        changed = 0.0
    return file_digest(path) if changed < _BEGAN else f"{path} of {changed}, {uuid4()}"


@cache
def file_digest(path: str) -> str:
    """Return the digest of a source file as it was when it was first asked for; its name if there is none.

    Kernels' files are asked for as they are imported, so that an edit under a running program does not
    pass the code of before for that of the file.
    """
    try:
        return _digest(Path(path).read_bytes())
    except OSError:  # a notebook's cell, an archive; Numba looks after the function's own code
        return path


def _digest(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
