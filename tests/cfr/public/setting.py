"""What the tests of public trees share: games in both forms, and how their policies differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree, grow_public
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.tree import EnumeratedTree, grow
from games import load_game
from games.infosets.factored import FactoredGame
from gs2.policies.tabulate import policy_of
from tests.cfr.public.random_factored import RandomFactored

GAMES = (
    "kuhn_poker",
    "kuhn_poker(cards=5)",
    "leduc_poker",
    "leduc_poker(ranks=2,suits=2,raise_sizes=1/1,raise_caps=1/3)",
    "leduc_poker(ranks=3,suits=1,raise_caps=1/1)",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(sides=4)",
    "liars_dice(dice=2,sides=2)",
    "liars_dice(sides=3,wild=false,bidding=reset-quantity)",
)
RANDOM = tuple(f"random {seed}" for seed in range(6))


@dataclass(frozen=True, eq=False)
class Both:
    """A game in both forms."""

    game: FactoredGame
    tree: PublicTree
    listed: EnumeratedTree
    form: SequenceForm

    def slots(self, solver: PublicSolver, *, current: bool = False) -> np.ndarray:
        """Return a solver's policy on the listed tree's slots."""
        return policy_of(PublicPolicy.of(solver, current=current), self.game, self.listed)


@cache
def both(name: str) -> Both:
    """Return a game in both forms; "random 3" is the third random one."""
    game: FactoredGame
    if name.startswith("random "):
        game = RandomFactored(int(name.split()[1]))
    else:
        game = load_game(name)  # type: ignore[assignment]
    listed = grow(game)
    return Both(game, grow_public(game), listed, sequence_form(listed))


def solver_of(name: str, iterations: int, variant: str = "dcfr", threads: int = 1) -> PublicSolver:
    """Return a solver after some iterations."""
    solver = PublicSolver(both(name).tree, variant, threads=threads)
    solver.run(iterations)
    return solver
