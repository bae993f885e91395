"""`gs2 review`: a recorded game, every decision in it judged by search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.text import Text

from games.support.interruption import Interruption
from gs2.commands.common import (
    CORES,
    COUNT,
    NEW_FILE,
    ON,
    CountType,
    bold,
    number_table,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.progress import working

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 48
"""Characters of a round's curve at most."""
CARD_LOSS = 0.05
"""Levels from which a tribute or return card is worth a word."""
WRONG = ("inaccuracies", "mistakes", "blunders")
STYLES = {"blunder": "bold red", "mistake": "red", "inaccuracy": "yellow"}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--preset",
    type=click.Choice(["fast", "standard"]),
    default="fast",
    show_default=True,
    help="Effort of each search.",
)
@click.option("--round", "number", type=COUNT, help="Judge only this round, counted through the file.")
@click.option("--seat", type=click.IntRange(0, 3), help="Show only the player of this first seat.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole review as JSON.")
@click.option("--html", type=NEW_FILE, help="Also write the review as one HTML file, a new one.")
@click.option("--rows", type=CountType(0), default=8, show_default=True, help="Costliest decisions shown.")
@click.option(
    "--cache/--no-cache", default=True, show_default=True, help="Keep reviews, and show those made before."
)
@click.option("--processes", type=CORES, help="Processes for several files.  [default: 1; a cluster: all]")
@ON
def review(
    files: tuple[Path, ...], seat: int | None, as_json: bool, html: Path | None, rows: int, **how: Any
) -> None:
    """Judge every decision of a recorded game by search: best, level, inaccuracy, mistake or blunder.

    FILE is a record (of `gs2 serve`, `gs2 web` or `gs2 match --records`), or a transcript of a server's
    messages in either dialect, one a line; either may be packed with gzip. Each decision is judged from what
    its seat knew. Losses are in levels, or in a game's points. With several files, each player
    gets a line. Finished reviews are kept: after Ctrl-C the same command goes on.
    """
    from gs2.review.reviewing import default_cache, read_game_text, review_records

    given = click.get_current_context().get_parameter_source("rows") == ParameterSource.COMMANDLINE
    for option, asked in (("--html", html is not None), ("--rows", given)):
        if asked and len(files) > 1:
            raise click.UsageError(
                f"{option} shows one record; got {len(files)} files; review them one by one"
            )
    records = [(file.name, read_game_text(file)) for file in files]
    on, found = how["on"], {}
    with Interruption() as stop, working("loading the networks …") as say:
        made = review_records(
            records,
            on.with_count(how["processes"] or (1 if on.is_local else None)),
            preset=how["preset"],
            rounds=None if how["number"] is None else (how["number"],),
            cache=default_cache() if how["cache"] else None,
            progress=lambda done, total: say(f"judging decisions: {done} of {total} …"),
            stop=stop,
        )
        for number, one in made:
            found[number] = one if seat is None else _of_seat(one, seat)
            say(f"records judged: {len(found)} of {len(files)} …")
    reviews = [found[number] for number in sorted(found)]
    if html is not None and reviews:
        from games.support.files import create
        from gs2.web.pages import review_page

        with create(html) as page:
            page.write(review_page(reviews[0]))
    if len(files) > 1 and as_json:
        print_json({"reviews": reviews, "complete": len(found) == len(files)})
    elif as_json:
        for one in reviews:
            print_json(one)
    elif len(files) > 1 and reviews:
        _print_players(reviews)
    else:
        for one in reviews:
            _render(one, rows)
    if len(found) < len(files):
        hint = "; the same command continues from there" if how["cache"] else ""
        stderr().print(f"interrupted after {len(found)} of {len(files)} records{hint}")
        raise SystemExit(stop.exit_code)
    if html is not None and not as_json:
        stderr().print(f"written: {html}")


def _of_seat(found: dict[str, Any], seat: int) -> dict[str, Any]:
    """Return a review with one player's decisions alone. seat: the player's in the first round."""
    if seat >= len(found["players"]):
        raise click.UsageError(f"{found['name']}: a seat must be 0..{len(found['players']) - 1}; got {seat}")
    rounds = []
    for played in found["rounds"]:
        sits = played["players"].index(seat) if seat in played["players"] else None
        kept = [j for j, decision in enumerate(played["decisions"]) if decision["seat"] == sits]
        place = {old: new for new, old in enumerate(kept)}
        plays = [{**play, "decision": place.get(play["decision"])} for play in played["plays"]]
        cards = [card for card in played["cards"] if card["seat"] == sits]
        judged = [played["decisions"][j] for j in kept]
        rounds.append({**played, "decisions": judged, "plays": plays, "cards": cards})
    players = [player for player in found["players"] if player["seat"] == seat]
    return {**found, "rounds": rounds, "players": players}


