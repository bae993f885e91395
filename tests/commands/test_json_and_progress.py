"""Every command of a group prints JSON where it is asked to, and long work shows that it goes on."""

from __future__ import annotations

import json
import time

import click
import pytest

from gs2.commands import progress
from gs2.commands.common import number
from tests.commands.runner import as_json, gs2, ran
from tests.commands.tree import COMMANDS


def test_every_command_can_answer_in_json() -> None:
    for path, command in COMMANDS:
        names = {option for p in command.params if isinstance(p, click.Option) for option in p.opts}
        assert "--json" in names, path


@pytest.mark.parametrize(
    "words",
    [
        ("guandan", "play-random"),
        ("bench", "cfr", "kuhn_poker", "--repeats", "1", "--no-openspiel", "--variant", "cfr+"),
        ("experiment", "refine", "--list"),
    ],
)
def test_what_is_printed_as_json_is_json(words: tuple[str, ...]) -> None:
    assert as_json(*words)


def test_a_story_as_json_has_the_lines_of_the_story(tmp_path) -> None:
    told = gs2("guandan", "play-random", "--seed", "3", "--record", str(tmp_path / "r.jsonl")).stdout
    assert as_json("guandan", "play-random", "--seed", "3")["lines"] == told.splitlines()
    replayed = gs2("guandan", "replay", str(tmp_path / "r.jsonl")).stdout
    again = as_json("guandan", "replay", str(tmp_path / "r.jsonl"))
    assert again["lines"] == replayed.splitlines()


def test_long_work_prints_a_line_now_and_then_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.05)
    printed = ""

    def until(words: str) -> None:
        nonlocal printed
        while words not in printed:
            time.sleep(0.01)
            out, err = capsys.readouterr()
            assert out == ""
            printed += err

    with progress.working("growing …") as tell:
        until("growing … (")
        tell("solving …")
        until("solving … (")
    capsys.readouterr()
    time.sleep(0.2)
    assert capsys.readouterr().err == "", "nothing more once the work is done"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("solve", "--blueprint", "cfr:10000", "--iterations", "3"), "computing the blueprint cfr:10000"),
        (("exploitability", "leduc_poker", "cfr:200000"), "computing cfr:200000"),
        (("blueprint", "leduc_poker", "--seconds", "1"), "exploitability"),
        (("match", "greedy", "random", "--pairs", "1100", "--processes", "1"), "of 1,100"),
    ],
)
@pytest.mark.some(2)
def test_a_long_command_says_how_far_it_is(
    words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    done = gs2(*words)
    assert done.exit_code == 0 and says in done.stderr, done.output


def test_what_is_not_finite_is_null_in_json() -> None:
    told = ran("games", "kuhn_poker", "--size", "--memory", "unlimited", "--json").stdout
    assert json.loads(told, parse_constant=pytest.fail)["limit"] is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.3e-16, "0.0000"),
        (-2e-15, "0.0000"),
        (3e-9, "3.0e-09"),
        (-0.25, "-0.2500"),
        (float("nan"), "–"),
        (-1234.56789, "-1,234.568"),
        (5e12, "5e+12"),
    ],
)
def test_a_number_says_nothing_of_rounding(value: float, words: str) -> None:
    assert number(value) == words and number(value, sign="+").lstrip("+") == words
