"""A decision in words: what a player would want to know about a move that search chose, or would choose."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import NO_ACTION, PASS, RANKS, hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.position import parse_position
from games.support.array_types import Array
from games.support.files import read_text
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.table.selection import move_text, seat_words

LISTED = 8
"""Deals and moves that an explanation lists one by one."""
DRAWS = 4000
"""Draws by which the chance of being the best move is estimated."""
EVEN = 0.05
"""Levels within which two moves are called equally good in one deal."""


@dataclass(frozen=True)
class MoveRow:
    """One legal move.

    move: in words. blueprint: its score by the blueprint, in levels behind the best. policy: the blueprint's
    soft probability. gain: levels won by it over the blueprint's move as search sees it, and error, the
    standard deviation of that; None if it was not compared. refined: probability that it is the best of those
    compared, or the solved subgame's. rollouts: deals in which it was played. note: why it was not compared.
    place: its index in the decision's actions. notation: the move as `[type, rank, cards]`.
    """

    move: str
    blueprint: float
    policy: float
    gain: float | None
    error: float | None
    refined: float
    rollouts: int
    note: str
    place: int
    notation: list[Any]


@dataclass(frozen=True)
class DealRow:
    """One deal that search looked at.

    hands: of the other seats, in words, by seat. weight: its share of all deals. results: payoff in levels of
    each move compared. alternative: what each opponent expects there; solved: what it gets in the subgame;
    margin: the difference, what the opponent lost. Keys are moves and seats.
    """

    hands: dict[int, str]
    weight: float
    results: dict[str, float]
    alternative: dict[int, float]
    solved: dict[int, float]
    margin: dict[int, float]


@dataclass(frozen=True)
class Explanation:
    """One decision, explained.

    seat: who decides. level: the round's. hand: in words. to_beat: move on the table and by whom, None on a
    lead. left: cards each seat holds. play: the move chosen; blueprint: the one the blueprint would play.
    stage: what decided. reason: one sentence. moves: best first. deals: some of those looked at, those in
    which the choice matters most first; deals_sampled: how many there were; exact: all that are possible.
    subgame: size of the solved subgame, empty without one. notes: what was cut short or went wrong.
    seconds: of each stage. config: the search's configuration.
    """

    seat: int
    level: str
    hand: str
    to_beat: str | None
    left: tuple[int, ...]
    play: str
    blueprint: str
    stage: str
    reason: str
    moves: tuple[MoveRow, ...]
    deals: tuple[DealRow, ...]
    deals_sampled: int
    exact: bool
    subgame: dict[str, float]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    config: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def explain_decision(decision: Decision, config: GuanDanConfig, *, listed: int = LISTED) -> Explanation:
    """Return a decision in words.

    listed: moves and deals to list at most.
    """
    state, seat = decision.state, decision.seat
    row = state[0]
    level = int(row["level"])
    names = [move_text(action_list(action, level)) for action in decision.actions]
    moves = _moves(decision, names, config)
    on_table = None
    if row["leader"] != 255 and row["beat"]["type"] not in (PASS, NO_ACTION):
        leader = int(row["leader"])
        beat = move_text(action_list(row["beat"], level))
        on_table = f"{beat} by seat {leader} ({seat_words(seat)[leader]})"
    solution = decision.solution
    sizes = ("nodes", "infosets", "leaves", "depth", "iterations", "gap") if solution else ()
    return Explanation(
        seat=seat,
        level=RANKS[level],
        hand=hand_text(unpack(row["hand"][seat]), level),
        to_beat=on_table,
        left=tuple(int(n) for n in row["left"]),
        play=names[decision.choice],
        blueprint=names[decision.blueprint],
        stage=decision.stage,
        reason=_reason(decision, names),
        moves=tuple(moves[: max(listed, len(decision.candidates))]),
        deals=tuple(_deals(decision, names, listed)),
        deals_sampled=0 if decision.worlds is None else len(decision.worlds),
        exact=decision.worlds is not None and decision.worlds.exact,
        subgame={name: float(getattr(solution, name)) for name in sizes},
        notes=tuple(decision.notes),
        seconds=dict(decision.seconds),
        config=config.to_json(),
    )


def chances(mean: Array, error: Array) -> NDArray[np.float64]:
    """Return how often each move is the best if each one's advantage is normal, [k] summing to 1."""
    rng = np.random.default_rng(0)
    draws = mean + error * rng.standard_normal((DRAWS, len(mean)))
    return np.bincount(np.argmax(draws, 1), minlength=len(mean)) / DRAWS