def _print_players(reviews: list[dict[str, Any]]) -> None:
    table = number_table("record", "player", "rounds", "judged", *WRONG, "lost a round", words=2)
    for review in reviews:
        for place, player in enumerate(review["players"]):
            counts = player["verdicts"]
            table.add_row(
                review["name"] if place == 0 else "",
                f"{player['name']} ({player['seat']})",
                str(len(review["rounds"])) if place == 0 else "",
                str(player["decisions"]),
                *(str(counts[name]) for name in reversed(STYLES)),
                f"{player['lost_a_round']:.2f}",
            )
    stdout().print(table)
    unit = " or ".join(dict.fromkeys(review["unit"] for review in reviews))  # of several games
    stdout().print(
        f"lost a round: {unit} behind the best moves found; one file alone shows them", style="dim"
    )


def _render(found: dict[str, Any], rows: int) -> None:
    """Print a review for people."""
    out = stdout()
    rounds = f"{len(found['rounds'])} round{'s' * (len(found['rounds']) != 1)}"
    judged = f"{rounds}, judged at {found['preset']} by {found['network']['name']}"
    out.print(bold(f"{found['name']}:"), judged)
    for note in found["notes"]:
        out.print(f"- {note}")
    out.print()

    unit = found["unit"]
    if any(played["curve"] for played in found["rounds"]):
        _curves(found)
    shown = ("judged", "best or level", *WRONG, "lost", "a round", "as it lay")
    players = number_table("player", *shown)
    for player in found["players"]:
        counts, share = player["verdicts"], player["accuracy"]
        players.add_row(
            f"{player['name']} ({player['seat']})",
            str(player["decisions"]),
            "–" if share is None else f"{share:.0%}",
            *(str(counts[name]) for name in reversed(STYLES)),
            f"{player['lost']:.2f} ± {player['error']:.2f}",
            f"{player['lost_a_round']:.2f}",
            "–" if player["as_it_lay"] is None else f"{player['as_it_lay']:.1f}",
        )
    out.print(players)
    out.print(
        f"lost: {unit} behind the best moves found, ± one standard error; as it lay: {unit} that all "
        "moves cost beside the network's own in the deals as they were, luck included",
        style="dim",
    )
    _cards(found, rows)
    for place, played, decision in _dearest(found, rows):
        out.print()
        _explain(found, place, played, decision)
    if any(played["notes"] for played in found["rounds"]):
        out.print()
    for place, played in enumerate(found["rounds"], 1):
        for note in played["notes"]:
            out.print(f"- round {place}: {note}")


def _curves(found: dict[str, Any]) -> None:
    """Print the value of each round, move by move."""
    side, whose, top = "seats 0 and 2", "as the cards lay", 3.0
    if found["unit"] != "levels":
        side, whose = "the first team", "as the seat to act thought"
        top = 4 * found["thresholds"]["blunder"]
    curves = number_table("round", "level", f"value to {side}", "from", "won by", words=5)
    for place, played in enumerate(found["rounds"], 1):
        curve = played["curve"]
        curves.add_row(
            f"{place}",
            played["level"] or "",
            _spark(curve, top),
            f"{curve[0]:+.1f}" if curve else "",
            _won(played, found["names"]),
        )
    out = stdout()
    out.print(curves)
    out.print(
        f"value in {found['unit']}, {whose}, move by move: ▁ is -{top:.3g}, █ is +{top:.3g}; "
        "from: before the first lead\n",
        style="dim",
    )


def _cards(found: dict[str, Any], rows: int) -> None:
    """Print the tribute and return cards that the network would have chosen otherwise, the dearest first."""
    rounds = list(enumerate(found["rounds"], 1))
    every = [(place, played, card) for place, played in rounds for card in played["cards"]]
    every = [entry for entry in every if entry[2]["loss"] >= CARD_LOSS]
    every.sort(key=lambda entry: (-entry[2]["loss"], entry[0]))
    if every and rows:
        stdout().print()
    for place, played, card in every[:rows]:
        gave = f"{'returned' if card['back'] else 'paid'} {card['card']}"
        who = f"round {place}: {_who(played, card['seat'], found['names'])}"
        more = f"the network thinks the hand worth {card['loss']:.2f} levels more"
        stdout().print(f"{who} {gave}; with {card['best']} given {more}")


