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

import numpy as np

from games.game import Game, GameError, Infoset
from games.infosets.following import Following
from games.infosets.histories import HistorySample, PlayRule
from games.infosets.trail import Trail, find_trail
from games.infosets.two_seats import TwoSeatView
from games.infosets.weighing import drawn_sample, weighed_sample

__all__ = ["follow_trails", "sample_infoset"]

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
    if isinstance(game, TwoSeatView) and all(trail.player <= game.decides for trail in trails):
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
