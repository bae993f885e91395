"""How long a tree takes, told before it is grown: within the order of what it then takes."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

from cfr.tree import grow
from cfr.tree.budget import TreeBudget
from cfr.tree.duration import GROWTH_SECONDS, seconds_per_history, words_of_seconds
from games import load_game
from games.support.array_types import Array
from tests.games.random_games import RandomGame


class Slow(RandomGame):
    """A random game that thinks for a while whenever it is asked who acts."""

    pause = 0.0

    def player(self, states: Array) -> Array:
        """Return who acts, after a pause for each state."""
        time.sleep(self.pause * len(states))
        return super().player(states)


def test_a_slow_game_is_told_to_take_longer() -> None:
    game = Slow(1, public=True)
    quick = seconds_per_history(game, np.random.default_rng(0), plays=20)
    game.pause = 1e-3
    slow = seconds_per_history(game, np.random.default_rng(0), plays=20)
    assert quick >= GROWTH_SECONDS and slow >= 1e-3


def test_a_tree_that_takes_long_is_announced(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = load_game("liars_dice_6")
    with caplog.at_level(logging.WARNING, "gs2"):
        grow(game, keep_states=False, budget=TreeBudget())
    assert not caplog.text
    monkeypatch.setattr("cfr.tree.budget.seconds_per_history", lambda *args, **options: 1.0)
    with caplog.at_level(logging.WARNING, "gs2"):
        grow(game, keep_states=False, budget=TreeBudget())
    assert "days to grow" in caplog.text and "may be taken" in caplog.text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0031, "3.1 ms"),
        (1.0, "1 s"),
        (99.0, "99 s"),
        (150.0, "2.5 min"),
        (9000.0, "2.5 h"),
        (5 * 86400.0, "5 days"),
        (800 * 86400.0, "2.2 years"),
        (1e18, "3e+10 years"),
    ],
)
def test_times_are_said_in_words(seconds: float, words: str) -> None:
    assert words_of_seconds(seconds) == words
