"""The inputs of Big2's network, block by block, from the public line as the game tells it in words."""

from __future__ import annotations

from collections import Counter

from games.climbing.big2.big2 import Big2
from games.support.array_types import Row


def cards_of(mask: int) -> list[int]:
    return [c for c in range(52) if int(mask) >> c & 1]


def bits(cards: list[int]) -> list[int]:
    return [int(c in cards) for c in range(52)]


def unary(count: int, width: int) -> list[int]:
    return [int(count > k) for k in range(width)]


def one_hot(place: int | None, width: int) -> list[int]:
    return [int(k == place) for k in range(width)]


def told(game: Big2, mask: int) -> tuple[int, int]:
    """Return the kind of a play, by its place in PLAY_KINDS, and the card that its strength is told by."""
    import numpy as np

    cards = cards_of(mask)
    kind = int(game.action_type(np.array([mask], np.uint64))[0])
    if not cards:
        return 0, 0
    if kind in (6, 7):  # full house, four and one
        rank = max(Counter(c // 4 for c in cards).items(), key=lambda pair: pair[1])[0]
        return kind, 4 * rank
    return kind, max(cards)


def plays_of(state: Row) -> list[tuple[int, list[int]]]:
    """Return who played what, oldest first."""
    found: list[tuple[int, list[int]]] = []
    for number in range(1, int(state["plays"]) + 1):
        cards = [c for c in range(52) if int(state["went"][c]) & 63 == number]
        found.append((int(state["went"][cards[0]]) >> 6, cards))
    return found


def big2_seat_blocks(game: Big2, state: Row, seat: int) -> dict[str, list[int]]:
    """Return the blocks of a seat's row by name; what is not named is 0."""
    n = game.num_players
    order = [(seat + k) % n for k in range(n)]
    none = [0] * (4 - n)
    hand = cards_of(state["hand"][seat])
    played = [cards_of(state["played"][who]) for who in range(n)]
    gone = [c for cards in played for c in cards]
    lying = int(state["beat"])
    kind, decider = told(game, lying)
    left = [len(cards_of(state["hand"][who])) for who in order]
    found = {
        "hand": bits(hand),
        "unseen": bits([int(c) for c in game.rules.deck if c not in hand and c not in gone]),
        "played": [bit for who in order for bit in bits(played[who])],
        "left": [bit for count in left for bit in one_hot(min(count, 13) - 1, 13)],
        "actor": [int(state["player"] == who) for who in order] + none,
        "beat_kind": one_hot(kind, 9),
        "beat_rank": one_hot(decider // 4 if lying else None, 13),
        "beat_suit": one_hot(decider % 4 if lying else None, 4),
        "owner": [int(bool(lying) and state["owner"] == who) for who in order] + none,
        "passes": unary(int(state["passes"]), 3),
        "out": [int(state["out"]) >> who & 1 for who in order] + none,
        "opens": [int(state["plays"] == 0)],
    }
    plays = plays_of(state)
    recent: list[int] = []
    for who, cards in plays[::-1][:4]:
        recent += bits(cards) + [int(who == other) for other in order] + none
    found["recent"] = recent
    refused = {who: [0] * 28 for who in order[1:]}
    waiting: set[int] = set()
    for k, (who, cards) in enumerate(plays):
        if k + 1 < len(plays):
            until = plays[k + 1][0]
        elif state["player"] >= 0:
            until = int(state["player"])
        else:
            continue
        place = {1: cards[0] // 4, 2: 13 + cards[0] // 4, 3: 26, 5: 27}[len(cards)]
        other = (who + 1) % n
        while other != until:
            if other != seat and other != who and other not in waiting:
                refused[other][place] = 1
            if game.rules.stays_out:
                waiting.add(other)
            other = (other + 1) % n
        if until == who:
            waiting = set()
    found["refused"] = [bit for who in order[1:] for bit in refused[who]]
    return found


def big2_hidden_bits(game: Big2, state: Row, seat: int) -> list[int]:
    """Return the hands of the other seats in order."""
    n = game.num_players
    found = [bit for k in range(1, n) for bit in bits(cards_of(state["hand"][(seat + k) % n]))]
    return found + [0] * (156 - len(found))


def big2_move_blocks(game: Big2, state: Row, seat: int, action: int) -> dict[str, list[int]]:
    """Return the blocks of a play's row by name; what is not named is 0."""
    hand = cards_of(state["hand"][seat])
    gone = [c for who in range(game.num_players) for c in cards_of(state["played"][who])]
    unseen = [int(c) for c in game.rules.deck if c not in hand and c not in gone]
    cards = cards_of(action)
    rest = [c for c in hand if c not in cards]
    kind, decider = told(game, action)
    found = {"kind": one_hot(kind, 9)}
    if cards:
        found |= {"rank": one_hot(decider // 4, 13), "suit": one_hot(decider % 4, 4), "cards": bits(cards)}
        if len(cards) < 5:
            if len(cards) == 1:
                higher = sum(c > decider for c in unseen)
            else:
                groups = [[c for c in unseen if c // 4 == rank] for rank in range(13)]
                higher = sum(len(group) >= len(cards) and max(group) > decider for group in groups)
            found["higher"] = one_hot(min(higher, 5), 6)
    ranks = Counter(c // 4 for c in rest)
    counts = Counter(ranks.values())
    suits = Counter(c % 4 for c in rest)
    straights = sum(all(ranks[rank] for rank in row) for row in game.rules.straight_rows)
    return found | {
        "rest": bits(rest),
        "left": one_hot(min(len(rest), 13), 14),
        "singles": unary(counts[1], 8),
        "pairs": unary(counts[2], 6),
        "triples": unary(counts[3], 4),
        "fours": unary(counts[4], 3),
        "straights": unary(straights, 5),
        "flushes": unary(sum(count > 4 for count in suits.values()), 2),
    }
