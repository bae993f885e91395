"""`gs2 serve` and `gs2 play` as a person runs them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.checkpoint import read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.networks import shipped_file
from games.guandan.matches.match_game import read_match
from gs2.cli import main
from gs2.commands.guandan.playing import play
from gs2.commands.guandan.serving import serve
from gs2.guandan.table.hosts import check_agents
from gs2.review.reviewing import parse_game
from tests.patience import PATIENCE


def listening(process: subprocess.Popen[str]) -> str:
    """Return the address of a server, once it listens; while its agents are loaded, it says so."""
    assert process.stderr is not None
    said = ""
    while line := process.stderr.readline():
        said += line
        found = re.search(r"listening on (ws://127\.0\.0\.1:\d+)", line)
        if found:
            return found[1]
    raise AssertionError(said)


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a server's process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gs2.cli", "serve", "--port", "0", "--delay", "0", "--seed", "1", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, listening(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("dialect", ["openguandan", "njupt"])
@pytest.mark.some(1)
def test_four_agents_from_one_command_play_at_a_served_table(tmp_path, dialect):
    options = ("--dialect", dialect, "--record", str(tmp_path), "--sessions", "1", "--games", "1", "--json")
    options = (*options, "--seed", "5")
    with serving(*options) as (process, url):
        heard = tmp_path / "heard"
        arguments = ["--server", url, "--dialect", dialect, "--games", "1", "--json", "--record", str(heard)]
        # not random: by the rules of njupt such a game can last longer than a review reads
        done = CliRunner().invoke(play, [*arguments, *["--agent", "greedy"] * 4], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        results = json.loads(done.stdout)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    session = json.loads(out)
    assert session["games"] == 1 and session["fallbacks"] == [0] * 4
    assert [result["rounds"] for result in results] == [session["rounds"]] * 4
    assert sorted(result["seat"] for result in results) == [0, 1, 2, 3]
    (kept,) = tmp_path.glob("*-room*.jsonl")
    assert read_match(kept).complete
    # what the seats heard tells the same rounds as the server's own record
    (transcript,) = heard.iterdir()
    told, known = (parse_game(path.read_text()) for path in (transcript, kept))
    assert (told.kind, len(told.rounds)) == (dialect, len(known.rounds))
    for one, other in zip(told.rounds, known.rounds, strict=True):
        assert one.known == (True,) * 4
        assert one.start["hand"].tobytes() == other.start["hand"].tobytes()
        assert np.array_equal(one.seats, other.seats)
        assert one.actions.tobytes() == other.actions.tobytes()
        assert one.tributes == other.tributes


def test_a_served_table_is_filled_with_agents_and_ends_on_a_signal():
    with serving("--agents", "random,first,random") as (process, url):
        done = CliRunner().invoke(play, ["--server", url, "--agent", "first"], catch_exceptions=False)
        assert "rounds" in done.stdout and "first" in done.stdout
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "first + " in out and "1 sessions" in err


@pytest.mark.parametrize("agents", ["random", "blueprint"])
@pytest.mark.parametrize("moment", ["before it listens", "as it listens"])
@pytest.mark.some(1)
def test_ctrl_c_ends_a_server_and_its_agents_processes_at_any_moment(agents, moment):
    command = [sys.executable, "-m", "gs2.cli", "serve", "--port", "0", "--agents", agents, "--workers", "1"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        if moment == "as it listens":
            listening(process)
        else:
            # Its own handler stands once a first child, or the loop's wake-up socket, is there.
            while process.poll() is None and not _has_own_handler(process.pid):
                time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)  # ends only when nobody holds the pipe any more
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130, err
    assert "Traceback" not in err


DIES = """
import os, signal

class Killed:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)
    def act(self, observation):
        return 0

class Ends(Killed):
    def __init__(self):
        os._exit(0)

class Fails(Killed):
    def __init__(self):
        raise RuntimeError("no weights")

class First:
    def act(self, observation):
        return 0
