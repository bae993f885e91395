"""Files of policies whose numbers were changed: told before a sweep, which would trust every one of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfr.public.array_file import ArrayFile, ArrayFileError, Member, write_arrays
from cfr.public.policies.policy_file import FORMAT, MAGIC, open_public_policy, save_public_policy
from cfr.public.policies.public_policy import PublicPolicyError, evaluate_policy
from cfr.public.tree import PublicTree, PublicTreeError, depth_of, require_public_tree
from gs2.search.public_source import PublicBlueprint
from tests.cfr.public.setting import GAMES, RANDOM, both, solver_of
from tests.forked import run_module
from tests.patience import amount

GAME = "liars_dice(sides=4)"
ARRAYS = ("player", "first_edge", "child", "size", "row")


def read_plainly(tree: PublicTree) -> bool:
    """Return whether a walk from the root, node by node, reads every number where and as it should be."""
    met, edges, deepest, rows = 0, 0, 0, [0, 0]

    def visit(node: int, level: int) -> bool:
        nonlocal met, edges, deepest
        if node != met or node >= len(tree) or tree.first_edge[node] != edges:
            return False
        met, deepest, edges = met + 1, max(deepest, level), int(tree.first_edge[node + 1])
        leads = range(int(tree.first_edge[node]), edges)
        player = int(tree.player[node])
        if not leads or edges > len(tree.child) or player not in (-1, 0, 1):
            return False
        if player >= 0:
            if tree.row[node] != rows[player]:
                return False
            rows[player] += len(leads)
        for edge in leads:
            to = int(tree.child[edge])
            if not (visit(to, level + 1) if to >= 0 else -1 - to < len(tree.payoffs)):
                return False
        return bool(tree.size[node] == met - node)

    sound = visit(0, 1) and met == len(tree) and edges == len(tree.child)
    return sound and tuple(rows) == tree.n_rows and deepest == tree.depth


def read_at_once(tree: PublicTree) -> bool:
    try:
        require_public_tree(tree)
    except PublicTreeError:
        return False
    return True


def changed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a copy of an array with one of its numbers changed a little, beyond measure, or for another."""
    found = array.copy()
    flat = found.reshape(-1)
    at, other = rng.integers(len(flat), size=2)
    if found.dtype.kind == "f":
        flat[at] = rng.choice([0.0, -1.0, 1e30, np.nan, np.inf, flat[other]])
        return found
    kind = np.iinfo(found.dtype)
    number = int(rng.choice([int(flat[at]) - 1, int(flat[at]) + 1, kind.max, kind.min, int(flat[other])]))
    flat[at] = min(max(number, kind.min), kind.max)
    return found


@pytest.mark.parametrize("name", [*GAMES, *RANDOM])
@pytest.mark.some(5)
def test_grown_trees_and_what_is_below_are_sound_and_as_deep_as_a_walk_finds(name: str) -> None:
    tree = both(name).tree
    rng = np.random.default_rng(0)
    for node in (0, *rng.integers(len(tree), size=5).tolist()):
        below = tree.below(node)
        require_public_tree(below)
        assert read_plainly(below) and depth_of(below.size) == below.depth <= tree.depth
        assert (np.diff(below.first_edge) >= 2).all()  # a forced move is no node


