"""`gs2 gate`: a checkpoint replaces another, of any game, only if it is better beyond doubt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import Interruption
from gs2.commands.common import CORES, COUNT, ON, OUTPUT_FILE, SEED, number, print_json, stderr, stdout
from gs2.wings import FIRST

if TYPE_CHECKING:
    from gs2.play.arena import GateResult

MOST = 8000
"""Pairs of games at most by default."""


def _enough(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Return a number of deals; one on which nothing could be decided is refused."""
    from games.support.bootstrap import ENOUGH

    if value is not None and value < ENOUGH:
        raise click.BadParameter(f"must be at least {ENOUGH}: nothing is decided on fewer deals; got {value}")
    return value


@click.command()
@click.argument("candidate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--against", help="Agent that it must beat.  [default: the shipped network]")
@click.option("--game", "text", help="Game string.  [default: what the candidate was trained on]")
@click.option("--pairs", type=COUNT, callback=_enough, help="Most deals, each played twice.  [default: 8000]")
@click.option(
    "--batch", type=COUNT, callback=_enough, default=1000, show_default=True, help="Deals between two looks."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the cards.")
@click.option("--processes", type=CORES, help="Number of processes.  [default: all cores]")
@ON
@click.option(
    "--export", "target", type=OUTPUT_FILE, help="Write the candidate there for inference, if it is better."
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help="Deals played, to write or resume.  [default: a file in runs, named by what plays]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def gate(candidate: Path, against: str | None, text: str | None, as_json: bool, **how: Any) -> None:
    """Decide whether a checkpoint is better than the shipped one beyond doubt.

    CANDIDATE plays duplicate deals against the shipped network. After 100 deals or more, the match stops as
    soon as an interval excludes zero: that of net levels a round, or of payoffs a game. It is corrected for
    repeated looks. Exit code 0 means better, 1 worse or undecided.
    A file keeps the deals. After Ctrl-C or a kill, the same command continues from it, even if the candidate
    was moved.
    """
    from blueprint.networks import check_export, export_checkpoint
    from games.registry import game_string, load_game
    from gs2.play.arena import Arena, Meeting, contest_of
    from gs2.play.arena import gate as decide

    game = load_game(text or _trained_on(candidate), general_sum=True)
    name, contest = game_string(text or game.name, game), contest_of(game)
    against = against or contest.shipped
    target, output, seed = how["target"], how["output"], how["seed"]
    pairs = how["pairs"] or MOST
    for agent in (against, str(candidate)):
        contest.check(agent, seed)
    if target is not None:
        check_export(candidate)
        _check_target(target, candidate)
    place = how["on"].with_count(how["processes"])

    def progress(look: GateResult) -> None:
        stderr().print(f"{look.pairs} deals: {_words(look)} {contest.unit}")

    with _copied(candidate) as copy, tempfile.TemporaryDirectory() as folder:
        if output is None:
            mine, theirs = contest.identity(copy, named=False), contest.identity(against)
            output = _kept_deals(f"{name} {mine} {against} {theirs} {seed}")
        meeting = Meeting(name, copy, against, pairs, seed, called=str(candidate))
        with Interruption() as asked, Arena(contest, place) as arena:
            deals = output or Path(folder) / "deals.jsonl"
            batch = min(how["batch"], pairs)
            look = decide(meeting, batch=batch, output=deals, arena=arena, progress=progress, stop=asked)
        if look.verdict == "stopped":
            hint = f"; the same command continues from {output}, with the same {candidate}" if output else ""
            stderr().print(f"interrupted after {look.pairs} deals looked at{hint}")
            raise SystemExit(asked.exit_code)
        found = {
            "verdict": look.verdict,
            "against": against,
            "net": look.net,
            "low": look.low,
            "high": look.high,
            "deals": look.pairs,
            "seed": seed,
        }
        if target is not None and look.verdict == "better":
            export_checkpoint(copy, target, notes={"gate": found})
            found["exported"] = str(target)
    if as_json:
        print_json(found)
    else:
        stdout().print(f"{look.verdict}: {_words(look)} {contest.unit}, {look.pairs} deals against {against}")
        if "exported" in found:
            stdout().print(f"exported to {target}")
    if look.verdict != "better":
        raise SystemExit(1)


def _words(look: GateResult) -> str:
    """Return the mean and its interval."""
    net, low, high = (number(value, 3, sign="+") for value in (look.net, look.low, look.high))
    return f"{net} [{low}, {high}]"


@contextmanager
def _copied(candidate: Path) -> Iterator[str]:
    """Yield where a copy of the candidate lies: a training may replace the file while the copy is gated."""
    from games.support.files import read_bytes, write_bytes

    with tempfile.TemporaryDirectory(prefix="gs2-gate-") as folder:
        copy = Path(folder) / candidate.name
        write_bytes(copy, read_bytes(candidate))
        yield str(copy)


def _check_target(target: Path, candidate: Path) -> None:
    """Raise CheckpointError where an export would replace a file that is no checkpoint, or the candidate."""
    from blueprint.checkpoint import CheckpointError, check_beside, read_checkpoint

    if target.exists():
        read_checkpoint(target, prefix="-")
        if target.samefile(candidate):
            raise CheckpointError(f"--export {target}: the candidate trains on from there; name another file")
    check_beside(target)


def _trained_on(candidate: Path) -> str:
    """Return the game of a checkpoint; of what is none, the first game, whose loader says what is wrong.

    Raises UsageError for one's own game, of which a checkpoint has the name alone.
    """
    from blueprint.checkpoint import CheckpointError, read_checkpoint
    from blueprint.networks import game_of
    from games.registry import is_game_name

    try:
        name = game_of(read_checkpoint(candidate, prefix="-")[1])
    except CheckpointError:
        return FIRST
    if not is_game_name(name):
        raise click.UsageError(f"--game must say where {name} lies, for which {candidate} is: FILE.py:NAME")
    return name


def _kept_deals(which: str) -> Path | None:
    """Return where a gate keeps its deals, by what plays whom on which cards; None where that cannot be."""
    import hashlib

    from games.support.files import FileProblem, check_folder, check_output

    output = Path("runs") / f"gate-{hashlib.sha256(which.encode()).hexdigest()[:12]}.jsonl"
    try:
        check_folder(output.parent)
        check_output(output)
    except FileProblem as error:
        stderr().print(f"the deals are not kept: {error}")
        return None
    return output
