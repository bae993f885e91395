"""Where compiled code is kept, and for how long.

Numba keeps a function's code until the function's own file changes. That is not enough: the code holds that
of every kernel it calls and every constant it names, and those stand in other files. So here the digest of
`made_of` belongs to what a kept piece must agree with.

Code lies beside its source in a checkout. For an installed package it lies in the user's cache folder,
`$XDG_CACHE_HOME/gs2/kernels` or `~/.cache/gs2/kernels`: what a package manager did not write it does not take
away again, and folders left behind hide a package that is installed in place later. `NUMBA_CACHE_DIR` names
another folder for both.

Processes that need the same kernel at once compile it once: the first holds a lock, the others wait.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from games.support.compiling import listen
from games.support.kernel.linked import LinkedResults
from games.support.kernel.made_of import file_digest, is_installed, made_of

__all__ = ["KernelCache", "LinkedCache", "compiling_failed", "keep_compiled", "kernel_folder"]


PATIENCE = 120.0
"""Seconds to wait for another process that compiles the same kernel, before compiling it here as well."""
NOWHERE = "compiled code cannot be kept: no folder to write to; set NUMBA_CACHE_DIR to one that is"
_config: Any = numba.config
_Cache: Any = FunctionCache
listen()


def keep_compiled(dispatcher: Any, cache: type[KernelCache] | None = None) -> None:
    """Let a function that Numba compiles find its code on disk, and leave it there.

    cache: `KernelCache`, unless another is given.

    Does nothing where Numba was told to compile nothing (`NUMBA_DISABLE_JIT`). Where no folder can be written
    to, a RuntimeWarning says so, and the function is compiled in every process.
    """
    if not isinstance(dispatcher, Dispatcher):
        return
    source = dispatcher.py_func.__code__.co_filename
    file_digest(source)  # as it is now, while it is imported
    told = _config.CACHE_DIR
    _config.CACHE_DIR = told or kernel_folder(source)
    try:
        cached: Any = dispatcher
        cached._cache = (cache or KernelCache)(dispatcher.py_func)
    except RuntimeError:
        warnings.warn(NOWHERE, RuntimeWarning, stacklevel=2)
    finally:
        _config.CACHE_DIR = told


def kernel_folder(source: str) -> str:
    """Return the folder for compiled code of an installed source file, "" for others and without a home."""
    if not is_installed(source):
        return ""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return str((Path(base) if base else Path.home() / ".cache") / "gs2" / "kernels")
    except RuntimeError:
        return ""


def compiling_failed(dispatcher: Any) -> None:
    """Let other processes compile a function that could not be compiled here."""
    if isinstance(dispatcher._cache, KernelCache):
        dispatcher._cache.give_up()


class KernelCache(_Cache):  # type: ignore[misc]
    """Numba's cache of one function, whose entries agree with all that the function is made of.

    The digest is taken at the function's first call: what it names may be defined below it. Whoever finds no
    code holds the function's lock from then on until `save_overload` or `give_up`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._own = self._cache_file._source_stamp  # of the function's file as it was imported
        self._lock: Any = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._stamp()
        found = self._load(sig, target_context)
        if found is None and self._take_lock():
            found = self._load(sig, target_context)  # compiled elsewhere meanwhile
            if found is not None:
                self.give_up()
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Return the code that is kept; None where there is none, or an earlier version's types are in it."""
        try:
            return super().load_overload(sig, target_context)
        except (AttributeError, ImportError):
            self._cache_file.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._stamp()
        super().save_overload(sig, data)
        self.give_up()

    def give_up(self) -> None:
        """Let others compile the function."""
        if self._lock is not None:
            self._lock.release(force=True)

    def _take_lock(self) -> bool:
        from filelock import FileLock, Timeout

        self._lock = self._lock or FileLock(self._cache_file._index_path + ".lock", thread_local=False)
        try:
            self._lock.acquire(timeout=PATIENCE)
        except (OSError, Timeout):  # a folder that is only read, or a compiler that was stopped
            return False
        return True

    def _stamp(self) -> None:
        self._cache_file._source_stamp = (self._own, made_of(self._py_func))


class LinkedCache(KernelCache):
    """The cache of a function's code for the kernels that call it."""

    _impl_class = LinkedResults
