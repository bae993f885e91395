"""Flat game trees, counterfactual-regret solvers, exact references and tabular policies."""

from typing import TYPE_CHECKING

from games.support.lazy import lazy_exports

if TYPE_CHECKING:
    from cfr.best_response import best_response_values, expected_value, exploitability, nash_conv
    from cfr.lp import solve_lp
    from cfr.mccfr import MonteCarloSolver
    from cfr.policy import Policy, load_policy, save_policy, tabular_policy, uniform_policy
    from cfr.solver import Progress, Solution, Solver, solve
    from cfr.tree import EnumeratedTree, FlatTree, TreeBudget, TreeRules, grow
    from cfr.variants import VARIANTS, Variant

__all__ = [
    "VARIANTS",
    "EnumeratedTree",
    "FlatTree",
    "MonteCarloSolver",
    "Policy",
    "Progress",
    "Solution",
    "Solver",
    "TreeBudget",
    "TreeRules",
    "Variant",
    "best_response_values",
    "expected_value",
    "exploitability",
    "grow",
    "load_policy",
    "nash_conv",
    "save_policy",
    "solve",
    "solve_lp",
    "tabular_policy",
    "uniform_policy",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "cfr.best_response": ("best_response_values", "expected_value", "exploitability", "nash_conv"),
        "cfr.lp": ("solve_lp",),
        "cfr.mccfr": ("MonteCarloSolver",),
        "cfr.policy": ("Policy", "load_policy", "save_policy", "tabular_policy", "uniform_policy"),
        "cfr.solver": ("Progress", "Solution", "Solver", "solve"),
        "cfr.tree": ("EnumeratedTree", "FlatTree", "TreeBudget", "TreeRules", "grow"),
        "cfr.variants": ("VARIANTS", "Variant"),
    },
)
