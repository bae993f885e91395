"""Tabular policies: one probability per (infoset, action) slot, saved with the game they belong to.

Their files are archives of arrays (.npz), looked at before they are unpacked: a few bytes may stand for
gigabytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree, grow, require_tree
from cfr.tree.memory import memory_limit
from cfr.values import SUM_TOLERANCE, uniform
from games.game import Game
from games.infosets.naming import joined_lines
from games.ragged import Ragged
from games.registry import load_game
from games.support.files import FileProblem, open_regular, replacing

MOST_RATIO = 100
"""Bytes that one byte of a file may become. Policies reach 12, runs that have just begun some 60."""
ALWAYS = 1 << 26
"""Bytes that any file may become."""
_SUFFIX = ".npy"


class ArchiveError(ValueError):
    """An archive that is none, or holds what it may not: the rule and what was found."""


class Archive:
    """An archive whose arrays were looked at: which there are, of which type and shape, and how large.

    names: of the arrays. Nothing is unpacked until an array is asked for by its name.
    """

    def __init__(self, file: BinaryIO, *, most: float) -> None:
        """Look at an open file, which stays open. most: bytes of all arrays together.

        Raises ArchiveError for one that would become larger, or whose parts contradict each other;
        zipfile.BadZipFile and OSError for what is no archive.
        """
        self._zip = zipfile.ZipFile(file)
        members = self._zip.infolist()
        size, packed = sum(member.file_size for member in members), os.fstat(file.fileno()).st_size
        allowed = min(most, max(ALWAYS, MOST_RATIO * packed))
        if size > allowed:
            raise ArchiveError(
                f"its arrays must take at most {allowed / 2**20:,.0f} MB; they take {size / 2**20:,.0f} MB, "
                f"packed into {packed / 2**20:,.1f} MB"
            )
        self._members = {member.filename.removesuffix(_SUFFIX): member for member in members}
        if len(self._members) != len(members):
            raise ArchiveError("every array must have its own name; one name comes twice")
        self._kinds = {name: self._header(name) for name in self._members}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self._members)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array. Raises KeyError if there is none of this name."""
        return self._kinds[name][1]

    def require(self, kinds: Mapping[str, tuple[str, int]]) -> None:
        """Raise ArchiveError unless these arrays are there: name -> (kinds of dtype, dimensions)."""
        for name, (letters, dimensions) in kinds.items():
            if name not in self._kinds:
                raise ArchiveError(f"it must hold {name}")
            dtype, shape = self._kinds[name]
            if dtype.kind not in letters or len(shape) != dimensions:
                raise ArchiveError(f"{name} must have {dimensions} dimensions; it is {dtype} {list(shape)}")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, unpacked. Raises KeyError if there is none of this name."""
        with self._zip.open(self._members[name]) as member:
            found: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        return found

    def _header(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the type and shape of an array, whose bytes must be as many as they say."""
        member = self._members[name]
        with self._zip.open(member) as file:
            version = np.lib.format.read_magic(file)
            readers = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            if version not in readers:
                raise ArchiveError(f"{name} must be of version 1.0 or 2.0; it is of {version}")
            shape, _, dtype = readers[version](file)
            size = dtype.itemsize
            for length in shape:
                size *= length
            if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
                raise ArchiveError(f"{name} must have the size that its header says, and no objects")
        return dtype, shape


FORMAT = 1
_MAGIC = "gs2-policy"
_KINDS = {"f": "floating-point numbers", "iu": "whole numbers", "u": "unsigned numbers"}
_ARRAYS = (
    ("probs", "f", 1),
    ("infoset_player", "iu", 1),
    ("infoset_offset", "iu", 1),
    ("infoset_key", "u", 2),
)
_DAMAGED = (
    *(KeyError, TypeError, AttributeError, ValueError, EOFError, OSError, MemoryError, RuntimeError),
    *(IndexError, OverflowError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error),
)
"""What reading a damaged archive of arrays raises: any byte of its headers may be wrong."""


class PolicyError(ValueError):
    """A policy, or a policy file, that does not fit: the rule, the value received and the next step."""


def uniform_policy(tree: FlatTree) -> NDArray[np.float64]:
    """Return equal probabilities at every infoset, [n_slots] float64. Raises InvalidTree for no tree."""
    require_tree(tree)
    return uniform(tree.infoset_offset)


