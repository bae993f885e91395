"""Decisions of a round judged by search, and its cards given by the network, each from what its seat knew.

Before a decision is looked at, the cards that its seat could not see are taken out of the state. Then the
blueprint says what it thinks of every move, and the move played is compared with those that it thinks close
to the best: all of them are played on in the same deals, such as the seat had to reckon with. A move that the
blueprint thinks best by far, and that was played, needs no search. The end of a round is solved with open
cards.

Random draws follow from the position alone, so a decision is judged the same whatever is judged beside it.

There is no search behind cards given: the network values the own hand as the round begins, after each card
that might have been given, with what the giver could not know averaged over (`NetworkTribute`). A card that
the options of the ruling do not hold is shown and not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.play.network_tribute import NetworkTribute
from games.game import GameError
from games.guandan.cards import CARD_NAMES, pack, unpack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.matches.tribute import return_options, tribute_options
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.ragged import Ragged
from games.support.array_types import Array, Row
from gs2.guandan.agent.deals.dealing import Dealer, DealNetworks
from gs2.guandan.agent.endgame import Endgame, is_endgame, solve_drawn
from gs2.guandan.agent.evaluator import Evaluator, evaluator_values
from gs2.guandan.agent.explanation import EVEN
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.racing import MoveComparison, Question, candidate_moves, compare_moves
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.review.recorded_rounds import RecordedRound
from gs2.guandan.table.seat import seen_by
from gs2.review.review_data import JudgedMove, ReviewedCard, ReviewedDecision, verdict_of

TRUST, SHARE = 0.05, 0.5
"""Standard deviation in levels of the blueprint's error in comparing two moves: of moves that it thinks
equal, and the share of the difference that is added where it thinks them apart."""
SPREAD, SPREAD_WEIGHT = 0.4, 4.0
"""Standard deviation in levels that a difference in one deal is expected to have before any is seen, and how
many deals that expectation counts for."""
NOISE = 0.05
"""Standard deviation in levels that more deals do not take away: values at the depth limit are not exact."""
Compared = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Moves compared, the best first, [k]; levels of each over the move played; the errors of these; what each is
worth to the seat's side in levels, nan where it was not played on."""


