"""The variants of CFR as rows of one table: what differs between them are seven numbers.

Iteration t = 1, 2, … updates the cumulative regret R of every (infoset, action) with the instantaneous
regret r, discounting first, by the sign of the *cumulative* regret:

    R ← R · d(t − 1, α) where R > 0, R · d(t − 1, β) where R < 0;  R ← R + r;  d(t, e) = tᵉ / (tᵉ + 1)

then clips R at zero (`clip`), and plays the next policy in proportion to the positive part of R, or, with
`predictive`, of R discounted once more (by d(t, ·)) plus the prediction that r comes again. The average
policy weighs iteration t by t^γ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from numbers import Integral
from typing import Any

MOST_GAMMA = 30
"""Beyond, weights of iterations leave the range of floating-point numbers."""


class UnknownVariant(ValueError):
    """A name that is no row of the table of variants, or parameters out of range."""


@dataclass(frozen=True)
class Variant:
    """One variant of CFR.

    alpha: exponent that discounts positive cumulative regrets; inf is no discount, -inf forgets them.
    beta: the same for negative ones.
    gamma: iteration t has the weight t^gamma in the average policy.
    clip: set negative cumulative regrets to zero (regret matching+).
    predictive: expect the last instantaneous regret once more.
    alternating: update side 0, then side 1 against side 0's *updated* policy; otherwise both at once.
    source: where the numbers come from.
    """

    name: str
    alpha: float = inf
    beta: float = inf
    gamma: float = 0.0
    clip: bool = False
    predictive: bool = False
    alternating: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        if self.alpha != self.alpha or self.beta != self.beta:
            raise UnknownVariant(f"variant {self.name}: alpha and beta must be numbers or ±inf; got nan")
        if not 0 <= self.gamma <= MOST_GAMMA:
            raise UnknownVariant(f"variant {self.name}: gamma must be in [0, {MOST_GAMMA}]; got {self.gamma}")


VARIANTS: dict[str, Variant] = {
    row.name: row
    for row in (
        Variant("cfr", source="Zinkevich et al. 2007"),
        Variant("cfr+", gamma=1, clip=True, source="Tammelin 2014; Burch, Moravcik and Schmid 2019"),
        Variant("lcfr", alpha=1, beta=1, gamma=1, source="Brown and Sandholm 2019, linear CFR"),
        Variant("dcfr", alpha=1.5, beta=0, gamma=2, source="Brown and Sandholm 2019"),
        Variant("pcfr+", gamma=2, clip=True, predictive=True, source="Farina, Kroer and Sandholm 2021"),
        Variant("dcfr+", alpha=1.5, gamma=4, clip=True, source="Xu et al. 2024"),
        Variant("pdcfr+", alpha=2.3, gamma=5, clip=True, predictive=True, source="Xu et al. 2024"),
    )
}
"""The table; any field can be changed with `variant(name, field=value)`."""

REGRET_NOISE = 1e-12
"""Regrets up to this share of the payoff scale count as 0 when they are matched: actions that are equally
good must not be told apart by rounding."""

START_WEIGHT = 1.0
"""Iterations' worth of regrets that hold on to a start (see `start_regrets`)."""

DEFAULT_VARIANT = "dcfr+"
"""Fewest iterations to exploitability 1e-4 over the research games taken together (`gs2 bench cfr`): level
with DCFR on Leduc and Liar's Dice, 1.3 to 2.5 times fewer on Goofspiel."""


def variant(name: str | Variant, **changes: Any) -> Variant:
    """Return the row called `name` (or the given row) with some fields replaced.

    Raises UnknownVariant for a name that is not in the table or a parameter out of range.
    """
    if isinstance(name, Variant):
        row = name
    else:
        if str(name).lower() not in VARIANTS:
            raise UnknownVariant(f"variant must be one of {', '.join(VARIANTS)}; got {name!r}")
        row = VARIANTS[str(name).lower()]
    return replace(row, **changes) if changes else row


def check_whole(name: str, value: Any, error: type[ValueError], least: int = 0) -> int:
    """Return a number of iterations; raise `error` unless it is a whole number of at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be at least {least}; got {value!r}; give a whole number")
    return int(value)
