"""Arrays of rows (STATE, ACTION) put together, and decisions in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from games.ragged import Ragged
from games.support.array_types import Array, Ints


def join(arrays: Sequence[Array]) -> Array:
    """Return arrays of one dtype and width end to end, structured ones as they are.

    NumPy's `concatenate` would pack a structured dtype and drop its padding.
    """
    dtype = arrays[0].dtype
    if dtype.fields is None:
        return np.concatenate(arrays)
    joined = np.concatenate([np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays])
    found: Array = joined.view(dtype).reshape(-1, *arrays[0].shape[1:])
    return found


def put(array: Array, rows: Ints, some: Array) -> None:
    """Set rows of an array to others of its dtype; structured ones go as they are, not field by field."""
    whole = f"V{array.dtype.itemsize}"
    array.view(whole)[rows] = some.view(whole)


@dataclass(frozen=True, eq=False)
class Columns:
    """Arrays with a row for each decision, of which some may be taken and several put together.

    A field is an array, a table or another part with such rows, or None where there is none.
    PER_ACTION: arrays with an entry for each action of the table `actions`.
    """

    PER_ACTION: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: Array | slice) -> Self:
        """Return some of the decisions."""
        return type(self)(**{one.name: self._taken(one.name, rows) for one in fields(self)})

    def _taken(self, name: str, rows: Array | slice) -> Any:
        value: Any = getattr(self, name)
        if name in self.PER_ACTION:
            actions: Ragged = vars(self)["actions"]
            return Ragged(actions.offsets, value).take(np.asarray(rows)).values
        return value if value is None else value[rows] if isinstance(value, np.ndarray) else value.take(rows)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the decisions of all parts, in order; a field is there in all of them or in none."""
        return cls(**{one.name: _joined([getattr(part, one.name) for part in parts]) for one in fields(cls)})


def _joined(values: list[Any]) -> Any:
    there = [value for value in values if value is not None]
    if not there:
        return None
    if isinstance(there[0], np.ndarray):
        return join(there)
    if isinstance(there[0], Ragged):
        counts = np.concatenate([table.counts for table in there])
        return Ragged.from_counts(counts, join([table.values for table in there]))
    return type(there[0]).joined(there)
