"""Deep Monte Carlo on research games: self-play in lockstep, Monte-Carlo returns, a small network.

The same loop as for GuanDan on the batched `Game` protocol: a generation of games by the network as it is,
epsilon-greedy over a soft choice, then gradient steps towards the returns. Since these games can be listed,
the network answers for every view once a generation, and self-play looks its answers up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from blueprint.choosing.soft_choice import choose_soft
from blueprint.game_lockstep import GameLockstep
from blueprint.research.infoset_table import Infosets, list_infosets
from blueprint.research.research_network import (
    ResearchBlueprint,
    ResearchConfig,
    ResearchNetwork,
    evaluate,
    save_research_blueprint,
)
from games.game import Game, payoff_span
from games.support.array_types import Array
from games.support.configuration import ConfigError

__all__ = ["Budget", "Plays", "sample_games", "train_research_blueprint"]


@dataclass(frozen=True, eq=False)
class Plays:
    """Decisions of self-play, and what every seat saw of them.

    view: [n] int64, which view decided. column: [n] int64, the action taken. gain: [n] float32, payoff to the
    decider, in half payoff ranges. seen: [k] int64, views of all seats at all decisions; worth: [k] float32.
    """

    view: NDArray[np.int64]
    column: NDArray[np.int64]
    gain: NDArray[np.float32]
    seen: NDArray[np.int64]
    worth: NDArray[np.float32]


def sample_games(
    infosets: Infosets,
    blueprint: ResearchBlueprint,
    n: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
) -> Plays:
    """Return the decisions of n games in lockstep, all seats by the blueprint's policy, or with probability
    `epsilon` by a uniformly random action.
    """
    game = infosets.game
    games = GameLockstep.begun(game, n, rng)
    log: list[tuple[Array, Array, Array, Array]] = []
    views: list[tuple[Array, Array, int]] = []
    while games.go_on():
        states, running, players, actions = games.states, games.running, games.players, games.actions
        pick = games.drawn(rng)
        for seat in range(game.num_players):
            deciding = np.flatnonzero(players >= 0)
            if len(deciding) == 0:
                break
            view = infosets.rows(states[deciding], seat)
            views.append((view, running[deciding], seat))
            mine = players[deciding] == seat
            if not mine.any():
                continue
            rows, view = deciding[mine], view[mine]
            legal = actions.take(rows)
            values = blueprint.q(game, states[rows], seat, legal)
            pick[rows] = choose_soft(values, legal.offsets, blueprint.temperature, epsilon, rng)
            column = infosets.columns[view, pick[rows]]
            log.append((view, column, running[rows], np.full(len(rows), seat)))
        games.step(pick)
    gains = games.payoff * (2 / payoff_span(game))
    view, column, which, seats = (np.concatenate(part) for part in zip(*log, strict=True))
    return Plays(
        view,
        column,
        gains[which, seats].astype(np.float32),
        np.concatenate([view for view, _, _ in views]),
        np.concatenate([gains[which, seat] for _, which, seat in views]).astype(np.float32),
    )


@dataclass(frozen=True)
class Budget:
    """When training ends: after `decisions` decisions of self-play or `minutes`, whichever comes first.

    Raises ConfigError where neither is given.
    """

    decisions: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.decisions is None and self.minutes is None:
            raise ConfigError("Budget: decisions or minutes must say when training ends; got neither")

    def used(self, decisions: int, seconds: float) -> float:
        """Return the share of the budget that is used up."""
        return max(
            0.0 if self.decisions is None else decisions / self.decisions,
            0.0 if self.minutes is None else seconds / (60 * self.minutes),
        )


def train_research_blueprint(
    game: Game,
    rng: np.random.Generator,
    budget: Budget,
    *,
    config: ResearchConfig | None = None,
    output: str | Path | None = None,
    progress: Callable[[dict[str, float]], None] | None = None,
) -> ResearchBlueprint:
    """Return the blueprint that self-play within a budget comes to.

    output: checkpoint to write at the end. progress: called after each generation with its numbers.
    With a budget of decisions alone the same `rng` and configuration give the same blueprint.
    Raises GameError for a game that is too large to list.
    """
    config = config or ResearchConfig()
    infosets = list_infosets(game)
    torch.manual_seed(config.seed)
    network = ResearchNetwork(infosets.features.shape[1], len(infosets.actions), config)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    learner = _Learner(network, optimiser, torch.from_numpy(infosets.features), config)
    replay: list[Plays] = []
    began = time.monotonic()
    done = generation = 0
    share = 0.0
    while share < 1:
        blueprint = evaluate(network, infosets, config, "network")
        fresh = sample_games(infosets, blueprint, config.episodes, rng, epsilon=config.epsilon)
        replay = [*replay, fresh][-config.replay :]
        done += len(fresh.view)
        generation += 1
        share = budget.used(done, time.monotonic() - began)
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * (1 - 0.9 * min(share, 1.0))
        losses = _learn(learner, replay, len(fresh.view), rng)
        if progress is not None:
            progress({"generation": generation, "decisions": done, "share": share, **losses})
    blueprint = evaluate(network, infosets, config, "network")
    if output is not None:
        trained = {
            "decisions": done,
            "episodes": generation * config.episodes,
            "seconds": time.monotonic() - began,
        }
        save_research_blueprint(output, network, infosets, config, trained)
    return blueprint


@dataclass(frozen=True, eq=False)
class _Learner:
    """What learns: the network, its optimiser, and the features of every view."""

    network: ResearchNetwork
    optimiser: torch.optim.Optimizer
    features: torch.Tensor
    config: ResearchConfig


def _learn(learner: _Learner, replay: list[Plays], fresh: int, rng: np.random.Generator) -> dict[str, float]:
    """Take the gradient steps of a generation; return mean losses, in squared half payoff ranges."""
    view, column, gain, seen, worth = (
        torch.from_numpy(np.concatenate([getattr(plays, name) for plays in replay]))
        for name in ("view", "column", "gain", "seen", "worth")
    )
    network, optimiser, config = learner.network, learner.optimiser, learner.config
    steps = max(1, round(config.passes * fresh / config.batch))
    sums = np.zeros(2)
    for _ in range(steps):
        at = torch.from_numpy(rng.integers(0, len(view), config.batch))
        v, a = network(learner.features[view[at]].float())
        q = v + a.gather(1, column[at][:, None]).squeeze(1)
        q_loss = F.mse_loss(q, gain[at])
        at = torch.from_numpy(rng.integers(0, len(seen), config.batch))
        v, _ = network(learner.features[seen[at]].float())
        v_loss = F.mse_loss(v, worth[at])
        optimiser.zero_grad(set_to_none=True)
        (q_loss + v_loss).backward()  # type: ignore[no-untyped-call]  # of torch
        optimiser.step()
        sums += (float(q_loss.detach()), float(v_loss.detach()))
    return {"q_loss": sums[0] / steps, "v_loss": sums[1] / steps}
