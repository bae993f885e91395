"""Histories of an infoset, drawn without listing it: `sample_infoset`, and its parts.

    from games.infosets.sampling import sample_infoset
    sample_infoset(game, game.parse_infoset("P1 holds Ks | raise"), 100, rng, policy=blueprint.policy)

Particles follow what the player saw (`games.infosets.trail`) from the root. At every step all that chance and
the others may do is looked at, and what the player would have seen differently dies. While the particles are
few, all are kept, and what comes back is the whole infoset, exactly. Beyond that they are thinned: those of
large weight stay as they are, of the others one is drawn for many and stands for them. No history comes
twice, and sums over the sample, each history counted as often as it stands, are unbiased.
Source: sequential importance sampling with resampling (Gordon, Salmond and Smith 1993), the optimal thinning
of Fearnhead and Clifford 2003. A game's own `sample_histories` takes over where following would thin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import Game, GameError, Infoset
from games.infosets.following import Following, thinned
from games.infosets.histories import HistorySample, PlayRule, follow_lines, line_names, probabilities
from games.infosets.trail import Trail, find_trail, same_actions, walk
from games.infosets.two_seats import TwoSeatView
from games.ragged import Ragged
from games.support.array_types import Array

WIDTH = 4
"""Particles followed for each history asked for: some die later."""
FEWEST = 256
"""Particles followed at least."""
TRIES = 4
"""Times that a trail on which every particle died is followed again, with WIDTH times as many."""


def sample_infoset(
    game: Game,
    infoset: Infoset | Trail,
    n: int,
    rng: np.random.Generator,
    *,
    policy: PlayRule | None = None,
    explore: float = 0.5,
) -> HistorySample:
    """Return up to n histories of an infoset with everyone's reach; all of them where they are few.

    infoset: by name, or what its player saw on the way.
    policy: what everyone plays, such as a blueprint's; without one every history counts by chance alone.
    explore: share of uniform play in what the others are drawn by. Above 0 no history is ruled out because
        the policy would not play it; its reach is that of the policy all the same. At 0 only histories that
        the policy plays are drawn, and a sample that lacks others is not complete.
    Raises GameError if no history is found.
    """
    trail = infoset if isinstance(infoset, Trail) else find_trail(game, infoset, rng)
    return follow_trails(game, [trail], n, rng, policy=policy, explore=explore)[0]


def follow_trails(
    game: Game,
    trails: Sequence[Trail],
    n: int,
    rng: np.random.Generator,
    *,
    policy: PlayRule | None = None,
    explore: float = 0.5,
) -> list[HistorySample]:
    """Return up to n histories of each trail's infoset, those of all trails followed together.

    Arguments as of `sample_infoset`, which says more. Raises GameError if a trail leads nowhere.
    """
    if n < 1:
        raise GameError(f"{game.name}: a sample must have at least 1 history; got n = {n}")
    if isinstance(game, TwoSeatView) and all(0 <= trail.acting <= game.decides for trail in trails):
        # Its histories are the game's, so that what nature did is explored as well, and the game's own serve.
        ways = [game.original_trail(trail) for trail in trails]
        drawn = follow_trails(game.original, ways, n, rng, policy=game.rule(policy), explore=explore)
        return [game.sample(sample) for sample in drawn]
    own = getattr(game, "sample_histories", None)
    if own is not None and not getattr(game, "follows", True):
        return [weighed_sample(game, trail, n, rng, policy) for trail in trails]
    found: list[HistorySample | None] = [None] * len(trails)
    left = list(range(len(trails)))
    width = max(WIDTH * n, FEWEST)
    for _ in range(TRIES):
        follow = Following(game, [trails[at] for at in left], n, width, rng, policy, explore, own is not None)
        missing = []
        for at, sample in zip(left, follow.run(), strict=True):
            if sample is None and own is not None:
                found[at] = drawn_sample(game, trails[at], n, rng, policy)
            elif sample is None:
                missing.append(at)
            else:
                found[at] = sample
        if not missing:
            return [sample for sample in found if sample is not None]
        left, width = missing, width * WIDTH
    died = f"{game.name}: what a player saw must lead to a history; {width // WIDTH:,} particles all died"
    if explore == 0 and policy is not None:
        raise GameError(
            f"{died}: with explore = 0 none is drawn that the policy never plays; set explore above 0"
        )
    raise GameError(
        f"{died}; give the game sample_histories (games/game.py), and check its infoset keys with "
        "games.check_game"
    )


REDRAWS = 8
"""Times that histories are drawn until one is found at which the right seat acts."""
POOL = 12
"""Histories drawn for each one that is kept in the end."""
SHRINKING = 0.7
"""Share of them that is kept after each decision of the record, as long as there are too many."""
LOOKED_AT = 16
"""Histories by which the size of a decision is judged."""


def drawn_sample(
    game: Game, trail: Trail, n: int, rng: np.random.Generator, policy: PlayRule | None
) -> HistorySample:
    """Return histories that the game itself drew, those drawn twice once."""
    for _ in range(REDRAWS):
        lines = _drawn(game, trail, n, rng)
        states, chance, players = follow_lines(game, lines, policy)
        there = np.flatnonzero(game.player(states) == trail.acting)  # who waits need not notice who acts
        if len(there):
            break
    else:
        raise GameError(
            f"{game.name}: sample_histories must find histories at which {trail.acting} acts; none of "
            f"{REDRAWS * n:,} is one"
        )
    lines, states, chance, players = lines.take(there), states[there], chance[there], players[there]
    _, first, count = np.unique(line_names(lines), return_index=True, return_counts=True)
    # Drawn by chance's part alone: what is likelier was drawn more often, and stands for fewer.
    stands = count / chance[first]
    stands *= len(first) / stands.sum()
    return HistorySample(
        lines.take(first), states[first], chance[first], players[first], stands, False, False
    )


def weighed_sample(
    game: Game, trail: Trail, n: int, rng: np.random.Generator, policy: PlayRule | None
) -> HistorySample:
    """Return up to n histories out of many that the game itself drew, unbiased for the policy's weights.

    How likely chance makes each is not computed: how often it was drawn says it, and `chance` is 1.
    What others did says much about what they hold, and most deals drawn by chance alone fit it badly. So the
    histories are weighed by the policy one decision of the record after another, and thinned as they go:
    decisions with few legal actions come first, for they are answered quickly, and the dear ones are asked
    about few.
    """
    if policy is None:
        return drawn_sample(game, trail, n, rng, policy)
    lines = _drawn(game, trail, POOL * n, rng)
    states, steps = _record(game, lines)
    kept, players, draws = _likely(game, steps, len(lines), n, rng, policy)
    lines, states = lines.take(kept), states[kept]
    _, first, group = np.unique(line_names(lines), return_index=True, return_inverse=True)
    stands = np.bincount(group.reshape(-1), draws, minlength=len(first)).astype(np.float64)
    stands *= len(first) / stands.sum()
    ones = np.ones(len(first))
    return HistorySample(lines.take(first), states[first], ones, players[first], stands, False, False)


def _drawn(game: Game, trail: Trail, n: int, rng: np.random.Generator) -> Ragged:
    sampler: Any = game
    lines: Ragged = sampler.sample_histories(trail.infoset, n, rng)
    return lines


@dataclass(frozen=True, eq=False)
class _Step:
    """A decision of the record: states [n], rows that are there, and the action taken by each."""

    states: Array
    rows: NDArray[np.int64]
    taken: Array


def _record(game: Game, lines: Ragged) -> tuple[Array, list[_Step]]:
    """Return where some histories lead, and the players' decisions on the way, those of few actions first."""
    steps: list[tuple[float, int, _Step]] = []
    ends: Array = np.repeat(game.root(), len(lines), axis=0)
    for rows, states, place, taken in walk(game, lines):
        ended = np.flatnonzero(place < 0)
        ends[rows[ended]] = states[ended]
        going = np.flatnonzero((place >= 0) & (game.player(states) >= 0))
        if len(going):
            part = states[going]
            size = float(game.actions(part[:LOOKED_AT]).counts.mean())
            if size > 1:
                steps.append((size, len(steps), _Step(part, rows[going], taken[going])))
    return ends, [step for *_, step in sorted(steps, key=lambda step: step[:2])]


