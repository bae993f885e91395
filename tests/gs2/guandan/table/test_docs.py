"""What docs/how-to/table.md shows works as shown."""

from __future__ import annotations

import io
import json
import re
import shlex
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from gs2.commands import guandan as table
from gs2.guandan.table.agents import RandomAgent, load_agent
from gs2.guandan.table.runner import play_games

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "table.md"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Return the page's files by name; programs without a name by their place."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    named = {}
    for place, block in enumerate(blocks):
        name = re.match(r"# (\w+\.py)\n", block)
        named[name[1] if name else f"program{place}"] = block
    return named


def test_the_class_of_ten_lines_plays(files, tmp_path, monkeypatch, capsys):
    (tmp_path / "seats.py").write_text(files["seats.py"])
    agent = load_agent(f"{tmp_path / 'seats.py'}:Cautious")
    result = play_games([agent, RandomAgent(), agent, RandomAgent()], seed=2)
    assert result.rounds > 0
    monkeypatch.syspath_prepend(tmp_path)
    (program,) = (text for name, text in files.items() if name.startswith("program"))
    exec(program.replace("games=20", "games=1"), {})
    assert "Cautious + Cautious" in capsys.readouterr().out


def test_the_seat_of_a_language_model_asks_and_reads(files, tmp_path, monkeypatch):
    asked = []

    def reply(request: urllib.request.Request, timeout: float) -> Any:
        assert isinstance(request.data, bytes)
        asked.append(json.loads(request.data)["messages"][0]["content"])
        answer = {"choices": [{"message": {"content": "I would rather wait.\n0"}}]}
        return io.BytesIO(json.dumps(answer).encode())

    monkeypatch.setattr(urllib.request, "urlopen", reply)
    (tmp_path / "llm.py").write_text(files["llm.py"])
    agent = load_agent(f"{tmp_path / 'llm.py'}:Seat")
    play_games([agent, RandomAgent(), RandomAgent(), RandomAgent()], seed=3)
    assert asked and all("Your hand" in prompt and "Choices:" in prompt for prompt in asked)


def test_the_bot_is_a_program(files):
    compile(files["bot.py"], "bot.py", "exec")


def test_every_command_shown_is_one():
    commands = re.findall(r"gs2 (serve|play) ?([^`\n]*)", PAGE.read_text(encoding="utf-8"))
    assert len(commands) >= 8
    for name, arguments in commands:
        command = getattr(table, name)
        context = command.make_context(name, ["--server", "ws://h:1"] if name == "play" else [])
        left = command.make_parser(context).parse_args(shlex.split(arguments))[1]
        assert not left, (name, arguments)
