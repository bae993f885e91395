"""Rounds of any game in words: a file of them, and each round again from its words.

    {"game": "kuhn_poker", "seed": 0, "pair": 3, "team": 0, "agents": ["cfr:100", "uniform"],
     "chance": ["deal K", "deal J"], "start": "P0 holds K, P1 holds J", "play": ["P0 bet", "P1 pass"],
     "payoffs": [1, -1]}

A file begins with a header (`format`) that says of which match it is; then a line is a round, which says all
that it takes to play it again. A round that is written while it is played comes in pieces instead: the header
has its game and agents, and each line behind adds to it, {"chance": […]}, {"play": […]} or {"payoffs": […]}.

Chance's outcomes and the seats' moves are in the game's own words, each in their order; the game tells which
comes when. A replay takes every one of them from those that are legal, and comes to the same payoffs. A round
that did not begin at the root has no chance: its start says where, in words that the game's `parse_state`
reads. One that was cut off has no payoffs, and is replayed as far as its words go.

    for round_ in replayed_rounds("rounds.jsonl"):
        print(round_.line, round_.record.agents, round_.game.state_text(round_.end[0]))
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from games.game import CHANCE, TERMINAL, Game, GameError
from games.infosets.naming import normal_text
from games.registry import is_game_name, recorded_game
from games.support.array_types import Array
from games.support.files import read_bytes
from games.support.json_rows import JsonRows, Row
from games.support.near import near
from games.support.own import is_own

RECORDS_FORMAT = "gs2-rounds-1"

TOLERANCE = 1e-9
"""How far a payoff may be from the recorded one, as a share of the game's largest."""
NEEDED = ("game", "agents", "chance", "play", "payoffs")
COUNTS = ("seed", "pair", "team")
KNOWN = (*COUNTS, "start", *NEEDED)
PIECES = frozenset(("chance", "play", "payoffs"))
"""What the lines of a round in pieces add to."""
LARGEST = 1e300
"""No payoff is as large."""
SHOWN = 120
"""Characters of a value that a message shows."""
MOVE = re.compile(r"P(\d+) (.+)", re.DOTALL)


class RoundRecordError(GameError):
    """A round that was not written as records are, or that the rules do not allow."""


