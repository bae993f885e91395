"""The gadgets that deal histories: `unsafe` deals them straight in, `resolve` lets the opponents stay out."""

from __future__ import annotations

import numpy as np

from cfr.tree import FlatTree
from games.game import CHANCE, TERMINAL
from gs2.search.gadget.entry import LIVE, Entry, GadgetError, forced_deal
from gs2.search.gadget.graft import Top, team_returns

__all__ = ["resolve_top", "unsafe_top"]


def unsafe_top(forest: FlatTree, entry: Entry) -> Top:
    """Return the one level in which chance deals the roots as both blueprints reach them.

    Raises GadgetError where they reach none together.
    """
    weight = entry.reach * entry.opponent_reach
    if not weight.sum() > LIVE:
        raise GadgetError("gadget: unsafe needs a history that both blueprints reach; got none")
    top = Top(forest)
    top.roots(np.zeros(len(weight), np.int32), weight / weight.sum())
    return top


def resolve_top(forest: FlatTree, entry: Entry, floor: float) -> Top:
    """Return the levels in which chance deals a root and each opponent in turn enters or stays out.

    floor: probability with which chance instead deals a forced entry, below which nobody is asked.
    """
    r = len(entry.reach)
    top = Top(forest)
    deal = entry.reach / entry.reach.sum()
    every = np.arange(r)
    if floor:
        # Chance deals the r histories to the opponents, and once more, forced, straight into the subgame.
        prior = forced_deal(entry)
        top.level(
            np.zeros(2 * r, np.int64),
            np.concatenate([(1 - floor) * deal, floor * prior]),
            np.concatenate([np.full(r, entry.seats[0]), np.full(r, CHANCE)]),
            np.concatenate([entry.group[0], np.full(r, -1)]).astype(np.int32),
        )
    else:
        top.level(np.zeros(r, np.int64), deal, np.full(r, entry.seats[0]), entry.group[0].astype(np.int32))
    for at, seat in enumerate(entry.seats):
        count = int(entry.group[at].max()) + 1
        first = len(top.infoset_player)
        top.infoset_player += [seat] * count
        top.infoset_size += [2] * count
        out = team_returns(forest, seat, entry.alternative[at])
        # Each opponent's node has two children: out, a terminal, and in. On all but the last opponent's
        # level the histories in are the next opponent's nodes.
        position = 2 * every if at == 0 else 2 * every + 1
        parent = np.repeat(every if at == 0 else position, 2)
        is_in = np.tile([False, True], r)
        prob = np.ones(2 * r)
        if floor:
            parent = np.concatenate([parent, (r if at == 0 else 2 * r) + every])
            is_in = np.concatenate([is_in, np.ones(r, bool)])
            prob = np.concatenate([prob, np.ones(r)])
        if at == len(entry.seats) - 1:
            top.roots(parent, prob, is_in, out)
        else:
            nxt = entry.seats[at + 1]
            player = np.where(is_in, nxt, TERMINAL)
            infoset = np.full(len(parent), -1, np.int32)
            infoset[: 2 * r][1::2] = entry.group[at + 1] + first + count
            if floor:
                player[2 * r :] = CHANCE
            top.level(parent, prob, player, infoset, out)
    return top
