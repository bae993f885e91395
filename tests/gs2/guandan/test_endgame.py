"""The exact endgame solver against a slow twin, and its payoffs against the round's own."""

from __future__ import annotations

import numpy as np

from games.guandan.rounds.round import GuanDan, advance, deal, legal
from gs2.guandan.agent.endgame import is_endgame, solve_endgame
from tests.gs2.guandan.blueprints import random_choice
from tests.patience import amount
from tests.reference.guandan.guandan_endgame import move_wins


def endgames(n: int, rng: np.random.Generator, most: int, least: int = 2) -> list[np.ndarray]:
    """Return n positions with two seats left that hold at most `most` cards together."""
    found: list[np.ndarray] = []
    while len(found) < n:
        states = deal(256, rng, level=rng.integers(0, 13, 256), owner=rng.integers(0, 2, 256))
        live = np.arange(256)
        while len(live):
            part = states[live]
            advance(part, random_choice(part, rng))
            states[live] = part
            two = (np.count_nonzero(part["left"], axis=1) == 2) & (part["player"] >= 0)
            for i in np.flatnonzero(two):
                if least <= part["left"][i].sum() <= most and legal(part[i : i + 1]).counts[0] > 1:
                    found.append(part[i : i + 1].copy())
                    states["player"][live[i]] = -2
            live = live[states["player"][live] >= 0]
    return found[:n]


def test_solver_agrees_with_the_slow_twin_on_every_move() -> None:
    rng = np.random.default_rng(0)
    for state in endgames(amount(40, 6), rng, most=11):
        seat = int(state["player"][0])
        moves = legal(state).values
        solved = solve_endgame(state, seat, moves, 100_000)
        assert solved.known.all() and is_endgame(state)
        memo: dict[bytes, bool] = {}
        for j in range(len(moves)):
            assert solved.won[j] == move_wins(state, moves[j : j + 1], memo)


def test_payoffs_are_those_of_the_rounds_two_ends() -> None:
    rng = np.random.default_rng(1)
    game = GuanDan()
    for state in endgames(amount(30, 15), rng, most=20):
        seat = int(state["player"][0])
        solved = solve_endgame(state, seat, legal(state).values, 10)
        ends = set()
        for _ in range(amount(60, 20)):
            play = state.copy()
            while play["player"][0] >= 0:
                advance(play, random_choice(play, rng))
            first = play["order"][0, 2] == seat
            value = game.returns(play)[0, seat]
            ends.add((bool(first), float(value)))
        for first, value in ends:
            assert value == solved.values[0 if first else 1]
        assert solved.values[0] > solved.values[1]


def test_playing_the_solution_wins_against_any_defence() -> None:
    rng = np.random.default_rng(2)
    won = 0
    for state in endgames(amount(25, 10), rng, most=24, least=8):
        seat = int(state["player"][0])
        solved = solve_endgame(state, seat, legal(state).values, 300_000)
        if not solved.won.any():
            continue
        for _ in range(amount(5, 1)):
            play = state.copy()
            while play["player"][0] >= 0:
                moves = legal(play).values
                if play["player"][0] == seat:
                    again = solve_endgame(play, seat, moves, 300_000)
                    assert again.won.any()
                    pick = int(np.argmax(again.won))
                else:
                    pick = int(rng.integers(len(moves)))
                advance(play, moves[pick : pick + 1])
            assert play["order"][0, 2] == seat
        won += 1
    assert won >= 5


def test_a_small_limit_leaves_moves_open_rather_than_guessing() -> None:
    rng = np.random.default_rng(3)
    for state in endgames(amount(5, 3), rng, most=30, least=14):
        seat = int(state["player"][0])
        moves = legal(state).values
        whole = solve_endgame(state, seat, moves, 2_000_000)
        for limit in (0, 1, 3):
            part = solve_endgame(state, seat, moves, limit)
            assert np.all(part.won[part.known] == whole.won[part.known]) or not whole.known.all()
            assert not part.won[~part.known].any()
