"""Runs of CFR on public trees are stopped, killed and resumed without a bit of difference."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfr.engine.resume import StateError
from cfr.public import array_file
from cfr.public.array_file import ArrayFile, ArrayFileError, Member, is_array_file, write_arrays
from cfr.public.public_solver import CHECKPOINT, PublicSolver
from cfr.public.saved_run import load_checkpoint, save_checkpoint, saved_dtype
from cfr.variants import VARIANTS, variant
from games.support.files import FileProblem
from tests.cfr.public.setting import both, solver_of

GAME = "liars_dice(sides=4)"


def bits(solver: PublicSolver) -> list[bytes]:
    kept = [array for side in solver.sides for array in (*side[:4], side[5])]
    return [
        part.tobytes() for array in kept for part in (array[:2] if isinstance(array, tuple) else (array,))
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.some(10)
def test_a_resumed_run_goes_on_to_the_bit(tmp_path: Path, name: str, alternating: bool, dtype: Any) -> None:
    kind = variant(name, alternating=alternating)
    whole = PublicSolver(both(GAME).tree, kind, dtype=dtype, threads=1)
    whole.run(7)
    save_checkpoint(tmp_path / "a.run", whole)
    assert saved_dtype(tmp_path / "a.run") == dtype
    again = PublicSolver(both(GAME).tree, kind, dtype=dtype, threads=1)
    again.run(3)  # what it was before does not matter
    load_checkpoint(tmp_path / "a.run", again)
    assert again.iteration == 7 and bits(again) == bits(whole)
    assert again.evaluate() == whole.evaluate()
    for solver in (whole, again):
        solver.run(9)
    assert bits(again) == bits(whole)


def test_private_states_that_learn_nothing_are_told_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    held = PublicSolver(both(GAME).tree, "dcfr", threads=1)
    held.sides[0][5][1] = 0
    held.run(5)
    save_checkpoint(path, held)
    again = solver_of(GAME, 3)
    load_checkpoint(path, again)
    assert again.sides[0][5][1] == 0 and bits(again) == bits(held)
    for solver in (held, again):
        solver.run(4)
    assert bits(again) == bits(held) != bits(solver_of(GAME, 9))
    held.sides[0][5][1] = 0.5
    save_checkpoint(path, held)
    with pytest.raises(StateError, match="free0 must hold numbers of a run"):
        load_checkpoint(path, again)
    assert bits(again) == bits(solver_of(GAME, 0))


def test_a_run_of_the_first_format_is_one_in_which_all_learn(tmp_path: Path) -> None:
    path, solver = tmp_path / "a.run", solver_of(GAME, 5)
    save_checkpoint(path, solver)
    file = ArrayFile.open(path, CHECKPOINT, 2)
    meta = {name: value for name, value in file.meta.items() if name != "checksums"} | {"format": 1}
    members = [Member.of(name, file.mapped(name)) for name in file.names if not name.startswith("free")]
    write_arrays(path, meta, members)
    again = solver_of(GAME, 2)
    again.sides[1][5][0] = 0
    load_checkpoint(path, again)
    assert bits(again) == bits(solver)


def test_a_run_is_refused_by_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    save_checkpoint(path, solver_of(GAME, 5))
    assert saved_dtype(path) == np.float64
    for other, says in (
        (PublicSolver(both(GAME).tree, "cfr+", threads=1), "variant must be this run's, cfr\\+; got dcfr"),
        (PublicSolver(both(GAME).tree, variant("dcfr", beta=0.5), threads=1), "variant must be this run's"),
        (PublicSolver(both("kuhn_poker").tree, "dcfr", threads=1), "game must be this run's, 'kuhn_poker'"),
        (PublicSolver(both(GAME).tree, "dcfr", dtype=np.float32, threads=1), "dtype must be .*'float32'"),
        (PublicSolver(both(GAME).tree.below(1), "dcfr", threads=1), "nodes must be this run's"),
    ):
        before = bits(other)
        with pytest.raises(StateError, match=says):
            load_checkpoint(path, other)
        assert bits(other) == before
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.run", solver_of(GAME, 0))


def test_a_variant_is_the_same_however_its_numbers_are_written(tmp_path: Path) -> None:
    path, tree = tmp_path / "a.run", both(GAME).tree
    solver = PublicSolver(tree, "cfr+", threads=1)
    solver.run(5)
    solver.variant = variant("cfr+", gamma=1, clip=1)
    save_checkpoint(path, solver)
    file = ArrayFile.open(path, CHECKPOINT, 2)
    earlier = {**file.meta, "variant": {**file.meta["variant"], "gamma": "1"}}
    del earlier["checksums"]
    for meta in (None, earlier):  # once, files said how a number was spelt
        if meta is not None:
            write_arrays(path, meta, [Member.of(name, file.mapped(name)) for name in file.names])
        for kind in ("cfr+", variant("cfr+", gamma=1.0), variant("cfr+", gamma=np.float64(1))):
            again = PublicSolver(tree, kind, threads=1)
            load_checkpoint(path, again)
            assert bits(again) == bits(solver)
        other = PublicSolver(tree, variant("cfr+", gamma=2), threads=1)
        says = r"variant must be this run's, cfr\+ with gamma=2\.0; got cfr\+ with gamma=1\.0"
        with pytest.raises(StateError, match=says):
            load_checkpoint(path, other)


@pytest.mark.parametrize("where", ["header", "middle", "end", "short", "empty"])
def test_a_damaged_run_is_refused_and_the_solver_begins_anew(tmp_path: Path, where: str) -> None:
    path = tmp_path / "a.run"
    save_checkpoint(path, solver_of(GAME, 5))
    data = bytearray(path.read_bytes())
    place = {"header": 30, "middle": len(data) // 2, "end": len(data) - 1}.get(where, 0)
    data[place] ^= 1
    data = data[:-8] if where == "short" else data[:0] if where == "empty" else data
    path.write_bytes(data)
    solver = solver_of(GAME, 4)
    with pytest.raises(StateError, match=r"resume: .*a\.run"):
        load_checkpoint(path, solver)
    fresh = solver_of(GAME, 6)
    solver.run(6 - solver.iteration)
    assert bits(solver) == bits(fresh)


def test_numbers_of_no_run_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    packed = PublicSolver(both(GAME).tree, "dcfr", dtype=np.int16, threads=1)
    packed.sides[1][2][1][3] = 120
    save_checkpoint(path, packed)
    with pytest.raises(StateError, match="sums1_exponents must hold numbers of a run"):
        load_checkpoint(path, packed)
    assert bits(packed) == bits(PublicSolver(both(GAME).tree, "dcfr", dtype=np.int16, threads=1))
    for number, where in ((np.nan, 0), (np.inf, 2), (9, 3)):
        solver = solver_of(GAME, 2)
        solver.sides[1][where][5] = number  # type: ignore[index]
        save_checkpoint(path, solver)
        with pytest.raises(StateError, match="must hold numbers of a run"):
            load_checkpoint(path, solver_of(GAME, 0))


class Cut(Exception):
    """Where a writer is killed."""


def test_a_save_that_ends_early_leaves_the_file_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, solver = tmp_path / "a.run", solver_of(GAME, 6)
    save_checkpoint(path, solver_of(GAME, 5))
    before = path.read_bytes()
    whole = array_file.pieces_of
    full = OSError(errno.ENOSPC, "no space left on device")
    for after, ends, told in (
        *((n, Cut(), Cut) for n in (0, 1, 3, 7)),
        (0, full, FileProblem),
    ):
        written: list[int] = []

        def cut_short(array: np.ndarray):
            for piece in whole(array):
                if len(written) == after:  # noqa: B023
                    raise ends  # noqa: B023
                written.append(1)  # noqa: B023
                yield piece

        monkeypatch.setattr(array_file, "pieces_of", cut_short)
        with pytest.raises(told, match="no space left" if ends is full else None):
            save_checkpoint(path, solver)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.run"]


def test_files_of_arrays_are_read_by_safetensors(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "a.safetensors"
    given = {
        "half": np.arange(7, dtype=np.uint16),
        "long": np.arange(6, dtype=np.int64).reshape(2, 3),
        "none": np.zeros((0, 4), np.float32),
    }
    write_arrays(path, {"magic": "mine", "format": 1}, [Member.of(name, a) for name, a in given.items()])
    found = numpy.load_file(path)
    file = ArrayFile.open(path, "mine", 1)
    file.check()
    for name, array in given.items():
        assert np.array_equal(found[name], array) and found[name].dtype == array.dtype
        assert np.array_equal(file.mapped(name), array) and not file.mapped(name).flags.writeable
    assert is_array_file(path, "mine") and not is_array_file(path, CHECKPOINT)
    with pytest.raises(ArrayFileError, match="must be a gs2-public-cfr file; it is a 'mine'"):
        ArrayFile.open(path, CHECKPOINT, 1)
    with pytest.raises(ArrayFileError, match="its format must be at most 0; it is 1; use a newer gs2"):
        ArrayFile.open(path, "mine", 0)


def test_headers_that_lie_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.arrays"
    write_arrays(path, {"magic": "mine", "format": 1}, [Member.of("x", np.arange(4.0))])
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + length])
    for change in (
        {"shape": [5]},
        {"shape": [-4]},
        {"shape": [2.0, 2]},
        {"shape": 4},
        {"dtype": "O"},
        {"data_offsets": [8, 40]},
        {"data_offsets": None},
        {"shape": [1 << 47, 1 << 47]},
    ):
        text = json.dumps({**about, "x": {**about["x"], **change}}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
        with pytest.raises(ArrayFileError, match=r"not where its header says|no file of arrays"):
            ArrayFile.open(path, "mine", 1)
    for head in (b"", b"\xff" * 8, b"\0" * 8, b"\2" + b"\0" * 7 + b"[]", b"PK\3\4aaaaaaaa"):
        path.write_bytes(head)
        assert not is_array_file(path, "mine")
        with pytest.raises(ArrayFileError, match="must be an array file written by gs2"):
            ArrayFile.open(path, "mine", 1)
