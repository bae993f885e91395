"""Train a linear agent on the PettingZoo environment of Big2, and see it beat random play.

    python examples/masked_agent.py

It knows nothing of Big2: it sees a row of bits for each legal move, and what each round paid. It learns what
a move is worth, linear in its bits, by ridge regression on rounds of random play: whether its seat won in the
end, counted the less the more moves it still made. Then it plays the best move, alone against three that play
at random. Some seconds. `GameEnv` makes an environment of any game. Needs: pip install 'gs2[pettingzoo]'.
"""

from __future__ import annotations

import sys

import numpy as np

from gs2.environments.game_env import GameEnv

DISCOUNT, RIDGE = 0.8, 30.0


def play(env: GameEnv, weights: np.ndarray | None, seat: int, rng: np.random.Generator, seed: int):
    """Return what each seat was paid in a round, and (seat, bits) of every move made.

    bits: of the move, less the mean of all that were legal: moves compete.
    weights: of the agent in one seat; the others, and with None all, play at random.
    """
    env.reset(seed=seed)
    paid, made = np.zeros(env.game.num_players), []
    for agent in env.agent_iter():
        observation, reward, over, _, _ = env.last()
        who = int(agent[-1])
        paid[who] += reward
        if over:
            env.step(None)
            continue
        legal = np.flatnonzero(observation["action_mask"])
        rows = observation["moves"][legal].astype(np.float32)
        own = weights if who == seat else None
        chosen = int(rng.integers(len(legal)) if own is None else np.argmax(rows @ own))
        made.append((who, rows[chosen] - rows.mean(0)))
        env.step(int(legal[chosen]))
    return paid, made


def train(rounds: int = 150, seed: int = 0) -> np.ndarray:
    """Return the weights learned from so many rounds of random play, [bits]."""
    env, rng = GameEnv("big2"), np.random.default_rng(seed)
    bits, worth = [], []
    for number in range(rounds):
        paid, made = play(env, None, 0, rng, 1000 * (seed + 1) + number)
        to_go = np.sign(paid)
        for who, row in reversed(made):
            bits.append(row)
            worth.append(to_go[who])
            to_go[who] *= DISCOUNT
    x, y = np.array(bits), np.array(worth)
    return np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ (y - y.mean()))


def points_against_random(weights: np.ndarray, rounds: int, seed: int = 1) -> np.ndarray:
    """Return what the agent is paid in each of so many rounds, alone against three that play at random."""
    env, rng = GameEnv("big2"), np.random.default_rng(seed)
    return np.array([play(env, weights, k % 4, rng, 10**6 * seed + k)[0][k % 4] for k in range(rounds)])


if __name__ == "__main__":
    points = points_against_random(train(), int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    error = points.std() / len(points) ** 0.5
    won = np.mean(points > 0)
    print(
        f"{points.mean():+.1f} points a round (± {1.96 * error:.1f}), {won:.0%} of rounds won (even: 0, 25 %)"
    )
