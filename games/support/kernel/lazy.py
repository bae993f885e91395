"""Kernels that are interpreted until compiling them pays.

Numba needs 0.2 to 2 seconds to compile a kernel. The layout of a small game is computed once, by functions
that the interpreter runs in milliseconds, so compiling them was most of the time to the first answer. A lazy
kernel runs as a Python function. It is compiled when that has taken about as long as compiling takes, when
its arguments are too large to interpret, or when compiled code is on disk already. A process that must answer
in time compiles it at its first call (`compile_at_once`).
"""

from __future__ import annotations

import time
from functools import update_wrapper
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

INTERPRETED_NUMBERS = 100_000
"""Numbers in the arguments' arrays above which a call is compiled at once."""
INTERPRETED_SECONDS = 0.5
"""Processor seconds that a kernel is interpreted for in a process before it is compiled."""


class LazyKernel:
    """A kernel that is interpreted at first; other kernels call its compiled code.

    dispatcher: Numba's. compiled: whether calls go to it. seconds: time spent interpreting in this process.
    patience: processor seconds that it is interpreted for before it is compiled.
    """

    patience = INTERPRETED_SECONDS

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher
        self.seconds = 0.0
        self.compiled = not isinstance(dispatcher, Dispatcher)  # NUMBA_DISABLE_JIT leaves the function
        update_wrapper(self, self.py_func, updated=())

    @property
    def _numba_type_(self) -> Any:
        """Return the type by which Numba compiles calls from other kernels."""
        return self.dispatcher._numba_type_

    @property
    def py_func(self) -> Any:
        """Return the Python function."""
        return getattr(self.dispatcher, "py_func", self.dispatcher)

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns."""
        if self.compiled or self.pays(args):
            self.compiled = True
            return self.dispatcher(*args)
        began = time.thread_time()
        try:
            with np.errstate(over="raise"):  # compiled code would have widened the number instead
                return self.py_func(*args)
        finally:
            self.seconds += time.thread_time() - began

    def pays(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call with these arguments is to run compiled code, now and ever after."""
        if self.seconds == 0.0 and self.is_on_disk():
            return True
        size = sum(arg.size for arg in args if isinstance(arg, np.ndarray))
        return self.seconds >= self.patience or size > INTERPRETED_NUMBERS

    def is_on_disk(self) -> bool:
        """Return whether code of this function is kept, of whatever types."""
        file = getattr(getattr(self.dispatcher, "_cache", None), "_cache_file", None)
        return file is not None and Path(file._index_path).exists()


def compile_at_once() -> None:
    """Compile lazy kernels at their first call from now on, in this process."""
    LazyKernel.patience = 0.0