@dataclass(frozen=True, eq=False)
class Policy:
    """Action probabilities of every infoset of a game, found by infoset key.

    game: canonical game string.
    probs: [n_slots] float64; the actions of infoset s are `infoset_offset[s]:infoset_offset[s + 1]`, in the
        game's order.
    infoset_player: [I] int8; infoset_offset: [I + 1] int64; infoset_key: [I, key width] uint64.
    note: how it was made, in words. tree: `digest` of the tree that it was made on, "" if that is not known.
    """

    game: str
    probs: NDArray[np.float64]
    infoset_player: NDArray[np.int8]
    infoset_offset: NDArray[np.int64]
    infoset_key: NDArray[np.uint64]
    note: str = ""
    tree: str = ""

    def validate(self) -> Policy:
        """Return self if the arrays hold together and every infoset's probabilities sum to 1.

        Raises PolicyError naming the first rule that is broken.
        """
        for name, kinds, dimensions in _ARRAYS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.ndim != dimensions:
                raise PolicyError(
                    f"policy: {name} must be a {dimensions}-dimensional array of {_KINDS[kinds]}; got "
                    f"{getattr(array, 'dtype', type(array).__name__)} of shape {np.shape(array)}"
                )
        offset = self.infoset_offset
        n = len(self.infoset_player)
        if len(offset) != n + 1 or offset[0] != 0 or self.infoset_key.shape[:1] != (n,):
            raise PolicyError("policy: offsets, players and keys must agree on the number of infosets")
        if self.probs.shape != (int(offset[-1]),):
            raise PolicyError(
                f"policy: probs must have one entry per slot, {int(offset[-1])}; got shape {self.probs.shape}"
            )
        if n and (np.any(np.diff(offset) < 1) or not np.all((self.probs >= 0) & (self.probs < np.inf))):
            raise PolicyError("policy: every infoset needs actions, with finite probabilities of at least 0")
        sums = np.add.reduceat(self.probs, offset[:-1]) if n else np.ones(1)
        worst = int(np.argmax(np.abs(sums - 1)))
        if not abs(sums[worst] - 1) <= SUM_TOLERANCE:
            raise PolicyError(
                f"policy: probabilities of an infoset must sum to 1; infoset {worst} sums to {sums[worst]:g}"
            )
        return self

    @property
    def n_infosets(self) -> int:
        """Return the number of infosets, over all players."""
        return len(self.infoset_player)

    def only(self, kept: NDArray[np.bool_]) -> Policy:
        """Return the policy of some of the infosets, [I] bool."""
        counts = np.diff(self.infoset_offset)
        return replace(
            self,
            probs=self.probs[np.repeat(kept, counts)],
            infoset_player=self.infoset_player[kept],
            infoset_offset=np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64),
            infoset_key=self.infoset_key[kept],
        )

    @cached_property
    def digest(self) -> str:
        """Return a fingerprint of the infosets: their players, keys and numbers of actions, in order."""
        return _digest_of(self)

    @cached_property
    def _index(self) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        rows = _rows(self.infoset_key, self.infoset_player)
        order = np.argsort(rows, kind="stable")
        return rows[order], order

    def find(self, keys: NDArray[np.uint64], player: int) -> NDArray[np.int64]:
        """Return the number of the infoset with each key, [n] int64; -1 where there is none.

        keys: [n, key width] uint64 of `Game.infoset_key`; PolicyError is raised for another width.
        """
        keys = np.ascontiguousarray(keys, np.uint64)
        if keys.ndim != 2 or keys.shape[1] != self.infoset_key.shape[1]:
            raise PolicyError(
                f"policy: keys must be [n, {self.infoset_key.shape[1]}]; got shape {keys.shape}; "
                f"this policy is for {self.game}"
            )
        if self.n_infosets == 0:
            return np.full(len(keys), -1, np.int64)
        wanted = _rows(keys, np.full(len(keys), player, np.int8))
        known, order = self._index
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[at] == wanted, order[at], -1)

    def at(
        self, keys: NDArray[np.uint64], player: int, text: Callable[[int], str] = lambda row: f"number {row}"
    ) -> Ragged:
        """Return the action probabilities of each infoset, one row of float64 per key.

        keys: [n, key width] uint64, as for `find`. text: returns the name of a row's infoset, for the error.
        Raises PolicyError for a key that the policy does not know.
        """
        infoset = self.find(keys, player)
        if np.any(infoset < 0):
            row = int(np.argmax(infoset < 0))
            raise PolicyError(
                f"policy: it must know the infoset {text(row)} of player {player}; this policy for "
                f"{self.game} does not; was it made for these parameters?"
            )
        counts = np.diff(self.infoset_offset)[infoset]
        rows = Ragged.from_counts(counts, np.zeros(int(counts.sum()), np.int64))
        within = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], counts)
        return Ragged(rows.offsets, self.probs[np.repeat(self.infoset_offset[infoset], counts) + within])

    def on(self, tree: FlatTree, game: str | None = None) -> NDArray[np.float64]:
        """Return the probabilities on the slots of a tree of the same game, [n_slots] float64.

        The tree may be a subgame or number its infosets otherwise. game: its name, to check.
        Raises PolicyError if it is another game's, or of this name with other chances or payoffs.
        """
        require_tree(tree)
        if game is not None and game != self.game:
            raise PolicyError(
                f"policy: it must belong to {game}; got one for {self.game}; "
                "make one with `gs2 blueprint` for this game"
            )
        if self.digest == _digest_of(tree):
            whole = tree.n_roots == 1 and tree.chance_prob[0] == 1  # a whole game's, not a subgame's
            if whole and not tree.n_truncated:
                require_same_tree("policy", self.game, self.tree, tree)
            return self.probs.copy()
        out = np.empty(tree.n_slots)
        known = self.fill(
            tree,
            out,
            f"policy: infosets must have the tree's numbers of actions; this policy for {self.game} "
            "differs; was the tree branch-limited, or made with other parameters?",
        )
        for infoset in np.flatnonzero(~known)[:1].tolist():
            self.at(tree.infoset_key[infoset : infoset + 1], int(tree.infoset_player[infoset]))  # raises
        return out

    def fill(self, tree: FlatTree, out: NDArray[np.float64], differs: str) -> NDArray[np.bool_]:
        """Write the probabilities to the slots of the infosets that a tree has too; return which, [I] bool.

        out: [n_slots] float64. differs: words of the PolicyError raised where numbers of actions differ.
        """
        counts, known = np.diff(tree.infoset_offset), np.zeros(tree.n_infosets, bool)
        for player in np.unique(tree.infoset_player).tolist():
            mine = np.flatnonzero(tree.infoset_player == player)
            mine = mine[self.find(tree.infoset_key[mine], player) >= 0]
            found = self.at(tree.infoset_key[mine], player)
            if np.any(found.counts != counts[mine]):
                raise PolicyError(differs)
            known[mine] = True
            slots = np.repeat(tree.infoset_offset[mine] - found.offsets[:-1], counts[mine])
            out[slots + np.arange(len(found.values))] = found.values
        return known

    def to_openspiel(self) -> Any:
        """Return the policy as OpenSpiel's own, a `pyspiel.TabularPolicy` for `openspiel_game` of the game.

        `games.openspiel.direct.openspiel_game` returns that game, of which every infoset has its entry. For
        games loaded as `openspiel:…`, and for our Kuhn and Leduc poker, Liar's Dice and Goofspiel under
        parameters that OpenSpiel has. OpenSpiel's Python algorithms take it after
        `open_spiel.python.policy.pyspiel_policy_to_python_policy`.
        Raises GameError if OpenSpiel is not installed or has no such game.
        """
        import pyspiel

        game = load_game(self.game, general_sum=True)
        tree = grow(game, keep_states=False)
        probs = self.on(tree).tolist()
        table = {
            name: [(action, probs[slot]) for action, slot in zip(actions, slots, strict=True)]
            for name, actions, slots in _openspiel_slots(game, tree)
        }
        return pyspiel.TabularPolicy(table)

    @staticmethod
    def from_openspiel(theirs: Any, game: Game, note: str = "from OpenSpiel") -> Policy:
        """Return a policy of OpenSpiel's as ours.

        theirs: a `pyspiel.TabularPolicy`, or one of `open_spiel.python.policy`, of every infoset of
            `openspiel_game(game)`; actions that it leaves out have probability 0. game: ours, as of
            `to_openspiel`.
        Raises GameError as `to_openspiel`, PolicyError for another kind of policy, or one that lacks an
        infoset, knows other actions there, or does not sum to 1.
        """
        tree = grow(game, keep_states=False)
        probs = np.zeros(tree.n_slots)
        table = _openspiel_table(theirs)
        for name, actions, slots in _openspiel_slots(game, tree):
            if name not in table:
                raise PolicyError(
                    f'{game.name}: a policy must have every infoset of the game; "{joined_lines(name)}" is '
                    f"missing; it has {len(table):,} infosets, the game {tree.n_infosets:,}"
                )
            row = table[name]
            unknown = sorted(action for action, prob in row.items() if prob and action not in actions)
            if unknown:
                raise PolicyError(
                    f'{game.name}: "{joined_lines(name)}" has no action {unknown[0]}; it has {actions}; was '
                    "the policy made for these parameters?"
                )
            probs[slots.start : slots.stop] = [row.get(action, 0.0) for action in actions]
        return tabular_policy(game.name, tree, probs, note)