"""


@pytest.mark.parametrize(("kind", "word"), [("Fails", "no weights"), ("Ends", "died"), ("Killed", "died")])
@pytest.mark.some(2)
def test_an_agent_that_cannot_be_loaded_is_one_line(tmp_path, kind, word):
    (tmp_path / "mine.py").write_text(DIES)
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--agents", f"{tmp_path}/mine.py:{kind}"])
    assert done.exit_code == 2 and word in done.stderr, done.output
    told = [line for line in done.stderr.splitlines() if not line.startswith("starting the agents")]
    assert len(told) == 1, done.stderr  # on a slow machine, how long it has taken comes before


def test_a_damaged_or_foreign_network_is_refused_before_anything_is_started(tmp_path):
    tensors, description = read_checkpoint(SHIPPED)
    write_checkpoint(tmp_path / "whole.safetensors", tensors, description)
    data, foreign = (tmp_path / "whole.safetensors").read_bytes(), shipped_file("big2")
    check_agents([str(tmp_path / "whole.safetensors")])
    bad = {
        "cut": data[:3000],
        "short": data[:-1],
        "flipped": data[:-1000] + bytes([data[-1000] ^ 1]) + data[-999:],
        "empty": b"",
        "big2": foreign.read_bytes(),
    }
    for name, content in bad.items():
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(content)
        for agent in (str(path), f"gs2-fast@{path}"):
            with pytest.raises(ValueError, match=rf"{name}\.safetensors"):
                check_agents(["random", agent])
    agent, web = f"gs2-fast@{path}", ["web", "--no-open", "--port", "0", "--data", str(tmp_path / "web")]
    (tmp_path / "cut.npz").write_bytes(b"PK")
    (tmp_path / "cut.json").write_text("{")
    for words in (
        ["serve", "--port", "0", "--agents", f"1:{agent}"],
        ["serve", "--port", "0", "--fallback", agent],
        ["play", "--agent", agent, "--with", "random"],
        ["play", "--with", agent],
        ["play", "--server", "ws://127.0.0.1:1", "--agent", agent],
        [*web, "--agent", agent],
        *(
            [*web, "--game-agent", str(tmp_path / name)]
            for name in ("cut.npz", "cut.json", "short.safetensors")
        ),
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2, (words, done.output, done.exception)
        assert Path(words[-1]).name in done.stderr or path.name in done.stderr, (words, done.stderr)


def test_a_killed_server_leaves_nothing_behind(tmp_path):
    (tmp_path / "mine.py").write_text(DIES)
    with serving("--agents", f"{tmp_path}/mine.py:First") as (process, _):
        process.kill()
        # ends only when its last process has let go of the pipe
        assert process.communicate(timeout=PATIENCE)[1] == ""


def _has_own_handler(pid: int) -> bool:
    """Return whether a process catches SIGTERM, which Python leaves alone until it is told otherwise."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16)  # type: ignore[index]
    return bool(caught >> (signal.SIGTERM - 1) & 1)


WITHOUT_EXTRA = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("msgspec", "websockets"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.long
def test_without_the_extra_games_in_this_process_work_and_the_commands_say_what_to_install():
    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", WITHOUT_EXTRA + code], capture_output=True, text=True)

    done = run(
        "from gs2.guandan.table import play_games, load_agent\n"
        "print(play_games([load_agent('random')] * 4, seed=1).rounds)\n"
        "import gs2.guandan.table; gs2.guandan.table.TableServer\n"
    )
    assert int(done.stdout) > 0 and "pip install 'gs2[table]'" in done.stderr
    for command in (["serve"], ["play", "--server", "ws://127.0.0.1:1"]):
        done = run(f"from gs2.cli import main; main({command})")
        assert done.returncode != 0
        assert len(done.stderr.splitlines()) == 1
        assert "pip install 'gs2[table]'" in done.stderr


def test_bad_arguments_are_refused_with_a_reason():
    runner = CliRunner()
    for command, arguments, word in (
        (serve, ["--dialect", "klingon"], "klingon"),
        (play, ["--server", "ws://x", "--agent", "a", "--seat", "0", "--seat", "1"], "--seat"),
        (play, ["--server", "ws://x", *["--agent", "random"] * 5], "four seats"),
    ):
        done = runner.invoke(command, arguments)
        assert done.exit_code == 2 and word in done.output
    done = runner.invoke(main, ["play", "--server", "ws://127.0.0.1:1", "--agent", "random"])
    assert done.exit_code == 2
    assert done.stderr.startswith("gs2: cannot connect") and len(done.stderr.splitlines()) == 1
    for command, arguments, word in (
        (serve, ["--host", "0.0.0.0"], "token"),
        (serve, ["--agents", "a,b,c,d"], "four seats"),
        (serve, ["--rules", "house"], "house"),
        (serve, ["--port", "0", "--agents", "no.module:Agent"], "no.module"),
    ):
        done = runner.invoke(command, arguments)
        assert isinstance(done.exception, ValueError) and word in str(done.exception)
