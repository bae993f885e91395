"""Files of Gambit's as plain nodes: extensive games (`.efg`) and strategic ones (`.nfg`).

Read are files of EFG version 2 and NFG version 1, in both forms of the latter (payoffs, or outcomes and their
numbers). Source: Gambit's page "Game representation formats", and what pygambit 16.7 accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from games.gambit.tokens import Tokens
from games.game import CHANCE, TERMINAL, GameError

__all__ = ["FileInfoset", "FileNode", "GambitFile", "read_gambit"]

Payoffs = tuple[Fraction, ...]


@dataclass(frozen=True)
class FileInfoset:
    """An infoset of a player, or a set of chance nodes that share their outcomes.

    number, label: as in the file. actions: labels, which may be equal or empty. probs: chance's, one an
    action. line: where the file first names it.
    """

    number: int
    label: str
    actions: tuple[str, ...]
    probs: Payoffs
    line: int


@dataclass(frozen=True)
class FileNode:
    """A node: who acts (a seat, CHANCE or TERMINAL), its infoset, what each player gets there, its line."""

    who: int
    infoset: FileInfoset | None
    payoffs: Payoffs | None
    line: int

    @property
    def count(self) -> int:
        """How many nodes follow directly."""
        return 0 if self.infoset is None else len(self.infoset.actions)


@dataclass
class GambitFile:
    """What a file holds.

    title: of the game. players: their labels. nodes: each before those below it, which come in the order of
    its actions.
    """

    title: str
    players: tuple[str, ...]
    nodes: list[FileNode] = field(default_factory=list)


def read_gambit(name: str, text: str, most_nodes: int) -> GambitFile:
    """Return what the text of a file holds.

    name: the game string, for errors. most_nodes: GameError is raised for a game with more.
    Raises GameError with the line for a text that is neither kind of file, ends early or is damaged.
    """
    tokens = Tokens(name, text)
    kind = tokens.next("EFG or NFG, with which a file of Gambit's begins,")
    version = {"EFG": "2", "NFG": "1"}.get(kind)
    if version is None:
        raise tokens.error(f"a Gambit file must begin with EFG or NFG; got {kind[:20]}; name another file")
    tokens.expect(version, f"version {version}, the only one of {kind} files that is read,")
    if tokens.next("R or D") not in ("R", "D"):
        raise tokens.error(f"R or D must follow {kind} {version}")
    title = tokens.text("the title")
    players = tuple(tokens.texts("the label of a player"))
    if not players:
        raise tokens.error("a game must have at least one player")
    found = GambitFile(title, players)
    if kind == "EFG":
        if tokens.is_text():
            tokens.text("a comment")
        _Extensive(tokens, found, most_nodes).read()
        tokens.end("the end of the file, after the last node of the tree,")
    else:
        _read_strategic(tokens, found, most_nodes)
    return found


@dataclass
class _Extensive:
    """An extensive game as it is read: its infosets by (seat, number), outcomes by number."""

    tokens: Tokens
    found: GambitFile
    most_nodes: int
    infosets: dict[tuple[int, int], FileInfoset] = field(default_factory=dict)
    outcomes: dict[int, Payoffs] = field(default_factory=dict)

    def read(self) -> None:
        """Read the tree: nodes until none is missing."""
        missing = 1
        while missing:
            if len(self.found.nodes) >= self.most_nodes:
                raise _too_many(self.tokens, self.most_nodes)
            node = self._node()
            self.found.nodes.append(node)
            missing += node.count - 1

    def _node(self) -> FileNode:
        tokens = self.tokens
        kind = tokens.next("a node (c, p or t)")
        line = tokens.line
        if kind not in ("c", "p", "t"):
            raise tokens.error(f"a node must begin with c, p or t; got {kind[:20]}")
        tokens.text("the label of a node")
        if kind == "t":
            return FileNode(TERMINAL, None, self._outcome(), line)
        who = CHANCE
        if kind == "p":
            who = tokens.whole("the number of a player") - 1
            if not 0 <= who < len(self.found.players):
                raise tokens.error(f"a player must be in [1, {len(self.found.players)}]; got {who + 1}")
        infoset = self._infoset(who)
        return FileNode(who, infoset, self._outcome(), line)

    def _infoset(self, who: int) -> FileInfoset:
        """Return the infoset whose number is next; its label and actions may be left out once it is known."""
        tokens = self.tokens
        number = tokens.whole("the number of an infoset")
        line = tokens.line
        known = self.infosets.get((who, number))
        label = tokens.text("the label of an infoset") if tokens.is_text() else ""
        if tokens.peek() != "{":
            if known is None:
                raise tokens.error(f"infoset {number} must have its actions, {{ … }}, where it comes first")
            return known
        actions, probs = self._actions(who)
        if known is None:
            known = FileInfoset(number, label, actions, probs, line)
            self.infosets[who, number] = known
        elif (known.actions, known.probs) != (actions, probs):
            raise tokens.error(
                f"infoset {number} must have the actions that it has on line {known.line}: "
                f"{_listed(known.actions)}; got {_listed(actions)}"
            )
        return known

    def _actions(self, who: int) -> tuple[tuple[str, ...], Payoffs]:
        tokens = self.tokens
        tokens.expect("{", "'{' and actions")
        line = tokens.line
        labels, probs = [], []
        while tokens.peek() != "}":
            labels.append(tokens.text("the label of an action or '}'"))
            if who == CHANCE:
                probs.append(tokens.number("a probability"))
                if probs[-1] < 0:
                    raise tokens.error(f"a probability must not be negative; got {_short(probs[-1])}")
        tokens.next("'}'")
        if not labels:
            raise tokens.error("an infoset must have at least one action")
        if who == CHANCE and sum(probs) != 1:
            raise tokens.error(
                "the probabilities of chance must sum to exactly 1; these sum to "
                f"{_short(sum(probs, Fraction()))}; write them as fractions, such as 1/3",
                line,
            )
        return tuple(labels), tuple(probs)

    def _outcome(self) -> Payoffs | None:
        """Return what the outcome of a node pays, None for none; payoffs may be left out once it is known."""
        tokens = self.tokens
        number = tokens.whole("the number of an outcome")
        line = tokens.line
        if tokens.is_text():
            tokens.text("the label of an outcome")
            if number and tokens.peek() != "{":
                tokens.expect("{", "'{' and payoffs")
        if tokens.peek() == "{":
            tokens.next("'{'")
            if number == 0:
                raise tokens.error("outcome 0 stands for none and must have no payoffs")
            payoffs = tokens.payoffs(len(self.found.players))
            if self.outcomes.setdefault(number, payoffs) != payoffs:
                raise tokens.error(
                    f"outcome {number} must pay the same everywhere; it was defined otherwise above"
                )
        if number and number not in self.outcomes:
            raise tokens.error(f"outcome {number} must have its payoffs, {{ … }}, where it comes first", line)
        return self.outcomes.get(number)


def _read_strategic(tokens: Tokens, found: GambitFile, most_nodes: int) -> None:
    """Read strategies and payoffs, and make the tree in which players choose one after the other, unseen."""
    line = tokens.line
    strategies = _strategies(tokens, found.players)
    cells = prod(map(len, strategies))
    if sum(prod(map(len, strategies[:n])) for n in range(len(strategies) + 1)) > most_nodes:
        raise _too_many(tokens, most_nodes)
    if tokens.is_text():
        tokens.text("a comment")
    cell = _outcome_cells(tokens, found) if tokens.peek() == "{" else _payoff_cells(tokens, found)
    table: list[Payoffs | None] = [next(cell) for _ in range(cells)]
    tokens.end(f"the end of the file, after {cells} combinations of strategies,")
    infosets = [FileInfoset(1, "", labels, (), line) for labels in strategies]
    stride = [
        prod(map(len, strategies[:seat])) for seat in range(len(strategies))
    ]  # the first varies fastest
    stack = [(0, 0)]
    while stack:
        seat, at = stack.pop()
        if seat == len(strategies):
            found.nodes.append(FileNode(TERMINAL, None, table[at], line))
            continue
        found.nodes.append(FileNode(seat, infosets[seat], None, line))
        stack += [(seat + 1, at + k * stride[seat]) for k in reversed(range(len(strategies[seat])))]


def _strategies(tokens: Tokens, players: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the labels of each player's strategies; where a file says only how many, their numbers."""
    tokens.expect("{", "'{' and strategies")
    found: list[tuple[str, ...]] = []
    while tokens.peek() != "}":
        if tokens.peek() == "{":
            found.append(tuple(tokens.texts("the label of a strategy")))
        else:
            count = tokens.whole("a number of strategies")
            if count > tokens.left:
                raise tokens.error(
                    f"there must be a payoff for each strategy; got {count} strategies and no payoffs"
                )
            found.append(tuple(str(k + 1) for k in range(count)))
        if not found[-1]:
            raise tokens.error("a player must have at least one strategy")
    tokens.next("'}'")
    if len(found) != len(players):
        raise tokens.error(f"each of {len(players)} players must have strategies; got those of {len(found)}")
    return found


