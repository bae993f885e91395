"""What a person at a terminal is told: cards and moves, rounds and games as they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from games.guandan.cards import HAND_SIZE, RANKS, as_level
from games.guandan.matches.match import RoundOver
from gs2.guandan.table.seat import Observation, Transfer
from gs2.guandan.table.selection import KIND_NAMES, seat_words, wild_words
from gs2.guandan.table.wire.moves import read_moves

_SUITS = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}
_COLOURS = {"S": "bold", "H": "bold red", "C": "bold", "D": "bold red"}
_WILD = "bold black on yellow"
LISTED = 60
"""Choices that are listed at most."""
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
        return Text(" ").join(self.card(name, level) for name in names)

    def move(self, move: Any, level: str) -> Text:
        """Return a move: its type and rank, its cards, and what its wild cards stand for."""
        kind, rank, cards = move
        if kind == "PASS" or cards in ("PASS", []):
            return Text("pass", "dim")
        if kind in ("tribute", "back"):
            return Text("pay " if kind == "tribute" else "return ").append_text(self.card(cards[0], level))
        name = KIND_NAMES.get(kind, str(kind).lower())
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


class PlayScreen:
    """Tells one seat of a table what happens there.

    show: called with what is to be printed, a text or anything that rich renders. names: of the players, by
    seat, where they are known. watching: whether nobody is asked, so that a hand is shown when it is dealt.
    """

    def __init__(
        self, show: Callable[[Any], None], faces: CardFaces, *, seat: int = 0, names: Sequence[str] = ()
    ) -> None:
        self.show, self.faces, self.seat, self.names = show, faces, seat, names
        self.watching = False
        self.rounds = 0
        self.level = "2"
        self.left = [HAND_SIZE] * 4

    def say(self, text: str, style: str = "") -> None:
        self.show(Text(text, style))

    def who(self, seat: int) -> str:
        """Return a player in words: where it sits, and its name if it is known."""
        place = seat_words(self.seat)[seat]
        return f"{place} ({self.names[seat]})" if self.names and seat != self.seat else place

    def _padded(self, seat: int) -> str:
        return self.who(seat).ljust(max(len(self.who(other)) for other in range(4)) + 2)

    # --- what happens ---

    def game_begun(self, number: int, games: int) -> None:
        self.rounds = 0
        if games > 1:
            self.say(f"\nGame {number} of {games}", "bold")

    def dealt(self, hand: Sequence[str], level: str | None, levels: tuple[str, str] | None = None) -> None:
        """Tell of a deal. level: of the round, where it is known. levels: own team's and the other's."""
        self.rounds += 1
        self.left = [HAND_SIZE] * 4
        said = [f"round {self.rounds}"]
        if level is not None:
            self.level = level
            said.append(f"level {level.replace('T', '10')}")
        if levels is not None:
            said.append(f"you {levels[0].replace('T', '10')}, they {levels[1].replace('T', '10')}")
        self.show(Text(f"\n=== {', '.join(said)} ===", "bold"))
        if level is not None and self.watching:
            self._hand(hand, level)

    def moved(self, seat: int, move: Any) -> None:
        line = Text("  ").append(self._padded(seat)).append_text(self.faces.move(move, self.level))
        if move[0] != "PASS":
            self.left[seat] -= len(move[2])
            left = "out" if self.left[seat] <= 0 else f"{self.left[seat]} left"
            line.append(f"  {left}", "bold" if self.left[seat] <= 10 else "dim")
        self.show(line)

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> None:
        for giver, taker, card in transfers:
            word = "pay" if stage == "tribute" else "return"
            word += ("" if giver == self.seat else "s") + ("" if stage == "tribute" else " to")
            line = Text(f"  {self._padded(giver)}{word} {self.who(taker)}  ")
            self.show(line.append_text(self.faces.card(card, self.level)))

    def anti_tribute(self, seats: Sequence[int]) -> None:
        who = " and ".join(self.who(seat) for seat in seats)
        verb = "hold" if len(seats) > 1 or self.seat in seats else "holds"
        self.say(f"  no tribute: {who} {verb} both big jokers")

    def round_over(
        self,
        order: Sequence[int],
        left: Sequence[tuple[int, Sequence[str]]],
        result: RoundOver | None = None,
    ) -> None:
        """Tell how the round ended: who won what, who held what. result: None where the order is all."""
        ours = order[0] % 2 == self.seat % 2
        if result is None:
            place = ("second", "third", "last")[order.index((order[0] + 2) % 4) - 1]
            said = f"{'your team finishes' if ours else 'they finish'} first and {place}"
        else:
            won = "the round" if result.rise < 1 else f"{result.rise} level{'s' * (result.rise > 1)}"
            said = f"{'your team wins' if ours else 'they win'} {won}"
        names = ", ".join(self.who(seat) for seat in order)
        self.show(Text(f"round over: {names}; ").append(said, "bold green" if ours else "bold red"))
        if result is not None and result.failed is not None:
            self._failed(result, result.failed)
        for seat, cards in left:
            held = Text(f"  {self._padded(seat)}held  ")
            self.show(held.append_text(self.faces.cards(cards, self.level)))

    def _failed(self, result: RoundOver, team: int) -> None:
        """Tell that a team has not passed A, and where that leaves it."""
        said = f"failure {result.fails[team]} of {result.tries}"
        if result.dropped:
            said = f"for the last time: back to {RANKS[result.levels[team]]}"
        who = "your team is" if team == self.seat % 2 else "they are"
        self.say(f"  {who} not past A, {said}", "bold")

    def game_over(self, winner: int | None, levels: Sequence[str] | None = None) -> None:
        """Tell how the game ended. winner: a team, None for a draw. levels: of the teams at its end."""
        said = f"game over after {self.rounds} round{'s' if self.rounds != 1 else ''}: "
        ours = winner == self.seat % 2
        said += "a draw" if winner is None else "your team wins" if ours else "they win"
        if levels is not None:
            own, other = levels[self.seat % 2], levels[1 - self.seat % 2]
            said += f" (you {own.replace('T', '10')}, they {other.replace('T', '10')})"
        self.say(said, "bold" if winner is None else "bold green" if ours else "bold red")

    # --- what is asked ---

    def situation(self, observation: Observation) -> None:
        """Show what a seat that is to act should have before its eyes: the trick, the others, its hand."""
        level, self.seat = observation.level, observation.seat
        self.level = level
        own, other = (name.replace("T", "10") for name in observation.levels)
        head = f"level {level.replace('T', '10')} (you {own}, they {other}); wild: "
        self.show(Text("\n" + head).append_text(self.faces.card(f"H{level}", level)))
        if observation.stage == "play":
            self.show(self._trick(observation))
        elif observation.stage == "tribute":
            self.say("You pay tribute: choose one of your highest cards.", "bold")
        else:
            self.say("You return a card to the player who paid you tribute.", "bold")
        self._hand(observation.hand, level)

    def _hand(self, cards: Sequence[str], level: str) -> None:
        self.say(f"your hand ({_cards(len(cards))})")
        self.show(self.faces.hand(cards, level))

    def choices(self, observation: Observation, listed: Mapping[int, int]) -> None:
        """Show choices one a line, under numbers: {number: index}."""
        for number, index in listed.items():
            move = self.faces.move(observation.actions[index], observation.level)
            self.show(Text(f"{number:5d}  ").append_text(move))

    def listed(self, observation: Observation) -> None:
        """Show the choices under their indices; of a long list one of each type and rank."""
        actions, firsts = observation.actions, dict[tuple[str, str], int]()
        for index, (kind, rank, _) in enumerate(actions):
            firsts.setdefault((str(kind), str(rank)), index)
        shown = range(len(actions)) if len(actions) <= LISTED else list(firsts.values())[:LISTED]
        self.choices(observation, {index: index for index in shown})
        if len(shown) < len(actions):
            self.say(f"       … and {len(actions) - len(shown)} more; any may be named by its cards")

    def advice(self, told: Mapping[str, Any], observation: Observation) -> None:
        """Show what search thinks of the choices, as `gs2.guandan.table.hosts.hint` tells it."""
        move = observation.actions[told["index"]]
        self.show(Text("hint: ", "bold").append_text(self.faces.move(move, observation.level)))
        explained = told["explanation"]
        if explained is None:
            return
        self.say(explained["reason"])
        rows = [row for row in explained["moves"] if row["gain"] is not None or row["refined"] > 0][:6]
        if len(rows) > 1:
            self.show(self._candidates(rows, observation.level))
        deals, sampled = (
            explained["deals_sampled"],
            "no other is possible" if explained["exact"] else "sampled",
        )
        if deals:
            self.say(f"{deals} deal{'s' * (deals != 1)} considered ({sampled})", "dim")

    def _candidates(self, rows: Sequence[Mapping[str, Any]], level: str) -> Table:
        """Return moves side by side: levels won over the network's own move, how sure, how many deals."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for heading in ("index", "move", "levels", "best in", "deals"):
            table.add_column(heading, justify="left" if heading == "move" else "right")
        for row in rows:
            worth = "" if row["gain"] is None else f"{row['gain']:+.2f} +/- {row['error']:.2f}"
            move = self.faces.move(row["notation"], level)
            deals = str(row["rollouts"] or "")
            table.add_row(str(row["index"]), move, worth, f"{row['refined']:.0%}", deals)
        return table

    def _trick(self, observation: Observation) -> Table:
        """Return the others: how many cards they hold and what they played last in this trick."""
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        greater = observation.greater
        for step in (1, 2, 3, 4):
            seat = (observation.seat + step) % 4
            rest, played = observation.rest[seat], observation.trick[seat]
            if step == 4 and played is None:
                continue
            said = Text("") if played is None else self.faces.move(played, observation.level)
            if greater is not None and greater[0] == seat:
                said.append("  <- to beat", "bold yellow")
            count = Text("out" if rest == 0 else _cards(rest), "bold" if rest <= 10 else "")
            table.add_row(Text(f"  {self.who(seat)}"), count, said)
        if greater is None:
            table.add_row(Text("  you lead", "bold"))
        return table


def _cards(count: int) -> str:
    return f"{count} card{'s' * (count != 1)}"
