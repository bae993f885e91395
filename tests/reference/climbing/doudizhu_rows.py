"""The inputs of DouDiZhu's network, block by block, by counting cards and walking the play."""

from __future__ import annotations

from collections import Counter

from games.climbing.doudizhu.move_table import KIND_NAMES, move_table
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text
from games.support.array_types import Row

CHAIN = RANK_LETTERS[:12]
COPIES = {
    "solo": 1,
    "pair": 2,
    "trio": 3,
    "chain of solos": 1,
    "chain of pairs": 2,
    "chain of trios": 3,
    "trio with a solo": 3,
    "trio with a pair": 3,
    "plane with solos": 3,
    "plane with pairs": 3,
    "four with two solos": 4,
    "four with two pairs": 4,
    "bomb": 4,
}
TRIOS = ("trio", "trio with a solo", "trio with a pair")


def held(packed: int) -> Counter[str]:
    """Return how many cards of each rank a packed multiset has."""
    return Counter(cards_text(int(packed)))


def thermometer(cards: Counter[str]) -> list[int]:
    """Return the 54 bits of some cards."""
    bits = []
    for rank in RANK_LETTERS:
        bits += [int(cards[rank] > k) for k in range(1 if rank in "BR" else 4)]
    return bits


def unary(count: int, width: int) -> list[int]:
    return [int(count > k) for k in range(width)]


def one_hot(place: int | None, width: int) -> list[int]:
    return [int(k == place) for k in range(width)]


def told(move: int) -> tuple[str, int, int]:
    """Return the kind of a move, its rank and its links."""
    head = int(move_table().heads[move])
    return KIND_NAMES[head & 255], head >> 8 & 255, head >> 16 & 255


def the_play(state: Row) -> list[tuple[int, int]]:
    """Return who did what, passes included, oldest first."""
    line, seat = [], int(state["landlord"])
    for k in range(int(state["plays"])):
        line.append((seat, int(state["record"][k])))
        seat = (seat + 1) % 3
        for _ in range(int(state["gaps"][k // 32]) >> 2 * (k % 32) & 3):
            line.append((seat, 0))
            seat = (seat + 1) % 3
    return line


def seat_blocks(state: Row, seat: int, deck: Counter[str]) -> dict[str, list[int]]:
    """Return the blocks of a seat's row by name."""
    order = [(seat + k) % 3 for k in range(3)]
    hand = held(state["hand"][seat])
    played = [held(state["played"][who]) for who in range(3)]
    landlord, player = int(state["landlord"]), int(state["player"])
    found: dict[str, list[int]] = {
        "hand": thermometer(hand),
        "unseen": thermometer(deck - hand - played[0] - played[1] - played[2]),
        "played": [bit for who in order for bit in thermometer(played[who])],
        "left": [bit for who in order for bit in one_hot(int(state["left"][who]) - 1, 20)],
        "actor": [int(player == who) for who in order],
        "moved": [bit for who in order for bit in unary(int(state["moves"][who]), 2)],
        "bid": unary(int(state["bid"]), 3),
    }
    calls: dict[int, int] = {}
    for k in range(int(state["called"])):
        call = int(state["calls"]) >> 2 * k & 3
        calls[k % 3] = max(calls.get(k % 3, 0), call)
    found["calls"] = [bit for who in order for bit in one_hot(calls.get(who), 4)]
    if landlord == 3:
        return found | {"auction": [int(player >= 0)]}
    line = the_play(state)
    moves = [(who, move) for who, move in line if move]
    kind, rank, links = told(int(state["beat"]))
    free = kind == "pass"
    found |= {
        "known": thermometer(held(state["bottom"]) - played[landlord]),
        "role": [int(who == landlord) for who in order],
        "beat_kind": one_hot(KIND_NAMES.index(kind), 15),
        "beat_rank": one_hot(None if free else rank, 15),
        "beat_links": one_hot(None if free else links - 1, 12),
        "leader": [int(state["leader"] == who) for who in order],
        "passes": unary(int(state["passes"]), 2),
        "bombs": unary(sum(told(move)[0] in ("bomb", "rocket") for _, move in moves), 6),
    }
    recent: list[int] = []
    at = [k for k, (_, move) in enumerate(line) if move]
    for k in at[: -6 if len(at) > 5 else None : -1] if at else []:
        who, move = line[k]
        later = [k2 for k2 in at if k2 > k]
        gap = (later[0] if later else len(line)) - k - 1
        recent += thermometer(held(move_table().cards[move]))
        recent += [int(who == other) for other in order] + unary(gap, 2)
    found["recent"] = recent
    refused = {who: {group: [0] * 15 for group in range(3)} for who in order[1:]}
    lying: tuple[int, int] | None = None
    for who, move in line:
        if move:
            lying = who, move
        elif lying is not None and who != seat and (who == landlord) != (lying[0] == landlord):
            kind, rank, _ = told(lying[1])
            group = {"solo": 0, "pair": 1}.get(kind, 2 if kind in TRIOS else None)
            if group is not None:
                refused[who][group][rank] = 1
    found["refused"] = [bit for who in order[1:] for group in range(3) for bit in refused[who][group]]
    return found


def hidden_blocks(state: Row, seat: int) -> list[int]:
    """Return the hands of the next seat and the one after, as bits."""
    return [bit for k in (1, 2) for bit in thermometer(held(state["hand"][(seat + k) % 3]))]


def runs(cards: Counter[str], copies: int, links: int) -> int:
    """Return how many runs of so many ranks, each held so often, there are."""
    return sum(all(cards[rank] >= copies for rank in CHAIN[k : k + links]) for k in range(13 - links))


def move_blocks(state: Row, seat: int, action: int, deck: Counter[str]) -> dict[str, list[int]]:
    """Return the blocks of a move's row by name."""
    hand = held(state["hand"][seat])
    unseen = deck - hand
    for who in range(3):
        unseen -= held(state["played"][who])
    found: dict[str, list[int]] = {}
    rest = hand
    if action >= 27_472:
        found["call"] = one_hot(action - 27_472, 4)
    else:
        kind, rank, links = told(action)
        cards = held(move_table().cards[action])
        rest = hand - cards
        found["kind"] = one_hot(KIND_NAMES.index(kind), 15)
        if kind != "pass":
            found |= {"rank": one_hot(rank, 15), "links": one_hot(links - 1, 12), "cards": thermometer(cards)}
        if kind in COPIES:
            copies = COPIES[kind]
            ranks = CHAIN if links > 1 else RANK_LETTERS
            higher = sum(
                all(unseen[r] >= copies for r in ranks[k : k + links])
                for k in range(rank + 1, len(ranks) - links + 1)
            )
            found["higher"] = one_hot(min(higher, 3), 4)
    counts = Counter(rest.values())
    bombs = sum(unseen[r] == 4 for r in RANK_LETTERS) + int(unseen["B"] + unseen["R"] == 2)
    return found | {
        "rest": thermometer(rest),
        "left": one_hot(min(rest.total(), 19), 20),
        "solos": unary(counts[1], 8),
        "pairs": unary(counts[2], 6),
        "trios": unary(counts[3], 5),
        "fours": unary(counts[4], 4),
        "chains": unary(runs(rest, 1, 5), 5),
        "pair_chains": unary(runs(rest, 2, 3), 3),
        "trio_chains": unary(runs(rest, 3, 2), 3),
        "bombs": unary(bombs, 3),
    }