@dataclass(frozen=True)
class RoundRecord:
    """What was played in one round.

    game: its string. agents: of each seat, as it was named. chance: outcomes in words, in order. play: moves
    in words behind the seat, `P0 raise`, in order. payoffs: of each seat; () for a round that was cut off.
    start: the history at the first decision in words, such as the hands; "" where it is not told. seed, pair,
    team: of the match that it is of: its seed, the number of the pair of games, and the team of the match's
    first agent.
    """

    game: str
    agents: tuple[str, ...]
    chance: tuple[str, ...]
    play: tuple[str, ...]
    payoffs: tuple[float, ...]
    start: str = ""
    seed: int = 0
    pair: int = 0
    team: int = 0

    @property
    def complete(self) -> bool:
        """Whether the round was played to its end."""
        return bool(self.payoffs)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON has it, what it is of in front."""
        told = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}
        order = ("game", *COUNTS, "agents", "chance", "start", "play", "payoffs")
        return {name: told[name] for name in order if name != "start" or self.start}

    @classmethod
    def from_json(cls, row: Any) -> RoundRecord:
        """Return the record that an object of JSON holds. Raises RoundRecordError if it holds none."""
        if not isinstance(row, dict):
            raise RoundRecordError(f"a record must be a JSON object; got {_shown(row)}; delete the line")
        lacking = [name for name in NEEDED if name not in row]
        if lacking:
            raise RoundRecordError(
                f"a record must have {', '.join(NEEDED)}; {', '.join(lacking)} is missing in {_shown(row)}; "
                "name another file, or write it again"
            )
        unknown = [name for name in row if name not in KNOWN]
        if unknown:
            known = near(unknown[0], KNOWN, "delete it")
            raise RoundRecordError(f"a record has no {_shown(unknown[0])}; {known}")
        if not isinstance(row["game"], str) or not row["game"].strip():
            raise RoundRecordError(f"game must be a game string; got {_shown(row['game'])}; see gs2 games")
        for name in ("agents", "chance", "play"):
            if not isinstance(row[name], list) or not all(isinstance(word, str) for word in row[name]):
                raise RoundRecordError(f"{name} must be a list of texts; got {_shown(row[name])}; mend it")
        if not isinstance(row.get("start", ""), str):
            raise RoundRecordError(f"start must be a text; got {_shown(row['start'])}; leave it out")
        payoffs = row["payoffs"]
        if not isinstance(payoffs, list) or not all(_finite(value) for value in payoffs):
            raise RoundRecordError(
                f"payoffs must be a list of finite numbers; got {_shown(payoffs)}; mend it"
            )
        for name in COUNTS:
            if name in row and (type(row[name]) is not int or row[name] < 0):
                raise RoundRecordError(
                    f"{name} must be a whole number of at least 0; got {_shown(row[name])}; mend it"
                )
        return cls(
            row["game"],
            tuple(row["agents"]),
            tuple(row["chance"]),
            tuple(row["play"]),
            tuple(float(value) for value in payoffs),
            row.get("start", ""),
            *(row.get(name, 0) for name in COUNTS),
        )


@dataclass
class RoundNotes:
    """The words of a round while it is played."""

    chance: list[str] = field(default_factory=list)
    play: list[str] = field(default_factory=list)
    start: str = ""

    def take(self, game: Game, state: Array, player: int, action: Array) -> None:
        """Note one action. state: a single row; player: who takes it, CHANCE included."""
        words = game.action_text(state, action)
        if player == CHANCE:
            self.chance.append(words)
        else:
            self.start = self.start or game.state_text(state)
            self.play.append(f"P{player} {words}")


@dataclass(frozen=True, eq=False)
class ReplayedMove:
    """One action of a replayed round, [1]: the state before it, [1], who took it, and its words."""

    states: Array
    player: int
    words: str
    action: Array | None = None


def replay_round(record: RoundRecord, game: Game) -> Iterator[ReplayedMove]:
    """Yield every action of a round in order; last the state at its end, without words.

    The player at the end is TERMINAL, but for a round that was cut off.

    game: the one that the record names, loaded.
    Raises RoundRecordError where an action is not legal, another seat acts, something is left over or
    missing, or the payoffs are others.
    """
    if len(record.agents) != game.num_players:
        raise RoundRecordError(
            f"agents must name the {game.num_players} seats of {game.name}; got {len(record.agents)} names"
        )
    states = _first_states(record, game)
    chance, play = iter(record.chance), iter(record.play)
    count = {"chance": 0, "play": 0}
    while (player := int(game.player(states)[0])) != TERMINAL:
        kind = "chance" if player == CHANCE else "play"
        count[kind] += 1
        where = f"{kind} {count[kind]}"
        said = next(chance if player == CHANCE else play, None)
        if said is None and not record.complete:
            break
        if said is None:
            who = "chance" if player == CHANCE else f"P{player}"
            raise RoundRecordError(
                f"{where}: the round must be played to its end; {who} never moved; it was cut short"
            )
        if count["play"] == 1 and player != CHANCE and record.start:
            _check_start(record.start, game.state_text(states[0]))
        words = said
        if player != CHANCE:
            player, words = _own_words(said, _waiting(game, states, player), where)
        action = _action_of(game, states, player, words, where)
        yield ReplayedMove(states, player, words, action)
        try:
            states = game.step(states, np.zeros(1, np.int64), action)
        except GameError as error:
            raise RoundRecordError(f"{where}: an action must be legal here; {error}") from None
    for kind, left in (("chance", chance), ("play", play)):
        over = next(left, None)
        if over is not None:
            raise RoundRecordError(
                f"{kind} {count[kind] + 1}: the round is over; got {_shown(over)} behind its end; delete it"
            )
    if record.complete:
        _check_payoffs(record, game, states)
    yield ReplayedMove(states, int(game.player(states)[0]), "")


class RoundsFile(JsonRows):
    """Rounds of a match, of which this process is the only writer; the header is the match's."""

    FORMAT, SOURCE, ROW = RECORDS_FORMAT, "gs2 match --game … --records", "the record of a round"
    FAULT = RoundRecordError

    def is_row(self, row: Row) -> bool:
        """Return whether a row has the parts of a record; whether the rules allow it is not asked."""
        try:
            RoundRecord.from_json(row)
        except RoundRecordError:
            return False
        return True

    def key(self, row: Row) -> tuple[int, int]:
        """Return which round of the match a row is."""
        return row.get("pair", 0), row.get("team", 0)

    def add(self, rounds: Iterable[RoundRecord]) -> None:
        """Append those rounds that are not here yet.

        Raises RoundRecordError, and appends none, where one that is here was played otherwise.
        """
        held = {self.key(row): row for row in self.rows}
        new = []
        for record in rounds:
            row = record.to_json()
            there = held.get(self.key(row))
            if there is None:
                new.append(row)
            elif there != row:
                raise RoundRecordError(
                    f"{self.path}: a round must be played in one way; pair {record.pair} as team "
                    f"{record.team} now went otherwise, as it may where an agent decides by the clock; name "
                    "another file"
                )
        self.append(new)


