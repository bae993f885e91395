"""Games of three and more seats as games of two: whom a search takes for its opponent, and a blueprint there.

A search solves a game of two. In one of more seats it sees the searching seat and one opponent, the others as
chance that plays the blueprint (`games.infosets.two_seats`). `opponent` of the configuration says which:

    next   the first seat of another team that comes after the searching one
    none   nobody: everyone else plays the blueprint, and actions are compared by what they gain against it
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint, values_histories
from games.game import Game, Infoset
from games.infosets.histories import PlayRule
from games.infosets.trail import Trail, find_trail
from games.infosets.two_seats import TwoSeatView, other_side
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.search.config.search import SearchConfig


class SeatBlueprint:
    """A blueprint of a game as one of its view from two seats.

    view: the game of two. whole: the blueprint of the game that all seats play.
    """

    def __init__(self, view: TwoSeatView, whole: Blueprint) -> None:
        """Take the view and the blueprint."""
        self.view, self.whole, self.name = view, whole, whole.name
        self.values_histories = values_histories(whole)
        game, rival = view.original, view.seats[1]
        self._rest = other_side(game, view.seats[0])
        if getattr(game, "zero_sum", True):  # one seat speaks for its team, the opponent for its own
            speaks = {game.teams[seat]: seat for seat in (*self._rest, rival)}
            self._rest = tuple(speaks.values())

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the value to the seat of each action, [m] float64, in its own payoffs."""
        return self.whole.q(self.view.original, states, self.view.seats[player], actions)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the probability of each action, [m] float64."""
        return self.whole.policy(self.view.original, states, self.view.seats[player], actions)

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return the value to `player` of each state, [n] float64.

        Where more than two teams play, player 1 stands for all others, and what each expects is added up.
        """
        original = self.view.original
        if player == 0:
            return self.whole.value(original, states, self.view.seats[0])
        found: Array = np.sum([self.whole.value(original, states, seat) for seat in self._rest], axis=0)
        return found


def seat_view(game: Game, blueprint: Blueprint, seat: int, config: SearchConfig) -> SeatBlueprint:
    """Return the game of two that a search at one seat of a game solves, with the blueprint there."""
    seats, decides = (seat, other_side(game, seat)[0]), config.subgame.opponent != "none"
    past = _believed(_quick(blueprint).policy, config.histories.slip, config.histories.belief)
    return SeatBlueprint(TwoSeatView(game, blueprint.policy, seats, decides=decides, past=past), blueprint)


def seen_by(game: Game, blueprint: Blueprint, seat: int, config: SearchConfig) -> tuple[Game, Blueprint]:
    """Return the game that a search at one seat of any game solves: itself, if it has no more than two."""
    if game.num_players <= 2:
        return game, blueprint
    seen = seat_view(game, blueprint, seat, config)
    return seen.view, seen


def first_two(
    game: Game, blueprint: object, infoset: Infoset | Trail | int, config: SearchConfig
) -> tuple[TwoSeatView, SeatBlueprint, Infoset | Trail]:
    """Return a game of more than two seats, its blueprint and an infoset as two of the seats see them."""
    if isinstance(infoset, int | np.integer) or not isinstance(blueprint, Blueprint):
        raise ValueError(
            f"{game.name}: with {game.num_players} seats the infoset must be an Infoset or a Trail and the "
            f"blueprint a Blueprint; got {type(infoset).__name__} and {type(blueprint).__name__}"
        )
    seen = seat_view(game, blueprint, infoset.player, config)
    there = seen.view.trail(infoset) if isinstance(infoset, Trail) else seen.view.infoset(infoset)
    return seen.view, seen, there


def _believed(policy: PlayRule, slip: float, belief: float) -> PlayRule:
    """Return how likely seats are held to have done what they did: as a policy has it, but for slips.

    slip: share of uniform play. belief: exponent of the whole.
    """

    def rule(game: Game, states: Array, seat: int, actions: Ragged) -> NDArray[np.float64]:
        if belief == 0:
            return np.ones(len(actions.values))
        probs = np.asarray(policy(game, states, seat, actions), np.float64)
        if slip > 0:
            probs = (1 - slip) * probs + slip / np.maximum(actions.counts, 1)[actions.rows]
        return probs if belief == 1 else probs**belief

    return rule


def past_rule(blueprint: Blueprint, player: int, config: SearchConfig) -> PlayRule:
    """Return by what everyone's part of drawn histories is weighed: the blueprint, but for the others' slips.

    player: who searches. In a view its own part is taken as 1 where all histories are of its own infoset: it
    is the same in each of them.
    """
    if config.histories.slip == 0 and not isinstance(blueprint, SeatBlueprint):
        return blueprint.policy
    # The exponent of what the opponent did is applied where its part is used.
    quick = blueprint
    if isinstance(blueprint, SeatBlueprint):
        quick = SeatBlueprint(blueprint.view, _quick(blueprint.whole))
    others = _believed(quick.policy, config.histories.slip, float(config.histories.belief > 0))
    alone = config.histories.companions == 0

    def rule(game: Game, states: Array, seat: int, actions: Ragged) -> NDArray[np.float64]:
        if seat != player:
            return others(game, states, seat, actions)
        if alone:
            return np.ones(len(actions.values))
        return np.asarray(blueprint.policy(game, states, seat, actions), np.float64)

    return rule


def played_by_all(game: Game, blueprint: Blueprint) -> tuple[Game, Blueprint]:
    """Return the game whose seats all play in a rollout, and what they play: of a view those of its game.

    A blueprint may have a quicker form of itself as `quick`, which then plays.
    """
    if isinstance(game, TwoSeatView) and isinstance(blueprint, SeatBlueprint):
        game, blueprint = game.original, blueprint.whole
    return game, _quick(blueprint)


def _quick(blueprint: Blueprint) -> Blueprint:
    quick = getattr(blueprint, "quick", None)
    return quick if isinstance(quick, Blueprint) else blueprint


def trail_to(game: Game, infoset: Infoset, rng: np.random.Generator) -> Trail:
    """Return the trail to an infoset of a game or of a view, which is found in its game (`find_trail`)."""
    if isinstance(game, TwoSeatView):
        named = replace(infoset, player=game.seats[infoset.player])
        return game.trail(find_trail(game.original, named, rng))
    return find_trail(game, infoset, rng)
