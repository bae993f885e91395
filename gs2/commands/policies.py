"""`gs2 blueprint` and `gs2 exploitability`: strategies for whole games, computed and measured."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import Interruption
from gs2.commands.common import (
    ANY_GAME,
    CORES,
    COUNT,
    OUTPUT_FILE,
    POSITIVE,
    lock_options,
    memory_option,
    number,
    policy_file,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.progress import working

if TYPE_CHECKING:
    from games.game import Game
    from gs2.policies.runs import LockChoice, SolverRun

FORMS = {"public": "on the public tree", "private": "on private moves"}
SAVE_EVERY = 8.0
"""Seconds between saves of a run in progress; the end of the iteration under way comes on top."""
LISTEN_EVERY = 0.2
"""Seconds of iterations between looks at the clock and at signals."""


@click.command()
@click.argument("game", type=ANY_GAME)
@click.option(
    "--variant",
    default="dcfr",
    show_default=True,
    help="CFR variant: cfr, cfr+, lcfr, dcfr, pcfr+, dcfr+ or pdcfr+.",
)
@click.option("--iterations", type=COUNT, help="Stop after this many iterations in all.  [default: 1000]")
@click.option("--target", type=POSITIVE, help="Stop at this exploitability, in payoffs.")
@click.option("--seconds", type=POSITIVE, help="Stop after this many seconds.")
@click.option(
    "-o", "--output", type=OUTPUT_FILE, callback=policy_file, help="Policy file to write or resume."
)
@click.option("--fresh", is_flag=True, help="Start over even if the output holds an unfinished run.")
@click.option(
    "--form",
    type=click.Choice(("auto", "listed", "public", "private")),
    default="auto",
    show_default=True,
    help="What to solve: the listed game, the public tree of a game that deals its secrets at the start, or "
    "the private moves of a phantom game; auto takes the listed game if it fits into memory, and otherwise "
    "the other form that the game has.",
)
@click.option(
    "--precision",
    type=click.Choice(("16", "32", "64")),
    help="Bits of a regret and of a sum of the average in the public form; 16 round at random.  "
    "[default: 64, or 32 where that alone fits]",
)
@click.option(
    "--bits",
    type=click.Choice(("16", "32")),
    help="Bits of a probability in a public policy file.  [default: 32]",
)
@click.option("--threads", type=CORES, help="Threads in the public and private forms.  [default: all cores]")
@lock_options
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def blueprint(
    game: Game,
    variant: str,
    iterations: int | None,
    target: float | None,
    seconds: float | None,
    output: Path | None,
    fresh: bool,
    form: str,
    lock: LockChoice | None,
    as_json: bool,
    **public: Any,
) -> None:
    """Compute a strategy for the whole of GAME by counterfactual regret minimisation.

    The output holds the average policy and the state of the run, and is saved every few seconds. The same
    command with more iterations continues exactly where the file stopped, even after an interruption. A .json
    file holds the policy in words for other programs, as {infoset: {action: probability}}, and cannot be
    resumed.

    The public form takes games as large as liars_dice(dice=2,sides=6). It keeps the state of the run in a
    second file, OUTPUT.run, and writes the policy when the command ends. The private form takes phantom_ttt
    and dark_hex.

    --lock solves the rest of the game around a fixed part. The policy includes that part; its exploitability
    is that of the locked game, in which nobody can deviate there.
    """
    from cfr.policies.policy import PolicyError
    from cfr.private_moves.solver import is_private_run
    from cfr.tree import grow
    from cfr.tree.memory import TooLarge
    from cfr.variants import variant as variant_row
    from games.infosets.factored import FactoredGame
    from games.infosets.private_moves import PrivateMovesGame
    from games.support.locks import hold
    from gs2.policies.profile_worth import shifted
    from gs2.policies.runs import ListedRun, PrivateRun, PublicRun, Settings, is_public_output

    row = variant_row(variant)
    if lock is not None:
        if form in ("public", "private"):
            raise click.UsageError("--lock fixes infosets of a listed game; use --form listed")
        form = "listed"
    in_words = output is not None and output.suffix == ".json"
    if in_words and output is not None and output.exists() and not fresh:
        raise PolicyError(f"{output}: a JSON policy holds no run to resume; use --fresh to replace it")
    if output is not None:
        click.get_current_context().with_resource(hold(output))
    if iterations is None and target is None and seconds is None:
        iterations = 1000
    if output is not None and is_public_output(output):
        if form == "listed" and not fresh:
            raise PolicyError(f"{output}: its run is on the public tree; use --form public, or --fresh")
        form = "public" if form == "auto" else form
    if output is not None and not fresh and is_private_run(output):
        if form in ("listed", "public"):
            raise PolicyError(f"{output}: its run is on private moves; use --form private, or --fresh")
        form = "private"
    if form in ("public", "private") and in_words:
        raise click.UsageError(
            "a JSON policy needs the listed form; name another output, or take --form listed"
        )
    tree = None
    if form in ("auto", "listed"):
        try:
            tree = grow(game, keep_states=in_words or lock is not None)
        except TooLarge:
            private = isinstance(game, PrivateMovesGame)
            if form == "listed" or in_words or not (private or isinstance(game, FactoredGame)):
                raise
            form = "private" if private else "public"
    precision, bits = (public[name] and int(public[name]) for name in ("precision", "bits"))
    settings = Settings(precision, bits or 32, public["threads"], fresh, lock)
    run: SolverRun[Any]
    if tree is not None:
        if any(value is not None for value in public.values()):
            raise click.UsageError(
                "--precision, --bits and --threads need the public form; add --form public"
            )
        run = ListedRun.begin(game, row, tree, settings, output)
    else:
        if form == "private" and (precision or bits):
            raise click.UsageError("--precision and --bits need the public form; leave them out")
        with working(f"growing the {form} form of {game.name} …"):
            begin = PrivateRun.begin if form == "private" else PublicRun.begin
            run = begin(game, row, settings, output)
    if run.notice:
        stderr().print(run.notice)
    if run.resumed:
        stderr().print(f"resuming {run.run_file} at iteration {run.iteration:,}")
    began = time.perf_counter()
    with Interruption() as asked:
        stopped = _advance(run, row.name, asked, last=iterations, target=target, seconds=seconds)
        with working("saving …") as tell:
            run.finish(tell)
    result = {
        "game": game.name,
        "form": run.form,
        "variant": row.name,
        "iterations": run.iteration,
        "stopped": stopped,
        "seconds": time.perf_counter() - began,
        **run.worth(),
        **shifted(game),
        "file": str(output) if output else None,
        **run.about,
    }
    _print_result(result, as_json)
    if output and not as_json:
        again = "; run the command again with more --iterations to continue"
        beside = "" if run.run_file == output else f" from {run.run_file}, or delete that"
        how = ", in words" if in_words else again + beside
        stdout().print(f"written to {output}{how}")
    if stopped == "interruption":
        raise SystemExit(asked.exit_code)


def _print_result(result: dict[str, Any], as_json: bool) -> None:
    """Print what a run came to."""
    from gs2.policies.profile_worth import shift_line

    if as_json:
        print_json(result)
        return
    out = stdout()
    how = f"{result['variant']} {FORMS.get(result['form'], '')}".rstrip()
    out.print(
        f"{result['game']}: {how}, {result['iterations']:,} iterations in "
        f"{result['seconds']:.2f} s (stopped by {result['stopped']})"
    )
    out.print(
        f"value {number(result['value'], 6)} to player 0, exploitability "
        f"{number(result['exploitability'], 6)} (NashConv / 2)"
    )
    if "locked" in result:
        out.print(f"locked infosets: {result['locked']:,}; the figures are of the locked game")
    if "meaning" in result:
        out.print(f"a seat could gain {number(result['mean_gain'], 6)} on average: {result['meaning']}")
    if "shift" in result:
        out.print(shift_line(result))


def _advance(
    run: SolverRun[Any],
    name: str,
    asked: Interruption,
    *,
    last: int | None,
    target: float | None,
    seconds: float | None,
) -> str:
    """Take a run to its first limit, with a live line and regular saves; return what stopped it.

    last: iterations in all. target: exploitability, in payoffs. seconds: of this call.
    """
    began = saved = time.perf_counter()
    pause = SAVE_EVERY
    pace = 0.0
    with working(f"{name}: the first iterations …") as tell:
        if target is not None and run.resumed and run.exploitability() <= target:
            return "target"
        while last is None or run.iteration < last:
            look = run.iteration + max(10, run.iteration // 20)
            look = look if last is None else min(look, last)
            while run.iteration < look and not asked.stop:
                before, at = run.iteration, time.perf_counter()
                run.run(max(1, min(look - before, int(pace * LISTEN_EVERY))))
                now = time.perf_counter()
                pace = (run.iteration - before) / max(now - at, 1e-9)
                if seconds is not None and now - began >= seconds:
                    break
                if now - saved >= pause:
                    run.save()
                    saved = time.perf_counter()
                    pause = max(SAVE_EVERY, (saved - now) / run.saving)
            if asked.stop:
                return "interruption"
            exploitability = run.exploitability()
            now = time.perf_counter()
            found = f"iteration {run.iteration:,}  exploitability {number(exploitability, 6)}"
            tell(f"{name}  {found}  {now - began:.1f} s")
            if target is not None and exploitability <= target:
                return "target"
            if seconds is not None and now - began >= seconds:
                return "time"
    return "iterations"


@click.command()
@click.argument("game", type=ANY_GAME)
@click.argument("policy")
@lock_options
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def exploitability(game: Game, policy: str, lock: LockChoice | None, as_json: bool) -> None:
    """Measure POLICY on GAME exactly: its value, each player's best response, NashConv, exploitability.

    POLICY is a file written by `gs2 blueprint`, or a name such as uniform, cfr:100 or noise:0.25. A policy on
    a public tree, or on private moves, is measured there. A name is computed and measured there where the
    listed tree does not fit.
    With --lock it is measured in the locked game: everyone plays as the lock has it, and nobody can deviate
    there.
    """
    from gs2.policies.policy_spec import check_policy_spec, measured, stored_form

    if lock is not None and (form := stored_form(policy)):
        where = {"public": "a public tree", "private": "private moves"}[form]
        raise click.UsageError(f"--lock fixes infosets of a listed game; POLICY is on {where}")
    check_policy_spec(policy)  # a misspelt name or a missing file is reported before the work
    read = None if lock is None else partial(lock.read, game)
    with working(f"growing {game.name} …") as tell:
        found = measured(game, policy, read, tell)
    print_measured(game, policy, found, as_json)


def print_measured(game: Game, policy: str, found: dict[str, Any], as_json: bool) -> None:
    """Print what a strategy is worth exactly, as `gs2.policies.policy_spec.measured` found it."""
    from gs2.policies.profile_worth import shift_line, shifted

    low, high = game.payoff_range
    found |= shifted(game)
    if as_json:
        print_json({"game": game.name, "policy": policy, **found, "payoff_range": [low, high]})
        return
    out = stdout()
    how = FORMS.get(found.get("form", ""), "perfect recall checked")
    out.print(f"{game.name}: {policy}   (payoffs {low:g} to {high:g}, {how})")
    alone = "meaning" in found
    last = "mean gain of a seat" if alone else "exploitability (NashConv / 2)"
    lines = {
        "value to player 0": [found["value"]],
        "values of all players": found["values"] if alone else [],
        **{f"best response of player {seat}": [value] for seat, value in enumerate(found["best_response"])},
        f"NashConv (sum of {'gains' if alone else 'best responses'})": [found["nash_conv"]],
        last: [found["mean_gain" if alone else "exploitability"]],
    }
    for words, values in lines.items():
        if values:
            figures = " ".join(number(value, 6, sign=" ") for value in values)
            out.print(f"  {words:36} {figures}")
    if told := found.get("meaning") or shift_line(found):
        out.print(f"  {told}")
