"""Games from files of Gambit's, `.efg` and `.nfg`: `load_game("gambit:FILE.efg")`, played by the contract.

Read are files of EFG version 2 and NFG version 1, in both forms of the latter (payoffs, or outcomes and their
numbers). Source: Gambit's page "Game representation formats", and what pygambit 16.7 accepts.

What is paid on the way adds up to what is paid at the end. Actions of equal or empty labels are told apart by
words. A file says what a player knows where it acts; what it knows while it waits is derived.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from games.base import ExpandedGame, ExplicitGame, Looked, expand
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.naming import normal_text, numbered
from games.support.array_types import Array
from games.support.files import FileProblem, read_bytes

TOKEN = re.compile(r'\s+|"(?:\\"|[^"\\]|\\(?!"))*"|[{},]|[^\s{},"]+')
"""A backslash escapes a quotation mark and nothing else, as Gambit has it."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?(/\d+)?")
LARGEST = 10**150
"""Of a number in a file: sums over a game stay finite."""
SHOWN = 40
"""Letters of a word that an error shows."""


class Tokens:
    """The words of a file, read one after the other.

    name: the game string, for errors. line: of the word that was read last.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.line = 1
        self._words: list[str] = []
        self._lines: list[int] = []
        at, line = 0, 1
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:  # only a quotation mark without a partner matches nothing
                raise self.error(
                    f"a text must end with a quotation mark; {text[at : at + SHOWN]!r} does not", line
                )
            word = found[0]
            if not word.isspace():
                self._words.append(word)
                self._lines.append(line)
            line += word.count("\n")
            at = found.end()
        self._last_line = line
        self._at = 0

    def error(self, rule: str, line: int | None = None) -> GameError:
        """Return the error of a rule that is broken at a line, by default that of the word read last."""
        return GameError(f"{self.name}, line {self.line if line is None else line}: {rule}")

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words) - self._at

    def peek(self) -> str:
        """Return the next word, "" at the end of the file."""
        return self._words[self._at] if self.left else ""

    def next(self, wanted: str) -> str:
        """Return the next word. Raises GameError if the file ends instead of what is `wanted`."""
        if not self.left:
            self.line = self._last_line
            raise self.error(f"{wanted} must follow; the file ends here; it may have been cut off")
        self.line = self._lines[self._at]
        self._at += 1
        return self._words[self._at - 1]

    def expect(self, word: str, wanted: str) -> None:
        """Read one word. Raises GameError if it is another."""
        found = self.next(wanted)
        if found != word:
            raise self._unlike(wanted, found)

    def is_text(self) -> bool:
        """Return whether a text in quotes is next."""
        return self.peek().startswith('"')

    def text(self, wanted: str) -> str:
        """Return the text in quotes that is next, on one line."""
        found = self.next(wanted)
        if not found.startswith('"'):
            raise self._unlike(f"{wanted} in quotation marks", found)
        return " ".join(found[1:-1].replace('\\"', '"').split())

    def texts(self, wanted: str) -> list[str]:
        """Return the texts between the braces that are next."""
        self.expect("{", f"'{{' and {wanted}s")
        found = []
        while self.peek() != "}":
            found.append(self.text(f"{wanted} or '}}'"))
        self.next("'}'")
        return found

    def whole(self, wanted: str) -> int:
        """Return the whole number that is next."""
        found = self.next(wanted)
        if re.fullmatch(r"[+-]?\d{1,18}", found) is None:
            raise self._unlike(f"{wanted}, a whole number,", found)
        return int(found)

    def number(self, wanted: str) -> Fraction:
        """Return the number that is next: whole, decimal or a fraction."""
        found = self.next(wanted)
        try:
            if NUMBER.fullmatch(found) is None:
                raise ValueError
            top, _, bottom = found.partition("/")
            value = Fraction(top) / Fraction(bottom or 1)
        except (ValueError, ZeroDivisionError):
            raise self._unlike(f"{wanted}, such as 3, -0.5 or 1/3,", found) from None
        if abs(value) > LARGEST:
            raise self._unlike(f"{wanted} of at most 1e150", found)
        return value

    def payoffs(self, players: int) -> tuple[Fraction, ...]:
        """Return what each player gets, up to the closing brace; commas between numbers are optional."""
        found = []
        for seat in range(players):
            if seat and self.peek() == ",":
                self.next("','")
            found.append(self.number(f"a payoff for each of {players} players"))
        self.expect("}", f"'}}' after {players} payoffs")
        return tuple(found)

    def end(self, rule: str) -> None:
        """Raise GameError if anything is left."""
        if self.left:
            raise self._unlike(rule, self.next("the end"))

    def _unlike(self, wanted: str, found: str) -> GameError:
        return self.error(f"{wanted} must stand here; got {' '.join(found[:SHOWN].split())}")


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


MOST_NODES = 3_000_000
"""Nodes after which a file is refused, as in an expanded game of OpenSpiel's."""
UNPLAYED = "and nothing here plays such a game; give these nodes infosets of their own"
BYSTANDER = "nobody"
"""The second seat of a game for one player: it never acts, and gets the opposite payoff."""


