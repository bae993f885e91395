"""Estimated sizes against counted ones: of the research games, of random ones, and one known by formula."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from games import PRESETS, RESEARCH_GAMES, GameError, load_game
from games.registry import smaller_games
from games.size import Count, estimate_size
from tests.games.random_games import RandomGame
from tests.games.trees import sizes

RECORDED = json.loads((Path(__file__).parent.parent / "data" / "efg.json").read_text())["games"]
HUGE = ("liars_dice_7", "liars_dice_7_reset_quantity", "goofspiel_12_ascending_3")


def holds(count: Count, true: float) -> bool:
    """Return whether an interval holds a number, with room for rounding."""
    return count.low * (1 - 1e-9) <= true <= count.high * (1 + 1e-9)


def test_a_small_game_is_counted_also_below_some_histories() -> None:
    game = load_game("leduc_poker")
    size = estimate_size(game)
    assert size.exact and size.actions is not None and estimate_size(game, width=10**6) == size
    assert (size.histories.mean, size.terminals.mean, size.depth) == (9457, 5520, 11)
    assert size.infosets is not None and [count.mean for count in size.infosets] == [468, 468]
    deal = game.root()
    for _ in range(2):
        actions = game.actions(deal)
        deal = game.step(deal, actions.rows, actions.values)
    assert estimate_size(game, deal).histories.mean == 9457 - 7


@pytest.mark.parametrize("name", RESEARCH_GAMES)
def test_the_interval_holds_the_size_of_a_research_game(name: str) -> None:
    true = RECORDED[name]
    sizes = [estimate_size(load_game(name), seed=seed, width=500) for seed in range(5)]
    assert sum(holds(size.histories, true["nodes"]) for size in sizes) >= 4
    assert sum(holds(size.terminals, true["terminals"]) for size in sizes) >= 4
    for size in sizes:
        assert size.infosets is not None and size.actions is not None
        for seat in (0, 1):
            assert size.infosets[seat].low / 2 <= true["infosets"][seat] <= 2 * size.infosets[seat].high
        assert size.actions.low / 2 <= sum(true["sequences"]) - 2 <= 2 * size.actions.high


@pytest.mark.long
def test_the_interval_holds_the_size_of_most_random_games() -> None:
    held = total = 0
    for seed in range(25):
        game = RandomGame(seed, public=False, depth=9, most=2000)
        size = estimate_size(game, seed=seed, width=8)
        if size.exact:
            assert size.histories.mean == len(game.nodes)
            continue
        total += 1
        held += holds(size.histories, len(game.nodes))
        assert size.infosets is not None and all(count.mean >= 0 for count in size.infosets)
    assert total >= 10
    assert held >= 0.8 * total


def test_the_mean_is_unbiased() -> None:
    game = load_game("liars_dice(sides=5)")
    means = [estimate_size(game, seed=seed, width=20, infosets=False).histories.mean for seed in range(60)]
    error = 4 * np.std(means) / np.sqrt(len(means))
    assert np.mean(means) == pytest.approx(25 * (2**11 - 1) + 6, abs=error)
    assert error < 0.2 * np.mean(means)


def test_a_seed_gives_one_answer_and_an_early_end_if_asked_for() -> None:
    game = load_game("liars_dice(sides=6)")
    assert estimate_size(game, seed=3) == estimate_size(game, seed=3) != estimate_size(game, seed=4)
    size = estimate_size(load_game("liars_dice(dice=2,sides=6)"), enough=1e6, infosets=False)
    assert not size.complete and 1e6 < size.histories.mean < 1e9
    with pytest.raises(ValueError, match="width must be at least 1; got 0"):
        estimate_size(game, width=0)


def test_smaller_games_have_less_of_one_parameter() -> None:
    names = [[game.name for game in games] for games in smaller_games("liars_dice(dice=2,sides=4)")]
    assert names == [
        ["liars_dice(sides=4)"],
        ["liars_dice(dice=2,sides=3)", "liars_dice(dice=2,sides=2)"],
    ]
    with pytest.raises(GameError):
        smaller_games("openspiel:kuhn_poker")


@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker(ranks=13,suits=4,raise_caps=8/8)",
        "liars_dice(dice=8,sides=3)",
        "goofspiel(cards=13,turns=13,points_order=ascending)",
    ],
)
def test_every_size_is_estimated_however_large(name: str) -> None:
    size = estimate_size(load_game(name), width=100)
    assert size.complete and size.infosets is not None
    for count in (size.histories, size.terminals, *size.decisions, *size.infosets):
        assert np.isfinite([count.low, count.mean, count.high]).all()
        assert 0 <= count.low <= count.mean * (1 + 1e-9) and count.mean <= count.high * (1 + 1e-9)
    assert size.terminals.mean < size.histories.mean
    assert sum(count.low for count in size.infosets) <= sum(count.high for count in size.decisions)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in HUGE else ()) for name in RECORDED]
)
@pytest.mark.some(6)
def test_research_games_have_the_recorded_sizes(name: str) -> None:
    game = load_game(name)
    counted = sizes(game)
    assert counted == {key: RECORDED[name][key] for key in counted}
    assert list(game.payoff_range) == counted["payoff_range"]


def test_every_preset_and_research_game_is_recorded() -> None:
    assert set(PRESETS) | set(RESEARCH_GAMES) == set(RECORDED)