def tabular_policy(
    game: str, tree: FlatTree, probs: NDArray[np.float64] | None = None, note: str = ""
) -> Policy:
    """Return the policy with these probabilities on the tree's slots, [n_slots] float64; uniform by default.

    Raises PolicyError if they do not fit the tree or do not sum to 1 at an infoset.
    """
    require_tree(tree)
    return Policy(
        game=game,
        probs=uniform_policy(tree) if probs is None else np.array(probs, np.float64),
        infoset_player=tree.infoset_player,
        infoset_offset=tree.infoset_offset,
        infoset_key=tree.infoset_key,
        note=note,
        tree=tree.digest,
    ).validate()


def require_same_tree(where: object, game: str, made_on: str, tree: FlatTree) -> None:
    """Raise PolicyError if a policy was made on another tree of the game's name, such as of a changed file.

    made_on: `digest` of the policy's tree; "" if it is not known.
    """
    if made_on and made_on != tree.digest:
        raise PolicyError(
            f"{where}: the policy must be of {game} as it is now; the game has changed since the policy was "
            f"made (fingerprint {made_on[:12]}, now {tree.digest[:12]}); restore its file or make it again"
        )


def save_policy(path: str | Path, policy: Policy, state: Mapping[str, Any] | None = None) -> None:
    """Write a policy, and the state of an unfinished run with it, as one .npz without pickles.

    state: `Solver.state_dict()`. The file appears whole or not at all; its suffix is kept as given.
    Raises FileProblem if it cannot be written, PolicyError for what is no policy.
    """
    if not isinstance(policy, Policy):
        raise PolicyError(
            f"save_policy: it takes a path and a Policy, in this order; got {type(policy).__name__} for the "
            "policy; write save_policy(path, policy)"
        )
    meta: dict[str, Any] = {
        "magic": _MAGIC,
        "format": FORMAT,
        "game": policy.game,
        "note": policy.note,
        "digest": policy.digest,
        "tree": policy.tree,
        "n_infosets": policy.n_infosets,
        "n_slots": len(policy.probs),
    }
    arrays: dict[str, Any] = {name: getattr(policy, name) for name, _, _ in _ARRAYS}
    if state is not None:
        meta["state"] = {k: v for k, v in state.items() if not isinstance(v, np.ndarray)}
        arrays |= {f"state_{k}": v for k, v in state.items() if isinstance(v, np.ndarray)}
    with replacing(path) as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)


