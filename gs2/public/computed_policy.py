"""Strategies by name on the public tree of a factored game, for games whose listed tree does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_size import require_memory, solver_bytes
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import grow_public
from cfr.tree.memory import memory_limit
from games.game import Game
from games.infosets.factored import FactoredGame
from gs2.policies.policy_spec import computed_by, is_computed

__all__ = ["computed_policy", "is_computed_there"]


def is_computed_there(game: Game, spec: str) -> TypeGuard[FactoredGame]:
    """Return whether a name stands for a strategy that the public tree of this game can compute."""
    return isinstance(game, FactoredGame) and is_computed(spec)


def computed_policy(
    spec: str, game: FactoredGame, tell: Callable[[str], None] = lambda words: None
) -> PublicPolicy:
    """Return the strategy that `uniform`, `VARIANT:ITERATIONS` or `noise:EPSILON` names, in memory.

    Up to rounding it is the strategy that `policy_from_spec` finds on the listed tree. tell: hears of the
    progress.
    Raises PolicySpecError for another name, TooLarge if the public tree or its solver does not fit.
    """
    wanted = computed_by(spec)
    tree = grow_public(game)
    fits = solver_bytes(tree, wanted.variant, np.float64) <= memory_limit()
    dtype = np.dtype(np.float64 if fits else np.float32)
    blueprint = "a policy file that `gs2 blueprint --form public --precision 16` wrote, "
    require_memory(tree, wanted.variant, dtype, blueprint)
    solver = PublicSolver(tree, wanted.variant, dtype=dtype)
    uniform = PublicPolicy.of(solver) if wanted.even else None
    while solver.iteration < wanted.iterations:
        solver.run(1)
        tell(
            f"computing {spec} on the public tree, iteration {solver.iteration:,} of {wanted.iterations:,} …"
        )
    policy = PublicPolicy.of(solver)
    if uniform is None:
        return policy
    first, second = (
        (1 - wanted.even) * ours + wanted.even * even
        for ours, even in zip(policy.rows, uniform.rows, strict=True)
    )
    return PublicPolicy(tree, (first, second), policy.index, note=spec)
