"""Tribute, promotion and DanZero's rule for cards, slow and obvious: one match at a time, cards as names."""

from __future__ import annotations

from itertools import product

RANKS = "23456789TJQKA"
SUITS = "HSCD"


def rank_of(card: str) -> str:
    return {"SB": "B", "HR": "R"}.get(card, card[1])


def order_of(level: str) -> str:
    """Ranks from the weakest to the strongest."""
    return RANKS.replace(level, "") + level + "BR"


def is_wild(card: str, level: str) -> bool:
    return card == "H" + level


def index_of(card: str) -> int:
    """DanZero's index of a card."""
    return {"SB": 52, "HR": 53}.get(card, 4 * RANKS.find(card[1]) + SUITS.find(card[0]))


def tribute_choices(hand: list[str], level: str, *, suit: str = "free") -> list[str]:
    """The cards that a payer may give."""
    strength = order_of(level)
    plain = [card for card in hand if not is_wild(card, level)] or hand
    best = max(strength.index(rank_of(card)) for card in plain)
    equal = sorted({c for c in plain if strength.index(rank_of(c)) == best}, key=index_of)
    return equal if suit == "free" else equal[:1]


def return_choices(
    hand: list[str], level: str, received: str, *, levels: bool = False, may_return: bool = True
) -> list[str]:
    """The cards that a receiver may return; `hand` includes the card received."""
    cards = list(hand)
    if not may_return:
        cards.remove(received)
    low = [c for c in cards if rank_of(c) in "23456789T" and (levels or rank_of(c) != level)]
    if not low:
        strength = order_of(level)
        worst = min(strength.index(rank_of(card)) for card in cards)
        low = [card for card in cards if strength.index(rank_of(card)) == worst]
    return sorted(set(low), key=index_of)


def double_tribute(
    order: list[int],
    paid: dict[int, str],
    level: str,
    *,
    compare: str = "level",
    tie: str = "clockwise",
    first: int = 0,
) -> tuple[dict[int, int], int]:
    """After a double win: who receives each payer's card, and who leads. first: payer who answered first."""
    banker, partner = order[0], order[1]
    a, b = paid
    by_level = {seat: order_of(level).index(rank_of(card)) for seat, card in paid.items()}
    worth = by_level
    if compare == "natural":
        worth = {seat: (RANKS + "BR").index(rank_of(card)) for seat, card in paid.items()}
    favourite = (banker + 1) % 4 if tie == "clockwise" else first
    other = b if favourite == a else a
    if worth[a] == worth[b]:
        better = favourite
    else:
        better = max(paid, key=worth.__getitem__)
    receivers = {better: banker, (b if better == a else a): partner}
    if by_level[a] != by_level[b]:
        leader = max(paid, key=by_level.__getitem__)
    elif tie == "arrival" and rank_of(paid[a]) == level:
        leader = other
    else:
        leader = favourite
    return receivers, leader


def promote(
    order: list[int],
    owner: int | None,
    levels: list[str],
    fails: list[int],
    *,
    win: str = "not last",
    failure: str = "not won",
    limit: int = 3,
    promotes: bool = False,
) -> tuple[list[str], list[int], int | None, int | None]:
    """Return levels, failures at A, the winner of the match and the team that dropped, after a round."""
    levels, fails = list(levels), list(fails)
    team = order[0] % 2
    partner = order.index((order[0] + 2) % 4)
    steps = {1: 3, 2: 2, 3: 1}[partner]
    at_ace = owner is not None and levels[owner] == "A"
    won = at_ace and owner == team and (partner == 1 if win == "double" else partner != 3)
    for _ in range(steps):
        if levels[team] != "A":
            levels[team] = RANKS[RANKS.index(levels[team]) + 1]
    if won:
        return levels, fails, team, None
    if at_ace and (failure == "not won" or order[3] % 2 == owner):
        assert owner is not None
        fails[owner] += 1
        if fails[owner] == limit:
            fails[owner] = 0
            levels[owner] = "3" if promotes and team == owner else "2"
            return levels, fails, None, owner
    return levels, fails, None, None


def wild_flags(hand: list[str], level: str) -> list[int]:
    """DanZero's twelve flags by trying every completion of every combination with one wild card."""
    if not any(is_wild(card, level) for card in hand):
        return [0] * 12
    cards = {card for card in hand if not is_wild(card, level) and card not in ("SB", "HR")}
    suits = {rank: {card[0] for card in cards if card[1] == rank} for rank in RANKS}
    line = "A" + RANKS

    def lacks(need: list[tuple[str, int]]) -> int:
        """Cards lacking for so many of each rank, suits counted once."""
        return sum(max(0, size - len(suits[rank])) for rank, size in need)

    def within_one(needs: list[list[tuple[str, int]]]) -> int:
        return int(any(lacks(need) <= 1 for need in needs))

    def windows(slots: int, size: int) -> list[list[tuple[str, int]]]:
        return [[(rank, size) for rank in line[i : i + slots]] for i in range(15 - slots)]

    flush = any(
        sum(suit in suits[rank] for rank in line[i : i + 5]) >= 4 for suit, i in product(SUITS, range(10))
    )
    groups = [within_one([[(rank, size)] for rank in RANKS]) for size in (7, 6, 5, 4, 3, 2)]
    full_house = within_one([[(a, 3), (b, 2)] for a in RANKS for b in RANKS if a != b])
    return [
        1,
        int(flush),
        *groups,
        within_one(windows(5, 1)),
        within_one(windows(2, 3)),
        within_one(windows(3, 2)),
        full_house,
    ]