def _likely(
    game: Game, steps: list[_Step], drawn: int, n: int, rng: np.random.Generator, policy: PlayRule
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return which histories are kept, at most n, the players' parts, and how many each stands for."""
    kept, stands = np.arange(drawn), np.ones(drawn)
    players = np.ones((drawn, game.num_players))
    for step in steps:
        at = np.searchsorted(step.rows, kept)
        at[at == len(step.rows)] = 0
        mine = np.flatnonzero(step.rows[at] == kept)
        at = at[mine]
        states = step.states[at]
        actions, who = game.actions(states), game.player(states)
        prob = probabilities(game, states, who, actions, policy)
        same = np.flatnonzero(same_actions(actions.values, step.taken[at][actions.rows]))
        of = actions.rows[same]
        players[mine[of], who[of]] *= prob[same]
        most = max(n, int(SHRINKING * len(kept)))
        if len(kept) > most:
            kept, players, stands = _thinned(kept, players, stands, most, rng)
    if len(kept) > n:
        kept, players, stands = _thinned(kept, players, stands, n, rng)
    return kept, players, stands


def _thinned(
    kept: NDArray[np.int64],
    players: NDArray[np.float64],
    stands: NDArray[np.float64],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return at most so many of the lines kept; by how many each stands for where all weights are zero."""
    weight = players.prod(axis=1) * stands
    chosen, each = thinned(weight if weight.any() else stands, most, rng)
    return kept[chosen], players[chosen], stands[chosen] * each
