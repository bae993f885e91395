"""A table of a game on disk: how it was set up, and everything chosen since, one line each.

{"gs2":"web game","version":1,"id":"k3v9…","game":"doudizhu","players":["person","rules","rules"],…}
{"round":[0,1,2]}            a new round is dealt; who sits on each seat, by the place in `players`
{"choose":[2,14]}            seat 2 takes its action 14
{"choose":[0,3,["S3","D3"]]} and plays these of its equal cards
{"undo":41}                  only the first 41 steps of the round still stand
A line is written before its effect is shown. Chance is drawn from the seed, so it needs no lines.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs

from games.game import GameError
from games.support.files import read_bytes
from gs2.web.table_log import ID, PERSON

__all__ = ["DamagedGame", "GameLog", "GameSetup", "read_game_log", "stored_games"]

LARGEST = 16 << 20
"""Bytes of the largest log that is read."""
MARK = "web game"


class DamagedGame(GameError):
    """A table that cannot be: a damaged log, or a setup that makes no sense."""


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


class GameLog:
    """Appends to a table's file; every line is handed to the operating system at once."""

    def __init__(self, path: Path, setup: GameSetup, *, new: bool) -> None:
        """Open a table's file; a new one must not exist yet."""
        self.path = path
        self._file = open(path, "x" if new else "a", encoding="utf-8")  # noqa: SIM115
        if new:
            os.chmod(path, 0o600)  # the seed tells everybody's cards
            self.append({"gs2": MARK, "version": 1, **attrs.asdict(setup)})

    def append(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def stored_games(folder: Path) -> list[Path]:
    """Return the files of a folder that are called as tables are, the newest first."""
    found = [path for path in folder.glob("*.jsonl") if ID.fullmatch(path.stem)]
    return sorted(found, key=lambda path: (-path.stat().st_mtime, path.name))


def read_game_log(path: Path) -> tuple[GameSetup, list[dict[str, Any]]]:
    """Return a table's setup and the lines that still stand; a last line that was cut off is dropped.

    The file is cut to what was read, so that the next line begins on its own.
    Raises DamagedGame, naming file and line, at anything that is no table.
    """
    if path.stat().st_size > LARGEST:
        raise DamagedGame(f"{path}: a table's file is at most {LARGEST >> 20} MiB; move it away")
    data = read_bytes(path)
    whole = data[: data.rfind(b"\n") + 1]
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("a line is an object")
        except (ValueError, RecursionError) as error:
            raise DamagedGame(f"{path}:{number}: no line of a table: {error}; move the file away") from None
        lines.append(line)
    if not lines:
        raise DamagedGame(f"{path}:1: the file is empty; move it away")
    setup = _setup(path, lines[0])
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return setup, lines[1:]


def _setup(path: Path, head: dict[str, Any]) -> GameSetup:
    if head.pop("gs2", None) != MARK or head.pop("version", None) != 1:
        raise DamagedGame(f'{path}:1: a table begins with {{"gs2":"{MARK}","version":1,…}}; move it away')
    try:
        setup = GameSetup(**{**head, "players": tuple(head["players"])})
        texts = (setup.game, setup.name, setup.key, *setup.players)
        if setup.id != path.stem or not all(isinstance(text, str) for text in texts):
            raise ValueError("names are texts, and the id is what the file is called by")
        if setup.players.count(PERSON) != 1 or not isinstance(setup.seed, int):
            raise ValueError("one player is a person, and the seed is a whole number")
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedGame(f"{path}:1: not the setup of a table: {error}; move the file away") from None
    return setup
