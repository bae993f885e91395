"""Records of GuanDan read and judged by the shipped networks: decisions, cards given, values move by move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL
from games.guandan.cards import as_level
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.round import advance
from games.record import RECORDS_FORMAT, parse_rounds
from games.support.array_types import Array
from gs2.guandan.agent.deals.dealing import DealNetworks, load_networks, network_files
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.evaluator import Evaluator, best_moves, evaluator_worth
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.rollout import Rollouts, ended_worth
from gs2.guandan.review.judging import Judge, choices_of, judge_cards
from gs2.guandan.review.recorded_rounds import RecordedRound, record_rounds, transcript_rounds
from gs2.guandan.table.selection import move_text
from gs2.review.review_data import VERDICTS, LineMove, RecordedGame, ReviewedDecision
from gs2.review.reviewing import GameReviewing, head_of, whole_lines

_FAST = GuanDanConfig.of(
    name="fast",
    method="rollout",
    deadline=3600.0,
    worlds=32,
    wave=32,
    pool=64,
    depth=1,
    candidates=4,
    gap=0.25,
    confidence=100.0,
    endgame=20_000,
)
REVIEW_PRESETS: dict[str, GuanDanConfig] = {
    "fast": _FAST,
    "standard": _FAST.replace(
        name="standard", worlds=128, wave=128, pool=256, depth=12, candidates=5, gap=0.35, endgame=200_000
    ),
}
"""The search behind a review: every move compared is played in every deal, and no clock decides anything."""
_networks = lru_cache(maxsize=1)(load_networks)


class MatchReview(GameReviewing):
    """Reviews records and transcripts of GuanDan with the shipped networks. config: the preset's search."""

    unit, threads = "levels", 2
    """Most of the time goes into kernels that let other threads run."""

    def __init__(self, game: str, preset: str = "fast") -> None:
        super().__init__(game, preset)
        self.config = REVIEW_PRESETS[preset]
        self.settings = self.config.to_json()

    @cached_property
    def networks(self) -> DealNetworks:
        """What judges. Raises CheckpointError if a network is damaged."""
        return _networks()

    @property
    def network(self) -> str:  # type: ignore[override]
        return self.networks.evaluator.name

    @property
    def files(self) -> tuple[Path, ...]:
        return network_files()

    def read(self, text: str, name: str) -> RecordedGame:
        """Return the rounds of a record, or of a transcript; the first line says which."""
        head = head_of(text)
        if "game" in head or head.get("format") == RECORDS_FORMAT:
            rounds = parse_rounds(whole_lines(text), name, repair=True)
            return record_rounds([record for _, record in rounds], name)
        return transcript_rounds(text, name=name)

    def decisions(self, played: RecordedRound) -> int:
        return len(choices_of(played))

    def judgement(self, played: RecordedRound, tell: Callable[[int], None]) -> dict[str, Any]:
        """Return a round's decisions judged, their rollouts together, its cards given, and its curve."""
        choices = choices_of(played)
        judged = Judge(self.networks, self.config).judge(choices)
        curve, viewer = value_curve(played, self.networks.evaluator)
        lines = self._lines(played, choices, judged)
        lay = self._as_it_lay(played, choices)
        tell(len(choices))
        return {
            "decisions": tuple(
                replace(found, as_it_lay=lay[j], **lines.get(j, {})) for j, found in enumerate(judged)
            ),
            "curve": tuple(float(value) for value in curve),
            "curve_of": viewer,
            "cards": tuple(judge_cards(played, self.networks.evaluator)),
        }

    def _as_it_lay(self, played: RecordedRound, choices: list[Decision]) -> list[float | None]:
        """Return what each move cost its seat's side beside the blueprint's in the very deal, in levels.

        All four go on by the blueprint's best moves to the end, so one deal's luck is in it. Over the
        decisions of a round these add up to the difference between the blueprint's play of the deal and what
        came out. None for all where a hand is not known.
        """
        if not all(played.known):
            return [None] * len(choices)
        out: list[float | None] = [0.0] * len(choices)
        other = [j for j, choice in enumerate(choices) if choice.blueprint != choice.asked]
        if other:
            plays = [int(choices[j].state["plays"][0]) for j in other]
            best = [choices[j].actions[[choices[j].blueprint]] for j in other]
            states = played.states()[plays]
            after = np.concatenate([states, states])
            advance(after, np.concatenate([*best, played.actions[plays]]))
            values = Rollouts(self.networks.evaluator).payoffs(after).reshape(2, len(states))
            losses = (values[0] - values[1]) * (1 - 2 * (states["player"] & 1))
            for j, loss in zip(other, losses, strict=True):
                out[j] = float(loss)
        return out

    def _lines(
        self, played: RecordedRound, choices: list[Decision], judged: list[ReviewedDecision]
    ) -> dict[int, dict[str, Any]]:
        """Return what decisions tell of the line after the best move, where another was played at a cost."""
        wanted = [j for j, found in enumerate(judged) if found.verdict in VERDICTS[2:]]
        if not wanted:
            return {}
        actual, states, level = all(played.known), played.states(), int(played.start["level"][0])
        deals = [states[[judged[j].play]] if actual else _likeliest(choices[j].worlds) for j in wanted]
        lines = better_lines(
            np.concatenate(deals),
            np.concatenate([choices[j].action for j in wanted]),
            self.networks.evaluator,
        )
        return {
            j: {
                "line": tuple(LineMove(seat, action_list(one[0], level)) for seat, one in line),
                "line_deal": "actual" if actual else "likely",
            }
            for j, line in zip(wanted, lines, strict=True)
        }


