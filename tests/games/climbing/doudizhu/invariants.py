"""What holds at the end of every round, checked on whole batches."""

from __future__ import annotations

import numpy as np

from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import BOMB, move_table
from games.climbing.doudizhu.multiset import DECK_COPIES, count_ranks
from games.game import TERMINAL
from games.support.array_types import Rows


def broken_rules(game: DouDizhu, ends: Rows) -> list[str]:
    """Return the rules that rounds which were dealt and played to their ends break."""
    table = move_table()
    deck = DECK_COPIES.copy()
    deck[game.ranks : 13] = 0
    n, rows = len(ends), np.arange(len(ends))
    void = ends["landlord"] == 3
    hands, played = count_ranks(ends["hand"]), count_ranks(ends["played"])
    record, plays = ends["record"].astype(np.int64), ends["plays"].astype(np.int64)
    places = np.arange(record.shape[1])
    made = places < plays[:, None]
    gaps = (ends["gaps"][:, places // 32] >> (2 * (places % 32)).astype(np.uint64) & np.uint64(3)).astype(int)
    heads = table.heads[record]
    kind, rank, links = heads & 255, heads >> 8 & 255, heads >> 16 & 255
    # who made each move: one seat on for each move and each pass
    turns = np.cumsum(gaps + 1, axis=1) - gaps - 1
    seat = (ends["landlord"][:, None].astype(int) + turns) % 3
    by_seat = np.zeros((n, 3, 15), int)
    cards = count_ranks(table.cards[record].astype(np.uint64))
    for k in range(3):
        by_seat[:, k] = (cards * (made & (seat == k))[..., None]).sum(1)
    follows = made[:, 1:] & (gaps[:, :-1] < 2)
    alike = (kind[:, 1:] == kind[:, :-1]) & (links[:, 1:] == links[:, :-1]) & (rank[:, 1:] > rank[:, :-1])
    beats = alike | ((kind[:, 1:] >= BOMB) & (kind[:, 1:] > kind[:, :-1]))
    last = np.maximum(plays - 1, 0)
    whole = hands.sum(1) + played.sum(1) + count_ranks(ends["bottom"]) * void[:, None]
    payoffs, points = game.returns(ends), game.points(ends)
    out_of_cards = (ends["left"] == 0).sum(1)
    stake = np.abs(points).min(1)
    doublings = np.log2(np.where(void, 1, np.maximum(stake, 0.5)) / np.maximum(ends["bid"], 1))
    bombs = (made & (kind >= BOMB)).sum(1)
    rules = {
        "the round is over": ends["player"] == TERMINAL,
        "no card is lost or made": (whole == deck).all(1),
        "cards left are counted": (hands.sum(2) == ends["left"]).all(1),
        "cards played are those of the record": (by_seat == played).all((1, 2)),
        "one seat is out of cards": out_of_cards == ~void,
        "who is out made the last move": void | (ends["left"][rows, seat[rows, last]] == 0),
        "a move beats the one before it unless two passed": (~follows | beats).all(1),
        "nothing follows the end": (~made * (record + gaps)).sum(1) == 0,
        "two pass at most": (gaps <= 2).all(1) & (gaps[rows, last] == 0),
        "each seat's moves are counted": (
            (made[:, None] & (seat[:, None] == np.arange(3)[:, None])).sum(2) == ends["moves"]
        ).all(1),
        "bombs are counted": bombs == ends["bombs"],
        "points are doubled by bombs": (doublings == bombs) | (game.spring & (doublings == bombs + 1)),
        "points sum to zero": points.sum(1) == 0,
        "payoffs lie in their range": (payoffs >= game.payoff_range[0]).all(1)
        & (payoffs <= game.payoff_range[1]).all(1),
        "a void round pays nothing": ~void | (payoffs == 0).all(1),
    }
    return [rule for rule, holds in rules.items() if not np.all(holds)]
