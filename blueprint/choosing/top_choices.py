"""Play by the softmax of scores among the best few moves, which keeps what it chose among.

Policy learning (`blueprint.layers.policy_loss`) compares what the same moves score later. Source: Zhao et al.
2023 (DanZero+: a policy over the top k moves of a DMC network).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from blueprint.structured import join
from games.support.array_types import Array, Ints
from games.support.kernel import kernel

__all__ = ["TopChoices", "TopChooser"]


class _Asked(Protocol):
    """Decisions of any game: decision j is among `actions[offsets[j]:offsets[j + 1]]`."""

    def __len__(self) -> int: ...

    @property
    def offsets(self) -> Ints: ...

    @property
    def actions(self) -> Array: ...


D = TypeVar("D", bound=_Asked)


@dataclass(frozen=True, eq=False)
class TopChoices:
    """What was chosen among, at n decisions.

    actions: [n, k] of the game, the best ones in order; where there are fewer, the first again. count: [n]
    int64, how many there are. picked: [n] int64, which was played. log_chance: [n] float32, of its chance.
    """

    actions: Array
    count: NDArray[np.int64]
    picked: NDArray[np.int64]
    log_chance: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.count)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> TopChoices:
        """Return some of the decisions."""
        return TopChoices(self.actions[rows], self.count[rows], self.picked[rows], self.log_chance[rows])

    @classmethod
    def joined(cls, parts: list[TopChoices]) -> TopChoices:
        """Return the decisions of all parts, in order."""
        names = ("count", "picked", "log_chance")
        rest = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        k = parts[0].actions.shape[1]
        return cls(join([part.actions.reshape(-1) for part in parts]).reshape(-1, k), *rest)


@kernel(nogil=True)
def _draw_top(
    scores: NDArray[np.float32],
    offsets: Ints,
    temperature: float,
    uniforms: NDArray[np.float64],
    index: Ints,
    count: Ints,
    picked: Ints,
    log_chance: NDArray[np.float32],
) -> None:
    """Write the best moves of each decision, [n, k] rows of `scores`, and draw one of them."""
    k = index.shape[1]
    for j in range(len(count)):
        n = 0
        for i in range(offsets[j], offsets[j + 1]):
            at = n
            if n == k:
                if scores[i] <= scores[index[j, k - 1]]:
                    continue
                at = k - 1
            else:
                n += 1
            while at > 0 and scores[index[j, at - 1]] < scores[i]:
                index[j, at] = index[j, at - 1]
                at -= 1
            index[j, at] = i
        count[j] = n
        for q in range(n, k):
            index[j, q] = index[j, 0]
        best = scores[index[j, 0]]
        total = 0.0
        for q in range(n):
            total += np.exp((scores[index[j, q]] - best) / temperature)
        left = uniforms[j] * total
        picked[j] = 0
        for q in range(n):
            left -= np.exp((scores[index[j, q]] - best) / temperature)
            if left < 0:
                picked[j] = q
                break
        log_chance[j] = (scores[index[j, picked[j]]] - best) / temperature - np.log(total)


class TopChooser(Generic[D]):
    """Plays by the softmax of scores over a temperature among the k best moves; keeps what it chose among.

    scores: of each move of some decisions, [m] float32. k: moves; 2 or more.
    """

    def __init__(
        self,
        scores: Callable[[D], NDArray[np.float32]],
        k: int,
        temperature: float,
        rng: np.random.Generator,
    ) -> None:
        self.scores, self.k, self.temperature, self.rng = scores, k, temperature, rng
        self._kept: list[TopChoices] = []

    def __call__(self, decisions: D) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: D) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        n = len(decisions)
        index = np.zeros((n, self.k), np.int64)
        count, picked = np.zeros(n, np.int64), np.zeros(n, np.int64)
        log_chance = np.zeros(n, np.float32)
        drawn = (index, count, picked, log_chance)
        _draw_top(self.scores(decisions), decisions.offsets, self.temperature, self.rng.random(n), *drawn)
        self._kept.append(TopChoices(decisions.actions[index], count, picked, log_chance))
        return index[np.arange(n), picked] - decisions.offsets[:-1], np.exp(log_chance)

    def choices(self) -> TopChoices | None:
        """Return what was chosen among since the last call, in the order asked; None of none."""
        kept, self._kept = self._kept, []
        return TopChoices.joined(kept) if kept else None
