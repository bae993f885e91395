"""Every command that writes: refused in one line before the work, one writer at a time, nothing doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import click
import pytest

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan import SHIPPED
from cfr.policies.policy import load_policy, load_state
from experiments.refinement.rows import read_rows
from games.support.locks import hold
from gs2.commands.common import SEED, FiniteRange
from tests.commands.runner import TINY, gs2, one_line, ran, refused, started
from tests.commands.tree import COMMANDS
from tests.patience import amount

ONE = ("--processes", "1")
HANGS = 600
"""Seconds after which a process is taken to hang; nothing here takes a tenth of it on any machine."""
REFINE = ("--game", "kuhn_poker", "--method", "maxmargin", "--iterations", "20", "--workers", "1")
LEAST = ("--pairs", "100", "--batch", "100")
NETWORK = str(SHIPPED)
SEARCHED = ("solve", "kuhn_poker", "--infoset", "P0 holds Q", "--blueprint", "uniform")
NEW = {
    "solve": (*SEARCHED, "-o"),
    "solve --html": (*SEARCHED, "--html"),
    "blueprint": ("blueprint", "kuhn_poker", "--iterations", "20", "-o"),
    "exploit": ("exploit", "kuhn_poker", "uniform", "--minutes", "0.001", "-o"),
    "match": ("match", "greedy", "random", "--pairs", "4", *ONE, "-o"),
    "gate": ("gate", NETWORK, "--against", "random", *LEAST, *ONE, "-o"),
    "guandan play-random --record": ("guandan", "play-random", "--record"),
    "review --html": ("review", "none.jsonl", "--html"),
    "bench cfr": ("bench", "cfr", "kuhn_poker", "--repeats", "1", "--no-openspiel", "-o"),
    "experiment report": ("experiment", "report", "experiments/results/rows/closures", "-o"),
    "experiment report --html": ("experiment", "report", "experiments/results/rows/closures", "--html"),
}
"""Commands up to the name of a file that nothing else may be in."""
FILES = NEW | {
    "match --records": (
        *("match", "--game", "kuhn_poker", "uniform", "uniform", "--pairs", "2"),
        "--records",
    ),
    "gate --export": ("gate", NETWORK, *LEAST, *ONE, "--export"),
}
"""Commands up to the name of a file."""
FOLDERS = {
    "train": ("train", "--minutes", "0", *TINY, "-o"),
    "ladder": ("ladder", "greedy", "random", "--pairs", "4", *ONE, "-o"),
    "ladder --game": ("ladder", "--game", "kuhn_poker", "uniform", "cfr:2", "--pairs", "2", "-o"),
    "experiment refine": ("experiment", "refine", *REFINE, "-o"),
}
"""Commands up to the name of a folder."""
LEARNING = {
    f"guandan {name}": ("guandan", name, *words, "-o")
    for name, words in {
        "grow": (NETWORK, "--past"),
        "distil": (NETWORK,),
        "train-beliefs": (NETWORK,),
        "train-deals": (NETWORK,),
    }.items()
}
"""Commands up to the name of a new file, each of which would work for minutes to hours."""
NOTES = b"my own notes"


def test_every_output_of_a_command_is_tried_here() -> None:
    outputs, new = set(), set()
    for path, command in COMMANDS:
        if path[0] == "bench":
            continue
        name = path[0] if path[0] in NEW | FOLDERS else " ".join(path)
        outputs |= {name for option in command.params if "--output" in option.opts}
        for option in command.params:
            if getattr(option.type, "new", False) and "--output" not in option.opts:
                new.add(f"{name} {option.opts[0]}")
    tried = {name for name in NEW | FOLDERS | LEARNING if not name.startswith("bench") and "--" not in name}
    assert outputs == tried and new == {name for name in NEW if "--" in name}


@pytest.mark.parametrize("command", [*FILES, *FOLDERS])
def test_an_output_that_cannot_be_is_one_line_before_any_work(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    places = ["", "/dev/full", str(tmp_path / ("x" * 300)), "/proc/none/x", str(tmp_path / "file" / "x")]
    places += [str(tmp_path / "pipe"), str(tmp_path / ("folder" if command in FILES else "file"))]
    for place in places:
        assert one_line(*(FILES | FOLDERS)[command], place).startswith("gs2: ")
    assert (tmp_path / "file").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "file", "folder"}


@pytest.mark.parametrize("command", [*NEW, *FOLDERS])
def test_a_file_of_something_else_is_never_replaced(command: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(NOTES)
    assert "mine.txt" in refused(*(NEW | FOLDERS)[command], path)
    assert path.read_bytes() == NOTES and [found.name for found in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("command", "other"), [("solve", "--html"), ("gate", "--export")])
def test_two_outputs_are_two_files(command: str, other: str, tmp_path: Path) -> None:
    words = (*NEW[command], tmp_path / "x.out", other, tmp_path / "." / "x.out")
    assert f" and {other} must name two files" in refused(*words) and not list(tmp_path.iterdir())


def test_a_lock_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "lock.npz"
    words = ("blueprint", "kuhn_poker", "--iterations", "3", "-o", path)
    ran(*words)
    kept = path.read_bytes()
    assert "--lock and --output must name two files" in refused(*words, "--lock", path, "--fresh")
    assert path.read_bytes() == kept


@pytest.mark.parametrize("command", LEARNING)
def test_learning_writes_a_new_file_or_is_refused_before_any_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = LEARNING[command]
    mine, folder, new = (tmp_path / name for name in ("mine.safetensors", "folder", "new.safetensors"))
    mine.write_bytes(NOTES)
    folder.mkdir()
    monkeypatch.chdir(folder)
    with hold(new):
        for place, says in (
            ("", "an output must be a file"),
            (mine, "must be a new file"),
            (folder, "folder"),
            (mine / "x.safetensors", "mine.safetensors"),
            (new, "only one process at a time"),
        ):
            assert says in refused(*words, place)
    assert "none.safetensors" in refused(*words[:2], "none.safetensors", *words[3:], folder / "x")
    (tmp_path / "x.json").write_bytes(NOTES)
    assert "x.json" in refused(*words, tmp_path / "x.safetensors")
    assert (tmp_path / "x.json").read_bytes() == NOTES
    assert mine.read_bytes() == NOTES and not list(folder.iterdir())
    assert not list(tmp_path.glob("x.safetensors")) and not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("command", ["solve", "exploit"])
def test_a_run_of_cfr_is_never_replaced_and_one_writer_has_a_new_file(command: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    ran("blueprint", "kuhn_poker", "--iterations", "5", "-o", str(path))
    words = NEW[command]
    assert "must be a new file" in refused(*words, path)
    state = load_state(path)
    assert state is not None and state["iteration"] == 5
    with hold(tmp_path / "new.npz"):
        assert "only one process at a time" in refused(*words, tmp_path / "new.npz")
    ran(*words, tmp_path / "new.npz")
    assert (tmp_path / "new.npz").exists()


def test_names_are_printed_as_they_are_however_long_and_with_brackets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a[").mkdir()
    name = f"a[/b]c:x:[bold]{'y' * 100}.npz"
    assert name in ran("blueprint", "kuhn_poker", "--iterations", "3", "-o", name).stdout
    assert f"resuming {name} at" in ran("blueprint", "kuhn_poker", "--iterations", "5", "-o", name).stderr
    assert name in ran("exploitability", "kuhn_poker", name).stdout
    assert name in ran("exploit", "kuhn_poker", name, "--method", "lbr").stdout


@pytest.mark.parametrize("command", ["blueprint", "match", "gate", *FOLDERS])
def test_a_second_writer_is_told_who_writes(command: str, tmp_path: Path) -> None:
    folder = command in FOLDERS
    place = tmp_path / "out"
    if folder:
        place.mkdir()
    with hold(place, folder=folder):
        told = one_line(*(FILES | FOLDERS)[command], place)
        assert f"process {os.getpid()}" in told and "only one process at a time" in told


WRITERS = {
    "blueprint": ("blueprint", "kuhn_poker", "--iterations", "4000", "-o"),
    "match": ("match", "greedy", "random", "--pairs", "1100", *ONE, "-o"),
    "train": ("train", "--minutes", "0.02", "--resume", *TINY, "--checkpoint-minutes", "0", "-o"),
    "refine": ("experiment", "refine", *REFINE, "-o"),
}


def check_whole(command: str, place: Path) -> None:
    """Fail unless an output holds everything once."""
    if command == "blueprint":
        assert load_policy(place, "kuhn_poker") and load_state(place)["iteration"] == 4000
    elif command == "match":
        lines = [json.loads(line) for line in place.read_text().splitlines()[1:]]
        assert sorted(line["pair"] for line in lines) == list(range(1100))
    elif command == "refine":
        rows = read_rows(place / "rows.csv")
        assert len({(row.method, row.seed, row.cap) for row in rows}) == len(rows) == 1
        assert len((place / "rows.csv").read_text().splitlines()) == 2
    else:
        seen = [json.loads(line)["generation"] for line in (place / "curve.jsonl").read_text().splitlines()]
        _, description = read_checkpoint(place / "last.safetensors")
        assert seen == list(range(1, description["generation"] + 1))
    assert not list(place.parent.rglob("*.part")) and not list(place.parent.rglob("*.lock"))


@pytest.mark.parametrize(
    "command", ["blueprint", "match", "refine", pytest.param("train", marks=pytest.mark.long)]
)
@pytest.mark.some(1)
def test_two_writers_at_once_lose_and_double_nothing(command: str, tmp_path: Path) -> None:
    for repetition in range(amount(20, few=1)):
        place = tmp_path / str(repetition) / "out"
        place.parent.mkdir()
        both = [started(*WRITERS[command], place) for _ in range(2)]
        ends = [(*process.communicate(timeout=HANGS), process.returncode) for process in both]
        codes = sorted(code for _, _, code in ends)
        assert codes[0] == 0 and codes[1] in (0, 2), ends
        for _, err, code in ends:
            assert "Traceback" not in err
            if code == 2:
                assert "only one process at a time may write it" in err and len(err.splitlines()) == 1
        check_whole(command, place)


def test_doubled_deals_of_an_older_file_count_once(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    words = ["match", "greedy", "random", "--pairs", "6", *ONE, "--json", "-o", str(path)]
    first = json.loads(gs2(*words).stdout)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines + lines[1:4]))
    again = gs2(*words)
    assert again.exit_code == 0 and "3 of 9 rows come again" in again.stderr
    found = json.loads(again.stdout)
    assert found["complete"] and found["pairs"] == 6 and found["net"] == first["net"]


def test_doubled_rows_of_an_experiment_count_once(tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree("experiments/results/rows/closures", run)
    rows = read_rows(run / "rows.csv")
    lines = (run / "rows.csv").read_text().splitlines(keepends=True)
    (run / "rows.csv").write_text("".join(lines + lines[1:8]))
    result = gs2("experiment", "report", run, "-o", tmp_path / "R.md")
    assert result.exit_code == 0 and f"7 of {len(rows) + 7} rows come again" in result.stderr
    assert f"{len(rows)} rows" in (tmp_path / "R.md").read_text()


def test_rows_that_were_kept_are_still_read() -> None:
    for path in Path("experiments/results/rows").rglob("rows.csv"):
        assert len(read_rows(path)) == len(path.read_text().splitlines()) - 1


def test_a_better_network_passes_the_gate_is_exported_and_goes_on_from_the_deals_it_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("gate", SHIPPED, "--against", "random", *LEAST, *ONE, "--json")
    whole = ran(*words, "--export", "better.safetensors")
    gate = read_checkpoint(Path("better.safetensors"))[1]["gate"]
    assert gate["verdict"] == "better" and gate["low"] > 0
    [kept] = Path("runs").glob("gate-*.jsonl")
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:-10]))
    again = gs2(*words)
    now = kept.read_text().splitlines(keepends=True)
    assert now[:-10] == lines[:-10] and len(now) == len(lines)
    # On some processors a network's values depend on the deals beside, and then a close move may be another.
    assert sum(a != b for a, b in zip(now, lines, strict=True)) <= 3
    before, after = json.loads(whole.stdout), json.loads(again.stdout)
    assert after["verdict"] == before["verdict"] == "better"
    assert after["net"] == pytest.approx(before["net"], abs=0.1)


def test_a_gate_that_could_not_export_says_so_before_it_plays(tmp_path: Path) -> None:
    import numpy as np

    from blueprint.checkpoint import write_checkpoint

    too_wide = {"network.x": np.full(3, 1e6, np.float32)}
    write_checkpoint(tmp_path / "a.safetensors", too_wide, {})
    words = ("gate", str(tmp_path / "a.safetensors"), "--export", str(tmp_path / "b.safetensors"))
    assert "must be within ±65504" in one_line(*words)


def iteration(path: Path) -> int:
    state = load_state(path) if path.exists() else None
    return -1 if state is None else int(state["iteration"])


@pytest.mark.long
def test_a_killed_blueprint_loses_no_more_than_the_pause_between_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.npz"
    words = ("blueprint", "leduc_poker", "--seconds", HANGS, "-o", path)
    rng = random.Random(0)
    saved = -1
    for _ in range(amount(12, few=3)):
        with started(*words, code="from gs2.commands import policies\npolicies.SAVE_EVERY = 0.2") as run:
            seen: list[int] = []
            while len(seen) < 3:  # it saves again and again
                assert run.poll() is None
                found = iteration(path)
                if found > max([saved, *seen]):
                    seen.append(found)
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.3))
            run.send_signal(signal.SIGKILL)
            assert run.stderr is not None
            err = " ".join(run.stderr.read().split())
        if saved >= 0:
            resumed = int(err.split("at iteration ")[1].split()[0].replace(",", ""))
            assert resumed == saved
        assert iteration(path) >= seen[-1]
        saved = iteration(path)
    assert [found.name for found in tmp_path.iterdir() if not found.name.startswith(".")] == ["p.npz"]


UNDER_WAY = """
import sys
import click