def _moves(decision: Decision, names: list[str], config: GuanDanConfig) -> list[MoveRow]:
    q, n, solution, endgame = decision.q, len(names), decision.solution, decision.endgame
    known = np.isfinite(q).all()
    soft = np.exp((q - q.max()) / config.deals.temperature) if known else np.ones(n)
    soft = soft / soft.sum()
    refined, notes = np.zeros(n), ["too far behind" if decision.candidates.size else ""] * n
    for move in decision.candidates:
        notes[move] = ""
    gains: dict[int, tuple[float | None, float | None, int]] = {}
    comparison = decision.comparison
    if comparison is not None and comparison.rollouts:
        played = np.count_nonzero(~np.isnan(comparison.payoffs), 0)
        columns = (part.tolist() for part in (comparison.mean, comparison.error, played))
        gains = dict(zip(decision.candidates.tolist(), zip(*columns, strict=True), strict=True))
        for move in decision.candidates[played < played.max()]:
            notes[move] = "given up early"
        if solution is None:
            refined[decision.candidates] = chances(comparison.mean, comparison.error)
    if solution is not None:
        refined[solution.moves] = solution.policy
    elif not gains:
        refined[decision.choice] = 1.0
    if endgame is not None:
        ends = {True: "wins", False: "loses"}
        best = np.nanmax(endgame.values[0])
        notes = ["" if np.isnan(value) else ends[bool(value == best)] for value in endgame.values[0]]
    order = sorted(range(n), key=lambda i: (i != decision.choice, -refined[i], -q[i]))
    level = int(decision.state["level"][0])
    rows = []
    for i in order:
        gain, error, rollouts = gains.get(i, (None, None, 0))
        behind = float(q[i] - q.max()) if known else 0.0
        told = behind, float(soft[i]), gain, error, float(refined[i]), rollouts, notes[i]
        rows.append(MoveRow(names[i], *told, i, action_list(decision.actions[i], level)))
    return rows


def _deals(decision: Decision, names: list[str], listed: int) -> list[DealRow]:
    worlds = decision.worlds
    if worlds is None:
        return []
    comparison, solution, seat = decision.comparison, decision.solution, decision.seat
    if solution is not None and comparison is None:
        worlds = solution.worlds
    others = [s for s in ((seat + j) % 4 for j in (1, 2, 3)) if decision.state["left"][0, s] > 0]
    order = np.arange(len(worlds))
    payoffs = np.zeros((len(worlds), 0))
    if comparison is not None and comparison.rollouts:
        payoffs = comparison.payoffs
        best = int(np.flatnonzero(decision.candidates == decision.choice)[0])
        swing = payoffs[:, best] - (payoffs[:, 0] if best else np.nanmin(payoffs, 1))
        order = np.argsort(-np.abs(np.nan_to_num(swing)), kind="stable")
    total = worlds.weights.sum() or 1.0  # a deal that play has ruled out weighs nothing
    level = int(decision.state["level"][0])
    rows = []
    for i in order[:listed]:
        hands = {s: hand_text(unpack(worlds.states["hand"][i, s]), level) for s in others}
        paid = zip(decision.candidates, payoffs[i].tolist(), strict=False)
        results = {names[move]: payoff for move, payoff in paid if not np.isnan(payoff)}
        alternative, solved = dict[int, float](), dict[int, float]()
        if solution is not None:
            for j, opponent in enumerate(solution.opponents):
                alternative[opponent] = float(solution.alternative[j, i])
                solved[opponent] = float(solution.solved[j, i])
        margin = {s: alternative[s] - solved[s] for s in alternative}
        rows.append(DealRow(hands, float(worlds.weights[i] / total), results, alternative, solved, margin))
    return rows


