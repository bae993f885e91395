"""What a profile of three and more seats is worth, and what each seat could gain by leaving it alone."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value
from cfr.sequence_form import sequence_form
from cfr.tree import grow
from games import load_game
from gs2.policies.policy_spec import policy_from_spec
from gs2.policies.profile_worth import profile_worth
from gs2.policies.tabulate import policy_of
from tests.commands.runner import as_json, gs2
from tests.games.random_games import RandomGame, RandomPlay

SAME = 1e-9
BIG2 = "big2(players=3,ranks=3,suits=2)"


def test_with_two_seats_it_is_what_the_sequence_form_says() -> None:
    game = load_game("kuhn_poker")
    tree = grow(game)
    form = sequence_form(tree)
    for spec in ("uniform", "cfr:5"):
        probs = policy_from_spec(spec, game, tree)
        found = profile_worth(tree, probs)
        assert found["value"] == pytest.approx(expected_value(form, probs), abs=SAME)
        assert found["nash_conv"] == pytest.approx(sum(best_response_values(form, probs)), abs=SAME)
        assert found["best_response"] == pytest.approx(list(best_response_values(form, probs)), abs=SAME)


@pytest.mark.parametrize("teams", [(0, 1, 1), (0, 1, 2), (0, 1, 0, 1)])
def test_no_seat_loses_by_a_best_response_and_gains_add_up(teams: tuple[int, ...]) -> None:
    for seed in range(2):
        game = RandomGame(seed, teams=teams)
        tree = grow(game)
        found = profile_worth(tree, policy_of(RandomPlay(seed), game, tree))
        assert min(found["gains"]) >= -SAME
        assert found["nash_conv"] == pytest.approx(sum(found["gains"]), abs=SAME)
        assert found["exploitability"] == pytest.approx(found["nash_conv"] / 2, abs=SAME)
        values = np.array(found["values"])
        sides = [values[teams.index(side)] for side in range(max(teams) + 1)]
        assert sum(sides) == pytest.approx(0, abs=SAME)


def test_cfr_on_three_seats_is_a_name_of_a_strategy_and_leaves_little_to_gain() -> None:
    game = load_game(BIG2)
    tree = grow(game)
    gains = [
        profile_worth(tree, policy_from_spec(spec, game, tree))["mean_gain"] for spec in ("uniform", "cfr:60")
    ]
    assert gains[1] < 0.1 * gains[0]


def test_the_commands_say_what_their_figure_means_with_more_than_two_seats() -> None:
    row = as_json("blueprint", BIG2, "--iterations", "20")
    assert len(row["best_response"]) == 3 and "deviates alone" in row["meaning"]
    measured = gs2("exploitability", BIG2, "dcfr:20")
    assert measured.exit_code == 0, measured.output
    assert "mean gain of a seat" in measured.stdout and "player 2" in measured.stdout
