"""A kernel's code for the kernels that call it: bitcode that is linked into theirs, and nothing that runs.

Numba makes a library of each kernel: it optimizes it, emits machine code and a wrapper for Python, and links
its bitcode into every kernel that calls it, where all of it is optimized again. Most kernels are called by
kernels alone. So a call from a kernel is compiled by a second dispatcher of the same function, which stops at
bitcode. A call from Python is compiled as ever.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba import njit
from numba.core import codegen, compiler, typed_passes
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler_machinery import LoweringPass, register_pass

__all__ = ["LinkedResults", "linked_dispatcher", "set_environments"]

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
