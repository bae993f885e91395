"""From a record's text to its review: read, judge every decision, sum up.

    for number, review in review_records(records, ManyReviews("fast"), where_of(4)): ...

Many records are each a piece of work of its own, on this machine or on a cluster. Reviews that were made
before come first; new ones are kept as soon as they are made, by the process that asks for them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from games.guandan.cards import RANKS, hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from games.support.array_types import Array, Bytes
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, results
from games.support.work.where import Place
from gs2.guandan.agent.deals.dealing import DealNetworks, load_networks, network_files
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.review.game_files import ReviewError, parse_game
from gs2.guandan.review.judging import Judge, Judgement, TakenDecision, choices_of, judge_cards
from gs2.guandan.review.recorded_rounds import RecordedGame, RecordedRound, printable
from gs2.guandan.review.review_cache import keep_review, kept_review, review_key
from gs2.guandan.review.review_data import (
    LineMove,
    PlayerSummary,
    Review,
    ReviewedPlay,
    ReviewedRound,
)
from gs2.guandan.review.review_presets import BLUNDER, INACCURACY, MISTAKE, SURE, VERDICTS, review_preset
from gs2.guandan.review.value_curve import better_lines, losses_as_it_lay, value_curve

__all__ = [
    "MOST_ROUNDS",
    "ManyReviews",
    "RecordText",
    "Reviewer",
    "load_reviewer",
    "review_records",
    "review_text",
]

MOST_ROUNDS = 200
"""Rounds that one review judges."""
SHOWN = 10
"""Dearest decisions that a player's summary names."""
WORKERS = 2
"""Rounds judged side by side: most of the time goes into kernels that let other threads run."""
Progress = Callable[[int, int], None]


def _key_of(text: str, preset: str, rounds: Sequence[int] | None) -> str:
    """Return the name under which a review by the shipped network is kept."""
    config = review_preset(preset)
    settings = {"search": config.to_json(), "rounds": None if rounds is None else list(rounds)}
    return review_key(text, settings, _fingerprint())


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
    config = review_preset(preset)
    key = _key_of(text, preset, rounds)
    found = kept_review(cache, key, name)
    if found is not None:
        return found
    game = parse_game(text, name=name)
    review = load_reviewer(config).review(game, name=name, progress=progress, rounds=rounds).to_json()
    keep_review(cache, key, review)
    return review


@dataclass(frozen=True, eq=False)
class Reviewer:
    """Reviews games. networks: what judges. config: the search. fingerprint: of the networks."""

    networks: DealNetworks
    config: GuanDanConfig
    fingerprint: str = ""

    def review(
        self,
        game: RecordedGame,
        *,
        name: str = "record",
        progress: Progress | None = None,
        rounds: Sequence[int] | None = None,
    ) -> Review:
        """Return the review of a game; arguments as of `review_text`."""
        chosen = self._chosen(game, name, rounds)
        choices = [choices_of(played) for played in chosen]
        total, counter, lock = sum(map(len, choices)), [0], threading.Lock()

        def judged(pair: tuple[RecordedRound, list[TakenDecision]]) -> ReviewedRound:
            found = self._round(*pair)
            with lock:
                counter[0] += len(pair[1])
                if progress is not None:
                    progress(counter[0], total)
            return found

        if progress is not None:
            progress(0, total)
        pairs = list(zip(chosen, choices, strict=True))
        with _one_core_each() as pool:
            made = tuple(pool.map(judged, pairs))
        return Review(
            printable(name) or "record",
            game.kind,
            game.complete,
            game.names,
            self.config.name,
            self.config.to_json(),
            {"inaccuracy": INACCURACY, "mistake": MISTAKE, "blunder": BLUNDER, "sure": SURE},
            {"name": self.networks.evaluator.name, "fingerprint": self.fingerprint},
            made,
            tuple(_summary(seat, game.names[seat], made) for seat in range(4)),
            game.notes,
        )

    def _chosen(
        self, game: RecordedGame, name: str, rounds: Sequence[int] | None
    ) -> tuple[RecordedRound, ...]:
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

    def _round(self, played: RecordedRound, choices: list[TakenDecision]) -> ReviewedRound:
        judgements = Judge(self.networks, self.config).judge(choices)
        curve, viewer = value_curve(played, self.networks.evaluator)
        lines = self._lines(played, judgements)
        lay = self._as_it_lay(played, judgements)
        row, level = played.start[0], int(played.start["level"][0])
        number = {found.choice.play: j for j, found in enumerate(judgements)}
        leads = played.states()["leader"] == NOBODY
        return ReviewedRound(
            played.game,
            played.number,
            RANKS[level],
            (RANKS[int(row["levels"][0])], RANKS[int(row["levels"][1])]),
            None if row["owner"] == NOBODY else int(row["owner"]),
            int(row["first"]),
            tuple(
                _cards(hand, level) if known else None
                for hand, known in zip(unpack(row["hand"]), played.known, strict=True)
            ),
            played.tributes,
            played.returns,
            played.anti,
            tuple(
                ReviewedPlay(int(seat), action_list(action, level), bool(leads[k]), number.get(k))
                for k, (seat, action) in enumerate(zip(played.seats, played.actions, strict=True))
            ),
            tuple(float(value) for value in curve),
            viewer,
            tuple(
                replace(found.decision, as_it_lay=lay[j], **lines.get(j, {}))
                for j, found in enumerate(judgements)
            ),
            _result(played),
            tuple(judge_cards(played, self.networks.evaluator)),
            played.notes,
        )

    def _as_it_lay(self, played: RecordedRound, judgements: list[Judgement]) -> list[float | None]:
        """Return what each move cost in the very deal; None for all where a hand is not known."""
        if not all(played.known):
            return [None] * len(judgements)
        other = [j for j, found in enumerate(judgements) if found.network != found.choice.played]
        out: list[float | None] = [0.0] * len(judgements)
        if other:
            choices = [judgements[j].choice for j in other]
            states = played.states()[[choice.play for choice in choices]]
            moves = np.concatenate([choice.actions[[choice.played]] for choice in choices])
            best = np.concatenate([judgements[j].choice.actions[[judgements[j].network]] for j in other])
            losses = losses_as_it_lay(states, moves, best, self.networks.evaluator)
            for j, loss in zip(other, losses, strict=True):
                out[j] = float(loss)
        return out

    def _lines(self, played: RecordedRound, judgements: list[Judgement]) -> dict[int, dict[str, Any]]:
        """Return what decisions tell of the line after the best move, where another was played at a cost."""
        wanted = [
            j
            for j, found in enumerate(judgements)
            if found.decision.verdict in VERDICTS[2:] and found.likely is not None
        ]
        if not wanted:
            return {}
        actual = all(played.known)
        states = played.states()
        deals = [
            states[[judgements[j].choice.play]] if actual else _some(judgements[j].likely) for j in wanted
        ]
        moves = [judgements[j].choice.actions[[judgements[j].best]] for j in wanted]
        lines = better_lines(np.concatenate(deals), np.concatenate(moves), self.networks.evaluator)
        level = int(played.start["level"][0])
        told = "actual" if actual else "likely"
        return {
            j: {
                "line": tuple(LineMove(seat, action_list(one[0], level)) for seat, one in line),
                "line_deal": told,
            }
            for j, line in zip(wanted, lines, strict=True)
        }


