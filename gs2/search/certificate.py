"""A statistical certificate: whether sampled gains prove that a refined policy is worth playing.

Each sample is a history of the infoset, played out with the refined policy and with the blueprint under the
same luck; the difference of the two payoffs is its gain. There is a column of gains for every way in which
the others may play: the blueprint, and each of their continuations. The refined policy is kept if the mean
gain is proved positive against each of them.

How it is proved. By betting: a gambler who starts with 1 bets on every next gain, at
odds that are fair if the mean is what it must not be, never more than can be lost. Fair odds make nobody
rich: the chance of ever holding 1 / α is at most α, whatever the distribution, at every number of samples,
and also if one looks after each of them. Only the largest possible loss must be known, and payoff ranges are.
A t interval is shorter, but it is right for many samples only: refined policies that gain a little nearly
always and lose as much at once in a hundred games pass it in six cases of ten after 50 samples, because the
loss was not seen.

How many tests. All columns must pass, so each is tested at the whole α: where any gain is really too low, its
own test passes with probability α at most (intersection-union test).

Importance weights. Gains are multiplied by them before they are tested; whether the weighted mean is above a
number does not depend on their scale. They are taken as given and to be no larger than the largest of them.

Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting" (bets of
approximately the growth-rate optimal size); Berger 1982, intersection-union tests. The combination is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import Game, payoff_span
from games.support.configuration import ConfigError
from gs2.policies.tabulate import tabulate
from gs2.search.context import Search, Strategy
from gs2.search.continuation_policies import continuation_blueprints
from gs2.search.histories.enumerated import Considered, belief
from gs2.search.subgame.continuations import continuation_payoffs

MOST_STAKED = 0.9
"""Share of the gambler's money that the largest possible loss may take."""
PRIOR_VARIANCE = 0.02
"""Variance that is expected before anything was seen, as a share of the largest loss squared. Between 1/4,
1/50 and 1/500 the share of real gains that are proved differs by two hundredths at most."""
STEPS = 24
"""Bisections for a bound."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What sampled gains came to.

    kept: whether the refined policy is.
    mean, lower: [C] float64, mean gain against each column, and its lower confidence bound, in payoffs.
    samples: how many.
    """

    kept: bool
    mean: NDArray[np.float64]
    lower: NDArray[np.float64]
    samples: int

    def text(self) -> str:
        """Return one sentence that says what was decided, and why."""
        worst = int(np.argmin(self.lower))
        against = "the blueprint" if worst == 0 else f"continuation {worst}"
        return (
            f"the refined policy is {'kept' if self.kept else 'dropped'}: over {self.samples} paired samples "
            f"its gain is {self.mean[worst]:.3g}, proved to be at least {self.lower[worst]:.3g}, against "
            f"{against}, where that is least"
        )


def decide(
    gains: NDArray[np.float64],
    most_lost: float,
    confidence: float = 0.95,
    *,
    importance: NDArray[np.float64] | None = None,
) -> Verdict:
    """Return whether a policy is proved to be worth playing.

    gains: [n, C] float64, gain of each sample against each column; column 0 is the blueprint.
    most_lost: the largest loss that one sample can be, in payoffs; the width of the payoff range always is.
    confidence: probability with which a policy that gains nothing is not kept, in (0, 1).
    importance: [n] float64 >= 0, weights of the samples.
    Raises ConfigError for arrays of other shapes, gains or importance out of range.
    """
    if gains.ndim != 2 or gains.shape[1] == 0:
        raise ConfigError(f"certificate: gains must be [samples, columns]; got {gains.shape}")
    if gains.size and not gains.min() >= -most_lost * (1 + 1e-9):
        raise ConfigError(
            f"certificate: no gain may be below minus most_lost, {-most_lost:g}; got {gains.min():g}; "
            "pass the width of the payoff range"
        )
    n, columns = gains.shape
    each = np.ones(n) if importance is None else np.asarray(importance, np.float64)
    if each.shape != (n,) or not np.all((each >= 0) & np.isfinite(each)):
        raise ConfigError("certificate: importance must be one finite weight of at least 0 for each sample")
    if not each.sum() > 0:
        nothing = np.full(columns, -most_lost)
        return Verdict(False, nothing, nothing, n)
    mean = np.tensordot(each, gains, (0, 0)) / each.sum()
    proved = _proved(gains, np.zeros(columns), each, most_lost, confidence)
    lower = _bounds(gains, each, most_lost, confidence)
    # The test says what is proved; a bound found by bisection agrees with it.
    lower = np.where(proved, np.maximum(lower, 0.0), np.minimum(lower, 0.0))
    return Verdict(bool(proved.all()), mean, lower, n)


