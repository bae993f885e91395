"""`gs2 play` without a server: sit down, play, leave in every way there is."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from games.guandan.matches.match_game import read_match
from tests.forked import run_module
from tests.patience import PATIENCE

PLAY = [sys.executable, "-m", "gs2.cli", "play"]


def played(*options: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return run_module("gs2.cli", "play", *options, said=said)


def test_quit_and_the_end_of_the_input_leave_with_success_and_the_same_seed_deals_the_same_cards(tmp_path):
    keep = ("--with", "first", "--seed", "3", "--record", str(tmp_path))
    runs = [played(*keep, said="?\n0\nquit\n"), played("--with", "first,random,first", "--seed", "3")]
    runs += [played("--with", "first", said="quit\n") for _ in range(2)]
    for done in runs:
        assert done.returncode == 0 and "Traceback" not in done.stderr
        assert "\x1b[" not in done.stdout, "a pipe has no colours"
    kept, ended, *fresh = (done.stdout for done in runs)
    path = re.search(r"record: (\S+\.jsonl) \(seed 3\)", kept)
    assert path is not None and "left the table: you left the table" in kept
    assert not read_match(Path(path[1])).complete
    assert "left the table: the input ended" in ended and "--record DIR keeps one" in ended
    hands = [re.search(r"your hand \(27 cards\)\n((?:  \S.+\n)+)", told) for told in (kept, ended, *fresh)]
    assert hands[0] and hands[1] and hands[0][1] == hands[1][1]
    assert hands[2] and hands[3] and hands[2][1] != hands[3][1]


def test_a_whole_game_is_played_by_typing_and_told_as_json(tmp_path):
    options = ("--with", "greedy", "--seed", "3", "--json", "--record", str(tmp_path), "--seat", "2")
    done = played(*options, said="0\n" * 5000)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["over"] and result["games"] == 1 and result["seed"] == 3
    assert result["names"] == ["greedy", "greedy", "human", "greedy"]
    record = read_match(Path(result["record"]))
    assert record.complete
    assert "your move>" in done.stderr and "round over" in done.stderr and "game over" in done.stderr


def test_agents_alone_are_watched(tmp_path):
    done = played("--agent", "first", "--with", "random", "--seed", "3", "--rules", "njupt")
    assert done.returncode == 0, done.stderr
    assert "your hand (27 cards)" in done.stdout and "game over after" in done.stdout
    assert "your move>" not in done.stdout


WITHOUT_EXTRA = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("msgspec", "websockets", "starlette"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from gs2.cli import main
main(["play", "--with", "first", "--seed", "1"])
"""


@pytest.mark.long
def test_it_needs_no_extra_of_the_wire_not_even_for_a_hint():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA],
        input="hint\nquit\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "hint: " in done.stdout


SLOW = """
import time
class Slow:
    def act(self, observation):
        print("thinking", flush=True)
        time.sleep(600)
class Hides:
    def act(self, observation):
        print("thinking", flush=True)
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            raise RuntimeError("foreign code says something else") from None
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
@pytest.mark.parametrize("moment", ["asked", "Slow", "Hides"])
@pytest.mark.some(1)
def test_ctrl_c_leaves_with_one_line_at_any_moment(moment, tmp_path):
    agents = "first"
    if moment != "asked":
        (tmp_path / "slow.py").write_text(SLOW)
        agents = f"{tmp_path / 'slow.py'}:{moment}"
    command = [*PLAY, "--with", agents, "--seed", "1", "--record", str(tmp_path / "kept")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdin is not None and process.stderr is not None
        if moment != "asked":
            process.stdin.write("0\n")
            process.stdin.flush()
        wanted, heard = ("your move>" if moment == "asked" else "thinking"), ""
        while not heard.endswith(wanted):
            heard += process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        said = process.stderr.read().strip()
    finally:
        process.kill()
        process.communicate()
    # A slow machine says first what takes it more than two seconds.
    assert re.fullmatch(r"(the agents sit down … \(\d+ s\)\s+)?left the table; record: \S+\.jsonl", said)


@pytest.mark.skipif(os.name == "nt", reason="a terminal of Unix")
@pytest.mark.parametrize("colours", [True, False])
@pytest.mark.some(1)
def test_a_terminal_shows_signs_in_colours_unless_it_wants_none(colours):
    import pty

    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    env.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [*PLAY, "--with", "first", "--seed", "4"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env if colours else {**env, "NO_COLOR": "1"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        out, until = b"", time.monotonic() + PATIENCE
        while b"your move>" not in out and time.monotonic() < until:
            out += os.read(ours, 4096)
        os.write(ours, b"quit\n")
        while b"(seed 4)" not in out and time.monotonic() < until:
            out += os.read(ours, 4096)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    text = out.decode()
    hand = text.split("cards)")[-1]
    assert "♠" in hand and "♥" in hand
    assert ("\x1b[1;31m" in hand) == colours