@dataclass(frozen=True, eq=False)
class TakenDecision:
    """A decision that was taken, with what its seat knew.

    play: its number among the round's moves, from 0. seat: who took it. state: [1] STATE without the cards
    that the seat could not see. actions: [m] ACTION, one of each effect, and the one played if it is none of
    these. played: its index.
    """

    play: int
    seat: int
    state: Array
    actions: Array
    played: int


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the search says of a decision; moves are numbered as in `choice.actions`.

    q: [m], the blueprint's score of each in levels. network: its best move. best: the search's.
    decision: as a review shows it, its stage "endgame", "search", "clear" (nothing else came close) or
    "unknown" (no deal agrees with what was seen; nothing is judged); its line is still missing.
    likely: [1] STATE, a deal that the seat had to reckon with, None where the search drew none.
    """

    choice: TakenDecision
    q: NDArray[np.float64]
    network: int
    best: int
    decision: ReviewedDecision
    likely: Array | None = None

    @classmethod
    def of(
        cls,
        choice: TakenDecision,
        q: NDArray[np.float64],
        stage: str,
        compared: Compared,
        likely: Array | None = None,
        **numbers: float,
    ) -> Judgement:
        """Return the judgement of the moves compared, the best of them first.

        numbers: what a `ReviewedDecision` tells of the comparison, the rest at 0.
        """
        network, level = int(np.argmax(q)), int(choice.state["level"][0])

        def words(index: int) -> list[Any]:
            action: Row = choice.actions[index]
            return action_list(action, level)

        moves, *columns = compared
        best = int(moves[0])
        judged = tuple(
            JudgedMove(
                words(int(move)), gain, error, None if np.isnan(value) else value, float(q[move] - q[network])
            )
            for move, gain, error, value in zip(moves, *(column.tolist() for column in columns), strict=True)
        )
        told: dict[str, Any] = {"loss": 0.0, "error": 0.0, "behind_network": 0.0} | numbers
        verdict = verdict_of(told["loss"], told["error"], best=best == choice.played)
        decision = ReviewedDecision(
            play=choice.play,
            seat=choice.seat,
            verdict="unknown" if stage == "unknown" else verdict,
            best=words(best),
            network=words(network),
            choices=len(choice.actions),
            stage=stage,
            moves=judged,
            **told,
        )
        return cls(choice, q, network, best, decision, likely)


def choices_of(played: RecordedRound) -> list[TakenDecision]:
    """Return the decisions of a round in which there was a choice, by seats whose hands are known."""
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
        found.append(TakenDecision(k, seat, seen_by(states[k : k + 1], seat), moves, at))
    return found


class Judge:
    """Judges decisions; one instance serves one thread.

    networks: the evaluator, and what knows how likely deals are. config: the search.
    """

    def __init__(self, networks: DealNetworks, config: GuanDanConfig) -> None:
        self.networks, self.config = networks, config
        self.rollouts = Rollouts.of(networks, config)

    def judge(self, choices: Sequence[TakenDecision]) -> list[Judgement]:
        """Return the judgement of each decision; their rollouts run together."""
        if not choices:
            return []
        table = Ragged.from_counts(
            np.array([len(choice.actions) for choice in choices]),
            np.concatenate([choice.actions for choice in choices]),
        )
        states = np.concatenate([choice.state for choice in choices])
        scores = evaluator_values(self.networks.evaluator, states, table)
        found: dict[int, Judgement] = {}
        asked: list[tuple[int, NDArray[np.float64], NDArray[np.int64], Question]] = []
        for j, choice in enumerate(choices):
            q = scores[table.offsets[j] : table.offsets[j + 1]].astype(np.float64)
            settled = self._endgame(choice, q)
            if settled is None:
                moves = self._candidates(choice, q)
                if len(moves) == 1:
                    settled = _unsearched(choice, q, "clear")
                else:
                    question = self._question(choice, q, moves)
                    if question is not None:
                        asked.append((j, q, moves, question))
                        continue
                    settled = _unsearched(choice, q, "unknown")
            found[j] = settled
        questions = [question for *_, question in asked]
        for (j, q, moves, _), comparison in zip(
            asked, compare_moves(questions, self.rollouts, self.config, np.inf), strict=True
        ):
            found[j] = _compared(choices[j], q, moves, comparison)
        return [found[j] for j in range(len(choices))]

    def _candidates(self, choice: TakenDecision, q: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the moves to compare, the blueprint's first; the one played is always among them."""
        moves = candidate_moves(q, choice.actions["type"], self.config)
        if choice.played in moves:
            return moves
        return np.append(moves[: max(1, self.config.moves.candidates - 1)], choice.played)

    def _dealer(self, choice: TakenDecision) -> Dealer:
        """Return what draws deals that the seat has to reckon with, from the position's own stream."""
        seed = [int(word) for word in choice.state["hash"][0]] + [choice.play, choice.seat]
        return Dealer(choice.state, None, self.networks, self.config.deals, np.random.default_rng(seed))

    def _question(
        self, choice: TakenDecision, q: NDArray[np.float64], moves: NDArray[np.int64]
    ) -> Question | None:
        """Return what rollouts should settle; None if no deal agrees with what the seat saw."""
        most = self.config.deals.worlds
        try:
            worlds = self._dealer(choice).draw(most, most)
        except GameError:
            return None
        if not len(worlds):
            return None
        return Question(choice.state, choice.actions[moves], q[moves], worlds)

    def _endgame(self, choice: TakenDecision, q: NDArray[np.float64]) -> Judgement | None:
        """Return the judgement of an ending with open cards, if it can be solved."""
        if not self.config.endgame or not is_endgame(choice.state, self.config.open_cards):
            return None
        try:
            solved = solve_drawn(self._dealer(choice), choice.actions, self.config.endgame)
        except GameError:
            return None
        if solved is not None and solved.certain:
            return _certain(choice, q, solved, self.config.moves.candidates)
        if solved is None or not solved.settled:
            return None
        order = np.argsort(-solved.mean, kind="stable")[: self.config.moves.candidates]
        moves = np.unique([*order.tolist(), int(np.argmax(q)), choice.played])
        return _compared(choice, q, moves, solved.compared(moves, q))


