"""Cards, moves and hands as a person at a terminal sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from games.guandan.cards import as_level
from gs2.guandan.table.selection import wild_words
from gs2.guandan.table.wire.decode import read_moves

__all__ = ["CardFaces"]

_SUITS = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}
_COLOURS = {"S": "bold", "H": "bold red", "C": "bold", "D": "bold red"}
_WILD = "bold black on yellow"
_KINDS = {
    "ThreePair": "tube",
    "ThreeWithTwo": "full house",
    "TwoTrips": "plate",
    "StraightFlush": "straight flush",
    "FourKings": "joker bomb",
}
_RANKS = {"T": "10", "B": "small joker", "R": "big joker"}


class CardFaces:
    """How cards look. Colours are left to the console, which knows whether it has any.

    symbols: show suits by their signs rather than by letters, and ten as 10. width: characters of a line.
    """

    def __init__(self, *, symbols: bool, width: int = 100) -> None:
        self.symbols, self.width = symbols, width

    @classmethod
    def of(cls, console: Console) -> CardFaces:
        """Return the faces for a console: signs where people look and the encoding has them."""
        signs = console.is_terminal and console.encoding.lower().startswith("utf")
        return cls(symbols=signs, width=console.width)

    def card(self, name: str, level: str) -> Text:
        """Return one card; a wild one is marked, by a star too for those who see no colours."""
        if name == f"H{level}":
            return Text(self._plain(name) + "*", _WILD)
        if name in ("SB", "HR"):
            return Text(name, "bold red" if name == "HR" else "bold blue")
        return Text(self._plain(name), _COLOURS.get(name[:1], ""))

    def _plain(self, name: str) -> str:
        if not self.symbols:
            return name
        return _SUITS[name[0]] + name[1].replace("T", "10")

    def cards(self, names: Iterable[str], level: str) -> Text:
        """Return cards in a row."""
        return Text(" ").join(self.card(name, level) for name in names)

    def move(self, move: Any, level: str) -> Text:
        """Return a move: its type and rank, its cards, and what its wild cards stand for."""
        kind, rank, cards = move
        if kind == "PASS":
            return Text("pass", "dim")
        if kind in ("tribute", "back"):
            return Text("pay " if kind == "tribute" else "return ").append_text(self.card(cards[0], level))
        name = _KINDS.get(kind, str(kind).lower())
        if kind != "FourKings":
            name = f"{name} {_RANKS.get(rank, rank)}"
        if kind == "Bomb":
            name = f"{name} (of {len(cards)})"
        said = Text(f"{name}  ").append_text(self.cards(cards, level))
        stands_for = self.wilds(move, level)
        return said if stands_for is None else said.append(f"  ({stands_for})", "dim")

    def wilds(self, move: Any, level: str) -> str | None:
        """Return what the wild cards of a move stand for, None if they stand for themselves."""
        read, _ = read_moves([move])
        words = wild_words(read[0], as_level(level)) if len(read) else None
        if words is None or not self.symbols:
            return words
        parts = [part.split(" as ") for part in words.split(", ")]
        return ", ".join(
            f"{self._plain(wild)} as {self._plain(card) if len(card) == 2 else _RANKS.get(card, card)}"
            for wild, card in parts
        )

    def hand(self, names: Sequence[str], level: str) -> Text:
        """Return a hand in lines: cards of a rank together, and how many where there are several.

        names: weakest first. Wild cards stand by themselves at the end.
        """
        wild = f"H{level}"
        ranks = Counter("wild" if name == wild else name[-1] for name in names)
        lines = [Text(" ")]
        for rank, count in sorted(ranks.items(), key=lambda item: item[0] == "wild"):
            group = self.cards((n for n in names if ("wild" if n == wild else n[-1]) == rank), level)
            if count > 1:
                group.append(f" ({count})", "dim")
            if lines[-1].cell_len + group.cell_len + 3 > self.width:
                lines.append(Text(" "))
            lines[-1].append(" " if lines[-1].cell_len == 1 else "   ").append_text(group)
        return Text("\n").join(lines)
