"""Games from files: a record of ours, or a transcript of a server's messages."""

from __future__ import annotations

import json
from pathlib import Path

from games.guandan.matches.match_game import parse_matches
from games.record import RECORDS_FORMAT
from games.support.files import FileProblem, open_regular
from gs2.guandan.review.recorded_rounds import RecordedGame, is_json, record_rounds
from gs2.guandan.review.wire_transcripts import transcript_rounds

__all__ = ["MOST_BYTES", "ReviewError", "parse_game", "read_game_text"]

MOST_BYTES = 8 << 20
"""Text that is read at most: some hundred rounds of a transcript with all its lists of moves."""


class ReviewError(ValueError):
    """What cannot be reviewed: the rule, what was given, the next step."""


def read_game_text(path: str | Path, *, most: int = MOST_BYTES) -> str:
    """Return the text of a file; one of a name ending in .gz is unpacked.

    most: bytes at most. Raises ReviewError if it is larger or no text, FileProblem if it is no file.
    """
    import gzip
    import zlib

    try:
        with open_regular(path) as file:
            if str(path).endswith(".gz"):
                with gzip.open(file) as packed:
                    data = packed.read(most + 1)
            else:
                data = file.read(most + 1)
    except FileNotFoundError:
        raise FileProblem(f"{path}: no such file; check the path") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ReviewError(f"{path}: cannot be read ({error}); unpack it, or name another file") from None
    _check_size(len(data), most, str(path))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ReviewError(f"{path}: a record is UTF-8 text; {error}; name a record or a transcript") from None


def parse_game(text: str, *, name: str = "record", most: int = MOST_BYTES) -> RecordedGame:
    """Return the rounds that a text holds, a record or a transcript; its first line says which.

    A record or transcript whose last line was cut off is read up to there.
    Raises ReviewError at one larger than `most` bytes or without a round; RoundRecordError or
    TranscriptError, saying where, at a damaged one.
    """
    _check_size(len(text) if len(text) > most else len(text.encode(errors="surrogatepass")), most, name)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        head = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        head = None
    if isinstance(head, dict) and ("gs2" in head or head.get("format") == RECORDS_FORMAT):
        if not text.endswith("\n") and is_json(text.rsplit("\n", 1)[-1]):
            text += "\n"
        game = record_rounds(parse_matches(text, name, repair=True), name)
    else:
        game = transcript_rounds(text, name=name)
    if not any(len(found.actions) for found in game.rounds):
        raise ReviewError(f"{name}: nobody has played yet; come back when a move was made")
    return game


def _check_size(size: int, most: int, name: str) -> None:
    if size > most:
        raise ReviewError(
            f"{name}: a record has at most {most / 2**20:.0f} MiB; this one is larger; review a part of it"
        )
