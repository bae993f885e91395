"""`gs2 games`, `gs2 infosets`, `gs2 knowledge`: what there is to solve, and what each method would solve."""

from __future__ import annotations

import itertools
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    ANY_GAME,
    COUNT,
    GAME,
    SEED,
    CountType,
    bold,
    memory_option,
    number,
    number_table,
    print_json,
    stdout,
)
from gs2.commands.progress import working

if TYPE_CHECKING:
    from games.game import Game, Infoset
    from games.record import ReplayedRound
    from games.size import GameSize

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("text", metavar="[GAME]", required=False)
@click.option(
    "--size", is_flag=True, help="Estimate the size of GAME from a sample, without growing its tree."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the sample that --size draws.")
@click.option("--replay", type=FILE, help="Replay the rounds that gs2 match --records wrote.")
@click.option("--round", "only", type=COUNT, help="Show only this round; all are checked.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print what the tables show as JSON.")
def games(
    text: str | None, size: bool, seed: int, replay: Path | None, only: int | None, as_json: bool
) -> None:
    """List the games, their parameters and sizes. With GAME, grow its tree and count it, or estimate it.

    GAME is a game string such as leduc_poker, "liars_dice(sides=5)", a preset such as
    goofspiel_10_ascending_3, openspiel:NAME where that extra is installed, or gambit:FILE for a file of
    Gambit's. With --replay, print recorded rounds move by move, each checked against the rules.
    """
    if replay is not None:
        if size:
            raise click.UsageError(
                "--size counts a game, --replay plays rounds of it again; give one of them"
            )
        _replay(replay, text, only, as_json)
        return
    if only is not None:
        raise click.UsageError("--round chooses among recorded rounds; give --replay FILE too")
    game = None if text is None else ANY_GAME.convert(text, None, None)
    if size and game is None:
        raise click.UsageError("--size needs a game; try: gs2 games liars_dice --size")
    if game is not None:
        if size or not _describe(game, as_json):
            _estimate(game, seed, as_json)
        return
    from games.registry import PRESETS, RESEARCH_GAMES, game_specs

    specs = game_specs()
    sizes: dict[str, Any] = json.loads((files("games.research") / "research_games.json").read_text())
    if as_json:
        print_json(
            {
                "games": [spec.to_json() for spec in specs],
                "presets": {name: {"game": text, **sizes.get(name, {})} for name, text in PRESETS.items()},
            }
        )
        return
    console = stdout()
    table = number_table(
        "game", "parameter", "is", "default", "meaning", words=5, title="Games", title_justify="left"
    )
    for column in table.columns:
        column.overflow = "fold"
    for spec in specs:
        table.add_row(bold(spec.name), "", "", "", spec.summary)
        for p in spec.parameters:
            table.add_row("", p.name, p.rule, p.format(p.default), p.doc)
    console.print(table)
    console.print()
    heads = ("preset", "histories", "terminals", "infosets", "payoffs", "value", "uniform expl.")
    title = "Research games, by short name (* the six of the paper)"
    table = number_table(*heads, title=title, title_justify="left")
    for name, row in sizes.items():
        low, high = row["payoff_range"]
        table.add_row(
            ("*" if name in RESEARCH_GAMES else " ") + name,
            f"{row['histories']:,}",
            f"{row['terminals']:,}",
            " + ".join(f"{n:,}" for n in row["infosets"]),
            f"{low:g} … {high:g}",
            number(row["value"], 6) if "value" in row else "",
            number(row["uniform_exploitability"]),
        )
    console.print(table)
    console.print(
        "\nvalue: of the game to player 0; uniform expl.: exploitability (NashConv / 2) of uniform play."
        '\nTry: gs2 infosets leduc_poker    gs2 solve    gs2 games "liars_dice(sides=4)"'
    )


def _replay(path: Path, text: str | None, only: int | None, as_json: bool) -> None:
    """Print the rounds of a file, every one of which is checked.

    text: the game that they must be of, None for any. only: the one round to print, from 1; None for all.
    """
    from games.record import replayed_rounds
    from games.registry import load_game

    game = None if text is None else load_game(text, general_sum=True)
    told: list[dict[str, Any]] = []
    count = 0
    for count, found in enumerate(replayed_rounds(path, game, name=text or ""), 1):
        if only not in (None, count):
            continue
        if as_json:
            told.append(_replayed(count, found))
        else:
            _print_round(count, found)
    if only is not None and only > count:
        raise click.UsageError(f"--round must be at most {count}, the rounds of {path}; got {only}")
    if as_json:
        print_json({"file": str(path), "checked": count, "rounds": told})
    else:
        click.echo(f"{count} rounds checked: every move is legal, and the payoffs are the game's.")


def _replayed(place: int, found: ReplayedRound) -> dict[str, Any]:
    moves = [["chance" if move.player < 0 else f"P{move.player}", move.words] for move in found.moves]
    end = found.game.state_text(found.end[0])
    return {"round": place, "line": found.line, **found.record.to_json(), "moves": moves, "end": end}


def _print_round(place: int, found: ReplayedRound) -> None:
    from games.support.files import printable

    record = found.record
    seats = ", ".join(f"P{seat} {printable(name)}" for seat, name in enumerate(record.agents))
    click.echo(f"round {place}: {printable(record.game)}, seed {record.seed}, pair {record.pair}: {seats}")
    if record.start:
        click.echo(f"  {printable(record.start)}")
    started, words = False, []
    for move in found.moves:
        started = started or move.player >= 0
        if started or not record.start:  # what chance did before is told by the start
            words.append(f"({move.words})" if move.player < 0 else f"P{move.player} {move.words}")
    click.echo(f"  {printable(' · '.join(words))}")
    paid = ", ".join(f"P{seat} {payoff + 0.0:+g}" for seat, payoff in enumerate(record.payoffs))
    click.echo(f"  paid {paid}\n")


def _describe(game: Game, as_json: bool) -> bool:
    """Print what a game's tree counts; return False, and print nothing, where it does not fit."""
    import numpy as np

    from cfr.tree import grow
    from cfr.tree.memory import TooLarge
    from games.game import CHANCE

    row: dict[str, Any] = {"game": game.name, "players": game.num_players, "teams": list(game.teams)}
    row |= _told(game)
    try:
        with working(f"growing {game.name} …"):
            tree = grow(game, keep_states=False)
    except TooLarge:
        return False
    row |= {
        "histories": tree.n_nodes,
        "terminals": len(tree.terminal),
        "chance_histories": int((tree.player == CHANCE).sum()),
        "infosets": np.bincount(tree.infoset_player, minlength=game.num_players).tolist(),
        "actions": tree.n_slots,
        "most_actions": int(tree.n_children.max()),
        "depth": len(tree.level_offsets) - 2,
        "payoff_range": [float(end) + 0.0 for end in (tree.returns.min(), tree.returns.max())],
    }
    if getattr(game, "by_observations", False):
        row["infosets_are"] = "what players did and observed; OpenSpiel's strings are missing or forget"
    _print_row(row, as_json)
    return True


def _told(game: Game) -> dict[str, Any]:
    """Return what a game's file says of it, and how its payoffs sum where they do not simply sum to zero."""
    from games.gambit import GambitGame
    from gs2.policies.profile_worth import shift_line, shifted

    told: dict[str, Any] = {}
    if isinstance(game, GambitGame):
        told |= {"title": game.title, "player_labels": list(game.players)}
    if not getattr(game, "zero_sum", True):
        told["payoffs"] = "do not sum to zero: blueprint (CFR without a guarantee) and exploitability take it"
    elif shifted(game):
        told["payoffs"] = shift_line(shifted(game))
    return told


def _estimate(game: Game, seed: int, as_json: bool) -> None:
    from dataclasses import asdict

    import numpy as np

    from cfr.public.public_solver import estimate_public_size
    from cfr.tree.memory import (
        CFR_BYTES,
        CFR_SECONDS,
        SEARCH_BYTES,
        bytes_per_history,
        memory_limit,
        seconds_per_history,
        words_of_bytes,
        words_of_seconds,
    )
    from games.infosets.factored import FactoredGame
    from games.infosets.private_moves import PrivateMovesGame
    from games.size import Count, estimate_size

    # infosets that lie at many depths, as there, would be counted many times
    size = estimate_size(game, seed=seed, infosets=not isinstance(game, PrivateMovesGame))
    if not size.complete:
        _print_large(game, size, as_json)
        return
    limit = memory_limit()
    public = estimate_public_size(game, seed=seed) if isinstance(game, FactoredGame) else None
    growing = seconds_per_history(game, np.random.default_rng(seed)) * size.histories.mean
    iterating = CFR_SECONDS * size.histories.mean
    tree = bytes_per_history(game, keep_states=False)
    each = {"tree_memory": tree, "cfr_memory": max(tree, CFR_BYTES)}
    each["search_memory"] = max(bytes_per_history(game), SEARCH_BYTES)
    if as_json:
        memory = {
            name: {
                "bytes_per_history": b,
                **{k: b * getattr(size.histories, k) for k in ("mean", "low", "high")},
            }
            for name, b in each.items()
        }
        fits = {name: row["mean"] <= limit for name, row in memory.items()}
        about = {} if public is None else {"public": asdict(public)}
        times = {"growth_seconds": growing, "cfr_iteration_seconds": iterating, "limit": limit, "fits": fits}
        print_json({"game": game.name, **_told(game), **size.to_json(), **memory, **times, **about})
        return

    def taken(b: float) -> str:
        count: Count = size.histories
        words = f"{words_of_bytes(b * count.mean)}, {b:.0f} bytes a history"
        between = f", {words_of_bytes(b * count.low)} to {words_of_bytes(b * count.high)}"
        fits = "fits" if b * count.mean <= limit else "does not fit"
        return f"{words}{'' if count.exact else between}; {fits}"

    row: dict[str, Any] = {
        "game": game.name,
        **_told(game),
        **({"counted": "all of it"} if size.exact else {"estimated": f"from a sample, seed {seed}"}),
        "histories": str(size.histories),
        "terminals": str(size.terminals),
        "chance_histories": str(size.chance),
        "infosets": [str(count) for count in size.infosets or ()] or "not estimated",
        "actions": str(size.actions or "not estimated"),
        "most_actions": size.most_actions,
        "depth": size.depth if size.exact else f"at least {size.depth}",
        "to_grow_it": taken(each["tree_memory"]),
        "to_solve_by_cfr": taken(each["cfr_memory"]),
        "to_search_in_it": taken(each["search_memory"]),
        "time_to_grow_it": f"about {words_of_seconds(growing)}",
        "1,000_iterations": f"about {words_of_seconds(1000 * iterating)} of CFR",
        "may_be_taken": words_of_bytes(limit) if limit < float("inf") else "unlimited",
    }
    if public is not None:
        row["public_form"] = f"{public.nodes} nodes, {public.slots} probabilities"
        row["private_states"] = [*public.private]
        row["to_solve_that"] = "; ".join(
            f"{words_of_bytes(count.mean)} by CFR in {bits} bits, which "
            f"{'fits' if count.mean <= limit else 'does not fit'}"
            for bits, count in ((64, public.cfr_bytes), (32, public.float32_bytes))
        )
    _print_row(row, as_json)
    if tree * size.histories.mean <= limit:
        return
    name = f"'{game.name}'" if "(" in game.name else game.name
    if public is not None and public.float32_bytes.mean <= limit:
        way = f", its public tree does: gs2 blueprint '{game.name}' -o FILE solves that"
    elif isinstance(game, PrivateMovesGame):
        way = f", its private moves do: gs2 blueprint '{game.name}' -o FILE"
    else:
        way = f": train a network with gs2 train {name} -o FILE, and let agents meet with gs2 match "
        way += f"--game {name} FILE uniform"
    stdout().print(f"\nIts tree does not fit{way}")


def _print_large(game: Game, size: GameSize, as_json: bool) -> None:
    """Print what is known of a game whose sample was ended early."""
    if as_json:
        print_json({"game": game.name, **size.to_json()})
        return
    row = {
        "game": game.name,
        "estimated": f"from the first {size.depth:,} levels, seed {size.seed}; deeper levels are not counted",
        "histories": f"more than {size.histories.low:.3g}",
        "most_actions": size.most_actions,
        "depth": f"more than {size.depth:,}",
    }
    _print_row(row, as_json)
    stdout().print(f"\nIts tree does not fit: train a network with gs2 train '{game.name}' -o FILE")


def _print_row(row: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(row)
        return
    console = stdout()
    console.print(row["game"], style="bold")
    for name, value in row.items():
        if name != "game":
            between = " to " if name == "payoff_range" else " + " if name == "infosets" else " "
            shown = between.join(
                v if isinstance(v, str) else f"{v:,}" for v in (value if isinstance(value, list) else [value])
            )
            console.print(f"  {name.replace('_', ' '):17} {shown}")


@click.command()
@click.argument("game", type=ANY_GAME)
@click.option("--player", type=CountType(0), help="Show only infosets of this player.")
@click.option("--grep", metavar="TEXT", help="Show only infosets whose name matches this regular expression.")
@click.option("--limit", type=COUNT, default=40, show_default=True, help="Show at most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def infosets(game: Game, player: int | None, grep: str | None, limit: int, as_json: bool) -> None:
    """List the infosets of GAME by the names that `gs2 solve --infoset` reads, shallow ones first.

    If the game is too large to list, they are those that random play meets.
    """
    import numpy as np

    from games.game import GameError
    from games.infosets import decision_infosets
    from games.size import infosets_met

    if player is not None and player >= game.num_players:
        raise GameError(f"{game.name}: player must be in [0, {game.num_players - 1}]; got {player}")
    try:
        pattern = re.compile(grep or "", re.IGNORECASE)
    except re.error as error:
        raise GameError(f"--grep must be a regular expression; got {grep!r} ({error}); escape it") from None
    found: list[Infoset] = []
    try:
        named = (i for i in decision_infosets(game, player=player) if pattern.search(i.text))
        found.extend(itertools.islice(named, limit + 1))
    except GameError as error:
        click.echo(f"{error}; these are of random plays", err=True)
        met = infosets_met(game, np.random.default_rng(0), plays=max(200, limit))
        there = {(i.player, i.key) for i in found}
        fresh = (
            i
            for i in met
            if player in (None, i.player) and pattern.search(i.text) and (i.player, i.key) not in there
        )
        found.extend(itertools.islice(fresh, limit + 1 - len(found)))
    more, found = len(found) > limit, found[:limit]
    if as_json:
        print_json([{"player": i.player, "text": i.text, "key": [str(w) for w in i.key]} for i in found])
        return
    for infoset in found:
        click.echo(infoset.text)
    if more:
        click.echo(f"… and more; narrow with --grep, or raise --limit (now {limit})", err=True)
    elif not found:
        click.echo("no infoset matches", err=True)


@click.command()
@click.argument("game", type=GAME)
@click.option(
    "--infoset", "text", required=True, metavar="TEXT", help="The infoset, as `gs2 infosets` names it."
)
@click.option("--max-order", type=COUNT, help="Stop at this knowledge order.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def knowledge(game: Game, text: str, max_order: int | None, as_json: bool) -> None:
    """Count the histories, infosets and nodes within each order of knowledge at an infoset of GAME.

    Order 1 holds the histories of the infoset. Each further order adds those that some player cannot tell
    from one of them. The last is the common-knowledge closure, which unsafe, resolve and maxmargin solve.
    """
    from gs2.search.context import SearchContext
    from gs2.search.histories.knowledge_report import knowledge_report

    infoset = game.parse_infoset(text)
    with working(f"growing {game.name} …"):
        report = knowledge_report(SearchContext(game), infoset, max_order)
    if as_json:
        print_json({"game": game.name, **report.to_json()})
        return
    out = stdout()
    out.print(bold(game.name), f"  {report.text}\n")
    table = number_table("order", "histories", "infosets of each player", "nodes below", "", words=0)
    table.columns[-1].justify = "left"
    for size in report.sizes:
        words = ["the infoset itself"] * (size.order == 1)
        words += ["common-knowledge closure"] * (size.order == report.closure_order)
        table.add_row(
            str(size.order),
            f"{size.histories:,}",
            " + ".join(f"{n:,}" for n in size.infosets),
            f"{size.nodes:,}",
            ", ".join(words),
        )
    out.print(table)
