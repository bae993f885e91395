"""How exploitable a blueprint is, exactly, on whichever form of its game can be listed."""

from __future__ import annotations

from collections.abc import Callable

from blueprint.protocol import Blueprint
from cfr.best_response import best_response_values
from cfr.private_moves.form import list_private_moves
from cfr.sequence_form import sequence_form
from cfr.tree import grow
from games.game import Game
from games.infosets.private_moves import PrivateMovesGame
from gs2.policies.private_moves import policy_on
from gs2.policies.tabulate import policy_of

__all__ = ["exact_exploitability"]


def exact_exploitability(game: Game) -> Callable[[Blueprint], float]:
    """Return what measures a blueprint of `game`: NashConv / 2, in payoffs.

    The form is a tree of every history, or for hidden stones the infosets of each player.
    Raises TooLarge for a game that has neither.
    """
    if isinstance(game, PrivateMovesGame):
        form = list_private_moves(game)
        return lambda blueprint: form.evaluate(policy_on(form, blueprint)).exploitability
    tree = grow(game)
    listed = sequence_form(tree, game)
    return lambda blueprint: sum(best_response_values(listed, policy_of(blueprint, game, tree))) / 2
