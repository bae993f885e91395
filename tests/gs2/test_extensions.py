"""What installed packages add to the command line: commands, experiments and benches of anybody's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gs2.startup.extensions import extending_packages
from tests.commands.runner import as_json, gs2, one_line

MODULE = '''
from dataclasses import dataclass
import click
from gs2.commands.groups import Target

@dataclass(frozen=True)
class Counted:
    hands: int

class Counting:
    name = "counting"
    title = "Counting"
    help = "Measure how fast HANDS are counted."
    about = "By hand."
    options = (click.Argument(["hands"], type=click.IntRange(1)), click.Option(["--slowly"], is_flag=True))

    def run(self, progress, *, hands, slowly):
        progress("counting")
        return Counted(hands)

    def tables(self, result):
        from rich.table import Table
        table = Table(title="Hands")
        table.add_column("hands", justify="right")
        table.add_row(str(result.hands))
        return [table]

BENCH = Counting()
LATER = Target("stranger_later", "study", "Study what is imported late.")

@click.command()
def tournament():
    """Play a tournament."""
    click.echo("played")

@click.command()
def refuse():
    """Refuse."""
    raise ValueError("rounds must be at least 1; got 0; play more")
'''
LATER = '''
import click
@click.command()
def study():
    """Study."""
    click.echo("studied")
'''
ENTRIES = """
[gs2.commands]
tournament = stranger:tournament
refuse = stranger:refuse
solve = stranger:tournament
number = stranger:__name__
gone = stranger:gone
missing = stranger_missing:command
hidden = json.nothing:command
[gs2.experiments]
later = stranger:LATER
[gs2.benches]
counting = stranger:BENCH
misnamed = stranger:BENCH
"""


def install(folder: Path, name: str, entries: str, **modules: str) -> None:
    """Lay an installed distribution into a folder that is on the path."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entries)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "stranger", ENTRIES, stranger=MODULE, stranger_later=LATER)
    monkeypatch.syspath_prepend(folder)
    for module in ("stranger", "stranger_later"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return folder


def test_a_strangers_command_is_listed_and_runs_and_replaces_none_of_ours(site: Path) -> None:
    told = gs2("--help").stdout
    assert "Play a tournament." in told and told.count("  solve ") == 1
    assert gs2("tournament").stdout == "played\n"
    assert "Refine a strategy" in gs2("solve", "--help").stdout.replace("\n", " ")


def test_a_strangers_experiment_is_imported_when_it_runs(site: Path) -> None:
    assert "Study what is imported late." in gs2("experiment", "--help").stdout
    assert "stranger_later" not in sys.modules
    assert gs2("experiment", "later").stdout == "studied\n"


def test_a_strangers_bench_is_run_shown_and_written(site: Path, tmp_path: Path) -> None:
    assert "Measure how fast HANDS are counted." in gs2("bench", "--help").stdout
    assert "Hands" in gs2("bench", "counting", "3").stdout
    assert as_json("bench", "counting", "3") == {"hands": 3}
    path = tmp_path / "counting.md"
    assert gs2("bench", "counting", "3", "--slowly", "-o", str(path)).exit_code == 0
    text = path.read_text()
    assert text.startswith("# Counting\n\nBy hand.\n\n`gs2 bench counting 3 --slowly`; commit ")
    assert "## Hands\n\n| hands |\n| ---: |\n| 3 |\n" in text
    assert json.loads(path.with_suffix(".json").read_text()) == {"hands": 3}


def test_a_value_that_a_stranger_refuses_is_one_line_and_two_who_add_one_name_are_named(site: Path) -> None:
    assert "stranger" in extending_packages()
    assert one_line("refuse") == "gs2: rounds must be at least 1; got 0; play more"
    install(site, "other", "[gs2.commands]\ntournament = other:tournament\n")
    done = gs2("tournament")
    assert done.exit_code == 2
    assert "other (other:tournament)" in done.stderr and "stranger (stranger:tournament)" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("number",), "must stand for a click command or a Target; got str"),
        (("gone",), "stranger:gone of the package stranger cannot be loaded"),
        (("missing",), "Python finds no package 'stranger_missing'; install stranger again"),
        (("hidden",), "if that hides the package of stranger, run gs2 in another folder"),
        (("bench", "misnamed", "1"), "its entry point must have its name; got 'misnamed'"),
    ],
)
def test_an_addition_that_cannot_be_used_says_why(words: tuple[str, ...], says: str, site: Path) -> None:
    assert says in one_line(*words)
    listed = gs2(*words[:-1], "--help") if words[0] != "bench" else gs2("bench", "--help")
    assert listed.exit_code == 0 and "(not usable:" in listed.stdout


def test_without_packages_that_add_commands_the_help_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gs2.commands.groups.extensions", lambda group: {})
    told = " ".join(gs2("--help").stdout.split())
    assert "bench" not in told and "No installed package adds commands here" in told
    done = gs2("bench", "cfr")
    assert done.exit_code == 2
    assert "no command 'bench'" in done.stderr and "pip install -e ." in " ".join(done.stderr.split())
