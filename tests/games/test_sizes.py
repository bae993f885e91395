"""Our trees have the sizes that were measured on OpenSpiel's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from games import PRESETS, RESEARCH_GAMES, load_game
from tests.games.trees import sizes

RECORDED = json.loads((Path(__file__).parent.parent / "data" / "efg.json").read_text())["games"]


@pytest.mark.parametrize("name", RECORDED)
def test_research_games_have_the_recorded_sizes(name: str) -> None:
    game = load_game(name)
    counted = sizes(game)
    assert counted == {key: RECORDED[name][key] for key in counted}
    assert list(game.payoff_range) == counted["payoff_range"]


def test_every_preset_and_research_game_is_recorded() -> None:
    assert set(PRESETS) | set(RESEARCH_GAMES) == set(RECORDED)
