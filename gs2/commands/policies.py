"""`gs2 blueprint` and `gs2 exploitability`: strategies for whole games, computed and measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    GAME,
    NEW_FILE,
    POSITIVE,
    Interruption,
    memory_option,
    number,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.progress import Lines, working

if TYPE_CHECKING:
    from cfr.solver import Solver
    from games.game import Game

__all__ = ["blueprint", "exploitability"]

SAVE_EVERY = 8.0
"""Seconds between saves of a run in progress; the end of the iteration under way comes on top."""
SAVE_SHARE = 0.2
"""Most of the time that goes into saves: where one takes long, they come less often."""
LISTEN_EVERY = 0.2
"""Seconds of iterations between looks at the clock and at signals."""


@click.command()
@click.argument("game", type=GAME)
@click.option(
    "--variant",
    default="dcfr",
    show_default=True,
    help="CFR variant: cfr, cfr+, lcfr, dcfr, pcfr+, dcfr+ or pdcfr+.",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help="Stop after this many iterations in all.  [default: 1000]",
)
@click.option("--target", type=POSITIVE, help="Stop at this exploitability, in payoffs.")
@click.option("--seconds", type=POSITIVE, help="Stop after this many seconds.")
@click.option("-o", "--output", type=NEW_FILE, help="Policy file to write or resume.")
@click.option("--fresh", is_flag=True, help="Start over even if the output holds an unfinished run.")
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
    as_json: bool,
) -> None:
    """Compute a strategy for the whole of GAME by counterfactual regret minimisation.

    The output holds the average policy and the state of the run, and is saved every few seconds. The same
    command with more iterations goes on exactly where the file stopped, even after an interruption. If its
    name ends in .json, the file holds the policy in words for other programs, as
    {infoset: {action: probability}}, and cannot be resumed.
    """
    from cfr.policy import PolicyError, load_policy, load_state, save_policy, tabular_policy
    from cfr.policy_words import policy_words, save_policy_json
    from cfr.sequence_form import sequence_form
    from cfr.solver import Solver
    from cfr.tree import grow
    from cfr.variants import variant as variant_row
    from games.support.locks import hold

    row = variant_row(variant)
    in_words = output is not None and output.suffix == ".json"
    if in_words and output is not None and output.exists() and not fresh:
        raise PolicyError(f"{output}: a JSON policy holds no run to resume; use --fresh to replace it")
    if output is not None:
        click.get_current_context().with_resource(hold(output))
    tree = grow(game, keep_states=in_words)
    words = policy_words(game, tree) if in_words else None
    form = sequence_form(tree)
    solver = Solver(form, row)
    console = stderr()
    if output is not None and output.exists() and not fresh:
        load_policy(output, game.name)
        state = load_state(output)
        if state is None:
            raise PolicyError(f"{output}: it holds a policy but no run to resume; use --fresh to replace it")
        solver.load_state_dict(state)
        console.print(f"resuming {output} at iteration {solver.iteration:,}")
    last = iterations if iterations is not None else (None if target or seconds else 1000)

    def save() -> None:
        if output is not None:
            note = f"{row.name}, {solver.iteration} iterations"
            policy = tabular_policy(game.name, tree, solver.average_policy(), note)
            if words is not None:
                save_policy_json(output, policy, tree, words)
                return
            save_policy(output, policy, solver.state_dict())

    save()  # before the work: an unwritable place is better known now
    began = time.perf_counter()
    with Interruption() as asked:
        stopped = _advance(solver, last, target, seconds, save, asked)
        save()
    value, best = solver.evaluate()
    result: dict[str, Any] = {
        "game": game.name,
        "variant": row.name,
        "iterations": solver.iteration,
        "stopped": stopped,
        "seconds": time.perf_counter() - began,
        "value": value,
        "best_response": list(best),
        "nash_conv": sum(best),
        "exploitability": sum(best) / 2,
        "file": str(output) if output else None,
    }
    if as_json:
        print_json(result)
    else:
        out = stdout()
        out.print(
            f"{game.name}: {row.name}, {solver.iteration:,} iterations in {result['seconds']:.2f} s "
            f"(stopped by {stopped})"
        )
        out.print(
            f"value {number(value, 6)} to player 0, exploitability {number(sum(best) / 2, 6)} (NashConv / 2)"
        )
        if in_words:
            out.print(f"written to {output}, in words")
        elif output:
            out.print(f"written to {output}; run the command again with more --iterations to go on")
    if stopped == "interruption":
        raise SystemExit(asked.exit_code)


def _advance(
    solver: Solver,
    last: int | None,
    target: float | None,
    seconds: float | None,
    save: Callable[[], None],
    asked: Interruption,
) -> str:
    """Run the solver to its first limit, with a live line and regular saves; return what stopped it."""
    from rich.live import Live
    from rich.text import Text

    began = saved = time.perf_counter()
    line = Lines()
    pause = SAVE_EVERY
    pace = 0.0
    with Live(console=stderr(), transient=True, refresh_per_second=8) as live:
        while last is None or solver.iteration < last:
            look = solver.iteration + max(10, solver.iteration // 20)
            look = look if last is None else min(look, last)
            while solver.iteration < look and not asked.stop:
                before, at = solver.iteration, time.perf_counter()
                solver.run(max(1, min(look - before, int(pace * LISTEN_EVERY))))
                now = time.perf_counter()
                pace = (solver.iteration - before) / max(now - at, 1e-9)
                if seconds is not None and now - began >= seconds:
                    break
                if now - saved >= pause:
                    save()
                    saved = time.perf_counter()
                    pause = max(SAVE_EVERY, (saved - now) / SAVE_SHARE)
            if asked.stop:
                return "interruption"
            exploitability = solver.exploitability()
            now = time.perf_counter()
            told = (
                f"{solver.variant.name}  iteration {solver.iteration:,}"
                f"  exploitability {number(exploitability, 6)}  {now - began:.1f} s"
            )
            live.update(Text(told))
            if not live.console.is_terminal:
                line(told)
            if target is not None and exploitability <= target:
                return "target"
            if seconds is not None and now - began >= seconds:
                return "time"
    return "iterations"


@click.command()
@click.argument("game", type=GAME)
@click.argument("policy")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def exploitability(game: Game, policy: str, as_json: bool) -> None:
    """Measure POLICY on GAME exactly: its value, each player's best response, NashConv, exploitability.

    POLICY is a file written by `gs2 blueprint`, or a name such as uniform, cfr:100 or noise:0.25.
    """
    from cfr.best_response import best_response_values, expected_value
    from cfr.sequence_form import sequence_form
    from cfr.tree import grow
    from gs2.policies.policy_spec import policy_from_spec

    with working(f"growing {game.name} …") as tell:
        tree = grow(game, keep_states=policy.endswith(".safetensors"))  # a network is asked at states
        form = sequence_form(tree)
        tell(f"computing {policy} …")
        probs = policy_from_spec(policy, game, tree, form)
        value = expected_value(form, probs)
        best = best_response_values(form, probs)
    result = {
        "game": game.name,
        "policy": policy,
        "value": value,
        "best_response": list(best),
        "nash_conv": sum(best),
        "exploitability": sum(best) / 2,
        "payoff_range": list(game.payoff_range),
    }
    if as_json:
        print_json(result)
        return
    low, high = game.payoff_range
    out = stdout()
    out.print(f"{game.name}: {policy}   (payoffs {low:g} to {high:g}, perfect recall checked)")
    out.print(f"  value to player 0                    {value: .6f}")
    for player in (0, 1):
        out.print(f"  best response of player {player}            {best[player]: .6f}")
    out.print(f"  NashConv (sum of best responses)     {sum(best): .6f}")
    out.print(f"  exploitability (NashConv / 2)        {sum(best) / 2: .6f}")
