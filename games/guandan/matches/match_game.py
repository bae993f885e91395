"""A match of GuanDan as a game over rounds: it is replayed from words, and played from a seed.

    {"game": "guandan_match(rules=njupt)", "chance": ["P2 leads; S2 H3 … / … / … / …", "S2 S2 … / …"],
     "play": ["P2 [\"Single\",\"6\",[\"S6\"]]", …, "P3 tribute HR", "P2 back S4", …], …}

In a record chance deals each round. It names the hands by seat, and in the first round who leads. A table
writes its record in pieces (`games.record`): the header, then a line for each deal and move. Matches of
`sample_deals` deal their rounds themselves, from their seeds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, GameError
from games.guandan.cards import ACTION, CARD_NAMES, as_level, hand_text, parse_cards
from games.guandan.matches.match import (
    Dealt,
    Event,
    Leads,
    Match,
    MatchOver,
    Played,
    Returned,
    Tribute,
    match_payoffs,
)
from games.guandan.notation import action_text
from games.guandan.rounds.playout import legal
from games.guandan.rounds.position import position_text
from games.guandan.rules import PRESETS, Rules, as_rules
from games.ragged import Ragged
from games.record import (
    RECORDS_FORMAT,
    ReplayedMove,
    RoundRecord,
    RoundRecordError,
    parse_rounds,
    record_text,
    replay_round,
)
from games.support.array_types import Array, Bytes, Row, Rows

NAME = "guandan_match"
DEAL = re.compile(r"(?:P(\d) leads; )?([^/;]*(?:/[^/;]*){3})")


def match_name(rules: Rules | str, levels: Sequence[str] = ("2", "2"), owner: int | None = None) -> str:
    """Return the game string of a match. levels: of both teams at its start; owner: whose level is played."""
    rules = as_rules(rules)
    preset = next((name for name, known in PRESETS.items() if known == rules), None)
    told: dict[str, object] = rules.changes() if preset is None else {"rules": preset}
    if (*levels,) != ("2", "2") or owner is not None:
        told |= {"levels": "".join(levels), "owner": owner}
    return f"{NAME}({','.join(f'{name}={_word(value)}' for name, value in told.items())})"


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def deal_words(hands: Bytes, first: int | None = None) -> str:
    """Return a deal in words. hands: [4, 54] counts. first: the seat that leads, in a first round."""
    leads = "" if first is None else f"P{first} leads; "
    return leads + " / ".join(hand_text(hand) for hand in hands)


def gift_words(seat: int, back: bool, card: int) -> str:
    """Return a card that a seat gives in words. back: as return for a tribute."""
    return f"P{seat} {'back' if back else 'tribute'} {CARD_NAMES[card]}"


class GuanDanMatch:
    """A match, of the functions of `games.game.Game` those that play it and replay a record.

    A state is a match as far as it was played; an action is an ACTION, or who acts and in what words.
    text: the game string; with `moves=canonical` `actions` lists one move of each effect. Raises GameError if
    it is none.
    """

    num_players = 4
    teams = (0, 1, 0, 1)
    payoff_range = (-1.0, 1.0)

    def __init__(self, text: str) -> None:
        found = re.fullmatch(rf"{NAME}\((.*)\)", text.strip())
        words = [word.partition("=") for word in found[1].split(",")] if found else []
        told = {field.strip(): _value(value.strip()) for field, _, value in words}
        if not told or len(told) < len(words) or not all(equals for _, equals, _ in words):
            raise GameError(
                f"guandan: a match must be {NAME}(rules=PRESET), or switches given once each; got {text!r}"
            )
        self.name = text.strip()
        levels, self.owner = str(told.pop("levels", "22")), told.pop("owner", None)
        if len(levels) != 2:
            raise GameError(f"guandan: levels of a match are two ranks, such as 2A; got {levels!r}")
        self.levels = (as_level(levels[0]), as_level(levels[1]))
        moves = told.pop("moves", "full")
        if moves not in ("full", "canonical"):
            raise GameError(f'guandan: moves must be "full" or "canonical"; got {moves!r}')
        self.canonical = moves == "canonical"
        if self.owner not in (None, 0, 1):
            raise GameError(f"guandan: owner must be team 0 or 1; got {self.owner!r}")
        preset = told.pop("rules", None)
        if preset is not None and told:
            raise GameError(
                f"guandan: a preset must stand without other switches; got rules={preset} and "
                f"{', '.join(told)}; name all switches that differ, or the preset alone"
            )
        self.rules = as_rules(told if preset is None else str(preset))

    def root(self) -> Array:
        """Return the match before the first deal, [1] of object."""
        return _one(self._match(0, by_record=True))

    def _match(self, seed: int, *, by_record: bool) -> Match:
        told: dict[str, Any] = {"rules": self.rules, "levels": self.levels, "owner": self.owner}
        return Match(seed, **told, log=by_record, by_record=by_record)

    def sample_deals(self, n: int, rng: np.random.Generator) -> Array:
        """Return n matches, each with a seed that deals all its rounds, [n] of object."""
        drawn = rng.integers(0, 2**63, n)
        return np.concatenate([_one(self._match(int(seed), by_record=False)) for seed in drawn])

    def player(self, states: Array) -> NDArray[np.int8]:
        """Return who acts, [n] int8; of two seats that may (`waiting`), the first."""
        return np.array([state.player for state in states], np.int8)

    def actions(self, states: Array) -> Ragged:
        """Return the choices of whoever acts at each match, Ragged of ACTION; see `Match.pending`."""
        lists = [self._choices(match) for match in states]
        return Ragged.from_counts(np.array([len(found) for found in lists]), np.concatenate(lists))

    def _choices(self, match: Match) -> Rows:
        due = match.pending()[0]
        whole = not self.canonical or due.stage != "play"
        return due.actions if whole else legal(match.state, canonical=True)[0]

    def action_text(self, state: Match, action: Row) -> str:
        """Return a choice in words: a move, `tribute HR` or `back S4`."""
        words, stage = action_text(action, state.level), state.phase
        return words if stage == "play" else f"{stage} {json.loads(words)[2][0]}"

    def waiting(self, state: Match) -> tuple[int, ...]:
        """Return the seats that may act: in tribute any that has not answered."""
        return tuple(due.seat for due in state.pending())

    def parse_action(self, player: int, words: str) -> Array:
        """Return the action that some words name, [1] of object; `step` finds out whether it is legal."""
        return _one((player, words))

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        """Return the matches after these actions. Raises GameError where one is not legal."""
        after = np.empty(len(rows), object)
        for k, (row, action) in enumerate(zip(rows, actions, strict=True)):
            match = after[k] = states[row].copy()
            player, choice = (match.player, action) if actions.dtype == ACTION else action
            if match.undealt:
                match.redeal(*_read_deal(str(choice), match.round))
                continue
            if isinstance(choice, str):
                stage, _, card = choice.partition(" ")
                exchange = stage if stage in ("tribute", "back") else "play"
                if exchange != match.phase:
                    raise GameError(f"guandan: this is the time for {match.phase}; got {choice!r}")
                choice = choice if exchange == "play" else card
            match.apply(player, choice)
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        """Return 1 for the seats of the winning team and -1 for the others, [n, 4]; 0 in a drawn match."""
        return np.array([match_payoffs(match.winner) for match in states], np.float64).reshape(-1, 4)

    def state_text(self, state: Match) -> str:
        """Return the round in play as `position` does; the number of a round in which no card was played."""
        if state.over:
            return f"match over after {state.round} rounds"
        playing = not state.undealt and state.phase == "play"
        return position_text(state.state[0]) if playing else f"round {state.round}, before its first lead"


def _read_deal(words: str, number: int) -> tuple[Bytes, int]:
    """Return the hands of a deal, [4, 54] counts, and who leads a first round. number: of the round."""
    found = DEAL.fullmatch(words.strip())
    if found is None or (found[1] is None) != (number > 1):
        raise GameError(
            "guandan: a deal must be four hands, CARDS / CARDS / CARDS / CARDS, and of a first round "
            f"P0 leads; in front; got {words[:60]!r}"
        )
    return np.stack([parse_cards(hand) for hand in found[2].split("/")]), int(found[1] or 0)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _one(value: object) -> Array:
    """Return a batch of one object."""
    batch = np.empty(1, object)
    batch[0] = value
    return batch


def match_header(match: Match, names: Sequence[str] | None = None, **extra: Any) -> dict[str, Any]:
    """Return the header of a match's record in pieces. names: of the four seats. extra: kept with it."""
    start: dict[str, Any] = match.start
    game = match_name(match.rules, start["levels"], start["owner"])
    agents = [f"seat {seat}" for seat in range(4)] if names is None else list(names)
    return {"format": RECORDS_FORMAT, "game": game, "seed": match.seed, "agents": agents, **extra}