def _explain(found: dict[str, Any], place: int, played: dict[str, Any], decision: dict[str, Any]) -> None:
    """Print one decision: what was played, what was better, and the line that shows it."""
    out, level, names = stdout(), played["level"], found["names"]
    verdict, who = decision["verdict"], _who(played, decision["seat"], names)
    out.print(
        Text(verdict, STYLES[verdict]),
        f"round {place}, move {decision['play'] + 1}: {who} lost",
        bold(f"{decision['loss']:.2f} ± {decision['error']:.2f}"),
        found["unit"],
    )
    play = played["plays"][decision["play"]]
    beat = _to_beat(played, decision["play"])
    if played["hands"][decision["seat"]] is not None:
        hand = " ".join(_hand_before(played, decision["play"]))
        out.print(f"  hand    {hand}")
    out.print(f"  to beat {_words(beat, level)}" if beat else "  on lead")
    out.print(f"  played  {_words(play['move'], level)}")
    better = f"  better  {_words(decision['best'], level)}"
    if decision["stage"] == "endgame":
        better += "  (every card is known: it wins against any defence)"
    elif decision["deals"]:
        deals = f"{decision['deals']} deal{'s' * (decision['deals'] != 1)}"
        told = f"{decision['better']} of {deals}, worse in {decision['worse']}"
        better += f"  (in {told})"
    out.print(better)
    if decision["line"]:
        said = ((played["players"][move["seat"]], _words(move["move"], level)) for move in decision["line"])
        line = " · ".join(f"{player} {words}" for player, words in said)
        what = "line" if decision["line_deal"] == "actual" else "line, other hands guessed:"
        out.print(f"  {what:7} {line}", style="dim")


def _dearest(found: dict[str, Any], rows: int) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield the costliest decisions with the place of their round, the dearest first."""
    every = [
        (place, played, decision)
        for place, played in enumerate(found["rounds"], 1)
        for decision in played["decisions"]
        if decision["verdict"] in STYLES
    ]
    every.sort(key=lambda entry: (-entry[2]["loss"], entry[0], entry[2]["play"]))
    yield from every[:rows]


def _spark(curve: list[float], top: float) -> str:
    """Return a curve as a line of bars: ▁ for -top or less, █ for +top or more."""
    step = max(1.0, len(curve) / WIDTH)
    picked = [curve[min(int((k + 1) * step) - 1, len(curve) - 1)] for k in range(int(len(curve) / step))]
    return "".join(BARS[min(max(round((value + top) / (2 * top) * 7), 0), 7)] for value in picked)


def _won(played: dict[str, Any], names: list[str]) -> str:
    result = played["result"]
    if result is None:
        return "not finished"
    if played["level"] is None and not result["gain"]:
        return "nobody"
    first = [seat for seat, team in enumerate(played["teams"]) if team == result["winner"]]
    return f"{' and '.join(_name(played, seat, names) for seat in first)}, {result['gain']:+g}"


def _name(played: dict[str, Any], seat: int, names: list[str]) -> str:
    """Return the name of the player who has a seat in a round."""
    name: str = names[played["players"][seat]]
    return name


def _who(played: dict[str, Any], seat: int, names: list[str]) -> str:
    """Return the name and number, as the table of players has them, of who has a seat in a round."""
    return f"{_name(played, seat, names)} ({played['players'][seat]})"


def _to_beat(played: dict[str, Any], play: int) -> list[Any] | None:
    """Return the move on the table before a play, None on a lead."""
    if played["plays"][play]["lead"]:
        return None
    moves = (entry["move"] for entry in reversed(played["plays"][:play]))
    return next((move for move in moves if move[0] != "PASS"), None)


def _hand_before(played: dict[str, Any], play: int) -> list[str]:
    """Return the cards that a seat held before its play."""
    seat = played["plays"][play]["seat"]
    hand = list(played["hands"][seat] or [])
    for entry in played["plays"][:play]:
        if entry["seat"] == seat and entry["move"][0] != "PASS":
            for card in entry["move"][2]:
                hand.remove(card)
    return hand


def _words(move: list[Any], level: str | None) -> str:
    """Return a move as a player would say it."""
    if level is not None:
        from gs2.wings import own_parts

        said: str = own_parts("words")[0](move, level)
        return said
    kind, _, cards = move
    return "pass" if kind == "PASS" else " ".join((*([kind] * (kind not in ("text", "cards"))), *cards))
