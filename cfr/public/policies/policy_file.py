"""Files of policies on public trees, opened without reading them.

    save_public_policy("liars.policy", solver, bits=16)
    policy = open_public_policy("liars.policy", load_game("liars_dice(dice=2,sides=6)"))
    policy.infoset("P0 holds 1 6 | 2x3")

A file holds the tree, an index of its public states and every probability, so that nothing is grown; only the
pages of what is looked up are read.

With 16 bits a probability is kept as the nearest of 0 … 65535, and an infoset's are divided by their sum when
they are read. Of n actions none is off by more than (n + 1) / 131070; what is below 1 / 131070 becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.public.array_file import ArrayFile, ArrayFileError, Member, is_array_file, write_arrays
from cfr.public.policies.public_policy import (
    PublicPolicy,
    PublicPolicyError,
    StateIndex,
    index_states,
    policy_rows,
)
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree
from games.game import Game
from games.infosets.factored import FactoredGame
from games.infosets.payoff_forms import PayoffForms

MAGIC = "gs2-public-policy"
FORMAT = 2
"""Format 1 held payoffs as one array of matrices, `payoffs`."""
FULL = 65535
"""What a probability of 1 is in 16 bits."""
_KINDS: dict[int, np.dtype[Any]] = {16: np.dtype("<u2"), 32: np.dtype("<f4")}
_TREE = {"player": "i1", "first_edge": "<i8", "child": "<i4", "size": "<i4", "row": "<i8"}
_FORMS = "payoffs_"


def save_public_policy(
    path: str | Path,
    source: PublicSolver | PublicPolicy,
    *,
    bits: int = 32,
) -> None:
    """Write a solver's average policy, or one in memory; a solver's is made piece by piece, never as a whole.

    bits: of a probability, 32 or 16 (see the module).
    Raises FileProblem if it cannot be written, PublicPolicyError for other bits.
    """
    if bits not in _KINDS:
        raise PublicPolicyError(f"bits must be 16 or 32; got {bits}")
    tree = source.tree
    if isinstance(source, PublicSolver):
        index, note = index_states(tree), f"{source.variant.name}, {source.iteration} iterations"
    else:
        index, note = source.index, source.note
    meta = {
        "magic": MAGIC,
        "format": FORMAT,
        "game": tree.game.name,
        "note": note,
        "n_private": list(tree.n_private),
        "n_rows": list(tree.n_rows),
        "depth": tree.depth,
        "n_terminals": tree.n_terminals,
        "salt": index.salt,
    }

    def probs(player: int) -> Callable[[], Iterable[NDArray[Any]]]:
        def pieces() -> Iterable[NDArray[Any]]:
            if isinstance(source, PublicSolver):
                parts: Iterable[NDArray[Any]] = policy_rows(source, player)
            else:
                parts = source.values.normalised(player)
            for part in parts:
                yield part if bits == 32 else np.rint(part * FULL)

        return pieces

    members = [Member.of(name, np.asarray(getattr(tree, name), kind)) for name, kind in _TREE.items()]
    members += [Member.of(name, array) for name, array in _prefixed(tree.payoffs).items()]
    members += [Member.of("hashes", index.hashes), Member.of("nodes", index.nodes)]
    for player in (0, 1):
        shape = tree.n_rows[player], tree.n_private[player]
        members.append(Member(f"probs{player}", _KINDS[bits], shape, probs(player)))
    write_arrays(path, meta, members)


def is_public_policy(path: str | Path) -> bool:
    """Return whether a file is there and says that it is a policy on a public tree."""
    return is_array_file(path, MAGIC)


def open_public_policy(path: str | Path, game: Game) -> PublicPolicy:
    """Return the policy in a file, memory-mapped: its pages are read when they are looked at.

    Raises PublicPolicyError for a file that is none, damage, a newer format, or another game;
    FileNotFoundError if there is none, FileProblem if it may not be read.
    """
    try:
        file = ArrayFile.open(path, MAGIC, FORMAT)
        meta = file.meta
        if meta.get("game") != game.name or not isinstance(game, FactoredGame):
            raise PublicPolicyError(
                f"{path}: the policy must belong to {game.name}; it is for {meta.get('game')}; make one with "
                f"`gs2 blueprint '{game.name}'`"
            )
        depth, terminals, salt = (_whole(file, name) for name in ("depth", "n_terminals", "salt"))
        (n,), (m,) = file.shape("player"), file.shape("child")
        private, n_rows = _pair(file, "n_private"), _pair(file, "n_rows")
        if private != game.private_states():
            raise ArrayFileError(f"{path}: private states must be {game.private_states()}; got {private}")
        wanted: dict[str, tuple[Any, tuple[int, ...]]] = {name: (_TREE[name], (n,)) for name in _TREE}
        wanted |= {"first_edge": ("<i8", (n + 1,)), "child": ("<i4", (m,))}
        wanted |= {"hashes": ("<u8", (n,)), "nodes": ("<i4", (n,))}
        payoffs = _payoffs(file)
        given = {"payoffs": payoffs.matrices} if file.meta["format"] == 1 else _prefixed(payoffs)
        wanted |= {name: (array.dtype, array.shape) for name, array in given.items()}
        if payoffs.private != private:
            raise ArrayFileError(f"{path}: payoffs must be of {private} private states; make it again")
        kind = file.mapped("probs0").dtype
        if kind not in _KINDS.values():
            raise ArrayFileError(f"{path}: probabilities must have 16 or 32 bits; make the file again")
        wanted |= {f"probs{p}": (kind, (n_rows[p], private[p])) for p in (0, 1)}
        file.require(wanted)
    except (ArrayFileError, ValueError) as error:
        if isinstance(error, PublicPolicyError):
            raise
        raise PublicPolicyError(str(error)) from None
    arrays = {name: file.mapped(name) for name in _TREE}
    tree = PublicTree(
        game=game,
        **arrays,
        payoffs=payoffs,
        n_rows=n_rows,
        n_private=private,
        depth=depth,
        n_terminals=terminals,
    )
    index = StateIndex(file.mapped("hashes"), file.mapped("nodes"), salt)
    probs = file.mapped("probs0"), file.mapped("probs1")
    note = str(meta.get("note", ""))
    return PublicPolicy(tree, probs, index, name=str(path), note=note, file=file)


def _prefixed(payoffs: PayoffForms) -> dict[str, NDArray[Any]]:
    """Return the arrays of payoffs by their names in a file."""
    return {_FORMS + name: array for name, array in payoffs.arrays().items()}


def _payoffs(file: ArrayFile) -> PayoffForms:
    """Return the payoffs in a file, memory-mapped. Raises GameError for what are none."""
    if file.meta["format"] == 1:
        return PayoffForms.of_matrices(file.mapped("payoffs"))
    return PayoffForms(**{field.name: file.mapped(_FORMS + field.name) for field in fields(PayoffForms)})


def _whole(file: ArrayFile, name: str) -> int:
    found = file.meta.get(name)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 1 << 53:
        raise ArrayFileError(f"{file.path}: {name} must be a whole number; got {found!r}; make it again")
    return found


def _pair(file: ArrayFile, name: str) -> tuple[int, int]:
    found = file.meta.get(name)
    if not (isinstance(found, list) and len(found) == 2 and all(type(n) is int and n >= 0 for n in found)):
        raise ArrayFileError(f"{file.path}: {name} must be two numbers; got {found!r}; make the file again")
    return found[0], found[1]
