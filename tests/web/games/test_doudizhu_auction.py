"""What a hint says of a round of DouDiZhu, with an auction and without."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from games.climbing.doudizhu.round_state import NO_SEAT
from games.game import TERMINAL, Game
from games.ragged import Ragged
from games.registry import load_game
from games.support.array_types import Array
from gs2.web.games.agent_worker import Seated, agent_view
from gs2.web.games.card_face import seat_points
from gs2.web.games.game_round import GameRound
from tests.web.games.playing import progress


class LastCard:
    """A blueprint of DouDiZhu: a move that ends the round is worth its true payoff, any other nothing."""

    name = "last"

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        after = game.step(states, actions.rows, actions.values)
        over = game.player(after) == TERMINAL
        return np.where(over, game.returns(after)[:, player], 0.0)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        return np.repeat(1.0 / actions.counts, actions.counts)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        return np.zeros(len(states))


@pytest.mark.parametrize("name", ["network", "network+rollout:samples=2,branches=2"])
def test_a_hint_during_the_auction_has_no_values_of_a_network_that_learned_without(name: str) -> None:
    game = load_game("doudizhu(landlord=bid)")
    played = GameRound(game, 1, 0)
    while played.state["landlord"][0] == NO_SEAT:
        view = agent_view(Seated(game.name, name), played.history(), progress=progress)
        assert [one["value"] for one in view["moves"]] == [None] * view["of"]
        played.take(len(played.legal) - 1)
    view = agent_view(Seated(game.name, name), played.history(), progress=progress)
    assert all(-1 <= one["value"] <= 1 for one in view["moves"])


@pytest.mark.parametrize(
    "name",
    [
        "doudizhu",
        "doudizhu(landlord=bid)",
        "doudizhu(landlord=bid,returns=win_loss)",
        "doudizhu(landlord=bid,spring=true)",
    ],
)
def test_a_hint_tells_what_the_round_then_pays(name: str) -> None:
    game = load_game(name, general_sum=True)
    seated = Seated(game.name, f"{__name__}:LastCard")
    rng = np.random.default_rng(3)
    ended = {True: 0, False: 0}  # by the landlord, by a farmer
    for number in range(200):
        played = GameRound(game, 5, number)
        while not played.over:
            seat, before = played.player, played.history()
            last = played.state["left"][0, seat] <= 2 and played.state["landlord"][0] != NO_SEAT
            # who calls, calls high, so that the stake is more than 1
            played.take(len(played.legal) - 1 if rng.random() < 0.5 else int(rng.integers(len(played.legal))))
            by_landlord = bool(played.state["landlord"][0] == seat)
            if played.over and last and ended[by_landlord] < 2:
                view = agent_view(seated, before, progress=progress)
                assert view["moves"][0]["value"] == seat_points(played)[seat] > 0
                ended[by_landlord] += 1
        if min(ended.values()) == 2:
            break
    assert min(ended.values()) > 0
