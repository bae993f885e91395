"""Records of GuanDan read and judged by the shipped networks: decisions, cards given, values move by move.

Each is judged from what its seat knew. Before a decision is looked at, the cards that its seat could not see
are taken out of the state. Then the blueprint says what it thinks of every move, and the move played is
compared with those that it thinks close to the best: all of them are played on in the same deals, such as the
seat had to reckon with. A move that the blueprint thinks best by far, and that was played, needs no search.
The end of a round is solved with open cards.

Random draws follow from the position alone, so a decision is judged the same whatever is judged beside it.

There is no search behind cards given: the network values the own hand as the round begins, after each card
that might have been given, with what the giver could not know averaged over (`NetworkTribute`). A card that
the options of the ruling do not hold is shown and not judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.play.network_tribute import NetworkTribute
from games.game import TERMINAL, GameError
from games.guandan.cards import CARD_NAMES, as_level, pack, unpack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.matches.tribute import return_options, tribute_options
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance
from games.record import RECORDS_FORMAT, parse_rounds
from games.support.array_types import Array, Row
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals.dealing import Dealer, DealNetworks, load_networks, network_files
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.endgame import solve_drawn
from gs2.guandan.agent.evaluator import Evaluator, best_moves, evaluator_worth
from gs2.guandan.agent.explanation import EVEN
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.rollout import Rollouts, ended_worth
from gs2.guandan.review.recorded_rounds import RecordedRound, record_rounds, transcript_rounds
from gs2.guandan.table.seat import seen_by
from gs2.guandan.table.selection import move_text
from gs2.review.review_data import VERDICTS, LineMove, RecordedGame, ReviewedCard, ReviewedDecision
from gs2.review.reviewing import GameReviewing, head_of, whole_lines

TRUST, SHARE = 0.05, 0.5
"""Standard deviation in levels of the blueprint's error in comparing two moves: of moves that it thinks
equal, and the share of the difference that is added where it thinks them apart."""
SPREAD, SPREAD_WEIGHT = 0.4, 4.0
"""Standard deviation in levels that a difference in one deal is expected to have before any is seen, and how
many deals that expectation counts for."""
NOISE = 0.05
"""Standard deviation in levels that more deals do not take away: values at the depth limit are not exact."""
_STAGES = {"open": "search", "rollout": "search", "blueprint": "unknown"}
"""What a review calls the stages of a decision that have other names there."""
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


# --- decisions, and cards given ---


def choices_of(played: RecordedRound) -> list[Decision]:
    """Return the decisions of a round in which there was a choice, by seats whose hands are known.

    Their states are without the cards that the seat could not see. They choose from one action of each
    effect, and the one played if it is none of these; that one is asked about.
    """
    states = played.states()[: len(played.actions)]
    asked = [k for k in range(len(states)) if played.known[int(played.seats[k])]]
    if not asked:
        return []
    listed = legal(states[asked], canonical=True)
    found = []
    for j, k in enumerate(asked):
        moves = listed[j]
        if len(moves) < 2:
            continue
        same = np.flatnonzero(moves == played.actions[k])
        if len(same) == 0:
            moves = np.concatenate([moves, played.actions[k : k + 1]])
        at = int(same[0]) if len(same) else len(moves) - 1
        seat = int(played.seats[k])
        found.append(Decision(seen_by(states[k : k + 1], seat), moves, asked=at))
    return found


class Judge(Gs2Agent):
    """Judges decisions: searches as the agent does, by no clock; one instance serves one thread.

    What it draws follows from the position alone.
    """

    def judge(self, choices: Sequence[Decision]) -> list[ReviewedDecision]:
        """Return the judgement of each decision, its line still missing; their rollouts run together.

        choices: with the move played as `asked`. Afterwards `choice` is the best move. Stages are "endgame",
        "search", "clear" (nothing else came close) and "unknown" (no deal agrees with what was seen).
        Raises whatever goes wrong.
        """
        self._search(choices, time.perf_counter())
        for choice in choices:
            if choice.fault is not None and not isinstance(choice.fault, GameError):
                raise choice.fault
        return [_judged(choice) for choice in choices]

    def _draws(self, state: Array) -> np.random.Generator:
        seed = [*state["hash"][0].tolist(), int(state["plays"][0]), int(state["player"][0])]
        return np.random.default_rng(seed)

    def _settle_endgame(self, progress: Decision, dealer: Dealer, deadline: float) -> bool:
        """Compare moves at the end of a round with open cards, if it can be solved."""
        try:
            # drawn by itself, so that a comparison meets the same deals whether this was tried or not
            solved = solve_drawn(self._dealer(progress, deadline), progress.actions, self.config.endgame)
        except GameError:
            return False
        if solved is None:
            return False
        q, played, most = progress.q, progress.asked, self.config.moves.candidates
        if solved.certain:
            values = solved.values[0]
            if not (solved.settled or not np.isnan(values).any()) or np.isnan(values[played]):
                return False
            right = np.flatnonzero(values == np.nanmax(values))
            best = played if played in right else right[np.argmax(q[right])]
            order = np.argsort(-q, kind="stable")
            kept = [move for move in (best, *order[order != best]) if not np.isnan(values[move])][:most]
            moves = kept if played in kept else [*kept[: max(1, len(kept) - 1)], played]
            progress.candidates = np.array(moves, np.int64)
            progress.endgame, progress.stage = solved, "endgame"
        else:
            if not solved.settled:
                return False
            order = np.argsort(-solved.mean, kind="stable")[:most]
            progress.candidates = np.unique([*order, progress.blueprint, played])
            progress.comparison, progress.stage = solved.compared(progress.candidates, q), "open"
        progress.worlds = solved.worlds
        return True


def _judged(choice: Decision) -> ReviewedDecision:
    """Return the judgement of a decision that was searched."""
    assert choice.asked is not None
    stage = _STAGES.get(choice.stage, choice.stage)
    counts: dict[str, Any] = {}
    if stage == "search":
        moves, gains, errors, values, counts = _compared(choice, choice.asked)
    elif stage == "endgame":
        assert choice.endgame is not None
        moves, worth = choice.candidates, choice.endgame.values[0]
        values, gains, errors = worth[moves], worth[moves] - worth[choice.asked], np.zeros(len(moves))
        counts = {"deals": 1, "better": int(gains[0] > 0)}
    else:  # the move played alone
        moves, gains, errors, values = np.array([choice.asked]), np.zeros(1), np.zeros(1), np.full(1, np.nan)
    level, behind = int(choice.state["level"][0]), choice.q[moves] - choice.q[choice.blueprint]
    choice.choice = int(moves[0])

    def words(index: int) -> list[Any]:
        action: Row = choice.actions[index]
        return action_list(action, level)

    columns = (column.tolist() for column in (moves, gains, errors, values, behind))
    return ReviewedDecision.of(
        [(*row, None if np.isnan(value) else value, q) for *row, value, q in zip(*columns, strict=True)],
        words,
        played=choice.asked,
        network=choice.blueprint,
        unknown=stage == "unknown",
        play=int(choice.state["plays"][0]),
        seat=choice.seat,
        choices=len(choice.actions),
        stage=stage,
        **counts,
    )


def _weighted(weights: NDArray[np.float64], each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over deals of each move's column, by weight, to the same bit wherever the arrays lie.

    A library's matrix product is not: its last digit follows where in memory they begin.
    """
    total: NDArray[np.float64] = (weights[:, None] * each).sum(0)
    return total


