"""From a record's text to its review: read, judge every decision, sum up.

    for number, review in review_records([(name, text), …], where_of(4), preset="fast"): ...

A game reads and judges its records in its own way where it registers one (`review` in `gs2.wings`), else as
`gs2.review.game_review` does. Many records are each a piece of work of its own, on this machine or on a
cluster. Reviews that were made before come first, from a folder of files that are each named by what the
review follows from; new ones are kept as soon as they are made, by the process that asks for them.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from games.support.files import FileProblem, open_regular, read_text, write_text
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, results
from games.support.work.where import Place
from gs2.review.review_data import (
    FORMAT,
    THRESHOLDS,
    VERDICTS,
    VERSION,
    PlayerSummary,
    RecordedGame,
    Review,
    ReviewedRound,
    ReviewError,
    is_json,
    printable,
)
from gs2.wings import FIRST, own_part

PRESETS = ("fast", "standard")
"""How thoroughly a review searches."""
MOST_BYTES = 8 << 20
"""Text that is read at most: some hundred rounds of a transcript with all its lists of moves."""
MOST_ROUNDS = 200
"""Rounds that one review judges."""
SHOWN = 10
"""Dearest decisions that a player's summary names."""
JUDGING = 6
"""Counts up with every change of how decisions are judged: older reviews are made anew."""
Progress = Callable[[int, int], None]


class GameReviewing:
    """How records of a game, by its string, are read and judged at a preset.

    settings: of the search. network: what judges. unit: of values, "levels" or "points". thresholds: what the
    verdicts mean. threads: rounds judged side by side.
    """

    settings: dict[str, Any]
    network: str
    unit, thresholds, threads = "points", THRESHOLDS, 1

    def __init__(self, game: str, preset: str = "fast") -> None:
        self.game, self.preset = game, preset

    def read(self, text: str, name: str) -> RecordedGame:
        """Return the rounds of a text. Raises a ValueError that says where it is damaged."""
        raise NotImplementedError

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of what judges; any of them may be missing."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """What changes when what judges does."""
        return _fingerprint(self.files)

    def decisions(self, played: Any) -> int:
        """Return how many decisions of a round are judged."""
        raise NotImplementedError

    def judgement(self, played: Any, tell: Callable[[int], None]) -> dict[str, Any]:
        """Return the fields of a `ReviewedRound` that are judged: `decisions`, and what only this game has.

        tell: called with the number judged since then.
        """
        raise NotImplementedError

    def _judged(self, played: Any, tell: Callable[[int], None]) -> ReviewedRound:
        found = self.judgement(played, tell)
        number = {decision.play: j for j, decision in enumerate(found["decisions"])}
        told: ReviewedRound = played.told
        plays = tuple(replace(one, decision=number.get(k)) for k, one in enumerate(told.plays))
        return replace(told, plays=plays, **found)

    def review(
        self,
        game: RecordedGame,
        *,
        name: str = "record",
        progress: Progress | None = None,
        rounds: Sequence[int] | None = None,
    ) -> Review:
        """Return the review of a game; arguments as of `review_text`."""
        chosen = _chosen(game, name, rounds)
        total, counter, lock = sum(map(self.decisions, chosen)), [0], threading.Lock()

        def tell(judged: int) -> None:
            with lock:
                counter[0] += judged
                if progress is not None:
                    progress(counter[0], total)

        tell(0)
        with _one_core_each(self.threads) as pool:
            made = tuple(pool.map(lambda played: self._judged(played, tell), chosen))
        return Review(
            printable(name) or "record",
            game.kind,
            game.complete,
            game.names,
            self.preset,
            self.settings,
            self.thresholds,
            {"name": self.network, "fingerprint": self.fingerprint},
            made,
            tuple(_summary(player, name, made) for player, name in enumerate(game.names)),
            game.notes,
            self.unit,
        )


@lru_cache(maxsize=8)
def _fingerprint(files: tuple[Path, ...]) -> str:
    told = hashlib.blake2b(digest_size=8)
    for path in files:
        told.update(path.read_bytes() if path.is_file() else b"none")
    return told.hexdigest()


# --- what is read ---


def read_game_text(path: str | Path) -> str:
    """Return the text of a file; one of a name ending in .gz is unpacked.

    Raises ReviewError if it is larger than `MOST_BYTES` or no text, FileProblem if it is no file.
    """
    import gzip
    import zlib

    try:
        with open_regular(path) as file:
            if str(path).endswith(".gz"):
                with gzip.open(file) as packed:
                    data = packed.read(MOST_BYTES + 1)
            else:
                data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise FileProblem(f"{path}: no such file; check the path") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ReviewError(f"{path}: cannot be read ({error}); unpack it, or name another file") from None
    _check_size(len(data), str(path))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ReviewError(f"{path}: a record is UTF-8 text; {error}; name a record or a transcript") from None


def head_of(text: str) -> dict[str, Any]:
    """Return the object of JSON on the first line that is not blank; an empty one where there is none."""
    try:
        head = json.loads(text.removeprefix("\ufeff").lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return head if isinstance(head, dict) else {}


def reviewing_of(text: str, preset: str = "fast") -> GameReviewing:
    """Return what reads and judges a text; one whose first line names no game is of the first of all.

    Raises ReviewError that lists the presets if there is none of this name.
    """
    if preset not in PRESETS:
        raise ReviewError(f"a review's preset is {' or '.join(PRESETS)}; got {preset!r:.60}")
    game = head_of(text).get("game", FIRST)
    if not isinstance(game, str):
        raise ReviewError(f"game must be a game string; got {game!r:.60}; mend the first line")
    found: GameReviewing = own_part(game, "review")(game, preset)  # type: ignore[misc]
    return found


def parse_game(text: str, *, name: str = "record") -> RecordedGame:
    """Return the rounds that a text holds.

    A record or transcript whose last line was cut off is read up to there.
    Raises ReviewError at one larger than `MOST_BYTES` or without a round; RoundRecordError or
    TranscriptError, saying where, at a damaged one.
    """
    _check_size(len(text) if len(text) > MOST_BYTES else len(text.encode(errors="surrogatepass")), name)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = reviewing_of(text).read(text, name)
    if not any(played.told.plays for played in found.rounds):
        raise ReviewError(f"{name}: nobody has played yet; come back when a move was made")
    return found


def whole_lines(text: str) -> str:
    """Return a record's text with the end of its last line, where that is only missing."""
    return text if text.endswith("\n") or not is_json(text.rsplit("\n", 1)[-1]) else text + "\n"


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise ReviewError(
            f"{name}: a record has at most {MOST_BYTES >> 20} MiB; this one is larger; review a part of it"
        )