@dataclass(frozen=True, eq=False)
class ReplayedRound:
    """A recorded round that was played again.

    line: its number in the file, from 1. game: what was played. moves: chance's and the seats', in order.
    end: the last state, [1].
    """

    line: int
    record: RoundRecord
    game: Game
    moves: tuple[ReplayedMove, ...]
    end: Array


def read_rounds(path: str | Path) -> list[tuple[int, RoundRecord]]:
    """Return the rounds of a file as `parse_rounds` does.

    Raises RoundRecordError, naming file and line, at a line that is no round, FileProblem for no such file.
    """
    return parse_rounds(record_text(path), str(path))


def record_text(path: str | Path) -> str:
    """Return the text of a file; raise RoundRecordError where there is none, FileProblem for no file."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise RoundRecordError(f"{path}: a file of records must exist; none does; check the path") from None
    except UnicodeDecodeError as error:
        raise RoundRecordError(f"{path}: records must be UTF-8 text; {error}; name another file") from None


def parse_rounds(text: str, name: str, *, repair: bool = False) -> list[tuple[int, RoundRecord]]:
    """Return the rounds of a text with the numbers of their first lines; headers are passed over.

    Whether the rules allow them is another matter (`replayed_rounds`).
    name: of the file, for messages. repair: leave out a last line that was cut off instead of refusing it.
    Raises RoundRecordError, naming file and line, at a line that is no round.
    """
    *lines, cut = re.sub(r"\n\s+\Z", "\n", text).split("\n")
    if cut and not repair:
        raise RoundRecordError(
            f"{name}, line {len(lines) + 1}: a line must be whole; got {cut[:60]!r}, cut off; the same gs2 "
            "match mends it, or delete it"
        )
    rows: list[tuple[int, Any]] = []
    header: dict[str, Any] = {}
    piece: dict[str, Any] | None = None
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RoundRecordError(
                f"{where}: a record must be one object of JSON; got {line[:60]!r} ({error}); delete the line"
            ) from None
        if isinstance(row, dict) and "format" in row:
            _check_header(row, where)
            header, piece = row, None
        elif isinstance(row, dict) and row and row.keys() <= PIECES:
            if piece is None:
                piece = {key: header[key] for key in ("game", "seed", "agents") if key in header}
                piece |= {"chance": [], "play": [], "payoffs": []}
                rows.append((number, piece))
            for key, words in row.items():
                if not isinstance(words, list):
                    raise RoundRecordError(f"{where}: {key} must be a list; got {_shown(words)}; mend it")
                piece[key] += words
        else:
            rows.append((number, row))
            piece = None
    found = []
    for number, row in rows:
        try:
            found.append((number, RoundRecord.from_json(row)))
        except RoundRecordError as error:
            raise RoundRecordError(f"{name}, line {number}: {error}") from None
    if not found:
        raise RoundRecordError(f"{name}: a file of records must have a round; it has none; name another file")
    return found


def replayed_rounds(path: str | Path, game: Game | None = None, *, name: str = "") -> Iterator[ReplayedRound]:
    """Yield every round of a file, each played again and each of its actions checked.

    game: the one that all rounds must be of; None for those that they name. name: its string, where that of
        the game is another (one's own, FILE.py:NAME).
    Raises RoundRecordError, naming file and line, at a round that the rules do not allow.
    """
    # records of the browser's tables name one's own game without its folders
    games: dict[str, Game] = {}
    if game is not None:
        games = dict.fromkeys((name or game.name, name.rpartition("/")[2], game.name), game)
    for number, record in read_rounds(path):
        try:
            if record.game not in games:
                if game is not None:
                    raise RoundRecordError(
                        f"game must be {name or game.name}; this round is of {record.game}; name no game"
                    )
                games[record.game] = _loaded(record.game)
            moves = tuple(replay_round(record, games[record.game]))
        except GameError as error:
            raise RoundRecordError(f"{path}, line {number}: {error}") from None
        yield ReplayedRound(number, record, games[record.game], moves[:-1], moves[-1].states)


def winners(payoffs: Array, teams: tuple[int, ...]) -> Array:
    """Return each team's share of a win in each game, [n, teams] float64: those paid most share one win.

    payoffs: [n, seats].
    """
    first = [teams.index(team) for team in range(max(teams) + 1)]
    best = payoffs[:, first] >= payoffs[:, first].max(1, keepdims=True) - TOLERANCE
    shares: Array = best / best.sum(1, keepdims=True)
    return shares


def _loaded(text: str) -> Game:
    """Return the game that a record names; a record must not have code run that its reader did not name."""
    if is_own(text.strip()) and not is_game_name(text):
        raise RoundRecordError(
            f"game must be one that gs2 or a package has; {text!r} would run its file; say it yourself: "
            f"gs2 games {text} --replay FILE"
        )
    return recorded_game(text)


def _check_header(row: dict[str, Any], where: str) -> None:
    if row["format"] != RECORDS_FORMAT:
        raise RoundRecordError(
            f"{where}: the format must be {RECORDS_FORMAT}; got {row['format']!r}; name a file that "
            "gs2 match --game … --records wrote"
        )


def _waiting(game: Game, states: Array, player: int) -> tuple[int, ...]:
    """Return the seats that may act: the player, or all that a game lets answer in any order."""
    several: Callable[[Array], tuple[int, ...]] | None = getattr(game, "waiting", None)
    return (player,) if several is None else several(states[0])


def _own_words(said: str, seats: tuple[int, ...], where: str) -> tuple[int, str]:
    """Return who moved, one of these seats, and the words of the move."""
    found = MOVE.fullmatch(said)
    if found is None:
        raise RoundRecordError(f'{where}: a move must be as "P{seats[0]} …"; got {_shown(said)}; mend it')
    if int(found[1]) not in seats:
        raise RoundRecordError(
            f"{where}: P{seats[0]} is to act; got {_shown(said)}; a move is missing or too many"
        )
    return int(found[1]), found[2]


def _first_states(record: RoundRecord, game: Game) -> Array:
    """Return where a round began, [1]."""
    read: Callable[[str], Array] | None = getattr(game, "parse_state", None)
    return read(record.start) if read is not None and record.start and not record.chance else game.root()


def _action_of(game: Game, states: Array, player: int, words: str, where: str) -> Array:
    """Return the legal action that some words name, [1]; a game that reads them checks it in `step`."""
    read: Callable[[int, str], Array] | None = getattr(game, "parse_action", None)
    if read is not None:
        return read(player, words)
    legal = game.actions(states)
    texts = [game.action_text(states[0], action) for action in legal.values]
    at = [k for k, text in enumerate(texts) if text == words]
    if not at:
        at = [k for k, text in enumerate(texts) if normal_text(text) == normal_text(words)]
    if len(at) != 1:
        hint = near(words, texts, f"{len(texts)} are, such as {_shown(texts[0])}")
        raise RoundRecordError(f"{where}: an action must be legal here; {_shown(words)} is not; {hint}")
    if game.chance_probs(states, legal)[at[0]] <= 0:
        raise RoundRecordError(f"{where}: chance must be able to do it; {_shown(words)} has probability 0")
    chosen: Array = legal.values[at[0] : at[0] + 1]
    return chosen


def _check_start(said: str, text: str) -> None:
    if normal_text(said) != normal_text(text):
        raise RoundRecordError(
            f"start must be what chance's outcomes come to, {_shown(text)}; got {_shown(said)}; mend either"
        )


def _check_payoffs(record: RoundRecord, game: Game, states: Array) -> None:
    paid = game.returns(states)[0]
    slack = TOLERANCE * max(1.0, *map(abs, game.payoff_range))
    if len(record.payoffs) != len(paid) or np.abs(np.array(record.payoffs) - paid).max() > slack:
        raise RoundRecordError(
            f"payoffs must be those that the game pays, {paid.tolist()}; got {list(record.payoffs)}; a move "
            "or a payoff was changed"
        )


def _finite(value: Any) -> bool:
    # compared, not converted: a whole number of JSON may be longer than any float; nan compares as False
    return type(value) in (int, float) and -LARGEST < value < LARGEST


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
