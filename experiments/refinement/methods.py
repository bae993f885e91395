"""Methods of an experiment in words: a preset with changed fields, `gs2-d:k=5`, or several passes, `A>B`.

`draws=5` among the fields is the mixture of five draws: what a method that draws its histories is worth to
one who sees it play. GS2-R draws anew in every play. Whoever plays against it knows the method, not the draws
of this play, so the strategy that it faces is the mixture over the draws; the bound of the GS2 paper
(proposition 4.1) is on this mixture too, for it weighs every history by the probability that it is drawn. The
exploitability of a single draw is what the strategy loses to somebody who knows its seed, and the mean of
single draws is never below the mixture: exploitability is convex in the realization plans (asserted of every
mixture by the tests).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from cfr.values import reach
from games.support.spec import field_types, read_settings, split_spec
from gs2.play.search_agent import named_search
from gs2.search.config.search import SearchConfig

UNTIL_SOLVED = 100_000
"""Iterations allowed where time is the limit."""
SOLVED = 1e-6
"""Exploitability, in payoffs, at which a subgame counts as solved and a search with time left ends."""


def split_passes(method: str) -> tuple[str, ...]:
    """Return the methods of the passes, one after the other: `gs2+>gs2+path` makes one by each."""
    return tuple(method.split(">"))


def without_field(method: str, field: str) -> tuple[str, list[str]]:
    """Return a method without one of its fields, and the values that the field was given, in their order."""
    name, settings = split_spec(method)
    parts = [(setting, *(word.strip() for word in setting.partition("="))) for setting in settings]
    kept = [setting for setting, known, _, _ in parts if known != field]
    found = [value for _, known, _, value in parts if known == field]
    return name + ":" * bool(kept) + ",".join(kept), found


def method_passes(
    method: str, limit: float | None = None, iterations: int | None = None
) -> tuple[SearchConfig, ...]:
    """Return the configuration of each of a method's passes. Raises ConfigError as `method_config`."""
    return tuple(method_config(one, limit, iterations) for one in split_passes(method))


def method_config(method: str, limit: float | None = None, iterations: int | None = None) -> SearchConfig:
    """Return the configuration of a method such as `gs2-d:k=5,entry_floor=0.05`, with a cell's limits.

    A limit binds what it can: a method without CFR has no iterations to limit.
    Raises ConfigError for an unknown preset or field, a value out of range, or a contradiction.
    """
    config = named_search(method, label="method")
    asked = read_settings(split_spec(method)[1], field_types(SearchConfig))
    limits: dict[str, Any] = {} if limit is None else {"time_limit": limit}
    if config.solve.solver in ("cfr", "anchored"):
        if limit is not None:
            limits |= {"iterations": UNTIL_SOLVED, "target": SOLVED}
        if iterations is not None:
            limits["iterations"] = iterations
    limits = {field: value for field, value in limits.items() if field not in asked}
    return config.replace(**limits) if limits else config


class MixtureError(ValueError):
    """A mixture that cannot be made: the rule, the value received and the next step."""


def split_draws(method: str) -> tuple[str, int | None]:
    """Return a method without its number of draws, and that number: `gs2-r:k=3,draws=5` is of five.

    None for a method that is scored draw by draw. Raises MixtureError for a number that is none.
    """
    kept, asked = without_field(method, "draws")
    if not asked:
        return method, None
    if len(asked) > 1 or not asked[0].isdecimal() or int(asked[0]) < 1:
        raise MixtureError(f"method: draws must be one integer of at least 1; got {method!r}")
    return kept, int(asked[0])


def mix_policies(tree: FlatTree, policies: Sequence[NDArray[np.float64]], player: int) -> NDArray[np.float64]:
    """Return the player's strategy that plays one of several, each equally often, [slots] float64.

    The mixture is of realization plans: a play draws one of the strategies at its start and keeps to it. In
    an infoset each strategy therefore counts as much as it leads there, by the player's own reach x:

        policy(I, a) = sum over d of x_d(I) policy_d(I, a) / sum over d of x_d(I)

    which by Kuhn's theorem plays as the draw itself does, whatever the others do. The searches of one
    strategy draw independently of each other; those below have seen the results of those above (nested), so
    the actions of one play depend on each other, and averaging the probabilities infoset by infoset, without
    the reach, would be another strategy. The two agree in the limit where searches are independent. Where no
    strategy leads, the average is plain. Other players' slots are those of the first policy.

    policies: [slots] float64 each, on the tree, of perfect recall.
    Raises MixtureError if there are none, ValueError for one of another size.
    """
    if len(policies) == 0:
        raise MixtureError("mixture: there must be at least one policy; got none")
    nodes = np.flatnonzero(tree.player == player)
    infosets, first = np.unique(tree.infoset[nodes], return_index=True)
    weight = np.zeros((len(policies), tree.n_infosets))
    for row, policy in zip(weight, policies, strict=True):
        row[infosets] = reach(tree, policy).players[nodes[first], player]
    total = weight.sum(axis=0)
    share = np.divide(weight, total, out=np.full_like(weight, 1 / len(policies)), where=total > 0)
    sizes = np.diff(tree.infoset_offset)
    mine = tree.slot_player == player
    mixed = np.array(policies[0], np.float64)
    mixed[mine] = sum(
        np.repeat(part, sizes)[mine] * policy[mine] for part, policy in zip(share, policies, strict=True)
    )
    return mixed
