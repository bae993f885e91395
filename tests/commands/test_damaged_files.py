"""Files that a command reads, damaged in every way: one line and an exit code, no traceback, no hang."""

from __future__ import annotations

import json
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from cfr.policies.policy import PolicyError, load_policy
from tests.commands.runner import TINY, gs2, ran
from tests.patience import amount

ONE = ("--processes", "1")
RESUMED = ("train", "--minutes", "0", "--resume", "--threads", "1", "--evaluate-minutes", "0", "-o")
WRONG: tuple[Any, ...] = (None, -1, 1e308, float("nan"), "x" * 40, [], {}, True, 1 << 70, [[]], "\0")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a good file of every kind that commands read."""
    place = tmp_path_factory.mktemp("originals")
    ran("blueprint", "kuhn_poker", "--iterations", "10", "-o", str(place / "p.npz"))
    ran("train", "--minutes", "0", *TINY, "-o", str(place / "run"))
    words = ("match", "greedy", "random", "--pairs", "3", *ONE)
    ran(*words, "-o", str(place / "m.jsonl"))
    shutil.copytree("experiments/results/rows/closures", place / "rows")
    record = ("guandan", "play-random", "--record", str(place / "record.jsonl"))
    ran(*record)
    from gs2.guandan.agent.explanation import example_positions

    rounds = ("match", "--game", "leduc_poker", "uniform", "uniform", "--pairs", "2")
    ran(*rounds, "--records", str(place / "rounds.jsonl"))
    (place / "position.json").write_text(json.dumps(example_positions()["follow"]["position"]))
    return place


READERS: dict[str, tuple[str, Callable[[Path], tuple[str, ...]]]] = {
    "policy, measured": ("p.npz", lambda p: ("exploitability", "kuhn_poker", str(p / "p.npz"))),
    "policy, resumed": (
        "p.npz",
        lambda p: ("blueprint", "kuhn_poker", "--iterations", "12", "-o", str(p / "p.npz")),
    ),
    "checkpoint, resumed": ("run/last.safetensors", lambda p: (*RESUMED, str(p / "run"))),
    "checkpoint, playing": (
        "run/last.safetensors",
        lambda p: ("match", str(p / "run/last.safetensors"), "greedy", "--pairs", "1", *ONE),
    ),
    "curve": ("run/curve.jsonl", lambda p: (*RESUMED, str(p / "run"))),
    "match file": (
        "m.jsonl",
        lambda p: (
            *("match", "greedy", "random", "--pairs", "3", *ONE),
            *("-o", str(p / "m.jsonl")),
        ),
    ),
    "grid": ("rows/grid.json", lambda p: ("experiment", "report", str(p / "rows"), "-o", str(p / "R.md"))),
    "rows": ("rows/rows.csv", lambda p: ("experiment", "report", str(p / "rows"), "-o", str(p / "R.md"))),
    "record": ("record.jsonl", lambda p: ("guandan", "replay", str(p / "record.jsonl"))),
    "rounds, replayed": ("rounds.jsonl", lambda p: ("games", "--replay", str(p / "rounds.jsonl"))),
    "rounds, gone on with": (
        "rounds.jsonl",
        lambda p: (
            *("match", "--game", "leduc_poker", "uniform", "uniform", "--pairs", "2"),
            *("--records", str(p / "rounds.jsonl")),
        ),
    ),
    "position": (
        "position.json",
        lambda p: ("solve", "guandan", "--infoset", str(p / "position.json"), "--method", "blueprint"),
    ),
}


def mutated(value: Any, rng: np.random.Generator) -> Any:
    """Return a JSON value with one thing in it changed, taken away, or put where another stood."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = list(value)[rng.integers(len(value))]
        choice = rng.integers(4)
        rest = {k: v for k, v in value.items() if k != key}
        if choice == 0:
            return rest
        if choice == 1 and rest:
            other = list(rest)[rng.integers(len(rest))]
            return rest | {other: value[key], key: rest[other]}
        return rest | {key: mutated(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.integers(len(value))
        if rng.random() < 0.3:
            return [*value[:at], *value[at + 1 :]]
        return [*value[:at], mutated(value[at], rng), *value[at + 1 :]]
    return WRONG[rng.integers(len(WRONG))]


def damage_bytes(path: Path, rng: np.random.Generator) -> None:
    """Cut, empty, flip, double or mix up a file's bytes."""
    data = path.read_bytes()
    choice = rng.integers(6)
    if choice == 0:
        data = data[: rng.integers(len(data) + 1)]
    elif choice == 1:
        data = b""
    elif choice == 2:
        data = rng.bytes(int(rng.integers(1, 200)))
    elif choice == 3:
        data = data + data
    elif choice == 4:
        at = rng.integers(0, len(data), 8)
        data = bytes(b ^ int(rng.integers(1, 256)) if k in at else b for k, b in enumerate(data))
    else:
        at = int(rng.integers(len(data)))
        data = data[at:] + data[:at]
    path.write_bytes(data)


def damage_meaning(path: Path, rng: np.random.Generator) -> None:
    """Change what a file says, in its own format: fields, arrays, lines."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        name = list(arrays)[rng.integers(len(arrays))]
        if name == "meta":
            arrays["meta"] = np.array(json.dumps(mutated(json.loads(str(arrays["meta"])), rng)))
        else:
            array = arrays[name]
            changes = [
                lambda: array.astype(complex),
                lambda: array.astype(np.float64) * np.nan,
                lambda: array[:-1],
                lambda: array.reshape(1, *array.shape),
                lambda: array.astype("U8"),
                lambda: np.zeros((0,)),
                lambda: array.astype(np.float64) - 7.5,
            ]
            arrays[name] = changes[rng.integers(len(changes))]()
            if rng.random() < 0.15:
                del arrays[name]
        np.savez(path.with_suffix(".new.npz"), **arrays)
        path.with_suffix(".new.npz").replace(path)
    elif path.suffix == ".safetensors":
        with safe_open(path, "numpy") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if rng.random() < 0.6:
            metadata = {"gs2": json.dumps(mutated(json.loads(metadata["gs2"]), rng))}
        else:
            metadata = {"gs2": metadata["gs2"]}  # as older versions wrote it, without sums
            name = list(tensors)[rng.integers(len(tensors))]
            array = tensors[name]
            changes = [
                lambda: array * np.nan,
                lambda: array.reshape(-1)[:-1],
                lambda: array.astype(np.int32),
                lambda: np.zeros((3, 3), np.float32),
            ]
            tensors[name] = np.ascontiguousarray(changes[rng.integers(len(changes))]())
            if rng.random() < 0.2:
                del tensors[name]
        path.write_bytes(save(tensors, metadata))
    elif path.suffix == ".csv":
        lines = [line.split(",") for line in path.read_text().splitlines()]
        at = int(rng.integers(len(lines)))
        lines[at][rng.integers(len(lines[at]))] = str(WRONG[rng.integers(len(WRONG))])
        path.write_text("".join(",".join(line) + "\n" for line in lines))
    elif path.suffix in (".json", ".jsonl"):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        at = int(rng.integers(len(lines)))
        lines[at] = json.dumps(mutated(json.loads(lines[at]), rng))
        path.write_text("".join(line + "\n" for line in lines))
    else:
        damage_bytes(path, rng)


def check_reading(kind: str, number: int, originals: Path, tmp_path: Path) -> None:
    name, words = READERS[kind]
    place = tmp_path / f"{number}"
    shutil.copytree(originals, place)
    rng = np.random.default_rng([number, *kind.encode()])
    damage = damage_meaning if number % 2 else damage_bytes
    damage(place / name, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = gs2(*words(place))
    what = f"{kind}, number {number}: {place / name}"
    if result.exit_code == 0:
        assert result.exception is None, what
        return
    assert isinstance(result.exception, SystemExit), (what, repr(result.exception))
    assert result.exit_code in (1, 2) and "Traceback" not in result.output, (what, result.output)
    assert "Error:" in result.stderr or len(result.stderr.strip().splitlines()) <= 3, (what, result.stderr)
    shutil.rmtree(place)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.some(2)
def test_damaged_files_are_a_line_and_no_traceback(kind: str, originals: Path, tmp_path: Path) -> None:
    for number in range(amount(24, few=2)):
        check_reading(kind, number, originals, tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_what_cannot_be_read_is_a_line(kind: str, originals: Path, tmp_path: Path) -> None:
    name, words = READERS[kind]
    place = tmp_path / "copy"
    shutil.copytree(originals, place)
    for make in (Path.mkdir, os.mkfifo, partial(Path.symlink_to, target="/dev/zero")):
        path = place / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        make(path)
        result = gs2(*words(place))
        assert result.exit_code == 2 and "Traceback" not in result.output, (make, result.output)


def test_undamaged_files_are_read(originals: Path, tmp_path: Path) -> None:
    for kind, (_, words) in READERS.items():
        place = tmp_path / kind.replace(" ", "-")
        shutil.copytree(originals, place)
        result = gs2(*words(place))
        assert result.exit_code == 0, (kind, result.output, result.exception)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1j])
def test_numbers_that_are_no_probabilities_are_refused(originals: Path, tmp_path: Path, bad: complex) -> None:
    with np.load(originals / "p.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["probs"] = arrays["probs"] + (bad if isinstance(bad, complex) else np.array(bad))
    np.savez(tmp_path / "p.npz", **arrays)
    with pytest.raises(PolicyError, match=r"probs must be a 1-dimensional array|finite probabilities"):
        load_policy(tmp_path / "p.npz")


def test_a_network_that_holds_nan_is_refused_everywhere(originals: Path, tmp_path: Path) -> None:
    shutil.copytree(originals / "run", tmp_path / "run")
    path = tmp_path / "run" / "last.safetensors"
    tensors, description = read_checkpoint(path)
    name = next(name for name in tensors if name.startswith("network."))
    poisoned = tensors | {name: np.where(np.ones_like(tensors[name]), np.nan, 0).astype(np.float32)}
    write_checkpoint(path, poisoned, description)
    for words in (
        ("train", "--minutes", "0", "--resume", "-o", str(tmp_path / "run")),
        ("match", str(path), "greedy", "--pairs", "1", *ONE),
        ("gate", str(path), "--pairs", "100", "--export", str(tmp_path / "x.safetensors")),
    ):
        result = gs2(*words)
        assert result.exit_code == 2 and "must hold finite numbers" in result.output, result.output


def test_a_flipped_bit_in_a_weight_is_noticed(originals: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    data = bytearray((originals / "run" / "last.safetensors").read_bytes())
    for back in (1, 1001, len(data) // 2):
        path.write_bytes(bytes(b ^ (k == len(data) - back) for k, b in enumerate(data)))
        with pytest.raises(CheckpointError, match=r"changed since it was written|is damaged"):
            read_checkpoint(path)


def test_an_archive_that_lies_about_its_size_is_a_line(originals: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    with zipfile.ZipFile(originals / "p.npz") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "probs.npy":
                header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }"
                data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
            new.writestr(name, data)
    result = gs2("exploitability", "kuhn_poker", str(path))
    assert result.exit_code == 2 and "must be a policy saved by gs2" in result.stderr