def _proved(
    gains: NDArray[np.float64],
    least: NDArray[np.float64],
    each: NDArray[np.float64],
    most_lost: float,
    confidence: float,
) -> NDArray[np.bool_]:
    """Return for which columns a mean above `least` is proved, [C] bool."""
    wide = each[:, None]
    x = wide * (gains - least)
    # No term of x is below minus this.
    bound = np.maximum(each.max() * (most_lost + least), np.finfo(float).tiny)
    place = np.arange(1, len(x) + 1)[:, None]
    mean = np.cumsum(x, axis=0) / (place + 1)
    spread = (PRIOR_VARIANCE * bound**2 + np.cumsum((x - mean) ** 2, axis=0)) / (place + 1)
    stake = np.zeros_like(x)
    np.divide(mean[:-1], spread[:-1] + mean[:-1] ** 2, out=stake[1:], where=mean[:-1] > 0)
    money = np.cumsum(np.log1p(np.minimum(stake, MOST_STAKED / bound) * x), axis=0)
    won: NDArray[np.bool_] = np.asarray(money.max(axis=0) >= -np.log(1 - confidence))
    return won


def _bounds(
    gains: NDArray[np.float64], each: NDArray[np.float64], most_lost: float, confidence: float
) -> NDArray[np.float64]:
    """Return the lower bound of each column's mean, [C] float64."""
    low = np.full(gains.shape[1:], -most_lost)
    high = np.maximum(np.tensordot(each, gains, (0, 0)) / each.sum(), low)
    for _ in range(STEPS):
        middle = (low + high) / 2
        won = _proved(gains, middle, each, most_lost, confidence)
        low, high = np.where(won, middle, low), np.where(won, high, middle)
    return low


def strategy_payoffs(
    game: Game,
    states: NDArray[Any],
    player: int,
    strategies: Sequence[Blueprint],
    against: Sequence[Blueprint],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return what one of two players gets by each of its strategies, [n, S, C] float64, one game each.

    states: [n], histories. strategies: S of them, for this decision and all later ones of the player; the
    refined and the old, say. against: C ways in which the other plays.
    All strategies and columns of one history meet the same luck.
    """
    plays = (strategies, against) if player == 0 else (against, strategies)
    found: NDArray[np.float64] = continuation_payoffs(game, states, plays, rng, rollouts=1)[..., player]
    return found if player == 0 else found.swapaxes(1, 2)


TRIALS = 1
"""Word of the luck in trials, which is not that at the leaves of what they judge."""


def sampled_verdict(search: Search, refined: Strategy, considered: Considered) -> Verdict:
    """Return whether paired rollouts prove that a refined strategy gains at an infoset.

    Histories of the infoset are drawn by the reach of chance and everyone under the old strategy, so that
    samples count alike. Of the search's options `luck` seeds what is drawn and played; `trials` draws the
    histories in place of that, where the tree is only a part of the game.
    """
    game, tree, safety = search.context.game, search.context.tree, search.config.safety
    strategies = search.strategy, refined
    player, trials = considered.player, search.options.trials
    rng = search.options.dice(TRIALS, considered.infoset)
    importance = None
    if trials is None:
        plays: tuple[Blueprint, ...] = tuple(tabulate(game, tree, one.raw) for one in strategies)
        nodes = considered.nodes[considered.own_infoset == considered.infoset]
        states = tree.states[rng.choice(nodes, safety.trials, p=belief(strategies[0], nodes, player))]
    else:
        states, importance = trials.draw(safety.trials)
        plays = trials.plays(strategies)
    old = plays[0]
    against = continuation_blueprints(old, safety.against)
    payoffs = strategy_payoffs(game, states, player, plays, against, rng)
    # Mixed in with the anchor's weight it gains that share.
    gains = payoffs[:, 0] + safety.anchor * (payoffs[:, 1] - payoffs[:, 0]) - payoffs[:, 0]
    return decide(gains, payoff_span(game), safety.confidence, importance=importance)