class GambitGame(ExplicitGame):
    """A game of perfect recall from a file of Gambit's, for any number of players.

    path: of the file, as it was given. title: of the game. players: their labels. fingerprint: of the file's
    content, 32 hexadecimal digits. zero_sum, shift: as of `ExplicitGame`.
    Raises GameError naming the file and the line if it cannot be read or a player forgets.
    """

    def __init__(self, path: str) -> None:
        name = f"gambit:{path}"
        try:
            data = read_bytes(path)
        except FileNotFoundError:
            raise GameError(f"{name}: file {path!r} does not exist; check the path") from None
        except FileProblem as error:
            raise GameError(f"{name}: {error}") from None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        found = read_gambit(name, text, MOST_NODES)
        self.path, self.title = path, found.title
        self.fingerprint = hashlib.blake2b(data, digest_size=16).hexdigest()
        alone = len(found.players) == 1
        self.players = (*found.players, BYSTANDER) if alone else found.players
        tree, infosets = _expanded(name, found)
        if alone:
            tree.returns = [[own, -own] for (own,) in tree.returns]
            tree.known = [[known, 0] for (known,) in tree.known]
            tree.told = (*tree.told, {"": 0})
        self._labels = [() if infoset is None else action_words(infoset) for infoset in infosets]
        super().__init__(name, tree, trusted=False)

    def action_text(self, state: Array, action: Array) -> str:
        return self._labels[int(state)][int(action)]

    def state_text(self, state: Array) -> str:
        """Return who did what up to a node."""
        node, words = int(state), []
        while node:
            above = int(self._parent[node])
            who = int(self._player[above])
            label = self._labels[above][int(self._parent_action[node])]
            words.append(f"{'chance' if who == CHANCE else f'P{who}'} {label}")
            node = above
        return ", ".join(reversed(words)) or "the start"


def action_words(infoset: FileInfoset) -> tuple[str, ...]:
    """Return the words for an infoset's actions, no two alike: equal labels are numbered, empty ones #1, …"""
    return tuple(numbered(label or f"#{k + 1}" for k, label in enumerate(infoset.actions)))


def _expanded(name: str, found: GambitFile) -> tuple[ExpandedGame, list[FileInfoset | None]]:
    """Return a file's tree without what chance never does, and the infoset of each node.

    Raises GameError where a player forgets what it did or that it was there.
    """
    seats = range(len(found.players))
    names = [_infoset_names(found, seat) for seat in seats]
    tree = ExpandedGame(tuple({"": 0} for _ in seats))
    infosets: list[FileInfoset | None] = []
    lines: list[int] = []
    below = _below(found.nodes)
    nothing = (Fraction(),) * len(seats)

    def look(place: tuple[int, Payoffs]) -> Looked:
        entry = found.nodes[place[0]]
        infosets.append(entry.infoset)
        lines.append(entry.line)
        told = [""] * len(seats)
        ways: list[tuple[int, float]] = []
        if entry.infoset is not None and entry.who >= 0:
            told[entry.who] = names[entry.who][entry.infoset.number]
            ways = [(action, 1.0) for action in range(entry.count)]
        elif entry.infoset is not None:
            ways = [(action, float(prob)) for action, prob in enumerate(entry.infoset.probs) if prob]
        paid = paid_at(place) if entry.who == TERMINAL else nothing
        return entry.who, ways, [float(pay) for pay in paid], told

    def paid_at(place: tuple[int, Payoffs]) -> Payoffs:
        more = found.nodes[place[0]].payoffs
        return place[1] if more is None else tuple(a + b for a, b in zip(place[1], more, strict=True))

    def after(place: tuple[int, Payoffs], action: int) -> tuple[int, Payoffs]:
        return below[place[0]][action], paid_at(place)

    def forgets(first: int, node: int, other_actions: bool) -> GameError:
        return _forgetful(name, found, tree, infosets, lines, (first, node))

    expand(tree, (0, nothing), look, after, forgets)
    return tree, infosets


def _below(nodes: list[FileNode]) -> list[list[int]]:
    """Return the numbers of the nodes that follow each directly, in the order of its actions."""
    below: list[list[int]] = [[] for _ in nodes]
    above: list[int] = []
    for number, node in enumerate(nodes):
        if above:
            below[above.pop()].append(number)
        above += [number] * node.count
    return below


def _infoset_names(found: GambitFile, seat: int) -> dict[int, str]:
    """Return what an infoset of a player is called, by its number: its label if no other has it."""
    labels: dict[int, str] = {}
    for node in found.nodes:
        if node.who == seat and node.infoset is not None:
            labels[node.infoset.number] = node.infoset.label
    names = {number: f"{label} infoset {number}".strip() for number, label in labels.items()}
    taken = [normal_text(name) for name in (*labels.values(), *names.values())]
    alone = [number for number, label in labels.items() if label and taken.count(normal_text(label)) == 1]
    return names | {number: labels[number] for number in alone}


def _forgetful(
    name: str,
    found: GambitFile,
    tree: ExpandedGame,
    infosets: list[FileInfoset | None],
    lines: list[int],
    nodes: tuple[int, int],
) -> GameError:
    """Return the error for two nodes of one infoset that follow different own actions."""
    first, second = nodes
    infoset = infosets[second]
    assert infoset is not None
    who = tree.player[second]
    label = f' "{infoset.label}"' if infoset.label else ""
    whose = f'player {who} ("{found.players[who]}")'
    where = f"{name}, line {lines[second]}: infoset {infoset.number}{label} of {whose}"
    node = tree.parent[second]
    while node >= 0:
        if node == first:
            return GameError(
                f"{where} comes again below itself, first on line {lines[first]}: the player forgets that it "
                f"was there (absent-mindedness), {UNPLAYED}"
            )
        node = tree.parent[node]

    def done(node: int) -> str:
        words = []
        while node:
            above = tree.parent[node]
            at = infosets[above]
            if tree.player[above] == who and at is not None:
                words.append(f"{action_words(at)[tree.parent_action[node]]} at infoset {at.number}")
            node = above
        return ", ".join(reversed(words)) or "nothing"

    return GameError(
        f"{where} joins histories in which the player did different things: {done(first)} (line "
        f"{lines[first]}), and {done(second)}; it forgets (imperfect recall), {UNPLAYED}"
    )
