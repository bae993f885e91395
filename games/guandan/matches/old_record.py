"""Records of matches as earlier versions wrote them: a header, then an event a line.

{"gs2":"guandan record","version":1,"seed":7,"rules":{},"levels":["2","2"],"owner":null,"names":[…],…}
{"deal":1,"level":"2","hands":["S2 H3 …", …],…}
{"lead":2}
{"play":[2,["Pair","6",["S6","D6"]]]}
{"tribute":[[3,2,"HR"],[1,0,"SB"]]}
{"match":0,"rounds":9}

What follows from deals and moves (`anti`, `round`, later leads) is not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from games.game import GameError
from games.guandan.matches.events import match_payoffs
from games.guandan.rules import as_rules
from games.record import RoundRecord, RoundRecordError

__all__ = ["is_old", "old_record"]

FORMAT, VERSION = "guandan record", 1


def is_old(text: str) -> bool:
    """Return whether a text begins as records of earlier versions do."""
    return text.lstrip().startswith('{"gs2"')


def old_record(text: str, name: str, named: Callable[..., str], *, repair: bool = False) -> RoundRecord:
    """Return the record that such a text holds. named: makes the game string (`match_name`).

    name: of the file, for messages. repair: leave out a last line that was cut off.
    Raises RoundRecordError, naming file and line, at what is no such record.
    """
    *lines, cut = text.split("\n")
    if cut and not repair:
        raise RoundRecordError(
            f"{name}, line {len(lines) + 1}: the last line is cut off; read with repair=True to go without it"
        )
    header: dict[str, Any] = {}
    words: dict[str, list[str]] = {"chance": [], "play": []}
    payoffs: tuple[float, ...] = ()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if number == 1:
                if (row["gs2"], row["version"]) != (FORMAT, VERSION):
                    raise ValueError(f"format {row['gs2']!r}, version {row['version']!r}")
                header = row
            elif "match" in row:
                payoffs = tuple(match_payoffs(row["match"]))
            else:
                _take(row, words)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise RoundRecordError(
                f"{name}, line {number}: not a line of a record ({error!r}); got {line[:80]!r}"
            ) from None
    if len(words["chance"]) == 1 and not words["chance"][0].startswith("P"):
        words["chance"] = []  # cut off before anybody led
    try:
        game = named(as_rules(header["rules"]), header["levels"], header["owner"])
        names, seed = header.get("names"), int(header["seed"])
    except (GameError, KeyError, TypeError, ValueError) as error:
        raise RoundRecordError(f"{name}, line 1: a header has {error}, which is missing or wrong") from None
    if not isinstance(names, list) or len(names) != 4:
        names = [f"seat {seat}" for seat in range(4)]
    return RoundRecord(
        game, tuple(map(str, names)), tuple(words["chance"]), tuple(words["play"]), payoffs, seed=seed
    )


def _take(row: dict[str, Any], words: dict[str, list[str]]) -> None:
    """Put one event into words."""
    if "deal" in row:
        words["chance"].append(" / ".join(row["hands"]))
    elif "lead" in row and len(words["chance"]) == 1 and not words["play"]:
        words["chance"][0] = f"P{int(row['lead'])} leads; {words['chance'][0]}"
    elif "play" in row:
        seat, move = row["play"]
        words["play"].append(f"P{int(seat)} {json.dumps(move, separators=(',', ':'))}")
    elif "tribute" in row or "back" in row:
        stage = "tribute" if "tribute" in row else "back"
        words["play"] += [f"P{int(giver)} {stage} {card}" for giver, _, card in row[stage]]
    elif not {"anti", "lead", "round"} & set(row):
        raise ValueError("no event of a match")