def _compared(
    choice: Decision, played: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], dict[str, int]]:
    """Return what the moves came to in common deals, the blueprint's opinion included.

    The moves, the best first, [k]; levels of each over the move played; the errors of these; what each is
    worth to the seat's side in levels; in how many deals the best did better, and worse.
    """
    moves, comparison, q = choice.candidates, choice.comparison, choice.q
    assert comparison is not None
    payoffs, weights = comparison.payoffs, comparison.weights / comparison.weights.sum()
    mine = int(np.flatnonzero(moves == played)[0])
    difference = payoffs - payoffs[:, [mine]]
    mean = _weighted(weights, difference)
    count = 1.0 / (weights**2).sum()
    square = _weighted(weights, (difference - mean) ** 2)
    variance = (count * square + SPREAD_WEIGHT * SPREAD**2) / (count + SPREAD_WEIGHT)
    # how likely deals are is an estimate too, so that a list of all counts no more than as many draws
    noise = (0.0 if len(weights) == 1 else variance / count) + NOISE**2
    opinion = q[moves] - q[played]
    trust = TRUST**2 + (SHARE * opinion) ** 2
    share = trust / (trust + noise)
    gains = share * mean + (1 - share) * opinion
    errors = np.sqrt(share * noise)
    gains[mine] = errors[mine] = 0.0
    first = int(np.argmax(gains)) if gains.max() > 0 else mine
    order = np.argsort(-gains, kind="stable")
    order = np.concatenate([[first], order[order != first]])
    swing = difference[:, first]
    counts = {
        "deals": len(payoffs),
        "better": round(float(weights[swing > EVEN].sum()) * len(payoffs)),
        "worse": round(float(weights[swing < -EVEN].sum()) * len(payoffs)),
    }
    return moves[order], gains[order], errors[order], _weighted(weights, payoffs)[order], counts


def judge_cards(played: RecordedRound, evaluator: Evaluator) -> list[ReviewedCard]:
    """Return the judgement of each tribute and return card by a seat whose hand is known and had a choice."""
    tribute = NetworkTribute(evaluator)
    found = []
    for decision, given in _cards_given(played):
        options = decision.options[0]
        if options.sum() < 2 or not options[given]:
            continue
        # one at a time: what a payer imagines to come back must not hang on what is judged beside it
        value = tribute.option_values(decision)[0]
        best = given if value[given] >= value.max() else int(value.argmax())
        seat, back = int(decision.seats[0]), bool(decision.back[0])
        loss, names = float(value[best] - value[given]), (CARD_NAMES[given], CARD_NAMES[best])
        found.append(ReviewedCard(seat, back, *names, loss, int(options.sum())))
    return found


def _cards_given(played: RecordedRound) -> Iterator[tuple[CardDecisions, int]]:
    """Yield each card that was chosen as its decision, with the index of the card given."""
    hands, level = unpack(played.start["hand"][0]).astype(np.int64), played.start["level"].astype(np.uint8)
    paid, returned = (
        {(giver, taker): CARD_NAMES.index(name) for giver, taker, name in given}
        for given in (played.tributes, played.returns)
    )
    for given, answered in ((paid, returned), (returned, paid)):
        for (giver, taker), card in given.items():
            if not played.known[giver]:
                continue
            hand, other = hands[giver].copy(), answered.get((taker, giver))
            hand[card] += 1
            if given is paid and other is not None:
                hand[other] -= 1
            if hand.min() < 0 or hand.max() > 2 or (given is returned and other is None):
                continue  # what was seen of this exchange does not fit together
            back, packed = given is returned, pack(hand[None].astype(np.uint8))
            if back:
                options = return_options(packed, level, np.array([other], np.uint8))
            else:
                options = tribute_options(packed, level)
            row, seat = np.zeros(1, np.int64), np.array([giver], np.uint8)
            slot = np.zeros(1, np.uint8)
            yield CardDecisions(row, seat, slot, np.array([back]), level, packed, options), card
