"""Files that lie where a command writes, and are not its own: refused before any work, left as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blueprint.checkpoint import CheckpointError, check_beside, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from games.support.files import FileProblem
from games.support.json_rows import trim_generations
from games.support.locks import hold
from tests.commands.runner import TINY, gs2, ran, refused

NOTES = b"my own notes"
ONE = ("--processes", "1")
LEAST = ("--pairs", "100", "--batch", "100")
SMALL = ("--set", "rounds=4", "--set", "state=8", "--set", "action=8", "--set", "critic=8", "--threads", "1")
RUNS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "network": (
        ("train", "kuhn_poker", "--decisions", "1", "--set", "width=8", "-o"),
        "x.safetensors",
        ("x.safetensors", "x.json", "x.state.safetensors", "x.state.json"),
    ),
    "climbing file": (
        ("train", "big2", "--decisions", "1", *SMALL, "-o"),
        "x.safetensors",
        ("x.safetensors", "x.json", "x.curve.jsonl"),
    ),
    "climbing folder": (
        ("train", "doudizhu", "--decisions", "1", *SMALL, "-o"),
        "run",
        ("run/last.safetensors", "run/last.json", "run/curve.jsonl"),
    ),
    "recipe": (
        ("train", "big2", "--recipe", "danzero", "--minutes", "0", *SMALL[:-4], "-o"),
        "run",
        ("run/last.safetensors", "run/last.json", "run/curve.jsonl"),
    ),
    "guandan": (
        ("train", "--minutes", "0", *TINY, "-o"),
        "run",
        (
            *("run/last.safetensors", "run/last.json", "run/curve.jsonl"),
            *("run/kept-0001.safetensors", "run/kept-0001.json"),
        ),
    ),
}
"""How a run begins, what its output is called, and every file that it writes at any time."""


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("run", "file"), [(run, file) for run, (_, _, files) in RUNS.items() for file in files]
)
def test_a_new_run_refuses_every_file_that_it_would_write_over(
    run: str, file: str, resume: bool, tmp_path: Path
) -> None:
    words, output, _ = RUNS[run]
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(NOTES)
    told = refused(*words, str(tmp_path / output), *(["--resume"] if resume else []))
    assert any(words in told for words in (path.name, "keeps its settings"))
    assert path.read_bytes() == NOTES
    left = {found for found in tmp_path.rglob("*") if not found.name.startswith(".")}
    assert left <= {path, path.parent}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.some(3)
def test_a_run_writes_the_files_it_is_said_to_and_goes_on_beside_no_others(run: str, tmp_path: Path) -> None:
    words, output, files = RUNS[run]
    ran(*words, str(tmp_path / output))
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {file for file in files if "kept" not in file}
    again = ("train", "--minutes", "0", *TINY[4:8]) if run == "guandan" else words[:2]
    goes_on = (*again, "--resume", "-o")
    for file in files:
        if file not in made or (file.endswith(".safetensors") and ".state" not in file):
            continue
        mine = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(NOTES)
        assert Path(file).name in refused(*goes_on, str(tmp_path / output))
        assert (tmp_path / file).read_bytes() == NOTES
        (tmp_path / file).write_bytes(mine)


def test_an_old_runs_curve_outlives_a_checkpoint_that_was_moved_away(tmp_path: Path) -> None:
    words, output, _ = RUNS["climbing folder"]
    ran(*words, str(tmp_path / output))
    curve = tmp_path / output / "curve.jsonl"
    old = curve.read_bytes()
    shutil.move(tmp_path / output / "last.safetensors", tmp_path / "best.safetensors")
    for more in ((), ("--resume",)):
        assert "curve.jsonl" in refused(*words, str(tmp_path / output), *more)
    assert curve.read_bytes() == old


def test_a_training_whose_network_was_moved_away_is_begun_anew_only_by_name(tmp_path: Path) -> None:
    words, output, _ = RUNS["network"]
    ran(*words, str(tmp_path / output))
    (tmp_path / output).unlink()
    state = (tmp_path / "x.state.safetensors").read_bytes()
    assert "x.state.safetensors" in refused(*words, str(tmp_path / output))
    assert (tmp_path / "x.state.safetensors").read_bytes() == state
    again = gs2("train", "kuhn_poker", "--decisions", "1", "--resume", "-o", str(tmp_path / output))
    assert again.exit_code == 0 and (tmp_path / output).exists()


def test_a_description_replaces_a_description_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    for generation in (1, 2):
        write_checkpoint(path, {}, {"generation": generation})
    assert b'"generation": 2' in (tmp_path / "x.json").read_bytes()
    for other in (NOTES, b'{"format": "something else"}', b"[1]", b""):
        (tmp_path / "x.json").write_bytes(other)
        with pytest.raises(CheckpointError, match=r"x\.json: the description"):
            check_beside(path)
        with pytest.raises(CheckpointError, match=r"x\.json: the description"):
            write_checkpoint(path, {}, {"generation": 3})
        assert (tmp_path / "x.json").read_bytes() == other
        assert read_checkpoint(path)[1]["generation"] == 3  # what was trained is not lost with it
    with pytest.raises(CheckpointError, match="give another output"):
        check_beside(tmp_path / "y.json")


@pytest.mark.parametrize("lines", [b"notes\n", b'{"a": 1}\n{"generation": 1}\n', b'{"generation": 1}\nnotes'])
def test_a_curve_of_something_else_is_not_trimmed(lines: bytes, tmp_path: Path) -> None:
    curve = tmp_path / "curve.jsonl"
    curve.write_bytes(lines)
    with pytest.raises(FileProblem, match="does not belong to one"):
        trim_generations(curve, 5)
    assert curve.read_bytes() == lines


def test_an_export_replaces_checkpoints_alone_and_not_the_candidate(tmp_path: Path) -> None:
    words = ("gate", str(SHIPPED), "--against", "random", *LEAST, *ONE, "--export")
    for name in ("x.safetensors", "x.json"):
        (tmp_path / name).write_bytes(NOTES)
        assert name in refused(*words, str(tmp_path / "x.safetensors"))
        assert (tmp_path / name).read_bytes() == NOTES
        (tmp_path / name).unlink()
    mine = tmp_path / "mine.safetensors"
    shutil.copy(SHIPPED, mine)
    assert "name another file" in refused("gate", str(mine), "--against", "random", "--export", str(mine))
    assert mine.read_bytes() == SHIPPED.read_bytes()


def test_a_network_grows_into_a_new_folder_and_into_no_run(tmp_path: Path) -> None:
    grow = ("guandan", "grow")
    grown = tmp_path / "runs" / "grown" / "last.safetensors"
    words = (*grow, str(SHIPPED), "--past", "-o", str(grown))
    ran(*words)
    assert read_checkpoint(grown, prefix="-")[1]["network"]["past"] is True
    made = grown.read_bytes()
    assert "must be a new file" in refused(*words)
    assert "must be a new file" in refused(*grow, str(grown), "--hands", "-o", str(grown))
    assert grown.read_bytes() == made
    grown.unlink()
    for name in ("curve.jsonl", "kept-0001.safetensors"):
        (grown.parent / name).write_bytes(NOTES)
        assert name in refused(*words)
        (grown.parent / name).unlink()
    with hold(grown.parent, folder=True):
        assert "only one process at a time" in refused(*words)
    assert not grown.exists()


PICTURES = {
    ".svg": b"<?xml version='1.0'?>\n<!DOCTYPE svg>\n<svg>",
    ".png": b"\x89PNG\r\n\x1a\n",
    ".pdf": b"%PDF-1.4",
}


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.some(1)
def test_a_plot_replaces_a_picture_of_its_kind_and_nothing_else(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / f"ladder{kind}"
    others = [NOTES, b"", b"<?xml version='1.0'?><html>", *(b for k, b in PICTURES.items() if k != kind)]
    ladders = (
        ("greedy", "random", "--pairs", "1", *ONE),
        ("kuhn_poker", "uniform", "cfr:1", "--pairs", "1"),
    )
    for words in ladders:
        for other in others:
            plot.write_bytes(other)
            assert "choose another name" in refused("ladder", *words, "--plot", str(plot))
            assert plot.read_bytes() == other
    for begins in (PICTURES[kind], None):  # one of the kind, and then the one that was drawn
        if begins is not None:
            plot.write_bytes(begins)
        drawn = gs2("ladder", *ladders[1], "--plot", str(plot))
        assert drawn.exit_code == 0 and plot.read_bytes() != begins, drawn.output


def test_a_responder_that_is_a_network_writes_over_nothing_beside_it(tmp_path: Path) -> None:
    words = ("exploit", "kuhn_poker", "uniform", "--method", "trained", "--minutes", "0.001", "-o")
    for name in ("x.json", "x.state.safetensors", "x.state.json"):
        (tmp_path / name).write_bytes(NOTES)
        assert name in refused(*words, str(tmp_path / "x.safetensors"))
        assert (tmp_path / name).read_bytes() == NOTES
        (tmp_path / name).unlink()