# --- reviews that were made before ---


def default_cache() -> Path:
    """Return the folder of this user's reviews."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gs2" / "reviews"


def _key_of(text: str, preset: str, rounds: Sequence[int] | None) -> str:
    """Return the name of a review: of the record's text, the settings and the networks that judge."""
    judge = reviewing_of(text, preset)
    settings = {"search": judge.settings, "rounds": None if rounds is None else list(rounds)}
    told = json.dumps([JUDGING, VERSION, settings, judge.fingerprint], sort_keys=True).encode()
    return hashlib.blake2b(told + b"\0" + text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def kept_review(folder: Path | None, key: str, name: str) -> dict[str, Any] | None:
    """Return the review kept under a key; None if there is none, its file is damaged, or no folder is given.

    name: of the record's file today.
    """
    if folder is None:
        return None
    try:
        found = json.loads(read_text(folder / f"{key}.json"))
    except (FileNotFoundError, FileProblem, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        return None
    whole = all(isinstance(found.get(part), list) for part in ("rounds", "players", "names"))
    if not whole or found.pop("key", None) != key:
        return None
    return {**found, "name": printable(name) or "record"}


def _keep(folder: Path | None, key: str, review: dict[str, Any]) -> None:
    """Keep a review; a folder that cannot be written to, or none, keeps none."""
    with suppress(FileProblem, OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / f"{key}.json", json.dumps({**review, "key": key}, allow_nan=False))


# --- reviewing ---


def review_text(
    text: str,
    name: str = "record",
    preset: str = "fast",
    cache: Path | None = None,
    *,
    progress: Progress | None = None,
    rounds: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the review of a record or a transcript by the shipped network, as plain data (`Review.to_json`).

    name: of the file, for messages and headings. cache: folder of reviews made before, None for none.
    progress: told (decisions judged, decisions) now and then. rounds: their places in the file from 1; all.
    The same text, settings and network give the same review.
    Raises ReviewError, RoundRecordError or TranscriptError, saying where, if the text cannot be reviewed.
    """
    key = _key_of(text, preset, rounds)
    found = kept_review(cache, key, name)
    if found is not None:
        return found
    game = parse_game(text, name=name)
    review = reviewing_of(text, preset).review(game, name=name, progress=progress, rounds=rounds).to_json()
    _keep(cache, key, review)
    return review


def _chosen(game: RecordedGame, name: str, rounds: Sequence[int] | None) -> tuple[Any, ...]:
    """Return the rounds to judge. Raises ReviewError at too many, or a number that none has."""
    there = len(game.rounds)
    if rounds is None:
        if there > MOST_ROUNDS:
            raise ReviewError(
                f"{name}: a review judges at most {MOST_ROUNDS} rounds; this file has {there}; choose "
                "some of them (--round)"
            )
        return game.rounds
    for number in rounds:
        if not 1 <= number <= there:
            raise ReviewError(f"{name}: a round is 1..{there}; got {number}")
    return tuple(game.rounds[number - 1] for number in rounds)


@contextmanager
def _one_core_each(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that take a core each: torch would start several for each, which wait for one another."""
    import torch

    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        # whoever interrupts waits for the rounds under way, not for all
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)


def _summary(player: int, name: str, rounds: Sequence[ReviewedRound]) -> PlayerSummary:
    mine = [
        (place, decision)
        for place, played in enumerate(rounds)
        for decision in played.decisions
        if played.players[decision.seat] == player and decision.verdict != "unknown"
    ]
    verdicts = {verdict: sum(found.verdict == verdict for _, found in mine) for verdict in VERDICTS}
    wrong = [(place, found) for place, found in mine if found.verdict in VERDICTS[2:]]
    lost = sum(found.loss for _, found in wrong)
    dear = sorted(wrong, key=lambda pair: (-pair[1].loss, pair[0], pair[1].play))
    judged = len({place for place, _ in mine})
    lay = [found.as_it_lay for _, found in mine]
    given = [card for played in rounds for card in played.cards if played.players[card.seat] == player]
    return PlayerSummary(
        player,
        name,
        len(mine),
        verdicts,
        (verdicts["best"] + verdicts["level"]) / len(mine) if mine else None,
        lost,
        float(np.sqrt(sum(found.error**2 for _, found in wrong))),
        lost / max(judged, 1),
        sum(found.behind_network for _, found in mine),
        None if any(cost is None for cost in lay) else sum(cost for cost in lay if cost is not None),
        tuple((place, found.play) for place, found in dear[:SHOWN]),
        sum(card.loss for card in given),
    )


def review_records(
    records: Sequence[tuple[str, str]],
    where: Place,
    *,
    preset: str = "fast",
    rounds: Sequence[int] | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the place of each record and its review, as plain data, as they are made.

    records: the name of each and its text. where: the processes that judge. preset, rounds, cache: as of
    `review_text`. progress: told (decisions judged, decisions) of a record that is judged in this process.
    stop: asked now and then; once it says so, what is under way is dropped.
    Raises what `review_text` raises, at a record that cannot be read before any is judged, and ReviewError if
    a process dies.
    """
    for name, text in records:
        parse_game(text, name=name)
    left = []
    keys = [_key_of(text, preset, rounds) for _, text in records]
    for number, (record, key) in enumerate(zip(records, keys, strict=True)):
        found = kept_review(cache, key, record[0])
        if found is None:
            left.append((number, record))
        else:
            yield number, found
    if not left:
        return
    how = {"preset": preset, "rounds": rounds}
    with executor_at(where, Task(dict, (how,), _judge), here={**how, "progress": progress}) as executor:
        try:
            for number, review in results(executor, left, stop=stop):
                _keep(cache, keys[number], review)
                yield number, review
        except WorkerLost as error:
            raise ReviewError(f"review: {error}; use fewer --processes") from error


def _judge(how: dict[str, Any], record: tuple[str, str]) -> dict[str, Any]:
    name, text = record
    return review_text(text, name, **how)
