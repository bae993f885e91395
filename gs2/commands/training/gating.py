"""`gs2 gate`: a checkpoint replaces another, of GuanDan or of any game, only if it is better beyond doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gs2.commands.common import CORES, COUNT, ON, OUTPUT_FILE, SEED, Interruption, print_json, stderr, stdout

__all__ = ["gate"]

GUANDAN = "guandan"


@dataclass(frozen=True)
class Look:
    """What a gate has seen so far, of either kind. deals: duplicate deals, or pairs of games."""

    verdict: str
    net: float
    low: float
    high: float
    deals: int

    def words(self) -> str:
        """Return the mean and its interval."""
        return f"{self.net:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@dataclass(frozen=True)
class Gate:
    """What is asked: who plays whom, on how many deals, looked at how often, and where.

    candidate: the copy that plays. called: its name as it was typed.
    """

    candidate: str
    called: str
    against: str
    rounds: int
    batch: int
    seed: int
    place: Any
    output: Path | None


def _enough(ctx: click.Context, param: click.Parameter, value: int) -> int:
    """Return a number of deals; one on which nothing could be decided is refused."""
    from games.support.bootstrap import ENOUGH

    if value < ENOUGH:
        raise click.BadParameter(f"must be at least {ENOUGH}: nothing is decided on fewer deals; got {value}")
    return value


@click.command()
@click.argument("candidate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--against",
    help="Agent that it must beat.  [default: the shipped network]",
)
@click.option("--game", "text", help="Game string.  [default: what the candidate was trained on]")
@click.option("--rounds", type=COUNT, callback=_enough, default=8000, show_default=True, help="Most deals.")
@click.option(
    "--batch", type=COUNT, callback=_enough, default=1000, show_default=True, help="Deals between two looks."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the cards.")
@click.option("--processes", type=CORES, help="Number of processes.  [default: all cores]")
@ON
@click.option(
    "--export",
    "target",
    type=OUTPUT_FILE,
    help="Write the candidate there for inference, if it is better.",
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
    soon as an interval excludes zero: that of net levels a round at GuanDan, of payoffs a game elsewhere. It
    is corrected for repeated looks. Exit code 0 means better, 1 worse or undecided.
    A file keeps the deals. After Ctrl-C or a kill, the same command continues from it, even if the candidate
    was moved.
    """
    from blueprint.inference_file import check_export, export_checkpoint

    name = text or _trained_on(candidate)
    guandan = name.strip().lower() == GUANDAN
    against = against or ("blueprint" if guandan else "network")
    decide, told_by = (_guandan if guandan else _any_game)(name, str(candidate), against)
    target, output = how["target"], how["output"]
    if target is not None:
        check_export(candidate)
        _check_target(target, candidate)
    unit = "levels a round" if guandan else "a game"
    place = how["on"].with_count(how["processes"])
    rounds = how["rounds"]

    def progress(look: Look) -> None:
        stderr().print(f"{look.deals} deals: {look.words()} {unit}")

    with _copied(candidate) as copy:
        if output is None:
            output = _kept_deals(f"{told_by(copy)} {how['seed']}")
        batch = min(how["batch"], rounds)
        asked_for = Gate(copy, str(candidate), against, rounds, batch, how["seed"], place, output)
        with Interruption() as asked:
            look = decide(asked_for, progress, asked)
        if look.verdict == "stopped":
            hint = f"; the same command continues from {output}, with the same {candidate}" if output else ""
            stderr().print(f"interrupted after {look.deals} deals looked at{hint}", soft_wrap=True)
            raise SystemExit(asked.exit_code)
        found = {
            "verdict": look.verdict,
            "against": against,
            "net": look.net,
            "low": look.low,
            "high": look.high,
            "deals": look.deals,
            "seed": how["seed"],
        }
        if target is not None and look.verdict == "better":
            export_checkpoint(copy, target, notes={"gate": found})
            found["exported"] = str(target)
    if as_json:
        print_json(found)
    else:
        net = f"{look.net:+.3f} {unit} [{look.low:+.3f}, {look.high:+.3f}]"
        stdout().print(f"{look.verdict}: {net}, {look.deals} deals against {against}")
        if "exported" in found:
            stdout().print(f"exported to {target}")
    if look.verdict != "better":
        raise SystemExit(1)