def load_policy(path: str | Path, game: str | None = None, tree: FlatTree | None = None) -> Policy:
    """Return the policy in a file.

    game: canonical name of the game it must belong to. tree: that game's whole tree, if it is at hand: the
        policy must have been made on it, not on another game of the name. Older files do not say.
    Raises PolicyError for a file that is no policy, a newer format, damage or another game;
    FileNotFoundError if there is none, FileProblem if it is no regular file or may not be read.
    """
    if not isinstance(path, str | Path) or not isinstance(game, str | None):
        raise PolicyError(
            "load_policy: it takes a path and the name of a game, in this order; got "
            f"{type(path).__name__} and {type(game).__name__}; write load_policy(path, game.name)"
        )
    meta, arrays = _read(path)
    if game is not None and meta["game"] != game:
        raise PolicyError(
            f"{path}: the policy must belong to {game}; it is for {meta['game']}; "
            f"make one with `gs2 blueprint '{game}'`"
        )
    try:
        kept = {name: arrays[name] for name, _, _ in _ARRAYS}
        policy = Policy(game=meta["game"], note=meta["note"], tree=str(meta.get("tree", "")), **kept)
    except KeyError as missing:
        raise PolicyError(f"{path}: a policy file must hold {missing}; make it again") from None
    try:
        policy.validate()
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}; make it again") from None
    if policy.digest != meta["digest"]:
        raise PolicyError(f"{path}: the infosets do not match the file's fingerprint; make it again")
    if tree is not None:
        require_same_tree(path, policy.game, policy.tree, tree)
    return policy


