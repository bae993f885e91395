"""Files that are whole or not there, lines that are appended once, and locks that say who holds them."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.support.files import (
    DoubleRows,
    FileProblem,
    LineFile,
    check_folder,
    check_output,
    create,
    open_regular,
    read_bytes,
    replacing,
    unique,
    write_text,
)
from games.support.locks import LockHeld, hold, lock_path
from tests.forked import run_module
from tests.patience import PATIENCE, amount

ROOT = Path(__file__).parents[3]


def not_files(folder: Path) -> dict[str, str]:
    """Return places where no output can be written, by what they are."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "file").write_text("")
    (folder / "circle").symlink_to(folder / "circle")
    return {
        "empty": "",
        "folder": str(folder / "folder"),
        "pipe": str(folder / "pipe"),
        "device": "/dev/full",
        "too long": str(folder / ("x" * 256)),
        "path too long": str(folder / ("x/" * 3000) / "y"),
        "in no folder": str(folder / "none" / "x"),
        "in a file": str(folder / "file" / "x"),
        "circle": str(folder / "circle" / "x"),
        "null": str(folder) + "/a\0b",
    }


def test_what_is_no_place_for_an_output_is_said_in_one_line(tmp_path: Path) -> None:
    for name, place in not_files(tmp_path).items():
        for check in (check_output, create, LineFile, lambda path: write_text(path, "x")):
            if name == "in no folder" and check is write_text:
                continue
            with pytest.raises(FileProblem) as refused:
                check(place)
            assert "\n" not in str(refused.value) and len(str(refused.value)) < 600, name
    assert (tmp_path / "file").read_text() == ""


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    for place in not_files(tmp_path).values():
        with pytest.raises((FileProblem, FileNotFoundError)):
            open_regular(place).close()
    with pytest.raises(FileProblem, match="it is a device"):
        read_bytes("/dev/zero")


def test_a_check_leaves_nothing_behind_and_no_file_is_created_again(tmp_path: Path) -> None:
    check_output(tmp_path / "x")
    check_folder(tmp_path / "a" / "b", create=False)
    assert list(tmp_path.iterdir()) == []
    with create(tmp_path / "x") as file:
        file.write("first")
    with pytest.raises(FileProblem, match="file exists; name another one"):
        create(tmp_path / "x")
    assert (tmp_path / "x").read_text() == "first"


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_files_have_the_permissions_of_any_program_s(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask
    (tmp_path / "new").chmod(0o640)
    write_text(tmp_path / "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_is_written_through_and_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "real", "oldest")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), replacing(tmp_path / "link") as file:
            file.write(b"half")
            raise error
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("broken", ["write", "fsync"])
def test_a_full_disk_is_one_line_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    with LineFile(tmp_path / "rows") as file:
        file.append(["one", "two"])
        real = getattr(os, broken)

        def full(handle: int, *words: object) -> int:
            if broken == "write":
                real(handle, b"thr")  # a part of it still fits
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, broken, full)
        with pytest.raises(FileProblem, match="rows: no space left on device; the disk is full; make room"):
            file.append(["three"])
        monkeypatch.undo()
        file.append(["four"])
    assert (tmp_path / "rows").read_text() == "one\ntwo\nfour\n"
    write_text(tmp_path / "whole", "old")
    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda: write_text(tmp_path / "whole", "new"), lambda: check_output(tmp_path / "other")):
        with pytest.raises(FileProblem, match="the disk is full"):
            write()
    assert (tmp_path / "whole").read_text() == "old"


@settings(max_examples=amount(60), deadline=None)
@given(
    lines=st.lists(st.text("ab,1", max_size=6), max_size=6),
    cut=st.integers(0, 60),
    more=st.lists(st.text("xy", max_size=4), min_size=1, max_size=3),
)
def test_lines_survive_a_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], cut: int, more: list[str]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x"
    with LineFile(path) as file:
        file.append(lines)
    data = path.read_bytes()[:cut] if path.exists() else b""
    path.write_bytes(data)
    whole = data.decode().split("\n")[:-1]
    with LineFile(path) as file:
        assert [line.decode() for line in file.lines] == whole
        file.append(more)
    assert path.read_text() == "".join(f"{line}\n" for line in (*whole, *more))


def test_a_file_that_is_only_looked_at_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\nsomebody's text")
    with LineFile(tmp_path / "x") as file:
        assert file.tail == b"somebody's text"
    assert (tmp_path / "x").read_text() == "a\nsomebody's text"


def test_leftovers_of_killed_writers_are_swept_up(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(
        "import os; from games.support.files import replacing\n"
        "with replacing('folder/x') as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run_module("killed", cwd=tmp_path).returncode == -9
    assert len(list(folder.iterdir())) == 1
    write_text(folder / "x", "whole")
    assert [path.name for path in folder.iterdir()] == ["x"]


def test_doubled_rows_are_dropped_and_told_of() -> None:
    with pytest.warns(DoubleRows, match="2 of 5 rows come again"):
        assert unique([1, 2, 11, 3, 2], lambda n: n % 10, "x") == [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert unique([1, 2], lambda n: n, "x") == [1, 2]


HOLD = (
    "import sys, time; from games.support.locks import hold\n"
    "held = hold(sys.argv[1]); print('held', flush=True); time.sleep(60)"
)


def test_a_lock_says_who_holds_it_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(LockHeld, match=rf"process {holder.pid} \(-c .*out\) holds it since 2\d\d\d-"):
            hold(path)
        holder.kill()
    with hold(path):
        assert lock_path(path).exists()
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_can_be_is_locked_once_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    with hold(path), pytest.raises(LockHeld):
        write_text(path, "x")
        hold(path)
    assert path.read_text() == "x"
    with hold(tmp_path, folder=True), hold(tmp_path / "x"), pytest.raises(LockHeld):
        hold(tmp_path, folder=True)


def test_processes_that_append_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from games.support.files import LineFile\n"
        "from games.support.locks import LockHeld\n"
        "done = 0\n"
        "while done < 20:\n"
        "    try:\n"
        "        with LineFile(sys.argv[1]) as file:\n"
        "            file.append([f'{sys.argv[2]} {done}']); done += 1\n"
        "    except LockHeld: pass\n"
    )
    path = tmp_path / "rows"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], cwd=ROOT) for n in range(2)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0]
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(f"{n} {k}" for n in range(2) for k in range(20))
    assert [p.name for p in tmp_path.iterdir()] == ["rows"]


def test_an_interruption_sets_stop_and_breaks_only_where_it_may() -> None:
    from games.support.interruption import Interrupted, Interruption

    with Interruption() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked.stop and asked.exit_code == 130
        with pytest.raises(Interrupted), asked.at_once():
            raise AssertionError("a signal that came before breaks in at once")
    with Interruption() as asked:
        with pytest.raises(Interrupted), asked.at_once():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        assert asked.exit_code == 143


def test_ctrl_c_is_heard_while_foreign_code_runs() -> None:
    from games.support.interruption import Interrupted, Interruption, heard

    assert heard(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        heard(lambda: 1 // 0)
    released, ended = threading.Event(), threading.Event()

    def foreign() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(PATIENCE)
        ended.set()

    with Interruption() as asked, pytest.raises(Interrupted), asked.at_once():
        heard(foreign)
    assert not ended.is_set(), "nobody waits for the foreign code to end"
    released.set()