def _likeliest(worlds: Worlds | None) -> Array:
    """Return the likeliest of the deals that a seat had to reckon with, [1] STATE."""
    assert worlds is not None
    return worlds.states[[int(np.argmax(worlds.weights))]]


def move_words(move: list[Any], level: str) -> str:
    """Return a move of a review as a player would say it."""
    return move_text(action_list(parse_action(move, level)[0], as_level(level)))


def value_curve(played: RecordedRound, evaluator: Evaluator) -> tuple[NDArray[np.float64], int | None]:
    """Return the value to team 0 before every move and after the last, [n + 1], in levels, and whose view.

    None: as the cards lie, by the evaluator's critic of all hands, the result itself at the end of the round.
    Else a seat: what it expects from its own cards, where the other hands are not known.
    """
    states = played.states()
    values = np.zeros(len(states))
    seats = states["player"].astype(np.int64)
    on = np.flatnonzero(seats >= 0)
    over = np.flatnonzero(states["player"] == TERMINAL)
    if all(played.known):
        viewer = None
        values[on] = evaluator_worth(evaluator, states, on, seats[on]) * (1 - 2 * (seats[on] & 1))
    else:
        viewer = played.known.index(True) if any(played.known) else 0
        asked = np.full(len(on), viewer, np.int64)
        values[on] = evaluator.values(states, on, asked) * (1 - 2 * (viewer & 1))
    values[over] = ended_worth(states[over])
    return values, viewer


def better_lines(
    states: Array, moves: Array, evaluator: Evaluator, *, plays: int = 8
) -> list[list[tuple[int, Array]]]:
    """Return how each round goes on by the blueprint's best moves after a move: (seat, [1] ACTION) each.

    states: [n] STATE, with all hands. moves: [n] ACTION, with which each line begins. plays: moves in a line
        at most.
    """
    now = np.ascontiguousarray(states).copy()
    lines: list[list[tuple[int, Array]]] = [[] for _ in range(len(now))]
    for play in range(plays):
        live = np.flatnonzero(now["player"] >= 0)
        if not len(live):
            break
        part = now[live]
        chosen = best_moves(evaluator, part) if play else np.ascontiguousarray(moves)
        for j, row in enumerate(live):
            lines[row].append((int(part["player"][j]), chosen[j : j + 1].copy()))
        advance(part, chosen)
        now[live] = part
    return lines