class MatchPieces:
    """Puts the events of a match into words as they come."""

    def __init__(self) -> None:
        self._level = 0

    def of(self, events: Iterable[Event], move: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the pieces of the record that events add. move: words of the first move, if they are known.

        A first round's deal and its lead come together.
        """
        events = list(events)
        for k, event in enumerate(events):
            match event:
                case Dealt():
                    self._level = event.level
                    lead = next((later.seat for later in events[k:] if isinstance(later, Leads)), None)
                    yield {"chance": [deal_words(event.hands, lead if event.round == 1 else None)]}
                case Tribute() | Returned():
                    back = isinstance(event, Returned)
                    yield {"play": [gift_words(giver, back, card) for giver, _, card in event.transfers]}
                case Played():
                    words = action_text(event.action, self._level) if move is None else move
                    yield {"play": [f"P{event.seat} {words}"]}
                    move = None
                case MatchOver():
                    yield {"payoffs": match_payoffs(event.winner)}


def match_events(record: RoundRecord, name: str = "record") -> Iterator[tuple[Match, Event]]:
    """Yield the match after each of its events, checking every word against the rules.

    name: of the file, for messages. Raises RoundRecordError where the record departs from the rules.
    """
    try:
        game: Any = GuanDanMatch(record.game)
        yield from _events(replay_round(record, game))
    except GameError as error:
        raise RoundRecordError(f"{name}: {error}") from None


def _events(moves: Iterator[ReplayedMove]) -> Iterator[tuple[Match, Event]]:
    told = 0
    for move in moves:
        match, events = move.states[0], move.states[0].events
        # the deal of a round that chance has not dealt is none of the record's
        dealt = [k for k, event in enumerate(events) if isinstance(event, Dealt)]
        end = dealt[-1] if move.player == CHANCE else len(events)
        for event in events[told:end]:
            yield match, event
        told = end


def read_match(path: Any, *, repair: bool = False) -> RoundRecord:
    """Return the match of a file that has one; repair: leave out a last line that was cut off.

    Raises RoundRecordError where it has none or several.
    """
    found = [record for _, record in parse_rounds(record_text(path), str(path), repair=repair)]
    if len(found) != 1 or not found[0].game.startswith(NAME):
        raise RoundRecordError(
            f"{path}: a record of a match must hold one match; this one holds {len(found)} records, the "
            f"first of {found[0].game}; read it with gs2 games --replay"
        )
    return found[0]
