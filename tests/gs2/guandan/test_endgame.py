"""The solver of endings with open cards against a slow twin, and its values against the round's payoffs."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.objective import result_worth
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.endgame import Endgame, is_endgame, solve_drawn, solve_endgame
from tests.gs2.guandan.blueprints import random_choice
from tests.patience import amount
from tests.reference.guandan.guandan_endgame import result_after


def endgames(
    n: int, rng: np.random.Generator, most: int, least: int = 2, seats: tuple[int, ...] = (2,)
) -> list[np.ndarray]:
    """Return n positions with so many seats left that hold `least` to `most` cards together."""
    found: list[np.ndarray] = []
    while len(found) < n:
        states = deal(256, rng, level=rng.integers(0, 13, 256), owner=rng.integers(0, 2, 256))
        live = np.arange(256)
        while len(live):
            part = states[live]
            advance(part, random_choice(part, rng))
            states[live] = part
            there = np.isin(np.count_nonzero(part["left"], axis=1), seats) & (part["player"] >= 0)
            for i in np.flatnonzero(there):
                if least <= part["left"][i].sum() <= most and legal(part[i : i + 1]).counts[0] > 1:
                    found.append(part[i : i + 1].copy())
                    states["player"][live[i]] = -2
            live = live[states["player"][live] >= 0]
    return found[:n]


def alone(state: np.ndarray) -> Worlds:
    """Return a state as the only deal there is."""
    return Worlds(state, np.ones(1), True)


def solved(state: np.ndarray, moves: np.ndarray, limit: int = 300_000) -> Endgame:
    return solve_endgame(alone(state), moves, limit)


@pytest.mark.parametrize(("seats", "most"), [((2,), 11), ((3, 4), 10)])
def test_solver_agrees_with_the_slow_twin_on_every_move(seats: tuple[int, ...], most: int) -> None:
    rng = np.random.default_rng(len(seats))
    results = set()
    for state in endgames(amount(40, 6), rng, most=most, seats=seats):
        two = seats == (2,)
        moves = legal(state, canonical=not two).values
        found = solved(state, moves)
        assert is_endgame(state, 10) and is_endgame(state) == two
        assert is_endgame(state, int(state["left"].sum()) - 1) == two
        memo: dict[bytes, float] = {}
        sign = 1 - 2 * (int(state["player"][0]) & 1)
        for j in range(len(moves)):
            assert found.values[0, j] == sign * result_after(state, moves[j : j + 1], memo, not two)
        assert found.most >= found.values.max()
        results |= set(found.values[0].tolist())
    assert len(results) >= 4


def test_playing_the_solution_wins_against_any_defence() -> None:
    rng = np.random.default_rng(2)
    game, won = GuanDan(), 0
    for state in endgames(amount(25, 10), rng, most=16, least=8, seats=(2, 3)):
        seat = int(state["player"][0])
        found = solved(state, legal(state).values)
        if np.isnan(found.values).any():
            continue
        promised = found.values.max()
        for _ in range(amount(5, 1)):
            play = state.copy()
            while play["player"][0] >= 0:
                moves = legal(play).values
                if play["player"][0] & 1 == seat & 1:
                    pick = int(np.nanargmax(solved(play, moves).values[0]))
                else:
                    pick = int(rng.integers(len(moves)))
                advance(play, moves[pick : pick + 1])
            assert game.returns(play)[0, seat] >= promised
        won += 1
    assert won >= 5


def test_a_small_limit_leaves_moves_open_rather_than_guessing() -> None:
    rng = np.random.default_rng(3)
    for state in endgames(amount(5, 3), rng, most=24, least=14, seats=(2, 3)):
        moves = legal(state, canonical=True).values
        whole = solved(state, moves, 2_000_000).values
        for limit in (0, 1, 3, 30):
            part = solved(state, moves, limit)
            known = ~np.isnan(part.values) & ~np.isnan(whole)
            assert np.all(part.values[known] == whole[known])
            assert part.settled == bool(
                np.nanmax(part.values, initial=-np.inf) == part.most
                or (not np.isnan(part.values).any() and len(np.unique(part.values)) > 1)
            )


def test_of_several_deals_those_solved_whole_count() -> None:
    rng = np.random.default_rng(4)
    (state,) = endgames(1, rng, most=14, least=10, seats=(3,))
    moves = legal(state, canonical=True).values
    one = solved(state, moves, 2_000_000)
    many = Worlds(np.repeat(state, 5), np.arange(1.0, 6.0), False)
    every = solve_endgame(many, moves, 2_000_000)
    assert np.array_equal(every.values, np.repeat(one.values, 5, axis=0))
    assert every.mean == pytest.approx(one.mean) and not every.certain and one.certain
    # what one deal showed is known in the next ones: they cost nothing, and a limit cuts whole deals
    assert every.positions == one.positions
    none = solve_endgame(many, moves, 1)
    assert len(none.worlds) == len(none.values) == 0 and not none.settled
    q = -np.arange(float(len(moves)))
    best = every.best(q)
    assert every.mean[best] == pytest.approx(every.mean.max())
    assert best == np.flatnonzero(np.isclose(every.mean, every.mean.max()))[0]
    order = np.argsort(-q, kind="stable")
    found = every.compared(order, q)
    assert found.payoffs.shape == every.values.shape and found.error[0] == 0
    liked = np.where(np.isclose(every.mean, every.mean.max()), 0.0, -1.0)
    assert np.isclose(every.mean[order[every.compared(order, liked).best]], every.mean.max())


def test_a_few_of_the_deals_drawn_are_solved_and_none_that_play_has_ruled_out() -> None:
    rng = np.random.default_rng(6)
    (state,) = endgames(1, rng, most=12, least=8, seats=(3,))
    moves = legal(state, canonical=True).values

    class Drawn:
        """A dealer whose deals are given."""

        def __init__(self, weights: np.ndarray) -> None:
            self.worlds = Worlds(np.repeat(state, len(weights)), weights, True)
            self.rng = np.random.default_rng(0)

        def draw(self, n: int, most: int) -> Worlds:
            return self.worlds

    found = solve_drawn(Drawn(np.ones(30)), moves, 2_000_000)
    assert found is not None and len(found.worlds) == 8 and not found.worlds.exact
    # wherever a likely deal stands in the list, it is drawn; a row drawn eight times counts eight times
    for place in (0, 17, 29):
        likely = solve_drawn(Drawn(np.where(np.arange(30) == place, 1.0, 1e-9)), moves, 2_000_000)
        assert likely is not None and likely.worlds.weights.tolist() == [8.0]
    assert solve_drawn(Drawn(np.ones(30)), moves, 1) is None
    assert solve_drawn(Drawn(np.zeros(30)), moves, 2_000_000) is None
    assert solve_drawn(Drawn(np.zeros(3)), moves, 2_000_000) is None


def test_in_a_match_results_count_by_what_they_are_worth() -> None:
    """Where a level less adds more to the chance of winning, the solver goes for the level less."""
    rng = np.random.default_rng(5)
    turned = 0
    for state in endgames(amount(30, 10), rng, most=8, seats=(2, 3)):
        state["fails"], state["levels"] = 0, state["level"]
        seat = int(state["player"][0])
        worth = result_worth(state, np.array([seat]))[0]
        moves = legal(state, canonical=True).values
        levels = {}
        for j in range(len(moves)):
            after = state.copy()
            advance(after, moves[j : j + 1])
            if after["player"][0] < 0:
                levels[j] = int(GuanDan().returns(after)[0, seat])
        values = solved(state, moves).values[0]
        for j, result in levels.items():
            assert values[j] == worth[3 - result]
        turned += bool(np.any(np.diff(worth) > 0))
    assert turned


def test_in_a_match_at_a_where_results_are_worth_the_same_endings_of_all_four_are_solved() -> None:
    for state in endgames(amount(6, 2), np.random.default_rng(7), most=8, seats=(4,)):
        state["fails"], state["level"], state["levels"] = 0, 12, 12
        worth = result_worth(state, state["player"].astype(np.int64))[0]
        found = solved(state, legal(state, canonical=True).values)
        assert len(np.unique(worth)) < len(worth)
        assert found.most == worth.max() and np.isin(found.values, worth).all()
