"""CFR on the form of private moves: every variant of `cfr.variants`, as on the listed game.

solver = PrivateMovesSolver(list_private_moves(load_game("dark_hex")), "dcfr+")
solver.run(10)
solver.evaluate().exploitability
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discounts_until
from cfr.engine.resume import StateError
from cfr.private_moves.form import Both, PrivateMovesError, PrivateMovesForm, fill_reaches, learn, normalize
from cfr.public.array_file import ArrayFile, ArrayFileError, is_array_file
from cfr.public.sweeper import Evaluation
from cfr.tree.memory import ALLOW_MORE, TooLarge, memory_limit, words_of_bytes
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, check_whole, variant

MAGIC, FORMAT = "gs2-private-moves-cfr", 1
"""What the file of a saved run says that it is (`cfr.public.saved_run`)."""


def solver_bytes(form: PrivateMovesForm, row: Variant) -> int:
    """Return the bytes that a solver and its form take, the average policy for an evaluation included."""
    return form.nbytes + form.n_slots * 8 * (6 + row.predictive)


class PrivateMovesSolver:
    """CFR on a game's form of private moves, resumable exactly.

    form: from `list_private_moves`. variant_name: a row of `cfr.variants.VARIANTS`, or one of your own.
    threads: by default all cores; results do not depend on it.
    iteration: iterations done so far. regret, sums, prediction, policy: [slots] of each player; slot 0 is the
    empty sequence's. prediction is empty without predictions.
    Raises TooLarge if it does not fit into memory.
    """

    def __init__(
        self,
        form: PrivateMovesForm,
        variant_name: str | Variant = DEFAULT_VARIANT,
        *,
        threads: int | None = None,
    ) -> None:
        self.form, self.variant, self._threads = form, variant(variant_name), threads
        taken = solver_bytes(form, self.variant)
        if taken > memory_limit():
            raise TooLarge(
                f"{form.game.name}: CFR must fit into {words_of_bytes(memory_limit())} of memory; it takes "
                f"{words_of_bytes(taken)}",
                ALLOW_MORE,
            )
        self.iteration = 0
        self.policy = form.uniform()
        self.regret, self.sums, self._gain = self._zeros(), self._zeros(), self._zeros()
        self.prediction = self._zeros() if self.variant.predictive else (np.zeros(0), np.zeros(0))
        self._reach = form.reaches(self.policy)
        self._discounts = discounts_until(np.zeros((0, 4)), 32, self.variant)

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises PrivateMovesError unless that is a whole number of at least 0."""
        for _ in range(check_whole("iterations", n, PrivateMovesError)):
            self._iterate(self.iteration + 1)
            self.iteration += 1

    def resume_at(self, iteration: int) -> None:
        """Take regrets, sums, predictions and policies for those after so many iterations."""
        self.iteration = iteration
        for player, policy in enumerate(self.policy):
            self.form.symmetries.add(player, policy, mean=True)
        self._reach = self.form.reaches(self.policy)

    def restart(self) -> None:
        """Begin anew."""
        for name, array in self.kept().items():
            array[:] = self.form.uniform()[int(name[-1])] if name.startswith("policy") else 0.0
        self.resume_at(0)

    def describe(self) -> dict[str, Any]:
        """Return what must be the same for a run to go on."""
        row = {name: repr(value) for name, value in asdict(self.variant).items() if name != "source"}
        return {**_description(self.form), "variant": row}

    def kept(self) -> dict[str, NDArray[np.float64]]:
        """Return the arrays that a run goes on from, by their names in a file."""
        kept = {"regret": self.regret, "sums": self.sums, "policy": self.policy}
        if self.variant.predictive:
            kept["prediction"] = self.prediction
        return {f"{name}{player}": both[player] for name, both in kept.items() for player in (0, 1)}

    def average_policy(self) -> Both:
        """Return the average policies; the current one where a player never plays."""
        average = self.policy[0].copy(), self.policy[1].copy()
        for player, side in enumerate(self.form.sides):
            normalize(side.first, self.sums[player], average[player])
        return average

    def evaluate(self) -> Evaluation:
        """Return what the average policies are worth."""
        return self.form.evaluate(self.average_policy(), threads=self._threads)

    def exploitability(self) -> float:
        """Return the average policies' NashConv / 2, in payoffs."""
        return self.evaluate().exploitability

    def _iterate(self, t: int) -> None:
        self._discounts = discounts_until(self._discounts, t, self.variant)
        weight = float(t) ** self.variant.gamma
        if not self.variant.alternating:
            self._follow(0, weight)
            self._follow(1, weight)
            self.form.gains(self._reach, symmetric=True, out=self._gain, threads=self._threads)
            self._learn(t, 0)
            self._learn(t, 1)
            return
        self.form.gains(self._reach, wanted=1, symmetric=True, out=self._gain, threads=self._threads)
        self._learn(t, 0)
        self._follow(0, weight)
        self._follow(1, weight)
        self.form.gains(self._reach, wanted=2, symmetric=True, out=self._gain, threads=self._threads)
        self._learn(t, 1)

    def _learn(self, t: int, player: int) -> None:
        """Update a player's regrets by its gains, and its policy."""
        side, row = self.form.sides[player], self.variant
        now, later = self._discounts[t - 1], self._discounts[t]
        rule = now[0], now[1], later[0], later[1], REGRET_NOISE, bool(row.clip), bool(row.predictive)
        state = self.regret[player], self.prediction[player], self.policy[player]
        learn(side.first, side.parent, self._gain[player], state, rule)
        self.form.symmetries.add(player, self.policy[player], mean=True)  # rounding would part them
        self._follow(player, 0.0)

    def _follow(self, player: int, weight: float) -> None:
        """Find the reaches by a player's policy, and add so many times them to its sums."""
        side = self.form.sides[player]
        reach, sums = self._reach[player], self.sums[player]
        fill_reaches(side.first, side.parent, self.policy[player], reach, weight, sums)

    def _zeros(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.zeros(len(self.policy[0])), np.zeros(len(self.policy[1]))


def is_private_run(path: str | Path) -> bool:
    """Return whether a file holds a run on the form of private moves."""
    return is_array_file(path, MAGIC)


def load_private_policy(path: str | Path, form: PrivateMovesForm) -> Both:
    """Return the average policy of a run in a file, checked. Raises StateError, or names a bad row."""
    found = []
    try:
        file = ArrayFile.open(path, MAGIC, FORMAT)
        for name, mine in _description(form).items():
            if file.meta.get(name) != mine:
                raise ArrayFileError(
                    f"{path}: {name} must be {mine!r}; got {file.meta.get(name)!r}; name another file"
                )
        for player, side in enumerate(form.sides):
            policy, sums = np.empty(side.n_slots), np.empty(side.n_slots)
            file.read_into(f"policy{player}", policy)
            file.read_into(f"sums{player}", sums)
            normalize(side.first, sums, policy)
            found.append(policy)
    except ArrayFileError as error:
        raise StateError(str(error)) from None
    form.check((found[0], found[1]))
    return found[0], found[1]


def _description(form: PrivateMovesForm) -> dict[str, Any]:
    return {"magic": MAGIC, "format": FORMAT, "game": form.game.name, "infosets": form.digest()}
