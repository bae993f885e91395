"""Where compiled code is kept, and for how long.

Numba keeps a function's code until the function's own file changes. That is not enough: the code holds that
of every kernel it calls and every constant it names, and those stand in other files. So here the digest of
`made_of` belongs to what a kept piece must agree with.

Code lies beside its source in a checkout. For an installed package it lies in the user's cache folder,
`$XDG_CACHE_HOME/gs2/kernels` or `~/.cache/gs2/kernels`: what a package manager did not write it does not take
away again, and folders left behind hide a package that is installed in place later. `NUMBA_CACHE_DIR` names
another folder for both.

Processes that need the same kernel at once compile it once: the first holds a lock, the others wait.

Of a kernel that kernels call, bitcode is kept that is linked into theirs, and nothing that runs. Numba makes
a library of each kernel: it optimizes it, emits machine code and a wrapper for Python, and links its
bitcode into every kernel that calls it, where all of it is optimized again. Most kernels are called by
kernels alone. So a call from a kernel is compiled by a second dispatcher of the same function, which stops at
bitcode. A call from Python is compiled as ever.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import njit
from numba.core import codegen, compiler, typed_passes
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.dispatcher import Dispatcher

from games.support.compiling import listen
from games.support.kernel.made_of import file_digest, is_installed, made_of

_Library: Any = codegen.JITCodeLibrary
_Pass: Any = LoweringPass
_Compiler: Any = compiler.CompilerBase
_Results: Any = CompileResultCacheImpl
_register: Any = register_pass
_njit: Any = njit


class LinkedLibrary(_Library):  # type: ignore[misc]
    """Bitcode of a kernel and of the kernels that it calls."""

    def finalize(self) -> None:
        """Link what the kernel calls. The kernel that calls it is optimized as a whole, and emitted."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # not in Numba 0.61
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, the address of a function that is not there."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Return what takes the environment of code that runs: here, nothing does."""
        return _NoEnvironment()

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return (name, kind, bitcode). There is no object code."""
        self._ensure_finalized()
        return (self.name, "linked", self._final_module.as_bitcode())


class _NoEnvironment:
    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: `set_environments` does it where the code runs."""


def set_environments(result: Any) -> None:
    """Give the environments of the kernels that are linked into a compiled kernel to its code."""
    if not isinstance(result.library, LinkedLibrary):
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)


@_register(mutates_CFG=True, analysis_only=False)
class _IntoLinkedLibrary(_Pass):  # type: ignore[misc]
    """Makes lowering write into a `LinkedLibrary`."""

    _name = "into_linked_library"

    def __init__(self) -> None:
        _Pass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Set the library; say that something changed."""
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class _LinkedCompiler(_Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        """Return Numba's own pipeline, lowered into a `LinkedLibrary`."""
        builder: Any = compiler.DefaultPassBuilder
        passes = builder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_IntoLinkedLibrary, typed_passes.AnnotateTypes)
        passes.finalize()
        return [passes]


class LinkedResults(_Results):  # type: ignore[misc]
    """Keeps results of linked dispatchers on disk, beside those of the functions' own."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return the name of the function's files, without what tells them apart."""
        return f"{super().get_filename_base(fullname, abiflags)}.linked"

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        """Return the result that was kept."""
        (name, _, bitcode), *rest = payload
        library = LinkedLibrary(target_context.codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_dynamic_globals()
        library._finalized = True
        result = super().rebuild(_Handing(target_context, library), (None, *rest))
        return result._replace(target_context=target_context)


class _Handing:
    """A target whose only library is the one given."""

    def __init__(self, target: Any, library: LinkedLibrary) -> None:
        self._target, self._library = target, library

    def codegen(self) -> _Handing:
        """Return what hands out the library."""
        return self

    def unserialize_library(self, _: Any) -> LinkedLibrary:
        """Return the library."""
        return self._library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def linked_dispatcher(dispatcher: Any) -> Any:
    """Return a second dispatcher of a function, for calls from kernels.

    The two compile a function that calls itself as one.
    """
    options = {name: value for name, value in dispatcher.targetoptions.items() if name != "nopython"}
    compiled = _njit(**options, no_cpython_wrapper=True, pipeline_class=_LinkedCompiler)
    linked: Any = compiled(dispatcher.py_func)
    linked._compiling_counter = dispatcher._compiling_counter
    return linked


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
