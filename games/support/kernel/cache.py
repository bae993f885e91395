"""Where compiled code is kept, and for how long.

Numba keeps a function's code until the function's own file changes. That is not enough: the code holds that
of every kernel it calls and every constant it names, and those stand in other files. So here the digest of
`made_of` belongs to what a kept piece must agree with.

Code lies beside its source in a checkout. For an installed package it lies in the user's cache folder,
`$XDG_CACHE_HOME/gs2/kernels` or `~/.cache/gs2/kernels`: what a package manager did not write it does not take
away again, and folders left behind hide a package that is installed in place later. `NUMBA_CACHE_DIR` names
another folder for both.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from games.support.kernel.made_of import is_installed, made_of

__all__ = ["keep_compiled", "kernel_folder"]


_config: Any = numba.config
_Cache: Any = FunctionCache


def keep_compiled(dispatcher: Any) -> None:
    """Let a function that Numba compiles find its code on disk, and leave it there.

    Does nothing where Numba was told to compile nothing (`NUMBA_DISABLE_JIT`).
    """
    if not isinstance(dispatcher, Dispatcher):
        return
    told = _config.CACHE_DIR
    _config.CACHE_DIR = told or kernel_folder(dispatcher.py_func.__code__.co_filename)
    try:
        cached: Any = dispatcher
        cached._cache = _KernelCache(dispatcher.py_func)
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


class _KernelCache(_Cache):  # type: ignore[misc]
    """Numba's cache of one function, whose entries agree with all that the function is made of.

    The digest is taken at the function's first call: what it names may be defined below it.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._stamp()
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._stamp()
        super().save_overload(sig, data)

    def _stamp(self) -> None:
        own = self._impl.locator.get_source_stamp()
        self._cache_file._source_stamp = (own, made_of(self._py_func))
