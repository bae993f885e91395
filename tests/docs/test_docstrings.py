"""Every public name says what it is: a docstring, the shapes of its arrays, and the errors that it raises."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHAPE = re.compile(r"\[[\w +,…()']+\]")
ARRAY = re.compile(r"\b(NDArray|Array|Ints|Bytes|Ragged)\b")
ONE_STATE = {"action_text", "state_text", "infoset_text"}
"""Functions of `Game` that take single states."""


def _functions(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods and properties of a class, by name, that say something of their own."""
    for name, part in vars(kind).items():
        made = getattr(part, "fget", None) or getattr(part, "func", None) or getattr(part, "__func__", part)
        if name.startswith("_") or not inspect.isfunction(made):
            continue
        if made.__doc__ or not inspect.getdoc(getattr(kind, name)):
            yield f"{kind.__name__}.{name}", made


def _faults(name: str, made: Callable[..., Any]) -> Iterator[str]:
    """Yield what the docstring of a function leaves out."""
    text = made.__doc__
    if not text:
        yield f"{name}: no docstring"
        return
    types = {key: str(value) for key, value in made.__annotations__.items()}
    arrays = [key for key, value in types.items() if ARRAY.search(value)]
    if arrays and not SHAPE.search(text) and made.__name__ not in ONE_STATE:
        yield f"{name}: no shape of {', '.join(arrays)}"
    raised = set(re.findall(r"^ +raise (\w+)\(", inspect.getsource(made), re.M)) - {"NotImplementedError"}
    if raised and "aise" not in text:
        yield f"{name}: raises {', '.join(raised)}"


def _constant_has_docstring(package: str, name: str) -> bool:
    """Return whether a string stands below the assignment of an exported constant or alias."""
    stub = (ROOT / package / "__init__.pyi").read_text(encoding="utf-8")
    (home,) = re.findall(rf"^from \.(\S+) import {name} as", stub, re.M)
    source = inspect.getsource(importlib.import_module(f"{package}.{home}"))
    return bool(re.search(rf'^{name}\b[^\n]* = (?:[^\n]*|[({{]\n.*?^[)}}])\n"""', source, re.M | re.S))


def _public(module: ModuleType) -> list[str]:
    """Return what a package exports, or the classes and functions that a module defines for others."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = inspect.getmembers(module, lambda found: getattr(found, "__module__", "") == module.__name__)
    return [name for name, _ in own if not name.startswith("_")]


STAGES = re.findall(
    r"automodule:: (\S+)", (ROOT / "docs" / "reference" / "stages.rst").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("place", ["games", "cfr", "blueprint", "gs2", *STAGES])
def test_every_name_of_the_reference_has_a_docstring_with_shapes_and_errors(place: str) -> None:
    faults = []
    for name in _public(importlib.import_module(place)):
        found = getattr(importlib.import_module(place), name)
        if inspect.isclass(found):
            faults += (
                [] if (found.__doc__ or f"{name}(").partition("(")[0] != name else [f"{name}: no docstring"]
            )
            faults += [fault for part in _functions(found) for fault in _faults(*part)]
        elif inspect.isfunction(found):
            faults += _faults(name, found)
        elif "." not in place and not _constant_has_docstring(place, name):
            faults.append(f"{name}: no docstring")
    assert not faults, "\n".join(faults)


def test_a_docstring_without_shape_or_error_is_found() -> None:
    def silent(policy: NDArray[Any]) -> None:  # type: ignore[name-defined] # noqa: F821
        """Take a policy."""
        raise ValueError("policy must be one; got none; make one")

    assert list(_faults("silent", silent)) == ["silent: no shape of policy", "silent: raises ValueError"]
