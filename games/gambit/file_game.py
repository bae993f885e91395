"""A file of Gambit's as a game: `load_game("gambit:FILE.efg")`, `load_game("gambit:FILE.nfg")`.

What is paid on the way adds up to what is paid at the end. Actions of equal or empty labels are told apart by
words. A file says what a player knows where it acts; what it knows while it waits is derived.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

from games.base import ExpandedGame, ExplicitGame
from games.gambit.reader import FileInfoset, FileNode, GambitFile, read_gambit
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.naming import numbered
from games.support.array_types import Array
from games.support.files import FileProblem, read_bytes

__all__ = ["GambitGame", "load_gambit"]

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


def load_gambit(path: str) -> GambitGame:
    """Return the game in a file of Gambit's. Raises GameError as `GambitGame`."""
    return GambitGame(path)


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
    # Of each infoset: its player's own last edge before it, and its first node.
    past: dict[tuple[int, int], tuple[int, int]] = {}
    nothing = (Fraction(),) * len(seats)
    # Each entry is the edge that leads to a node (-1 at the root, -2 where chance never goes), its parent,
    # what was paid so far and every player's last sequence; the last belongs to the next node of the file.
    nobody = (-1,) * len(seats)
    stack: list[tuple[int, int, tuple[Fraction, ...], tuple[int, ...]]] = [(-1, -1, nothing, nobody)]
    for entry in found.nodes:
        edge, parent, paid, own = stack.pop()
        if edge == -2:
            stack += [(-2, -1, nothing, own)] * entry.count
            continue
        node = len(tree.player)
        if edge >= 0:
            tree.child[edge] = node
        if entry.payoffs is not None:
            paid = tuple(a + b for a, b in zip(paid, entry.payoffs, strict=True))
        tree.parent.append(parent)
        tree.parent_action.append(tree.action[edge] if edge >= 0 else -1)
        tree.player.append(entry.who)
        tree.returns.append([float(pay) for pay in paid] if entry.who == TERMINAL else [0.0] * len(seats))
        infosets.append(entry.infoset)
        lines.append(entry.line)
        known = [0] * len(seats)
        if entry.infoset is not None and entry.who >= 0:
            told = tree.told[entry.who]
            number = told.setdefault(names[entry.who][entry.infoset.number], len(told))
            known[entry.who] = number
            before, first = past.setdefault((entry.who, number), (own[entry.who], node))
            if before != own[entry.who]:
                raise _forgetful(name, found, tree, infosets, lines, (first, node))
        tree.known.append(known)
        after = []
        for action in range(entry.count):
            prob = _prob(entry, action)
            if prob == 0:
                after.append((-2, -1, nothing, own))
                continue
            mine = own
            if entry.who >= 0:
                taken = _sequence(past[entry.who, known[entry.who]][1], action)
                mine = (*own[: entry.who], taken, *own[entry.who + 1 :])
            after.append((len(tree.action), node, paid, mine))
            tree.action.append(action)
            tree.prob.append(float(prob))
            tree.child.append(-1)
        tree.count.append(sum(way[0] != -2 for way in after))
        stack += reversed(after)
    return tree, infosets


def _prob(node: FileNode, action: int) -> Fraction:
    """Return the probability of chance's action, 1 for a player's."""
    assert node.infoset is not None
    return node.infoset.probs[action] if node.who == CHANCE else Fraction(1)


def _sequence(first: int, action: int) -> int:
    """Return the number of a player's sequence: the first node of its last infoset, and its action there."""
    return first * MOST_NODES + action


def _infoset_names(found: GambitFile, seat: int) -> dict[int, str]:
    """Return what an infoset of a player is called, by its number: its label if no other has it."""
    labels: dict[int, str] = {}
    for node in found.nodes:
        if node.who == seat and node.infoset is not None:
            labels[node.infoset.number] = node.infoset.label
    known = [" ".join(label.lower().split()) for label in labels.values()]
    names = {}
    for number, label in labels.items():
        alone = label and known.count(" ".join(label.lower().split())) == 1
        names[number] = label if alone else f"{label} infoset {number}".strip()
    return names


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