invoke = click.Command.invoke

def told(command, context):
    if not isinstance(command, click.Group):
        print("under way", file=sys.stderr, flush=True)
    return invoke(command, context)

click.Command.invoke = told
"""
LONG = {
    "blueprint": (("blueprint", "leduc_poker", "--iterations", "100000000"), 2.0),
    "exploitability cfr": (("exploitability", "leduc_poker", "cfr:1000000000"), 3.0),
    "exploitability dmc": (("exploitability", "leduc_poker", "dmc:1000000000"), 0.7),
    "solve lp": (("solve", "liars_dice_6", "--solver", "lp"), 6.0),
    "solve": (("solve", "leduc_poker", "--iterations", "1000000000"), 4.0),
    "match": (("match", "gs2-deep", "blueprint", "--pairs", "100", *ONE), 6.0),
    "match, processes": (("match", "gs2-deep", "blueprint", "--pairs", "100", "--processes", "2"), 3.0),
    "ladder": (("ladder", "greedy", "strong", "--pairs", "100000", "--processes", "2"), 4.0),
    "gate": (("gate", str(SHIPPED), "--against", "strong", *ONE), 6.0),
    "train": (("train", "--minutes", "60", "--threads", "2", "-o", "run"), 8.0),
    "refine": (("experiment", "refine", "--workers", "2", "-o", "rows"), 5.0),
    "bench": (("bench", "climbing", "--seconds", "600"), 5.0),
}
"""Commands that go on for hours, and how many seconds after its start each is interrupted.

The seconds only choose where the signal is likely to come; it is answered wherever it does.
"""
QUICK = ("exploitability dmc", "match, processes", "blueprint")


@pytest.mark.parametrize("command", [*QUICK, *(pytest.param(c, marks=pytest.mark.long) for c in LONG)])
@pytest.mark.some(1)
def test_ctrl_c_ends_a_command_with_130_and_a_word(command: str, tmp_path: Path) -> None:
    words, wait = LONG[command]
    process = started(*words, code=UNDER_WAY, cwd=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline() == "under way\n", process.communicate(timeout=HANGS)
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process
    out, err = process.communicate(timeout=HANGS)
    assert process.returncode == 130, (out, err)
    assert "Traceback" not in err and "interrupt" in out + err


def test_no_option_takes_nan_infinity_or_an_endless_seed() -> None:
    seen = 0
    for name, command in COMMANDS:
        for option in command.params:
            kind = option.type
            if isinstance(kind, click.FloatRange) or kind is click.FLOAT:
                seen += 1
                assert isinstance(kind, FiniteRange), f"{name} {option.name} takes nan"
            if option.name == "seed":
                seen += 1
                assert kind is SEED, f"{name} --seed has no bounds"
    assert seen > 30