_REASONS = {
    "forced": "It is the only legal move.",
    "first": "The blueprint could not be asked; the first legal move is played.",
    "blueprint": "The blueprint's move, without search.",
    "clear": "The blueprint thinks no other move comes close, so nothing was searched.",
    "endgame": "Two seats are left and every card is known: this move wins against any defence.",
}


def _reason(decision: Decision, names: list[str]) -> str:
    usual = names[decision.blueprint]
    if decision.stage in _REASONS:
        return _REASONS[decision.stage]
    if decision.stage == "subgame":
        assert decision.solution is not None
        share = float(decision.solution.policy[decision.solution.moves == decision.choice][0])
        how = "as the blueprint would" if not decision.changed else f"where the blueprint plays {usual}"
        return f"The solved subgame plays it {share:.0%} of the time, {how}."
    comparison = decision.comparison
    assert comparison is not None
    deals = len(comparison.payoffs)
    how = "Solved with open cards" if decision.stage == "open" else "Played out"
    if decision.changed:
        i = comparison.best
        swing = comparison.payoffs[:, i] - comparison.payoffs[:, 0]
        better, worse = np.count_nonzero(swing > EVEN), np.count_nonzero(swing < -EVEN)
        return (
            f"{how} in {deals} deals, it does better than {usual} in {better} and worse in {worse}; "
            f"on average it is worth {comparison.mean[i]:+.2f} ± {comparison.error[i]:.2f} levels."
        )
    return f"In {deals} deals no move did better than the blueprint's own."


EXAMPLES = Path(__file__).parents[1] / "positions.json"
MOST_TEXT = 1 << 20
"""Bytes of a position that is read; a whole round has some 20,000."""


def example_positions() -> dict[str, dict[str, object]]:
    """Return the positions that come with the package by name: {"title": …, "position": {…}}."""
    found: dict[str, dict[str, object]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return found


def read_position(source: str | Path) -> str:
    """Return the line of JSON that names a position.

    source: a file that holds one (or an object with the position under "position"), an example's name, or
        the line itself.
    Raises GameError if it is none of these.
    """
    if str(source).lstrip().startswith("{"):
        return str(source)
    path = Path(source)
    examples = example_positions()
    if str(source) in examples:
        return json.dumps(examples[str(source)]["position"])
    if not path.is_file():
        raise GameError(
            f"guandan: position: must be a file or one of {', '.join(examples)}; got {str(source)!r}"
        )
    text = read_text(path, most=MOST_TEXT)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(fields, dict) and isinstance(fields.get("position"), dict):
        fields = fields["position"]
    return json.dumps(fields)


def solve_position(position: str, agent: Gs2Agent, *, listed: int = 8, warmed: bool = False) -> Explanation:
    """Return what the agent would play at a position, and why.

    position: a line of JSON, see `games.guandan.rounds.position`; it is the player to act who looks. Hidden
        hands may be missing. listed: moves and deals listed at most. warmed: compile first what the decision
        needs, which its deadline has no time for.
    Raises GameError at bad input, a finished round, or a seat that is not to act.
    """
    state, seat = parse_position(position)
    player = int(state["player"][0])
    if player < 0:
        raise GameError(
            "guandan: position: the round is over and no player can act; take a position before its end"
        )
    if seat is not None and seat != player:
        raise GameError(
            f"guandan: position: seat {player} is to act but the hand shown is seat {seat}'s; "
            "show the hand of the player to act"
        )
    if int(np.asarray(state["left"][0])[player]) == 0:
        raise GameError(f"guandan: position: seat {player} is to act but holds no card")
    if warmed:
        agent.warm_up(state)
    return explain_decision(agent.decide(state), agent.config, listed=listed)
