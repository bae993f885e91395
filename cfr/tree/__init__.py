"""Game trees as flat arrays, and how they are grown from a game."""

from cfr.tree.flat import EnumeratedTree, FlatTree, InvalidTree, require_states, require_tree
from cfr.tree.growth import WHOLE, TreeRules, grow
from cfr.tree.memory import TreeBudget

__all__ = [
    "WHOLE",
    "EnumeratedTree",
    "FlatTree",
    "InvalidTree",
    "TreeBudget",
    "TreeRules",
    "grow",
    "require_states",
    "require_tree",
]