def _certain(
    choice: TakenDecision, q: NDArray[np.float64], solved: Endgame, candidates: int
) -> Judgement | None:
    """Return the judgement of an ending whose cards are all known; None where it was not solved in time."""
    values = solved.values[0]
    if not (solved.settled or not np.isnan(values).any()) or np.isnan(values[choice.played]):
        return None
    right = np.flatnonzero(values == np.nanmax(values))
    best = choice.played if choice.played in right else int(right[np.argmax(q[right])])
    network = int(np.argmax(q))
    mine = float(values[choice.played])
    order = np.argsort(-q, kind="stable")
    order = np.concatenate([[best], order[order != best]])
    kept = [int(move) for move in order if not np.isnan(values[move])][:candidates]
    if choice.played not in kept:
        kept = [*kept[: max(1, len(kept) - 1)], choice.played]
    moves = np.array(kept, np.int64)
    loss = float(values[best]) - mine
    return Judgement.of(
        choice,
        q,
        "endgame",
        (moves, values[moves] - mine, np.zeros(len(moves)), values[moves]),
        solved.worlds.states,
        loss=loss,
        behind_network=0.0 if np.isnan(values[network]) else float(values[network]) - mine,
        deals=1,
        better=int(loss > 0),
    )


def _unsearched(choice: TakenDecision, q: NDArray[np.float64], stage: str) -> Judgement:
    """Return the judgement of a decision that no deal was played for."""
    none = np.zeros(1)
    return Judgement.of(choice, q, stage, (np.array([choice.played]), none, none, np.full(1, np.nan)))


def _weighted(weights: NDArray[np.float64], each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over deals of each move's column, by weight, to the same bit wherever the arrays lie.

    A library's matrix product is not: its last digit follows where in memory they begin.
    """
    total: NDArray[np.float64] = (weights[:, None] * each).sum(0)
    return total


def _compared(
    choice: TakenDecision, q: NDArray[np.float64], moves: NDArray[np.int64], comparison: MoveComparison
) -> Judgement:
    """Return the judgement that rollouts in common deals lead to, the blueprint's opinion included."""
    payoffs, weights = comparison.payoffs, comparison.weights / comparison.weights.sum()
    mine = int(np.flatnonzero(moves == choice.played)[0])
    difference = payoffs - payoffs[:, [mine]]
    mean = _weighted(weights, difference)
    count = 1.0 / (weights**2).sum()
    square = _weighted(weights, (difference - mean) ** 2)
    variance = (count * square + SPREAD_WEIGHT * SPREAD**2) / (count + SPREAD_WEIGHT)
    # how likely deals are is an estimate too, so that a list of all counts no more than as many draws
    noise = (0.0 if len(weights) == 1 else variance / count) + NOISE**2
    opinion = q[moves] - q[choice.played]
    trust = TRUST**2 + (SHARE * opinion) ** 2
    share = trust / (trust + noise)
    gains = share * mean + (1 - share) * opinion
    errors = np.sqrt(share * noise)
    gains[mine] = errors[mine] = 0.0
    first = int(np.argmax(gains)) if gains.max() > 0 else mine
    order = np.argsort(-gains, kind="stable")
    order = np.concatenate([[first], order[order != first]])
    network = int(np.argmax(q))
    swing = difference[:, first]
    return Judgement.of(
        choice,
        q,
        "search",
        (moves[order], gains[order], errors[order], _weighted(weights, payoffs)[order]),
        comparison.worlds.states[[int(np.argmax(comparison.worlds.weights))]],
        loss=float(gains[first]),
        error=float(errors[first]),
        behind_network=float(gains[np.flatnonzero(moves == network)[0]]),
        deals=len(payoffs),
        better=round(float(weights[swing > EVEN].sum()) * len(payoffs)),
        worse=round(float(weights[swing < -EVEN].sum()) * len(payoffs)),
    )


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
    hands = unpack(played.start["hand"][0]).astype(np.int64)
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
            yield _card_decision(played, giver, hand, None if given is paid else other), card


def _card_decision(
    played: RecordedRound, seat: int, hand: NDArray[np.int64], received: int | None
) -> CardDecisions:
    """Return the decision of a seat; received: the tribute card that it returns one for, None for a payer."""
    packed = pack(hand[None].astype(np.uint8))
    level = played.start["level"].astype(np.uint8)
    if received is None:
        options = tribute_options(packed, level)
    else:
        options = return_options(packed, level, np.array([received], np.uint8))
    return CardDecisions(
        np.zeros(1, np.int64),
        np.array([seat], np.uint8),
        np.zeros(1, np.uint8),
        np.array([received is not None]),
        level,
        packed,
        options,
    )
