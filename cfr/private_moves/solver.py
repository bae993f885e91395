"""CFR on the form of private moves: every variant of `cfr.variants`, as on the listed game.

solver = PrivateMovesSolver(list_private_moves(load_game("dark_hex")), "dcfr+")
solver.run(10)
solver.evaluate().exploitability
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discount_table
from cfr.engine.resume import check_whole
from cfr.private_moves.form import Both, PrivateMovesError, PrivateMovesForm
from cfr.private_moves.kernels import add_regrets, fill_reaches, match, normalize
from cfr.public.public_solver import Evaluation
from cfr.tree.memory import TooLarge, memory_limit, words_of_bytes
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, variant

__all__ = ["PrivateMovesSolver", "solver_bytes"]


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
                f"{words_of_bytes(taken)}; allow more with --memory or GS2_MEMORY"
            )
        self.iteration = 0
        self.policy = form.uniform()
        self.regret, self.sums, self._gain = self._zeros(), self._zeros(), self._zeros()
        self.prediction = self._zeros() if self.variant.predictive else (np.zeros(0), np.zeros(0))
        self._reach = form.reaches(self.policy)
        self._discounts = discount_table(64, float(self.variant.alpha), float(self.variant.beta))

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises PrivateMovesError unless that is a whole number of at least 0."""
        for _ in range(check_whole("iterations", n, PrivateMovesError)):
            self._iterate(self.iteration + 1)
            self.iteration += 1

    def resume_at(self, iteration: int) -> None:
        """Take regrets, sums, predictions and policies for those after so many iterations."""
        self.iteration = iteration
        self._reach = self.form.reaches(self.policy)

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
        if t >= len(self._discounts):
            v = self.variant
            self._discounts = discount_table(2 * t, float(v.alpha), float(v.beta))
        if not self.variant.alternating:
            self._average(t, 0)
            self._average(t, 1)
            self.form.gains(self._reach, out=self._gain, threads=self._threads)
            self._learn(t, 0)
            self._learn(t, 1)
            return
        self.form.gains(self._reach, wanted=1, out=self._gain, threads=self._threads)
        self._learn(t, 0)
        self._average(t, 0)
        self._average(t, 1)
        self.form.gains(self._reach, wanted=2, out=self._gain, threads=self._threads)
        self._learn(t, 1)

    def _learn(self, t: int, player: int) -> None:
        """Update a player's regrets by its gains, and its policy."""
        side, row, gain = self.form.sides[player], self.variant, self._gain[player]
        regret, policy = self.regret[player], self.policy[player]
        now, later = self._discounts[t - 1], self._discounts[t]
        add_regrets(side.first, side.parent, gain, policy, regret, (now[0], now[1], int(row.clip)))
        expected = self.prediction[player]
        if row.predictive:
            expected[:] = gain
        match(side.first, regret, expected, policy, (later[0], later[1], REGRET_NOISE))
        self._follow(player, 0.0)

    def _average(self, t: int, player: int) -> None:
        """Add the reaches by a player's policy to its sums."""
        self._follow(player, float(t) ** self.variant.gamma)

    def _follow(self, player: int, weight: float) -> None:
        side = self.form.sides[player]
        reach, sums = self._reach[player], self.sums[player]
        fill_reaches(side.first, side.parent, self.policy[player], reach, weight, sums)

    def _zeros(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.zeros(len(self.policy[0])), np.zeros(len(self.policy[1]))
