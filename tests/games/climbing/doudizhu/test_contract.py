"""DouDiZhu holds the contract of a game: the smallest deck and an endgame whole, the real one in part."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.support.array_types import Rows
from tests.games.random_games import check_quickly


@pytest.mark.parametrize("options", [{}, {"spring": True}])
def test_the_smallest_deck_keeps_the_contract_in_every_history(options: dict[str, object]) -> None:
    game = DouDizhu(ranks=1, **options)  # type: ignore[arg-type]
    report = check_quickly(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals == 277


def test_an_endgame_keeps_the_contract_in_every_history() -> None:
    game = DouDizhu(start=rounds_from_hands(["333344", "55", "66"]))
    report = check_quickly(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals > 30


@pytest.mark.parametrize("ranks", [4, 13])
@pytest.mark.some(1)
def test_whole_decks_keep_the_contract_in_random_histories(ranks: int) -> None:
    report = check_quickly(DouDizhu(ranks=ranks), np.random.default_rng(1), max_width=5)
    assert not report.complete and report.terminals > 0


class Unpaid(DouDizhu):
    """The auction without payoffs, which no fixed teams can tell."""

    payoff_range = (0.0, 0.0)

    def __init__(self, ranks: int) -> None:
        super().__init__(landlord="bid", ranks=ranks)
        self.payoff_range = (0.0, 0.0)

    def returns(self, states: Rows) -> np.ndarray:
        return 0 * super().returns(states)


@pytest.mark.parametrize("ranks", [1, 4])
def test_rounds_with_an_auction_keep_all_of_it_but_the_teams(ranks: int) -> None:
    report = check_quickly(Unpaid(ranks), np.random.default_rng(2), max_width=8)
    assert report.terminals > 0


def test_payoffs_with_an_auction_are_each_seats_own() -> None:
    game = DouDizhu(landlord="bid", ranks=1, spring=True)
    assert not game.zero_sum and DouDizhu().zero_sum
    rng = np.random.default_rng(3)
    ends, _ = game.play_randomly(game.sample_deals(3000, rng), rng)
    returns = game.returns(ends)
    assert (returns.min(), returns.max()) == game.payoff_range == (-12.0, 24.0)
    assert not returns.sum(1).any()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, (-8192.0, 8192.0)),
        ({"ranks": 4}, (-16.0, 16.0)),
        ({"ranks": 1}, (-2.0, 2.0)),
        ({"returns": "win_loss"}, (-1.0, 1.0)),
        ({"landlord": "bid"}, (-49152.0, 49152.0)),
        ({"landlord": "bid", "ranks": 1}, (-6.0, 12.0)),
        ({"landlord": "bid", "returns": "win_loss"}, (-2.0, 2.0)),
    ],
)
def test_payoff_ranges_are_what_can_be_won_and_lost(
    options: dict[str, object], wanted: tuple[float, float]
) -> None:
    assert DouDizhu(**options).payoff_range == wanted  # type: ignore[arg-type]


def test_the_name_tells_what_is_not_at_its_default_and_the_game_can_be_sent() -> None:
    assert DouDizhu().name == "doudizhu"
    game = DouDizhu(landlord="bid", ranks=7, spring=True, returns="win_loss")
    assert game.name == "doudizhu(landlord=bid,ranks=7,spring=true,returns=win_loss)"
    sent = pickle.loads(pickle.dumps(game))
    assert sent.name == game.name and sent.rules == game.rules


def test_actions_are_told_apart_by_kind() -> None:
    game = DouDizhu()
    deals = game.actions(game.root()).values
    types = game.action_type(deals)
    assert len(np.unique(types)) == len(deals) and types.min() >= 19
    state = rounds_from_hands(["333456789BR", "4466", "778"])
    assert set(game.action_type(game.actions(state).values)) == {1, 2, 3, 4, 7, 14}
