"""An observation in words, and words as a choice: what people and language models share."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from gs2.guandan.table.seat import AgentError, Observation

__all__ = ["choice_text", "describe", "move_words", "read_choice"]

_SHORT = {
    "single": "Single",
    "pair": "Pair",
    "trips": "Trips",
    "tube": "ThreePair",
    "threepair": "ThreePair",
    "fullhouse": "ThreeWithTwo",
    "threewithtwo": "ThreeWithTwo",
    "plate": "TwoTrips",
    "twotrips": "TwoTrips",
    "straight": "Straight",
    "straightflush": "StraightFlush",
    "flush": "StraightFlush",
    "bomb": "Bomb",
    "fourkings": "FourKings",
    "jokerbomb": "FourKings",
}


def move_words(move: Any) -> str:
    """Return a move as people write it: `Pair 6 (S6 D6)`, `PASS`."""
    kind, rank, cards = move
    if kind == "PASS":
        return "PASS"
    if kind in ("tribute", "back"):
        return f"{'pay' if kind == 'tribute' else 'return'} {cards[0]}"
    return f"{kind} {rank} ({' '.join(cards)})"


def choice_text(observation: Observation, limit: int = 60) -> str:
    """Return the choices, one a line with its index; a long list keeps one of each type and rank."""
    actions = observation.actions
    shown = list(range(len(actions)))
    if len(shown) > limit:
        first: dict[tuple[str, str], int] = {}
        for index, (kind, rank, _) in enumerate(actions):
            first.setdefault((str(kind), str(rank)), index)
        shown = list(first.values())[:limit]
    lines = [f"{index:5d}  {move_words(actions[index])}" for index in shown]
    if len(shown) < len(actions):
        lines.append(f"       … and {len(actions) - len(shown)} more; any may be named by its cards")
    return "\n".join(lines)


def describe(observation: Observation) -> str:
    """Return the situation in a few lines: cards, levels, who holds how many, the trick so far."""
    seat = observation.seat
    names = {seat: "you", (seat + 1) % 4: "next", (seat + 2) % 4: "partner", (seat + 3) % 4: "previous"}
    own, other = observation.levels
    lines = [
        f"Level {observation.level} (your team {own}, opponents {other}); wild cards: H{observation.level}",
        f"Your hand ({len(observation.hand)}): {' '.join(observation.hand)}",
    ]
    if observation.tributes:
        paid = ", ".join(f"{names[a]} gave {names[b]} {card}" for a, b, card in observation.tributes)
        back = ", ".join(f"{names[a]} gave {names[b]} {card}" for a, b, card in observation.returns)
        lines.append(f"Tribute: {paid}" + (f"; returned: {back}" if back else ""))
    if observation.stage == "tribute":
        lines.append("Pay tribute: choose one of your highest cards.")
    elif observation.stage == "back":
        lines.append("Return a card to the player who paid you tribute.")
    else:
        trick = observation.trick
        for who in ((seat + 1) % 4, (seat + 2) % 4, (seat + 3) % 4):
            played = "" if trick[who] is None else f", played {move_words(trick[who])}"
            lines.append(f"{names[who].capitalize()} (seat {who}): {observation.rest[who]} cards{played}")
        if observation.greater is None:
            lines.append("You lead.")
        else:
            who, move = observation.greater
            lines.append(f"To beat: {move_words(move)} by {names[who]}")
    return "\n".join(lines)


def read_choice(text: str, observation: Observation) -> int:
    """Return the index that `text` names: an index, `PASS`, a type and rank (`Pair 6`), or cards (`S6 D6`).

    Of several moves with one type and rank the first listed is taken; cards settle it.
    Raises AgentError, saying what is possible, if no choice is named.
    """
    actions = observation.actions
    line = text.strip()
    if re.fullmatch(r"-?\d+", line):
        index = int(line)
        if 0 <= index < len(actions):
            return index
        raise AgentError(f"an index lies in 0..{len(actions) - 1}; got {index}")
    words = re.sub(r"[\[\]\"'(),]+", " ", line).upper().replace("10", "T").split()
    if words and words[0] in ("PASS", "P"):
        for index, move in enumerate(actions):
            if move[0] == "PASS":
                return index
        raise AgentError("you lead, so there is no pass; choose a move")
    kind = None
    if len(words) > 1 and (words[0] + words[1]).lower() in _SHORT:
        words[:2] = [words[0] + words[1]]
    if words and words[0].lower() in _SHORT:
        kind = _SHORT[words.pop(0).lower()]
    elif words and words[0] in ("TRIBUTE", "BACK", "PAY", "RETURN"):
        words = words[-1:]
    rank = words.pop(0) if words and len(words[0]) == 1 else None
    cards = Counter(words)
    for index, move in enumerate(actions):
        if (
            move[0] != "PASS"
            and (kind is None or move[0] == kind)
            and (rank is None or move[1] == rank)
            and (not cards or Counter(move[2]) == cards)
            and (kind or rank or cards)
        ):
            return index
    raise AgentError(
        f"no choice is called {line[:60]!r}; give an index 0..{len(actions) - 1}, PASS, a type and rank "
        "(Pair 6), or the cards (S6 D6)"
    )
