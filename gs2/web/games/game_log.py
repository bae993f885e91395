"""A table of a game on disk: how it was set up, and everything chosen since, one line each.

{"gs2":"web game","version":1,"id":"k3v9…","game":"doudizhu","players":["person","rules","rules"],…}
{"round":[0,1,2]}            a new round is dealt; who sits on each seat, by the place in `players`
{"choose":[2,14]}            seat 2 takes its action 14
{"choose":[0,3,["S3","D3"]]} and plays these of its equal cards
{"undo":41}                  only the first 41 steps of the round still stand
Chance is drawn from the seed, so it needs no lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from gs2.web.setup_log import PERSON, SetupLog, read_setup_log

__all__ = ["GameSetup", "game_log", "read_game_log"]

MARK = "web game"


@attrs.frozen(kw_only=True)
class GameSetup:
    """How a table was set up.

    game: its canonical name. players: an agent's label each, or "person", which is there once. name: the
    person's. key: SHA-256 of the person's key. rotate: whether everybody moves on a seat after each round.
    seed: of all deals. pace: seconds between the moves of agents. created: seconds since 1970.
    """

    id: str
    game: str
    players: tuple[str, ...]
    name: str
    key: str
    rotate: bool = False
    seed: int = 0
    pace: float = 0.8
    created: float = 0.0


def game_log(path: Path, setup: GameSetup, *, new: bool) -> SetupLog:
    """Return what appends to a table's file; a new one must not exist yet."""
    return SetupLog(path, MARK, setup, new=new)


def read_game_log(path: Path) -> tuple[GameSetup, list[dict[str, Any]]]:
    """Return a table's setup and the lines that still stand (`read_setup_log`)."""
    return read_setup_log(path, MARK, _setup)


def _setup(head: dict[str, Any]) -> GameSetup:
    setup = GameSetup(**{**head, "players": tuple(head["players"])})
    texts = (setup.game, setup.name, setup.key, *setup.players)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("game, name, key and players are texts")
    if setup.players.count(PERSON) != 1 or not isinstance(setup.seed, int):
        raise ValueError("one player is a person, and the seed is a whole number")
    return setup