@pytest.mark.parametrize("piece", [1 << 20, 5])
def test_what_one_walk_finds_wrong_is_refused_and_nothing_else(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cfr.public.tree.PIECE", piece)
    rng, refused = np.random.default_rng(1), 0
    trials = amount(1500, 250)
    for _ in range(trials):
        tree = both(str(rng.choice([*GAMES[:3], *RANDOM]))).tree
        what = str(rng.choice([*ARRAYS, "depth", "n_rows"]))
        new: Any = changed(np.asarray(getattr(tree, what)), rng)
        new = int(new) if what == "depth" else (int(new[0]), int(new[1])) if what == "n_rows" else new
        other = replace(tree, **{what: new})
        assert read_at_once(other) == read_plainly(other), (what, new)
        refused += not read_at_once(other)
    assert trials / 2 < refused < trials


def texts_with_other_digits(path: Path) -> Iterator[bytes]:
    """Yield the file with each digit of its header changed, one at a time."""
    data = path.read_bytes()
    for at in range(8, 8 + int.from_bytes(data[:8], "little")):
        if chr(data[at]).isdigit():
            yield data[:at] + (b"1" if data[at : at + 1] != b"1" else b"7") + data[at + 1 :]


def without_own_checksum(path: Path) -> None:
    """Write a file anew as it was before headers had a checksum."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])
    meta = json.loads(about["__metadata__"]["gs2"])
    del meta["header"]
    about["__metadata__"]["gs2"] = json.dumps(meta)
    text = json.dumps(about).encode()
    text += b" " * (-(len(text) + 8) % 64)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def test_another_digit_in_the_header_is_told_on_opening(tmp_path: Path) -> None:
    path, game = tmp_path / "a.policy", both(GAME).game
    save_public_policy(path, solver_of(GAME, 3))
    for data in texts_with_other_digits(path):
        path.write_bytes(data)
        with pytest.raises(PublicPolicyError):
            open_public_policy(path, game)
        with pytest.raises(ArrayFileError):
            ArrayFile.open(path, MAGIC, FORMAT)


def sweep_or_refuse(path: Path) -> bool:
    """Return whether a file can be swept; False if it is refused in words, or what it pays is no number."""
    try:
        policy = open_public_policy(path, both(GAME).game)
        policy.check()
        evaluate_policy(policy)
        policy.reach(len(policy.tree) - 1, 0)
    except PublicPolicyError:
        return False
    return True


def go_through_headers(folder: str) -> None:
    """Sweep files of the time before, each with another digit in its header. Run in a process of its own."""
    path = Path(folder) / "a.policy"
    save_public_policy(path, solver_of(GAME, 3))
    without_own_checksum(path)
    assert sweep_or_refuse(path)
    kept = [sweep_or_refuse(path) for data in texts_with_other_digits(path) if path.write_bytes(data)]
    assert kept.count(False) > len(kept) / 2


def go_through_arrays(folder: str) -> None:
    """Sweep files whose arrays have another number and the checksums for it."""
    path, rng = Path(folder) / "a.policy", np.random.default_rng(2)
    save_public_policy(path, solver_of(GAME, 3))
    file = ArrayFile.open(path, MAGIC, FORMAT)
    meta = {name: value for name, value in file.meta.items() if name != "checksums"}
    arrays = {name: np.array(file.mapped(name)) for name in file.names}
    refused = set()
    for name in (*arrays, *ARRAYS, *ARRAYS):
        for _ in range(8 if arrays[name].size else 0):
            edited = arrays | {name: changed(arrays[name], rng)}
            write_arrays(path, meta, [Member.of(key, array) for key, array in edited.items()])
            if not sweep_or_refuse(path):
                refused.add(name)
    assert refused >= {*ARRAYS, "probs0", "probs1"}
    # An edge that leads to where it began: who follows it to a node never arrives.
    loop = arrays["child"].copy()
    loop[loop == len(arrays["player"]) - 1] = 0
    write_arrays(path, meta, [Member.of(key, a) for key, a in (arrays | {"child": loop}).items()])
    try:
        PublicBlueprint(open_public_policy(path, both(GAME).game))
    except PublicPolicyError as error:
        assert "its tree is damaged: nodes must lie in preorder; make it again" in str(error)
    else:
        raise AssertionError("the tree was taken")


@pytest.mark.parametrize("through", ["headers", "arrays"])
@pytest.mark.some(1)
def test_no_changed_number_ends_the_process(through: str, tmp_path: Path) -> None:
    ended = run_module(__name__, through, str(tmp_path))
    assert ended.returncode == 0, ended.stderr


if __name__ == "__main__":
    {"headers": go_through_headers, "arrays": go_through_arrays}[sys.argv[1]](sys.argv[2])
