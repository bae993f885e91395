"""A round with an auction is one of the game with a fixed landlord, seats turned."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import NO_SEAT
from games.game import TERMINAL, Game
from games.ragged import Ragged
from games.registry import load_game
from games.support.array_types import Array
from gs2.web.games.agent_worker import Seated, agent_answer, agent_view
from gs2.web.games.card_face import seat_points
from gs2.web.games.doudizhu_face import DouDizhuFace
from gs2.web.games.game_round import GameRound
from tests.patience import amount
from tests.web.games.playing import progress, round_along

RULES = "gs2.play.shedding:SHEDDING"


@pytest.mark.parametrize("options", ["", ",spring=true", ",ranks=7"])
@pytest.mark.some(1)
def test_hands_moves_and_points_are_the_same_when_seats_are_turned(options: str) -> None:
    game = load_game(f"doudizhu(landlord=bid{options})", general_sum=True)
    assert isinstance(game, DouDizhu)
    name = DouDizhuFace(game).fixed_form()
    assert name is not None
    fixed = load_game(name)
    assert isinstance(fixed, DouDizhu) and DouDizhuFace(fixed).fixed_form() is None
    rng = np.random.default_rng(1)
    landlords = set()
    for number in range(amount(40, 8)):
        played = GameRound(game, 2, number)
        while not played.over:
            landlord = int(played.state["landlord"][0])
            turned = DouDizhuFace(game).fixed_history(played.history(), played.state)
            assert (turned is None) == (landlord == NO_SEAT)
            if turned is not None and len(played.taken) % 4 == 0:
                other = round_along(fixed, turned)
                assert other.player == (played.player - landlord) % 3
                for field in ("hand", "played", "left", "moves"):
                    rolled = np.roll(played.state[field][0], -landlord)
                    assert np.array_equal(other.state[field][0], rolled), field
                assert np.array_equal(other.legal, played.legal)
            played.take(int(rng.integers(len(played.legal))))
        landlord = int(played.state["landlord"][0])
        if landlord != NO_SEAT:
            landlords.add(landlord)
            turned = DouDizhuFace(game).fixed_history(played.history(), played.state)
            assert turned is not None
            points = fixed.points(round_along(fixed, turned).state)[0] * played.state["bid"][0]
            assert np.array_equal(np.roll(points, landlord), game.points(played.state)[0])
    assert landlords == {0, 1, 2}


def test_an_agent_of_the_fixed_game_plays_a_table_with_calls_as_it_plays_its_own() -> None:
    game = load_game("doudizhu(landlord=bid)", general_sum=True)
    seated = Seated(game.name, RULES, "doudizhu")
    at_home = Seated(game.name, RULES, game.name)
    compared = 0
    for number in range(2):
        played = GameRound(game, 7, number)
        while not played.over:
            index = agent_answer(seated, played.history(), 0.5, progress=progress)
            # the rules look at nothing but the cards, so they do the same in either form
            assert index == agent_answer(at_home, played.history(), 0.5, progress=progress)
            if compared % 9 == 0:
                assert agent_view(seated, played.history(), progress=progress)["best"] == index
            compared += 1
            played.take(index)
    assert compared > 20


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


@pytest.mark.parametrize(
    ("name", "alone"),
    [
        ("doudizhu", False),
        ("doudizhu(landlord=bid)", True),
        ("doudizhu(landlord=bid,returns=win_loss)", True),
        ("doudizhu(landlord=bid,spring=true)", True),
    ],
)
def test_a_hint_tells_what_the_round_then_pays(name: str, alone: bool) -> None:
    game = load_game(name, general_sum=True)
    as_played = DouDizhuFace(game).fixed_form() if alone else game.name
    assert as_played is not None
    seated = Seated(game.name, f"{__name__}:LastCard", as_played)
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
