"""Fields of training that every game has whose moves are inputs of its network."""

from __future__ import annotations

import math
from typing import Any

import attrs

from games.support.configuration import Configuration, integer, real, text

LEARNERS: dict[str, dict[str, Any]] = {
    "dmc": {"policy": 0.0},
    "ppo": {"policy": 1.0, "policy_top": 16, "policy_price": 1.0},
}
"""Fields of learners by name: Deep Monte Carlo, and a policy that pays for its distance from uniform play."""


@attrs.frozen(slots=False)
class MoveTraining(Configuration):
    """Deep Monte Carlo on moves; each game has further fields, and defaults of its own.

    A default is ours unless its source is named: DouZero is Zha et al. 2021, ODMC Luo & Tan 2024, SDMC Ge et
    al. 2024. Temperature and weights of losses are in the unit of the network's values.

    rounds: of a generation, played in lockstep. passes: times each decision is learned from, on average.
    batch: decisions per gradient step.
    replay: size of the replay buffer, in generations.
    learning_rate: of Adam; it falls as 1 / sqrt(1 + decisions / halving).
    epsilon: probability of a uniformly random legal move in self-play (DanZero, DouZero: 0.01).
    temperature: of the softmax over advantages by which self-play chooses (SDMC); 0 is greedy. It falls as
        1 / sqrt(1 + decisions / cooling).
    near: the soft choice is among moves that are at most so much worse than the best (SDMC); 0 is among all.
    average: Polyak averaging: the running mean of the weights, which plays, values and is shipped, looks back
        on this share of the decisions trained so far; 0 uses the weights themselves.
    trace: lambda of the lambda-return: how far returns are bootstrapped from the critic's values, from one
        decision learned from to the next; 1 is plain Monte Carlo.
    critic_every: the critic learns from one decision in so many: those of a round share its outcome.
    focus: prioritised sampling: a decision is learned from with probability 0.15 + focus * (1 - that of the
        move played). Where play is all but certain there is little to learn, and half of all decisions are
        so. 0 learns from all.
    guide: decisions over which the share of a teacher, a rule-based agent, in the play falls to zero (SDMC;
        see `papers.players`); 0 turns it off. guide_share: its share at the beginning.
    hands: weight of the loss of a head, or an opponent model, that predicts the hidden cards (ODMC).
    personas: share of the seats that play a round by a rule-based personality, drawn evenly, which a head of
        the network learns to tell apart (PDHQN). labels: weight of its loss, in squared values a nat.
    prune: margin of move pruning by minimum combination in self-play, in moves (ODMC; see
        `papers.pruning`); -1 offers every move.
    policy: weight of the loss of a policy over the best moves (PPO, see `papers.top_policy`) beside the
        squared loss of the advantages; 0 learns values alone. With it the weights that learn play, without
        random moves. policy_top: best moves that play draws from. policy_clip: how far the probability of a
        move may go from what it was when it was played, as a share, before it counts no more. policy_price:
        of a nat away from uniform play over those moves, in temperatures (Rudolph et al. 2025).
    policy_from: decisions of plain DMC, without temperature, that come before a policy (DanZero+).
        policy_rate: factor of the learning rate from there on.
    staleness: generations that a game may be older than the newest weights when it is collected. With 0 every
        generation is played by the newest weights, and whoever plays waits for the learner and it for them.
    pieces: shares in which a generation is played, each from a seed of its own; what a run learns depends on
        them, not on who plays them. 0: one for each thread or actor that plays; where pieces deal their
        rounds, one for 1,024 of them, or for each actor.
    seed: of everything random.
    recipe: name of the recipe that the run was begun with (`papers.recipes`), none for a run of its own.
    """

    rounds: int = attrs.field(default=2048, validator=integer(1, 1 << 20))
    replay: int = attrs.field(default=1, validator=integer(1, 64))
    passes: float = attrs.field(default=1.0, validator=real(0.01, 64))
    batch: int = attrs.field(default=2048, validator=integer(1, 1 << 20))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, 1))
    halving: float = attrs.field(default=2e7, validator=real(1, 1e15))
    epsilon: float = attrs.field(default=0.01, validator=real(0, 1))
    temperature: float = attrs.field(default=0.03, validator=real(0, 10))
    cooling: float = attrs.field(default=2e7, validator=real(1, 1e15))
    near: float = attrs.field(default=0.0, validator=real(0, 10))
    average: float = attrs.field(default=0.03, validator=real(0, 1))
    trace: float = attrs.field(default=1.0, validator=real(0, 1))
    critic_every: int = attrs.field(default=1, validator=integer(1, 64))
    focus: float = attrs.field(default=0.0, validator=real(0, 1000))
    guide: float = attrs.field(default=0.0, validator=real(0, 1e15))
    guide_share: float = attrs.field(default=0.5, validator=real(0, 1))
    hands: float = attrs.field(default=0.0, validator=real(0, 1000))
    personas: float = attrs.field(default=0.0, validator=real(0, 1))
    labels: float = attrs.field(default=0.2, validator=real(0, 1000))
    prune: int = attrs.field(default=-1, validator=integer(-1, 27))
    policy: float = attrs.field(default=0.0, validator=real(0, 1000))
    policy_top: int = attrs.field(default=4, validator=integer(2, 64))
    policy_clip: float = attrs.field(default=0.2, validator=real(0, 10, above=True))
    policy_price: float = attrs.field(default=0.0, validator=real(0, 1000))
    policy_from: float = attrs.field(default=0.0, validator=real(0, 1e15))
    policy_rate: float = attrs.field(default=1.0, validator=real(0, 1, above=True))
    staleness: int = attrs.field(default=0, validator=integer(0, 64))
    pieces: int = attrs.field(default=0, validator=integer(0, 1 << 16))
    seed: int = attrs.field(default=0, validator=integer(0, 1 << 63))
    recipe: str = attrs.field(default="", validator=text)

    def temperature_at(self, decisions: float) -> float:
        """Return the temperature of play after so many decisions."""
        return self.temperature / math.sqrt(1 + decisions / self.cooling)

    def rate_at(self, decisions: float) -> float:
        """Return the learning rate after so many decisions."""
        return self.learning_rate / math.sqrt(1 + decisions / self.halving)
