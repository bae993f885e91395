"""Payoffs in structured form by their definition, one pair of private states at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.infosets.payoff_forms import PayoffForms


def pair_payoff(forms: PayoffForms, state: int, i: int, j: int) -> float:
    """Return the payoff to player 0, times chance, of one pair of private states."""
    found = float(forms.matrices[forms.matrix[state], i, j]) if forms.matrix[state] >= 0 else 0.0
    for t in range(forms.term_offset[state], forms.term_offset[state + 1]):
        deal, order = int(forms.deal[t]), int(forms.order[t])
        weight = float(forms.first[deal, i]) * float(forms.second[deal, j])
        for k in range(forms.pair_offset[deal], forms.pair_offset[deal + 1]):
            if forms.pair[k].tolist() == [i, j]:
                weight += float(forms.share[k])
        below, equal, above = forms.paid[t].tolist()
        amount = equal
        if order >= 0:
            one, other = int(forms.strength0[order, i]), int(forms.strength1[order, j])
            amount = below if one < other else above if one > other else equal
        found += weight * amount
    return found


def pair_payoffs(forms: PayoffForms, state: int) -> NDArray[np.float64]:
    """Return the payoffs of all pairs, [n0, n1] float64."""
    n0, n1 = forms.private
    return np.array([[pair_payoff(forms, state, i, j) for j in range(n1)] for i in range(n0)])
