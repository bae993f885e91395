"""Strategies by a short name: `uniform`, `cfr:100`, `noise:0.25`, or the file of a saved policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cfr.policy import load_policy, uniform_policy
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import solve
from cfr.tree import FlatTree
from cfr.variants import VARIANTS
from games.game import Game

__all__ = ["POLICY_SPEC_HELP", "PolicySpecError", "policy_from_spec"]

POLICY_SPEC_HELP = "uniform, VARIANT:ITERATIONS (such as cfr:100), noise:EPSILON, or a file of gs2 blueprint"
NOISE_BASE_ITERATIONS = 2_000
"""DCFR iterations behind `noise`: exploitability below 1e-3 of the payoff range on all research games."""


class PolicySpecError(ValueError):
    """A text that names no strategy."""


def policy_from_spec(
    spec: str, game: Game, tree: FlatTree, form: SequenceForm | None = None
) -> NDArray[np.float64]:
    """Return the strategy that `spec` names on the slots of the game's tree, [n_slots] float64.

    spec: `uniform`; `cfr:100`, the average policy of that many iterations of a CFR variant; `noise:0.25`,
        a near-equilibrium mixed with 25 % of uniform play at every infoset; or a policy file.
    Raises PolicySpecError if it is none of these, PolicyError if the file is another game's.
    """
    word, colon, amount = spec.partition(":")
    word = word.strip().lower()
    if word == "uniform" and not colon:
        return uniform_policy(tree)
    if colon and word in VARIANTS:
        if not amount.strip().isdigit() or int(amount) < 1:
            raise PolicySpecError(f"{word}: iterations must be an integer of at least 1; got {amount!r}")
        return solve(form or sequence_form(tree), variant=word, iterations=int(amount)).policy
    if colon and word == "noise":
        try:
            epsilon = float(amount)
        except ValueError:
            epsilon = -1.0
        if not 0 <= epsilon <= 1:
            raise PolicySpecError(f"noise: epsilon must be a number in [0, 1]; got {amount!r}")
        base = solve(form or sequence_form(tree), variant="dcfr", iterations=NOISE_BASE_ITERATIONS).policy
        return (1 - epsilon) * base + epsilon * uniform_policy(tree)
    if Path(spec).is_file():
        return load_policy(spec, game.name).on(tree)
    raise PolicySpecError(
        f"blueprint must be uniform, noise:EPSILON, VARIANT:ITERATIONS with one of {', '.join(VARIANTS)}, "
        f"or a file; got {spec!r}, and there is no such file"
    )