def load_state(path: str | Path, tree: FlatTree | None = None) -> dict[str, Any] | None:
    """Return the state of the unfinished run in a policy file, or None; `Solver.load_state_dict` takes it.

    tree: the one that the run goes on with; its infosets must be the file's, in the same order.
    Raises PolicyError as `load_policy`, and for a run on other infosets.
    """
    meta, arrays = _read(path)
    if "state" not in meta:
        return None
    if tree is not None and meta["digest"] != _digest_of(tree):
        raise PolicyError(
            f"{path}: a run must continue with the infosets it began with; {meta['game']} has others "
            "now; use --fresh to replace it"
        )
    if not isinstance(meta["state"], dict):
        raise PolicyError(f"{path}: the state of its run must be an object; make the policy again")
    saved = {k.removeprefix("state_"): v for k, v in arrays.items() if k.startswith("state_")}
    return {**meta["state"], **saved}


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    most = memory_limit()
    try:
        with open_regular(path) as opened:
            archive = Archive(opened, most=most)
            archive.require({"meta": ("U", 0)})
            meta = json.loads(str(archive["meta"]))
            arrays = {name: archive[name] for name in archive.names if name != "meta"}
        if meta["magic"] != _MAGIC:
            raise KeyError("magic")
        for name, kind in (("format", int), ("game", str), ("note", str), ("digest", str)):
            if not isinstance(meta[name], kind):
                raise TypeError(name)
    except (FileNotFoundError, FileProblem):
        raise
    except _DAMAGED as error:
        why = str(error) if isinstance(error, ArchiveError) else type(error).__name__
        raise PolicyError(
            f"{path}: must be a policy saved by gs2; it cannot be read as one ({why}); "
            "make one with `gs2 blueprint`"
        ) from None
    if meta["format"] != FORMAT:
        raise PolicyError(f"{path}: policy format must be {FORMAT}; got {meta['format']}; make it again")
    return meta, arrays


def _digest_of(infosets: Policy | FlatTree) -> str:
    keys = infosets.infoset_key
    digest = hashlib.sha256(repr(keys.shape).encode())
    players, offsets = infosets.infoset_player, infosets.infoset_offset
    for array, dtype in ((players, "<i1"), (offsets, "<i8"), (keys, "<u8")):
        digest.update(np.ascontiguousarray(array, dtype).tobytes())
    return digest.hexdigest()


def _rows(keys: NDArray[np.uint64], players: NDArray[np.int8]) -> NDArray[np.void]:
    """Return each (player, key) as one sortable scalar of raw bytes, [n]."""
    table = np.empty((len(keys), keys.shape[1] + 1), ">u8")
    table[:, 0] = players
    table[:, 1:] = keys
    return table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]


def _openspiel_table(theirs: Any) -> dict[str, dict[int, float]]:
    """Return the probabilities of a policy of OpenSpiel's, C++ or Python, by information state and action."""
    if hasattr(theirs, "policy_table"):  # pyspiel.TabularPolicy
        return {name: dict(row) for name, row in theirs.policy_table().items()}
    if hasattr(theirs, "state_lookup") and hasattr(theirs, "action_probability_array"):
        rows = theirs.action_probability_array
        return {name: dict(enumerate(map(float, rows[at]))) for name, at in theirs.state_lookup.items()}
    raise PolicyError(
        "from_openspiel: it takes a TabularPolicy, of pyspiel or open_spiel.python.policy; got "
        f"{type(theirs).__name__}; make one of it with tabular_policy_from_callable or pyspiel.TabularPolicy"
    )


def _openspiel_slots(game: Game, tree: FlatTree) -> Iterator[tuple[str, list[int], range]]:
    """Yield OpenSpiel's name of each infoset of a tree, its actions, and their slots.

    Raises GameError if OpenSpiel has no such game, PolicyError if it has other infosets.
    """
    from games.openspiel.direct import openspiel_actions, openspiel_game

    theirs = openspiel_game(game, by_strings=True)
    offset = tree.infoset_offset.tolist()
    all_actions = tree.slot_actions().tolist()
    named: set[str] = set()
    for number, node in enumerate(tree.infoset_first_node().tolist()):
        state = theirs.new_initial_state()
        for action in openspiel_actions(game, tree.action[tree.way_to(node)].tolist()):
            state.apply_action(action)
        slots = range(offset[number], offset[number + 1])
        actions, name = all_actions[slots.start : slots.stop], state.information_state_string()
        if state.legal_actions() != actions or name in named:
            raise PolicyError(
                f"{game.name}: OpenSpiel's game must have the same infosets; differs at {name!r}"
            )
        named.add(name)
        yield name, actions, slots
