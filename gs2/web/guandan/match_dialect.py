"""What is said at a table of GuanDan only: picked cards, passes, suggestions, and going on after a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from blueprint.guandan.rules.min_combination import min_combinations
from games.guandan.cards import PASS, RANKS, hand_text, pack, unpack
from games.guandan.moves.listing import legal_moves
from games.guandan.notation import action_list
from games.support.array_types import Array, Rows
from gs2.guandan.table.selection import Reason, fitting, why_not, wild_words
from gs2.web.arrangement import fewest_moves
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.guandan.match_state import table_state
from gs2.web.guandan.match_tables import MatchTables
from gs2.web.tables.table import Refused
from gs2.web.tables.table_socket import Hint, Message, TableSocket

__all__ = ["MatchDialect", "guandan_moves", "suggested_moves"]

BOMBS = ("Bomb", "StraightFlush", "FourKings")
OF_A_BOMB = 4
"""Cards of one rank that make a bomb: it costs more to take one apart than a pair."""

Line = TableSocket[MatchPlay]


class MatchDialect:
    """The messages of matches. tables: whose hints are asked for."""

    private = False

    def __init__(self, tables: MatchTables) -> None:
        self.tables = tables
        self.answers = {"select": _select, "pass": _pass, "suggest": _suggest, "next": _go_on, "open": _open}

    def state(self, line: Line) -> Message:
        """Return the whole state as this browser may see it."""
        return table_state(line.table, line.seat, hands=line.open and not line.table.people)

    def layout(self, line: Line) -> Callable[[], list[list[str]]]:
        """Return what lays the person's hand out by its moves."""
        session = line.table.play.session
        hand, level = np.array(session.hand(line.mine()), np.uint64), session.level
        return lambda: guandan_moves(hand, level)

    def hint(self, line: Line, message: Message) -> Hint:
        """Return since when the seat is asked what a hint is about, and what finds it."""
        seat = line.due()
        observation = line.table.play.session.observe(seat)
        return {"since": _since(line, seat)}, lambda: self.tables.hint(observation)


def guandan_moves(hand: Array, level: int) -> list[list[str]]:
    """Return the fewest moves of a packed hand [2] at a level (its rank code), each a list of card names."""

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        moves = legal_moves(hand, level, canonical=True)[0]
        taken = np.stack([moves["lo"], moves["hi"]], axis=1)
        left = pack(unpack(hand) - unpack(taken))
        needed, sizes = min_combinations(left, level), moves["size"].astype(np.int64)
        return left, sizes, needed, lambda i: " ".join(action_list(moves[i], level)[2])

    return [words.split() for words in fewest_moves(np.asarray(hand, np.uint64), leads)]


def _since(line: Line, seat: int) -> int:
    """Return since which version the seat is asked what it now is; its page may show another by then."""
    return line.table.versions.since(line.table.offer("choose", seat))


def _move(line: Line, moves: Any, index: int) -> Message:
    level = line.table.play.session.level
    words = action_list(moves[index], level)
    return {"index": int(index), "move": words, "wild": wild_words(moves[index], level)}


def _select(line: Line, message: Message) -> None:
    cards, seat, play = line.cards(message), line.mine(), line.table.play
    answer: Message = {"type": "fits", "id": message.get("id"), "moves": [], "why": None}
    if seat not in play.pending:
        answer["why"] = Reason("not_your_turn").to_json()
    else:
        moves = play.session.choices(seat)
        found = fitting(moves, cards) if cards else []
        answer["moves"] = [_move(line, moves, index) for index in found]
        if not found:
            reason = why_not(play.session.observe(seat), cards)
            answer["why"] = None if reason is None else reason.to_json()
    line.say(answer)


def _pass(line: Line, message: Message) -> None:
    seat, session = line.due(message), line.table.play.session
    found = (session.choices(seat)["type"] == PASS).nonzero()[0]
    if not len(found) or session.stage != "play":
        raise Refused("must_lead", "you lead, so you cannot pass")
    line.table.choose(seat, int(found[0]))


def _suggest(line: Line, message: Message) -> None:
    seat, session = line.due(), line.table.play.session
    moves = session.choices(seat)
    places = list(range(len(moves)))  # each card to pay or return is one
    if session.stage == "play":
        counts = unpack(np.array(session.hand(seat), np.uint64))
        places = suggested_moves(moves, hand_text(counts, session.level).split(), session.level)
    found = [_move(line, moves, place) for place in places]
    line.say({"type": "suggestions", "since": _since(line, seat), "moves": found})


def _go_on(line: Line, message: Message) -> None:
    line.mine()
    if line.table.play.waiting:  # else another player has continued
        line.seen(message, "next")
        line.table.enter("next", 1)


def _open(line: Line, message: Message) -> None:
    if line.table.people:
        raise Refused("closed", "hands are open only at tables where no person sits")
    line.open = bool(message.get("open"))
    line.show()


def suggested_moves(moves: Rows, hand: Sequence[str], level: int) -> list[int]:
    """Return places of moves to suggest: one of each type and rank, none of them a pass.

    hand: the cards held, by name. Bombs come last; before them what needs a wild card; before that what takes
    groups of one rank apart, the fewer the sooner. Among equals the order is that of `moves`.
    """
    kinds = moves["type"].astype(np.int64) << 8 | moves["rank"]
    _, places = np.unique(kinds, return_index=True)
    held = Counter(card[1:] for card in hand if card != f"H{RANKS[level]}")
    order = []
    for place in np.sort(places).tolist():
        if moves[place]["type"] == PASS:
            continue
        kind, _, cards = action_list(moves[place], level)
        wild = sum(card == f"H{RANKS[level]}" for card in cards)
        used = Counter(card[1:] for card in cards if card != f"H{RANKS[level]}")
        apart = sum(1 + (held[rank] >= OF_A_BOMB) for rank, count in used.items() if count < held[rank])
        order.append((kind in BOMBS, min(wild, 1), apart, place))
    return [place for *_, place in sorted(order)]
