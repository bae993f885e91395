"""Our games and OpenSpiel's, walked in lockstep: the same histories, chances, infosets and payoffs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from games import CHANCE, TERMINAL, Game, load_game
from tests.patience import amount

pyspiel = pytest.importorskip("pyspiel")

PROBABILITY_TOLERANCE = 1e-12


def serialised_goofspiel(parameters: str) -> str:
    """Return OpenSpiel's string for a goofspiel with hidden bids made one after the other."""
    return f"turn_based_simultaneous_game(game=goofspiel(imp_info=True,egocentric=False,{parameters}))"


PAIRS = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "leduc_poker(suit_isomorphism=true)": "leduc_poker(suit_isomorphism=True)",
    "liars_dice(sides=3)": "liars_dice(dice_sides=3)",
    "liars_dice(dice=2,sides=2)": "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(dice=2,sides=2,bidding=reset-quantity)": (
        "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)"
    ),
    "goofspiel(cards=3,turns=3,returns=win_loss)": serialised_goofspiel(
        "num_cards=3,num_turns=-1,points_order=random,returns_type=win_loss"
    ),
    "goofspiel(cards=4,turns=4,points_order=ascending)": serialised_goofspiel(
        "num_cards=4,num_turns=4,points_order=ascending,returns_type=point_difference"
    ),
    "goofspiel(cards=4,turns=2,points_order=descending,returns=total_points)": serialised_goofspiel(
        "num_cards=4,num_turns=2,points_order=descending,returns_type=total_points"
    ),
}
"""Every history is compared."""
LARGE_PAIRS = {
    "liars_dice": "liars_dice",
    "liars_dice(dice=3,sides=5,bidding=reset-quantity)": (
        "liars_dice(numdice=3,dice_sides=5,bidding_rule=reset-quantity)"
    ),
    "liars_dice(dice=5,sides=6)": "liars_dice(numdice=5)",
    "goofspiel": serialised_goofspiel("num_cards=5,num_turns=3,returns_type=point_difference"),
    "goofspiel(cards=12,points_order=ascending)": serialised_goofspiel(
        "num_cards=12,num_turns=3,points_order=ascending,returns_type=point_difference"
    ),
    "goofspiel(cards=13,turns=13,returns=win_loss)": serialised_goofspiel(
        "num_cards=13,returns_type=win_loss"
    ),
}
"""Random histories are compared."""


class Lockstep:
    """Compares matching states of both libraries, and that infosets match one to one."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.theirs: tuple[dict, dict] = ({}, {})
        self.ours: tuple[dict, dict] = ({}, {})

    def compare(self, states: np.ndarray, others: list[Any]) -> None:
        """Compare row i of `states` with `others[i]`, all of one length."""
        players = self.game.player(states)
        actions = self.game.actions(states)
        probs = self.game.chance_probs(states, actions)
        returns = self.game.returns(states[players == TERMINAL])
        over = np.cumsum(players == TERMINAL) - 1
        keys = [self.game.infoset_key(states, player) for player in (0, 1)]
        for row, other in enumerate(others):
            mine = slice(actions.offsets[row], actions.offsets[row + 1])
            if other.is_terminal():
                assert players[row] == TERMINAL
                assert mine.start == mine.stop
                assert returns[over[row]].tolist() == other.returns()
                continue
            if other.is_chance_node():
                assert players[row] == CHANCE
                outcomes, chances = zip(*other.chance_outcomes(), strict=True)
                assert actions.values[mine].tolist() == list(outcomes)
                np.testing.assert_allclose(probs[mine], chances, rtol=0, atol=PROBABILITY_TOLERANCE)
                continue
            assert players[row] == other.current_player()
            assert actions.values[mine].tolist() == other.legal_actions()
            for player in (0, 1):
                ours = (players[row], keys[player][row].tobytes())
                theirs = (players[row], other.information_state_string(player))
                assert self.ours[player].setdefault(ours, theirs) == theirs
                assert self.theirs[player].setdefault(theirs, ours) == ours


@pytest.mark.parametrize("name", [*PAIRS, *LARGE_PAIRS])
def test_histories_and_the_range_of_payoffs_are_openspiels(name: str) -> None:
    width = amount(300, 60) if name in LARGE_PAIRS else None
    rng = np.random.default_rng(0)
    game, theirs = load_game(name, general_sum=True), pyspiel.load_game({**PAIRS, **LARGE_PAIRS}[name])
    if "total" not in name and "13" not in name:
        low, high = game.payoff_range
        assert theirs.min_utility() <= low and high <= theirs.max_utility()
    states, others = game.root(), [theirs.new_initial_state()]
    lockstep = Lockstep(game)
    while others:
        lockstep.compare(states, others)
        actions = game.actions(states)
        kept = np.sort(rng.permutation(len(actions.values))[:width])
        rows, taken = actions.rows[kept], actions.values[kept]
        others = [others[row].child(a) for row, a in zip(rows, taken, strict=True)]
        states = game.step(states, rows, taken)