Decide = Callable[[Gate, Callable[[Look], None], Interruption], Look]
"""Plays until it is clear, telling of every look; may be stopped."""
ToldBy = Callable[[str], str]
"""Returns what tells a candidate and whom it meets from others, from where the candidate lies."""


@contextmanager
def _copied(candidate: Path) -> Iterator[str]:
    """Yield where a copy of the candidate lies: a training may replace the file while the copy is gated."""
    import tempfile

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
    """Return the game of a checkpoint; of what is none, GuanDan, whose loader says what is wrong."""
    from blueprint.checkpoint import CheckpointError, read_checkpoint

    try:
        return str(read_checkpoint(candidate, prefix="-")[1].get("game", GUANDAN))
    except CheckpointError:
        return GUANDAN


def _guandan(name: str, candidate: str, against: str) -> tuple[Decide, ToldBy]:
    """Return how GuanDan's agents are gated, and what tells these two from others."""
    from gs2.guandan.named_agents import NamedAgents, check_agent, fingerprint

    check_agent(against)
    check_agent(candidate)

    def decide(asked_for: Gate, progress: Callable[[Look], None], stop: Interruption) -> Look:
        from blueprint.guandan.arena.arena import Arena, ArenaConfig
        from blueprint.guandan.arena.gate import Challenge, GateResult
        from blueprint.guandan.arena.gate import gate as decide_levels

        def look(found: GateResult) -> Look:
            return Look(found.verdict, found.net, found.low, found.high, len(found.payoffs))

        rounds, config = asked_for.rounds, ArenaConfig(seed=asked_for.seed)
        who = (asked_for.candidate, against)
        with Arena(NamedAgents(), asked_for.place) as arena:
            result = decide_levels(
                arena,
                Challenge(*who, asked_for.batch, rounds, config=config, called=asked_for.called),
                output=asked_for.output,
                progress=lambda found: progress(look(found)),
                stop=stop,
            )
        return look(result)

    return decide, lambda copy: f"{fingerprint(copy)} {against} {fingerprint(against)}"


def _any_game(name: str, candidate: str, against: str) -> tuple[Decide, ToldBy]:
    """Return how agents of any other game are gated, and what tells these two from others."""
    from games.registry import load_game
    from gs2.play.agent_names import agent_identity, load_game_agent

    game = load_game(name, general_sum=True)
    for agent in (candidate, against):
        load_game_agent(game, agent)

    def decide(asked_for: Gate, progress: Callable[[Look], None], stop: Interruption) -> Look:
        import tempfile

        from gs2.play.game_arena import Meeting
        from gs2.play.game_gate import GameChallenge, GameVerdict, gate_game

        def look(found: GameVerdict) -> Look:
            return Look(found.verdict, found.net, found.low, found.high, found.pairs)

        pairs, seed, called = asked_for.rounds, asked_for.seed, asked_for.called
        meeting = Meeting(name, asked_for.candidate, against, pairs, seed, called=called)
        with tempfile.TemporaryDirectory() as folder:
            result = gate_game(
                GameChallenge(meeting, asked_for.batch),
                output=asked_for.output or Path(folder) / "deals.jsonl",
                game=game,
                processes=asked_for.place,
                progress=lambda found: progress(look(found)),
                stop=stop,
            )
        return look(result)

    def told_by(copy: str) -> str:
        mine = agent_identity(copy, game.name, named=False)
        return " ".join((name, mine, against, agent_identity(against, game.name)))

    return decide, told_by


def _kept_deals(which: str) -> Path | None:
    """Return where a gate keeps its deals, by what plays whom on which cards; None where that cannot be."""
    import hashlib

    from games.support.files import FileProblem, check_folder, check_output

    output = Path("runs") / f"gate-{hashlib.sha256(which.encode()).hexdigest()[:12]}.jsonl"
    try:
        check_folder(output.parent)
        check_output(output)
    except FileProblem as error:
        stderr().print(f"the deals are not kept: {error}", soft_wrap=True)
        return None
    return output
