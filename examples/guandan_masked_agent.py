"""Train a linear agent on the PettingZoo environment of GuanDan, and see it beat random play.

    python examples/guandan_masked_agent.py

It knows nothing of GuanDan: it sees an observation, a row of features for each listed move, and a mask. It
learns Q(observation, move), linear in the move's features and their products with two facts of the
observation, by ridge regression on what followed in rounds of random play: the cards that each move and the
later ones got rid of, discounted, and what the round paid at the end. Then it plays the best move. It takes
some ten seconds. Needs: pip install 'gs2[pettingzoo]'.
"""

from __future__ import annotations

import sys

import numpy as np

from games.guandan.views.features import MOVE_SLICES, SLICES
from gs2.environments.game_env import GameEnv

DISCOUNT = 0.7
RIDGE = 30.0


def inputs(observation: dict) -> np.ndarray:
    """Return one row for each legal move, [m, 3 * MOVE_WIDTH], less their mean: it is moves that compete."""
    moves = observation["moves"][observation["action_mask"] == 1].astype(np.float64)
    seen = observation["observation"]
    leads = np.maximum(seen[SLICES["last_action"]], 0).sum() == 0
    few = seen[SLICES["hand"]].sum() <= 10
    rows = np.concatenate([moves, moves * leads, moves * few], axis=1)
    return rows - rows.mean(0)


def play(env: GameEnv, weights: list[np.ndarray | None], rng: np.random.Generator, seed: int):
    """Return what each seat was paid in a round, and (seat, inputs, cards played) of every move.

    weights: of each seat; None plays at random.
    """
    env.reset(seed=seed)
    paid, made = np.zeros(4), []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        seat = int(agent[-1])
        paid[seat] += reward
        if terminated or truncated:
            env.step(None)
            continue
        rows, own = inputs(observation), weights[seat]
        chosen = int(rng.integers(len(rows)) if own is None else np.argmax(rows @ own))
        made.append((seat, rows[chosen], float(observation["moves"][chosen, MOVE_SLICES["size"]][0])))
        env.step(chosen)
    return paid, made


def train(rounds: int = 50, seed: int = 0) -> np.ndarray:
    """Return the weights learned from so many rounds of random play, [3 * MOVE_WIDTH] float64."""
    rng, env = np.random.default_rng(seed), GameEnv("guandan(moves=canonical)")
    rows, returns = [], []
    for number in range(rounds):
        to_go, made = play(env, [None] * 4, rng, seed=1000 * (seed + 1) + number)
        for seat, row, cards in reversed(made):
            to_go[seat] = cards + DISCOUNT * to_go[seat]
            rows.append(row)
            returns.append(to_go[seat])
    x, y = np.array(rows), np.array(returns)
    return np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ (y - y.mean()))


def wins_against_random(weights: np.ndarray, rounds: int, seed: int = 1) -> int:
    """Return how many rounds the agent's team wins against a random one, each deal from both sides."""
    rng, env = np.random.default_rng(seed), GameEnv("guandan(moves=canonical)")
    won = 0
    for number in range(rounds):
        side = number % 2
        seats = [weights if seat % 2 == side else None for seat in range(4)]
        won += play(env, seats, rng, seed=10**6 * seed + number // 2)[0][side] > 0
    return won


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    won = wins_against_random(train(), rounds)
    print(f"the trained team won {won} of {rounds} rounds against random play")
