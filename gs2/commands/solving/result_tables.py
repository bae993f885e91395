"""What `gs2 solve` prints of a search at an infoset: tables, and words on how far they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gs2.commands.common import number, number_table, stdout

if TYPE_CHECKING:
    from gs2.search.config.search import SearchConfig
    from gs2.search.result import SampleSize, SearchResult

__all__ = ["print_result"]

ROUNDING = 1e-9
"""Payoffs below this are taken for errors of rounding."""


def print_result(
    result: SearchResult, best: tuple[float, float] | None, replaced: int, limit: int | None
) -> None:
    """Print a search result as tables.

    best: the opponent's best-response value in the whole game against the blueprint, and against it with all
    that the search replaces. replaced: at how many infosets. limit: most rows of a table; None shows all.
    """
    out = stdout()

    config = result.config
    out.print(f"[bold]{result.game}[/bold]   {result.infoset}   [dim]player {result.player} to act[/dim]\n")
    actions = number_table("action", "blueprint", "refined", "", "value")
    for row in result.actions:
        change = row.refined - row.blueprint
        actions.add_row(
            row.action,
            f"{row.blueprint:.4f}",
            f"[bold]{row.refined:.4f}[/bold]",
            f"{change:+.4f}" if abs(change) >= 5e-5 else "",
            "–" if row.q is None else _payoff(row.q) + _error(row.error),
        )
    out.print(actions)
    out.print(
        "[dim]value of the infoset against the opponent's blueprint: "
        f"{_payoff(result.blueprint_value)}{_error(result.blueprint_value_error)} before, "
        f"{_payoff(result.value)}{_error(result.value_error)} after"
        f"{'; ± one standard error' * (result.value_error is not None)}[/dim]\n",
        soft_wrap=True,
    )

    out.print(
        f"[bold]Histories[/bold]: {result.histories_considered:,} considered, "
        f"{result.histories_generated:,} generated, {result.histories_kept:,} kept"
    )
    histories = number_table("history", "reach", "opponent's", "alternative", "kept")
    for told in sorted(result.histories, key=lambda told: (not told.generated, not told.kept))[:limit]:
        how = "generated" if told.generated else "completes" if told.kept else ""
        histories.add_row(
            told.history,
            f"{told.reach:.4f}",
            f"{told.opponent_reach:.4f}",
            _payoff(told.alternative),
            how + (", frozen" if told.frozen else ""),
        )
    out.print(histories)
    _print_rest(result.histories_considered, limit)

    if result.margins:
        out.print("\n[bold]Opponent infosets[/bold]: value to the opponent, before (alternative) and after")
        opponents = number_table("infoset", "alternative", "solved", "margin")
        there = [row for row in result.opponents if row.margin is not None]
        for seen in there[:limit]:
            assert seen.solved is not None and seen.margin is not None
            opponents.add_row(
                seen.infoset, _payoff(seen.alternative), _payoff(seen.solved), _payoff(seen.margin)
            )
        out.print(opponents)
        _print_rest(result.opponents_kept, limit)

    if config.solve.solver == "mirror-descent":
        out.print(f"\n[bold]Step[/bold]: {_step_words(result, config)}", soft_wrap=True)
    else:
        out.print(
            f"\n[bold]Subgame[/bold]: {result.nodes:,} nodes, {result.infosets:,} infosets; "
            f"{config.name} by {config.gadget.kind} gadget, {config.solve.variant}, "
            f"{result.iterations} iterations, gap {number(result.gap, 6)}",
            soft_wrap=True,
        )
    if 0 < result.anchor < 1:
        out.print(f"anchored: {result.anchor:.2f} of the subgame's strategy, the rest the blueprint's")
    for note in result.cut_off:
        out.print(f"- {note}", soft_wrap=True)
    if best is not None:
        _print_whole_game(best, replaced)
    elif result.sampled is not None:
        _print_sample(result.sampled, result.config)
    elif result.seats is not None:
        who = " and ".join(map(str, result.seats))
        out.print(f"[bold]Deciding seats[/bold]: {who}; the others play the blueprint")
    else:
        out.print("[bold]Public tree[/bold]: every pair of private states counts, and values are exact")
    times = "  ".join(f"{stage} {1000 * seconds:.1f}" for stage, seconds in result.seconds.items())
    out.print(f"[dim]milliseconds: {times}[/dim]", soft_wrap=True)


def _step_words(result: SearchResult, config: SearchConfig) -> str:
    """Return what a step that solves no subgame does, in words."""
    depth = config.subgame.depth
    if result.sampled is not None and depth is not None:
        how = f"values by {config.subgame.leaf} after {depth} action" + "s" * (depth > 1)
    elif config.solve.robust:
        how = "gains against three answers of the opponent"
    else:
        how = "against the opponent's own step" if config.solve.extragradient else "no answer of the opponent"
    return f"{config.name}, one of mirror descent, no subgame; {how}"


def _payoff(value: float, digits: int = 4) -> str:
    """Return a payoff, or a difference of two, in words; what rounding leaves of nothing is nothing."""
    return number(0.0 if abs(value) < ROUNDING else value, digits, signed=True)


def _error(error: float | None) -> str:
    """Return what stands behind a payoff that hangs on luck."""
    return "" if error is None else f" ± {error:.4f}"


def _print_sample(size: SampleSize, config: SearchConfig) -> None:
    """Say how much of the game a result speaks for."""
    drawn = (
        f"{size.histories:,} histories of the infoset (effective {size.effective:.1f}) at {size.opponents:,} "
        f"opponent infosets, {size.drawn:,} histories of these"
        f"{f', {size.games:,} games played from each leaf' * (size.games > 0)}"
    )
    if size.complete:
        words = "all there are, so that values are exact up to the depth and the leaves"
    elif config.safety.certificate == "none":
        words = "nothing is certified; another seed draws others, and shows how far the answer hangs on them"
    elif config.safety.certificate == "statistical":
        words = (
            f"games from histories drawn anew judge the answer, against {config.safety.against}; what other "
            "opponents gain is not known"
        )
    else:
        words = "none of the opponent infosets drawn gains; of others it is only likely"
    stdout().print(f"[bold]Sample[/bold]: {drawn}; {words}", soft_wrap=True)


def _print_whole_game(best: tuple[float, float], replaced: int) -> None:
    """Say what the opponent's best response in the whole game wins."""
    covers = "this infoset" if replaced == 1 else f"the {replaced} infosets that this search covers"
    stdout().print(
        f"[bold]Whole game[/bold]: the opponent's best response wins {_payoff(best[0], 6)} "
        "against the blueprint, "
        f"{_payoff(best[1], 6)} with {covers} refined "
        f"({_payoff(best[1] - best[0], 6)})",
        soft_wrap=True,
    )


def _print_rest(total: int, limit: int | None) -> None:
    if limit is not None and total > limit:
        stdout().print(f"[dim]… and {total - limit:,} more; --all-rows shows them[/dim]")
