"""Random payoffs in structured form: weights of zero, listed pairs, ties, equal amounts, matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from games.infosets.payoff_forms import FormBuilder, PayoffForms


def random_forms(seed: int, *, most_private: int = 20, kinds: int = 7) -> PayoffForms:
    """Return the payoffs of some kinds, of several terms each or none, some with a matrix besides."""
    rng = np.random.default_rng([seed, 5])
    n0 = int(rng.integers(1, most_private))
    n1 = n0 if rng.random() < 0.5 else int(rng.integers(1, most_private))
    builder = FormBuilder((n0, n1))
    deals, orders = [], []
    for _ in range(4):
        first, second = (rng.random(n) * (rng.random(n) < 0.8) for n in (n0, n1))
        if n0 == n1 and rng.random() < 0.5:
            deals.append(builder.deal(first, second, diagonal=-first * second))
            continue
        pairs = np.stack([rng.integers(0, n, 5) for n in (n0, n1)], axis=1)
        deals.append(builder.deal(first, second, pairs=pairs, share=rng.normal(size=5)))
    for spread in (1, 2, 5, 40):
        orders.append(builder.strengths(*(rng.integers(-spread, spread, n) for n in (n0, n1))))
    for kind in range(kinds):
        for _ in range(int(rng.integers(4))):
            paid = rng.normal(size=3)
            paid[1] = paid[[0, 1, 2][int(rng.integers(3))]] * (rng.random() < 0.8)
            amounts = float(paid[0]), float(paid[1]), float(paid[2])
            deal, order = int(rng.choice(deals)), int(rng.choice(orders))
            if rng.random() < 0.3:
                builder.pay(kind, deal, None, amounts[0])
            else:
                builder.pay(kind, deal, order, amounts)
    forms = builder.build(kinds)
    given = rng.random(kinds) < 0.2
    matrices = rng.normal(size=(int(given.sum()), n0, n1))
    return replace(forms, matrix=np.where(given, np.cumsum(given) - 1, -1), matrices=matrices)
