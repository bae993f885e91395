"""`gs2 review FILE...`: many recorded matches, each judged as a piece of work of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from gs2.commands.common import Interruption, print_json, stderr, stdout
from gs2.commands.progress import working

__all__ = ["of_seat", "review_many"]


def review_many(
    files: tuple[Path, ...], seat: int | None, as_json: bool, html: Path | None, how: dict[str, Any]
) -> None:
    """Judge many records; print a line for each player of each, or the reviews as JSON, in order."""
    rows = click.get_current_context().get_parameter_source("rows") == ParameterSource.COMMANDLINE
    for option, given in (("--html", html is not None), ("--rows", rows)):
        if given:
            raise click.UsageError(
                f"{option} shows one record; got {len(files)} files; review them one by one, without --on"
            )
    from gs2.guandan.review.game_files import read_game_text
    from gs2.guandan.review.many_records import ManyReviews, RecordText, review_records
    from gs2.guandan.review.review_cache import default_cache

    records = [RecordText(file.name, read_game_text(file)) for file in files]
    rounds = None if how["number"] is None else (how["number"],)
    many = ManyReviews(how["preset"], rounds, default_cache() if how["cache"] else None)
    on, found = how["on"], {}
    place = on.with_count(how["processes"] or (1 if on.is_local else None))
    with Interruption() as asked, working(f"records judged: 0 of {len(files)} …") as say:
        for number, review in review_records(records, many, place, stop=asked):
            found[number] = review if seat is None else of_seat(review, seat)
            say(f"records judged: {len(found)} of {len(files)} …")
    reviews = [found[number] for number in sorted(found)]
    if as_json:
        print_json({"reviews": reviews, "complete": len(found) == len(files)})
    elif reviews:
        _print(reviews)
    if len(found) < len(files):
        hint = "; the same command continues from there" if how["cache"] else ""
        stderr().print(f"interrupted after {len(found)} of {len(files)} records{hint}")
        raise SystemExit(asked.exit_code)


def of_seat(found: dict[str, Any], seat: int) -> dict[str, Any]:
    """Return a review with one seat's decisions alone."""
    rounds = []
    for played in found["rounds"]:
        kept = [j for j, decision in enumerate(played["decisions"]) if decision["seat"] == seat]
        place = {old: new for new, old in enumerate(kept)}
        plays = [{**play, "decision": place.get(play["decision"])} for play in played["plays"]]
        cards = [card for card in played["cards"] if card["seat"] == seat]
        judged = [played["decisions"][j] for j in kept]
        rounds.append({**played, "decisions": judged, "plays": plays, "cards": cards})
    players = [player for player in found["players"] if player["seat"] == seat]
    return {**found, "rounds": rounds, "players": players}


def _print(reviews: list[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(
        ("record", "player", "rounds", "judged", "inaccuracies", "mistakes", "blunders", "lost a round")
    ):
        table.add_column(heading, justify="left" if index < 2 else "right")
    for review in reviews:
        for place, player in enumerate(review["players"]):
            counts = player["verdicts"]
            table.add_row(
                escape(review["name"]) if place == 0 else "",
                escape(f"{player['name']} ({player['seat']})"),
                str(len(review["rounds"])) if place == 0 else "",
                str(player["decisions"]),
                *(str(counts[name]) for name in ("inaccuracy", "mistake", "blunder")),
                f"{player['lost_a_round']:.2f}",
            )
    stdout().print(table)
    stdout().print("[dim]lost a round: levels behind the best moves found; one file alone shows them[/dim]")