@contextmanager
def _one_core_each() -> Iterator[ThreadPoolExecutor]:
    """Yield threads that take a core each: torch would start several for each, which wait for one another."""
    import torch

    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(WORKERS, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        # whoever interrupts waits for the rounds under way, not for all
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)


def _some(state: Array | None) -> Array:
    assert state is not None
    return state


def _cards(counts: Bytes, level: int) -> list[str]:
    """Return the names of a hand's cards in the level-aware order."""
    return hand_text(counts, level).split()


def _result(played: RecordedRound) -> dict[str, Any] | None:
    end = played.end
    if end is None:
        return None
    winner = end.order[0] & 1
    return {
        "order": list(end.order),
        "winner": winner,
        "gain": abs(end.payoffs[0]),
        "payoffs": list(end.payoffs),
        "levels": None if end.levels is None else [RANKS[level] for level in end.levels],
        "left": [[seat, list(cards)] for seat, cards in end.left],
    }


def _summary(seat: int, name: str, rounds: Sequence[ReviewedRound]) -> PlayerSummary:
    mine = [
        (place, decision)
        for place, played in enumerate(rounds)
        for decision in played.decisions
        if decision.seat == seat and decision.verdict != "unknown"
    ]
    verdicts = {verdict: sum(found.verdict == verdict for _, found in mine) for verdict in VERDICTS}
    wrong = [(place, found) for place, found in mine if found.verdict in VERDICTS[2:]]
    lost = sum(found.loss for _, found in wrong)
    dear = sorted(wrong, key=lambda pair: (-pair[1].loss, pair[0], pair[1].play))
    judged = len({place for place, _ in mine})
    lay = [found.as_it_lay for _, found in mine]
    return PlayerSummary(
        seat,
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
        sum(card.loss for played in rounds for card in played.cards if card.seat == seat),
    )


_networks = lru_cache(maxsize=1)(load_networks)


@lru_cache(maxsize=1)
def _fingerprint() -> str:
    """Return what changes when one of the networks that judge does."""
    told = hashlib.blake2b(digest_size=8)
    for path in network_files():
        told.update(path.read_bytes() if path.is_file() else b"none")
    return told.hexdigest()


def load_reviewer(config: GuanDanConfig | str = "fast") -> Reviewer:
    """Return a reviewer with the shipped networks.

    config: a preset's name, or a search. Raises CheckpointError if a network is damaged.
    """
    found = review_preset(config) if isinstance(config, str) else config
    return Reviewer(_networks(), found, _fingerprint())


@dataclass(frozen=True)
class RecordText:
    """A record's text, and the name of its file for messages and headings."""

    name: str
    text: str


@dataclass(frozen=True)
class ManyReviews:
    """How records are reviewed: as in `review_text`, whose words these are."""

    preset: str = "fast"
    rounds: tuple[int, ...] | None = None
    cache: Path | None = None


def review_records(
    records: Sequence[RecordText],
    how: ManyReviews,
    where: Place,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the place of each record and its review, as plain data, as they are made.

    where: the processes that judge. stop: asked now and then; once it says so, what is under way is dropped.
    Raises what `review_text` raises, at a record that cannot be read before any is judged, and ReviewError if
    a process dies.
    """
    for record in records:
        parse_game(record.text, name=record.name)
    left = []
    keys = [_key_of(record.text, how.preset, how.rounds) for record in records]
    for number, (record, key) in enumerate(zip(records, keys, strict=True)):
        found = kept_review(how.cache, key, record.name)
        if found is None:
            left.append((number, record))
        else:
            yield number, found
    if not left:
        return
    with executor_at(where, Task(ManyReviews, (how.preset, how.rounds), _judge)) as executor:
        try:
            for number, review in results(executor, left, stop=stop):
                keep_review(how.cache, keys[number], review)
                yield number, review
        except WorkerLost as error:
            raise ReviewError(f"review: {error}; use fewer --processes") from error


def _judge(how: ManyReviews, record: RecordText) -> dict[str, Any]:
    return review_text(record.text, name=record.name, preset=how.preset, rounds=how.rounds)