def _payoff_cells(tokens: Tokens, found: GambitFile) -> Iterator[Payoffs]:
    """Yield what each combination of strategies pays, as numbers in a row."""
    while True:
        yield tuple(tokens.number("a payoff") for _ in found.players)


def _outcome_cells(tokens: Tokens, found: GambitFile) -> Iterator[Payoffs | None]:
    """Yield what each combination of strategies pays, by the number of its outcome; 0 is none."""
    tokens.next("'{'")
    outcomes: list[Payoffs | None] = [None]
    while tokens.peek() != "}":
        tokens.expect("{", "an outcome or '}'")
        tokens.text("the label of an outcome")
        outcomes.append(tokens.payoffs(len(found.players)))
    tokens.next("'}'")
    while True:
        number = tokens.whole("the number of an outcome")
        if not 0 <= number < len(outcomes):
            raise tokens.error(f"an outcome must be in [0, {len(outcomes) - 1}]; got {number}")
        yield outcomes[number]


def _too_many(tokens: Tokens, most: int) -> GameError:
    return tokens.error(f"a game must have at most {most:,} nodes; this one has more")


def _listed(labels: tuple[str, ...]) -> str:
    return "{ " + " ".join(f'"{label}"' for label in labels) + " }"


def _short(value: Fraction) -> str:
    exact = max(abs(value.numerator), value.denominator) < 10**9
    return str(value) if exact else f"{float(value):.9g}"
