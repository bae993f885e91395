"""Archives that a few bytes make large: refused before they are unpacked, and files of ours still read."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint import checkpoint
from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from cfr.policies import policy as archive
from cfr.policies.policy import (
    PolicyError,
    load_policy,
    load_state,
    save_policy,
    tabular_policy,
    uniform_policy,
)
from cfr.solver import Solver
from games.support.files import FileProblem, read_text
from tests.cfr.trees import tree_of
from tests.patience import SHARED, amount

SIZE = 1 << 18
"""Bytes that the archives here become, where a file may become `LIMIT`."""
LIMIT = 1 << 14


def written(path: Path, arrays: dict[str, tuple[Any, tuple[int, ...], int]]) -> Path:
    """Write an archive of zeros: name -> (dtype and shape that the header says, bytes that follow it)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, (dtype, shape, size) in arrays.items():
            with packed.open(f"{name}.npy", "w") as member:
                about = {"descr": dtype, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, about)  # type: ignore[arg-type]
                member.write(bytes(size))
    return path


@st.composite
def bombs(draw: st.DrawFn) -> dict[str, tuple[Any, tuple[int, ...], int]]:
    """Draw arrays that are too large together, or say that they are."""
    dtype = draw(st.sampled_from(["<f8", "|i1", "<u8", "<c16"]))
    item = np.dtype(dtype).itemsize
    shape = draw(st.sampled_from([(SIZE,), (8, SIZE // 8), (SIZE, 1)]))
    kind = draw(st.sampled_from(["one", "many", "text", "says more", "says less"]))
    where = draw(st.sampled_from(["probs", "meta", "state_sums", "of no use"]))
    if kind == "many":
        return {f"{where}{n}": (dtype, (SIZE // 64,), item * SIZE // 64) for n in range(64)}
    if kind == "text":
        return {where: (f"<U{SIZE}", (), 4 * SIZE)}
    held = {"one": item * SIZE, "says more": 8, "says less": item * SIZE}[kind]
    return {where: (dtype, (1,) if kind == "says less" else shape, held)}


@settings(max_examples=amount(25), deadline=None, suppress_health_check=SHARED)
@given(arrays=bombs())
def test_an_archive_that_becomes_too_large_is_refused_before_it_is_unpacked(
    arrays: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ALWAYS", LIMIT)
    path = written(tmp_path / "bomb.npz", arrays)
    tracemalloc.start()
    try:
        with pytest.raises(PolicyError, match=r"bomb\.npz: must be a policy saved by gs2"):
            load_policy(path)
        assert tracemalloc.get_traced_memory()[1] < SIZE
    finally:
        tracemalloc.stop()


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "p.npz", {"meta": ("<f8", (1,), 8)})
    with zipfile.ZipFile(path, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("meta.npy", b"")
    with pytest.raises(PolicyError, match="one name comes twice"):
        load_policy(path)


def test_no_policy_of_ours_comes_near_the_limits_and_memory_that_is_not_there_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, leduc = tmp_path / "p.npz", tree_of("leduc")
    policy = tabular_policy("leduc_poker", leduc, uniform_policy(leduc))
    save_policy(path, policy, Solver(leduc).state_dict())
    with zipfile.ZipFile(path) as packed:
        size = sum(member.file_size for member in packed.infolist())
    assert size < archive.MOST_RATIO / 2 * path.stat().st_size, "even one that has only begun"
    assert load_policy(path, "leduc_poker").note is not None and load_state(path, leduc) is not None
    monkeypatch.setenv("GS2_MEMORY", "10K")
    with pytest.raises(PolicyError, match="must take at most 0 MB"):
        load_policy(path)


def test_texts_and_headers_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([0] * 1000))
    assert read_text(path, most=path.stat().st_size)
    with pytest.raises(FileProblem, match=r"must have at most 2,999 bytes; it has 3,000"):
        read_text(path, most=2999)
    network = tmp_path / "x.safetensors"
    write_checkpoint(network, {"w": np.zeros(3, np.float32)}, {"note": "x" * 4000})
    assert read_checkpoint(network)
    monkeypatch.setattr(checkpoint, "MOST_HEADER", 4000)
    with pytest.raises(CheckpointError, match="its header must have at most 4,000 bytes"):
        read_checkpoint(network)
