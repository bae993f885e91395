"""Rounds as they were played, whatever recorded them: records, and transcripts of either wire dialect.

A transcript holds the messages of one seat or several, a line each. A line is a message as it went over the
wire, or an object that holds one under "message" or "msg", with the "seat" that got or sent it and the
direction ("dir" or "direction"; "c2s", "out" or "sent" for what a client said, which is not read). What seats
were told alike is taken once, and so is a round that a seat was told again because it came back. Hands that
nobody's messages show are put together when the round is over: every card was played, or lies in `restCards`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import ACTION, CARD_NAMES, DECK, HAND_SIZE, RANKS, as_level, hand_text, unpack
from games.guandan.matches.match import AntiTribute, Dealt, Leads, Played, Returned, RoundOver, Tribute
from games.guandan.matches.match_game import match_events
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, Shown, advance, from_hands
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS, Rules
from games.record import RoundRecord, RoundRecordError, replay_round
from games.registry import load_game
from games.support.array_types import Array, Bytes, Row
from gs2.guandan.agent.deals.dealing import states_along
from gs2.guandan.table.client.tracker import level_owner, shown_by_tribute
from gs2.guandan.table.seat import Transfer
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.moves import find_move, read_move
from gs2.review.review_data import RecordedGame, ReviewedPlay, ReviewedRound, is_json, players_of, printable
from gs2.wings import FIRST


@dataclass(frozen=True, eq=False)
class RecordedRound:
    """One round.

    game, number: of the game in its file, and of the round in its game, from 1.
    start: [1] STATE at the first lead; hands that are not known hold what was seen of them and other cards to
        make up the number. known: whether each seat's hand is known.
    seats: [n] uint8 and actions: [n] ACTION, the moves made. tributes, returns: cards exchanged before.
    anti: seats that refused tribute. levels: rank codes of the teams' levels after it, None where nobody
    tells. left: (seat, card names) of who still held any. notes: what could not be followed, whose round is
    cut off. players: of each seat.
    """

    game: int
    number: int
    start: Array
    known: tuple[bool, ...]
    seats: NDArray[np.uint8]
    actions: Array
    tributes: tuple[Transfer, ...] = ()
    returns: tuple[Transfer, ...] = ()
    anti: tuple[int, ...] = ()
    levels: tuple[int, int] | None = None
    left: Sequence[tuple[int, Sequence[str]]] = ()
    notes: tuple[str, ...] = ()
    players: tuple[int, ...] = (0, 1, 2, 3)

    def states(self) -> Array:
        """Return the round before every move and after the last, [n + 1] STATE."""
        return states_along(self.start, self.actions)

    @property
    def told(self) -> ReviewedRound:
        """The round as a review shows it, nothing judged; hands in the level-aware order."""
        row, level = self.start[0], int(self.start["level"][0])
        leads = self.states()["leader"] == NOBODY
        hands = zip(unpack(row["hand"]), self.known, strict=True)
        moves = zip(self.seats, self.actions, leads[: len(self.actions)], strict=True)
        return ReviewedRound(
            game=self.game,
            number=self.number,
            level=RANKS[level],
            levels=(RANKS[int(row["levels"][0])], RANKS[int(row["levels"][1])]),
            owner=None if row["owner"] == NOBODY else int(row["owner"]),
            first=int(row["first"]),
            hands=tuple(hand_text(hand, level).split() if known else None for hand, known in hands),
            tributes=self.tributes,
            returns=self.returns,
            anti=self.anti,
            plays=tuple(
                ReviewedPlay(int(s), action_list(move, level), bool(lead)) for s, move, lead in moves
            ),
            result=self.end,
            notes=self.notes,
            players=self.players,
        )

    @property
    def end(self) -> dict[str, Any] | None:
        """How the round ended, as a review has the result; None where it was cut off."""
        last = self.states()[-1:]
        if self.notes or last["player"][0] >= 0:
            return None
        order, payoffs = last["order"][0].tolist(), [int(x) for x in _GAME.returns(last)[0]]
        return {
            "order": order,
            "winner": order[0] & 1,
            "gain": abs(payoffs[0]),
            "payoffs": payoffs,
            "levels": None if self.levels is None else [RANKS[level] for level in self.levels],
            "left": [[seat, list(cards)] for seat, cards in self.left if cards],
        }


def record_rounds(records: Sequence[RoundRecord], name: str = "record") -> RecordedGame:
    """Return the rounds of records, whole matches or single rounds, every word checked against the rules.

    A player may sit elsewhere in each record. name: of the file, for messages.
    Raises RoundRecordError where a record departs from the rules.
    """
    rounds: list[RecordedRound] = []
    agents, sitting = players_of(record.agents for record in records)
    for number, (record, players) in enumerate(zip(records, sitting, strict=True), 1):
        read = _single_round if record.game.partition("(")[0].strip() == FIRST else _match_rounds
        rounds += [replace(one, players=players) for one in read(record, number, name)]
    # a record may hold any text as a name
    names = tuple(printable(agent) or f"seat {seat}" for seat, agent in enumerate(agents))
    return RecordedGame("record", names, tuple(rounds), records[-1].complete)


def _single_round(record: RoundRecord, game: int, name: str) -> list[RecordedRound]:
    """Return a round that is of no match; none where nobody has played."""
    try:
        *moves, last = replay_round(record, load_game(record.game))
    except GameError as error:
        raise RoundRecordError(f"{name}: {error}") from None
    made = [(move.states, move.player, move.action) for move in moves if move.player >= 0]
    if not made:
        return []
    states, seats, actions = zip(*made, strict=True)
    hands, level = unpack(last.states["hand"][0]), int(last.states["level"][0])
    held = [(seat, hand_text(hand, level).split()) for seat, hand in enumerate(hands)]
    played = np.array(seats, np.uint8), np.concatenate(actions)
    return [RecordedRound(game, 1, states[0], (True,) * 4, *played, left=held)]


def _match_rounds(record: RoundRecord, game: int, name: str) -> list[RecordedRound]:
    """Return the rounds of one match; one that was cut off before its first lead is left out."""
    told: list[dict[str, Any]] = []
    plays: list[list[tuple[int, Row]]] = []
    for match, event in match_events(record, name):
        match event:
            case Dealt():
                told.append({"number": event.round})
                plays.append([])
            case Leads():
                told[-1]["start"] = match.state.copy()
            case Played():
                plays[-1].append((event.seat, event.action))
            case Tribute():
                told[-1]["tributes"] = event.named
            case Returned():
                told[-1]["returns"] = event.named
            case AntiTribute():
                told[-1]["anti"] = event.seats
            case RoundOver():
                told[-1] |= {"levels": event.levels, "left": event.left}
    return [
        RecordedRound(
            game,
            known=(True,) * 4,
            seats=np.array([seat for seat, _ in made], np.uint8),
            actions=np.array([action for _, action in made], ACTION),
            **words,
        )
        for words, made in zip(told, plays, strict=True)
        if "start" in words
    ]


FROM_CLIENT = frozenset({"c2s", "out", "sent", "send", "client"})
SPOKEN = ("message", "msg")
_GAME = GuanDan()


class TranscriptError(ValueError):
    """A transcript that is damaged: file, line, and what is wrong there."""


@dataclass
class _Told:
    """What was told of one round. hands: as dealt, by seat. level: its rank. ranks: of both teams' levels.

    winners: of the round before, None where there was none in this game or its end was not told.
    """

    line: int
    level: str | None = None
    ranks: list[str | None] = field(default_factory=lambda: [None, None])
    hands: dict[int, Counter[str]] = field(default_factory=dict)
    tributes: tuple[Transfer, ...] = ()
    returns: tuple[Transfer, ...] = ()
    anti: tuple[int, ...] = ()
    plays: list[tuple[int, list[Any], int]] = field(default_factory=list)
    over: m.EpisodeOver | None = None
    asked: m.Act | None = None
    game: int = 1
    number: int = 1
    winners: int | None = None

    def rank(self, seat: int, own: str, other: str) -> None:
        """Note the levels that a seat was told, its own team's and the other's."""
        self.ranks[seat & 1], self.ranks[1 - (seat & 1)] = own, other


@dataclass
class _Stream:
    """How far one seat's messages have come: its round, the plays heard of it, and whether its end was."""

    place: int = -1
    heard: int = 0
    over: bool = False


class _Reader:
    """Puts the messages of all seats together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds: list[_Told] = []
        self.streams: dict[int | None, _Stream] = {}
        self.seen_as: dict[int | None, int] = {}
        self.names: dict[int, str] = {}
        self.kind = "openguandan"
        self.ended: set[int] = set()
        self.skipped = 0

    def take(self, number: int, text: str) -> None:
        where = f"{self.name}:{number}"
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TranscriptError(f"{where}: a line is a message in JSON; {error}: {text[:80]!r}") from None
        if not isinstance(found, dict):
            raise TranscriptError(f"{where}: a line is a JSON object; got {text[:80]!r}")
        label: int | None = None
        inside = next((found[word] for word in SPOKEN if isinstance(found.get(word), dict | str)), None)
        if inside is not None and ("seat" in found or "dir" in found or "direction" in found):
            seat = found.get("seat")
            if seat is not None and (isinstance(seat, bool) or seat not in range(4)):
                raise TranscriptError(f"{where}: a seat is 0..3; got {str(seat)[:40]!r}")
            label = seat
            if str(found.get("dir", found.get("direction", ""))).lower() in FROM_CLIENT:
                self._client(label, inside)
                return
            text = inside if isinstance(inside, str) else json.dumps(inside)
        try:
            message = m.decode_server_message(text)
        except m.MessageError as error:
            raise TranscriptError(f"{where}: {error}; got {text[:80]!r}; name another record") from None
        self._note(label, message, number)

    def _client(self, seat: int | None, message: Any) -> None:
        """Learn a seat's name from how it asked for its place."""
        data = message.get("data") if isinstance(message, dict) else None
        user = data.get("userId") if isinstance(data, dict) else None
        if seat is not None and isinstance(user, str | int) and not isinstance(user, bool):
            self.names.setdefault(seat, printable(user) or f"seat {seat}")

    def _note(self, label: int | None, message: m.ServerMessage, number: int) -> None:
        stream = self.streams.setdefault(label, _Stream())
        if isinstance(message, m.Beginning):
            self._begin(label, stream, message, number)
            return
        if isinstance(message, m.Reply):
            return
        if stream.place < 0:
            self.skipped += 1
            return
        told = self.rounds[stream.place]
        if isinstance(message, m.PlayNotice):
            self._play(label, stream, told, (message.curPos, list(message.curAction), number))
        elif isinstance(message, m.Act):
            self._ranks(label, told, message)
        elif isinstance(message, m.Back):
            told.returns = tuple(message.result)
        elif isinstance(message, m.TributeNotice):
            told.tributes = tuple(message.result)
        elif isinstance(message, m.AntiTributeNotice):
            told.anti = tuple(message.antiPos)
        elif isinstance(message, m.EpisodeOver):
            told.over = told.over or message
            stream.over = True
        elif isinstance(message, m.GameOver | m.GameResult):
            self.ended.add(stream.place + 1)  # other seats' messages may have come further

    def _begin(self, label: int | None, stream: _Stream, message: m.Beginning, number: int) -> None:
        ranks, level = (message.selfRank, message.oppoRank), message.curRank or message.levelCard
        if message.curRank:
            self.kind = "njupt"
        seat, hand = message.myPos, Counter(message.handCards)
        if sum(hand.values()) != HAND_SIZE or max(hand.values()) > 2:
            raise TranscriptError(
                f"{self.name}:{number}: a round begins with {HAND_SIZE} cards of two decks; seat {seat} has "
                f"{sum(hand.values())}"
            )
        self.seen_as[label] = seat
        if stream.place >= 0 and not stream.over and self.rounds[stream.place].hands.get(seat) == hand:
            # whoever comes back in the middle of a round is told it once more, from its beginning
            stream.heard = 0
            return
        place = stream.place + 1 if label is not None else max(stream.place, 0)
        while place < len(self.rounds) and not self._joins(place, seat, hand, level, label):
            place += 1
        if place == len(self.rounds):
            self.rounds.append(_Told(number))
        if place != stream.place:
            stream.place, stream.heard, stream.over = place, 0, False
        told = self.rounds[place]
        told.hands[seat] = hand
        told.level = told.level or level
        for team, rank in zip((seat & 1, 1 - (seat & 1)), ranks, strict=True):
            told.ranks[team] = told.ranks[team] or rank

    def _joins(self, place: int, seat: int, hand: Counter[str], level: str | None, label: int | None) -> bool:
        """Return whether a seat may have begun this very round with that hand."""
        told = self.rounds[place]
        # without labels, a round that is under way or over is not the one that begins
        if label is None and (told.plays or told.over):
            return False
        if seat in told.hands or (level and told.level and level != told.level):
            return False
        held = sum(told.hands.values(), Counter[str]()) + hand
        return all(count <= 2 for count in held.values())

    def _play(
        self, label: int | None, stream: _Stream, told: _Told, play: tuple[int, list[Any], int]
    ) -> None:
        again = stream.heard < len(told.plays) and told.plays[stream.heard][:2] == play[:2]
        if label is None and not again:
            # the same news for another seat comes right behind; nobody plays twice running
            if told.plays and told.plays[-1][:2] == play[:2]:
                return
            if told.asked is not None:
                told.rank(play[0], told.asked.selfRank, told.asked.oppoRank)
                told.asked = None
            told.plays.append(play)
            stream.heard = len(told.plays)
            return
        if stream.heard == len(told.plays):
            told.plays.append(play)
        elif not again:
            raise TranscriptError(
                f"{self.name}:{play[2]}: seat {label} receives another move than line "
                f"{told.plays[stream.heard][2]} tells; leave one seat's messages out"
            )
        stream.heard += 1

    def _ranks(self, label: int | None, told: _Told, act: m.Act) -> None:
        told.level = told.level or act.curRank
        if act.publicInfo and act.publicInfo[0].playArea is not UNSET:
            self.kind = "njupt"
        seat = self.seen_as[None] if label is None and len(told.hands) == 1 else label
        if seat is not None:
            told.rank(seat, act.selfRank, act.oppoRank)
        elif act.stage == "play":
            # whose request it is, the move that follows says
            told.asked = act

    def number_rounds(self) -> None:
        """Number games and the rounds in them, and note who won the round before."""
        game, number, winners = 1, 0, None
        for place, told in enumerate(self.rounds):
            if place in self.ended:
                game, number, winners = game + 1, 0, None
            number += 1
            told.game, told.number, told.winners = game, number, winners
            winners = told.over.order[0] & 1 if told.over is not None and told.over.order else None


def transcript_rounds(text: str, *, name: str = "transcript") -> RecordedGame:
    """Return the rounds of a transcript.

    A last line that was cut off is left out. A move that the rules do not allow ends its round, with a note.
    Raises TranscriptError, naming file and line, at what is no message, or where nothing begins.
    """
    reader = _Reader(name)
    lines = text.split("\n")
    notes = []
    last = max((k for k, line in enumerate(lines) if line.strip()), default=-1)
    for k, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            reader.take(k + 1, line)
        except TranscriptError:
            if k < last or text.endswith("\n") or is_json(line):
                raise
            notes.append(f"line {k + 1} is cut off and was left out")
    if not reader.rounds:
        raise TranscriptError(
            f"{name}: no round begins in it; a transcript holds a server's messages, a line each, "
            '{"type":"notify","stage":"beginning",...} at the start of a round'
        )
    if reader.skipped:
        notes.append(f"{reader.skipped} messages before the first round begins were left out")
    reader.number_rounds()
    rules = PRESETS["njupt" if reader.kind == "njupt" else "ruling"]  # as a client's, whom nobody tells them
    rounds = tuple(_round(told, rules, name) for told in reader.rounds)
    names = tuple(reader.names.get(seat, f"seat {seat}") for seat in range(4))
    complete = len(reader.rounds) in reader.ended
    return RecordedGame(reader.kind, names, rounds, complete, tuple(notes))


def _round(told: _Told, rules: Rules, name: str) -> RecordedRound:
    """Return a round: its start put together from all that was told, its moves followed."""
    if told.level is None:
        raise TranscriptError(f"{name}:{told.line}: the level of this round is missing")
    hands, known = _hands(told, f"{name}:{told.line}")
    level = as_level(told.level)
    ranks = tuple(as_level(told.level if rank is None else rank) for rank in told.ranks)
    owner = level_owner(ranks, level, told.winners)
    first = told.plays[0][0] if told.plays else 0
    # what everybody knows of the hands, as tribute shows it
    names, cap = shown_by_tribute(told.tributes, told.returns, told.anti, level)
    seen = np.minimum(np.array([_counts(Counter(cards)) for cards in names]), hands)
    try:
        start = from_hands(
            hands,
            level=level,
            first=first,
            levels=ranks,
            owner=NOBODY if owner is None else owner,
            shown=Shown(seen[None], np.array(cap, np.int64)[None]),
        )
    except GameError as error:
        raise TranscriptError(f"{name}:{told.line}: the round cannot begin like this: {error}") from None
    # messages do not tell failures at A: none are counted
    start["fails"], start["ace"] = 0, rules.ace
    state, seats, actions, notes = start.copy(), [], [], []
    for seat, move, line in told.plays:
        legal_moves = legal(state)[0]
        at = None if int(state["player"][0]) != seat else find_move(move, legal_moves)
        if at is None:
            said = json.dumps(move, ensure_ascii=False)[:80]
            notes.append(f"line {line}: seat {seat} cannot play {said} there; the round ends here")
            break
        seats.append(seat)
        actions.append(legal_moves[at])
        advance(state, legal_moves[at : at + 1])
    return RecordedRound(
        told.game,
        told.number,
        start,
        known,
        np.array(seats, np.uint8),
        np.array(actions, ACTION),
        *(told.tributes, told.returns, told.anti),
        left=() if told.over is None else told.over.restCards,
        notes=tuple(notes),
    )


def _hands(told: _Told, where: str) -> tuple[Bytes, tuple[bool, ...]]:
    """Return the hands at the first lead, [4, 54], and which of them are known."""
    seen = [Counter[str]() for _ in range(4)]
    for seat, move, line in told.plays:
        if read_move(move) is None:
            said = json.dumps(move, ensure_ascii=False)[:80]
            raise TranscriptError(f"{where.rsplit(':', 1)[0]}:{line}: {said} is no move")
        if move[0] != "PASS":
            seen[seat].update(move[2])
    if told.over is not None:
        for seat, cards in told.over.restCards:
            seen[seat].update(cards)
    hands = [told.hands.get(seat) for seat in range(4)]
    for giver, taker, card in (*told.tributes, *told.returns):
        for seat, change in ((giver, -1), (taker, 1)):
            held = hands[seat]
            if held is not None:
                hands[seat] = held = held.copy()
                held[card] += change
    for seat in range(4):
        if hands[seat] is None and sum(seen[seat].values()) == HAND_SIZE:
            hands[seat] = seen[seat]
    known = [hand is not None for hand in hands]
    counts = np.array([_counts(hand or seen[seat]) for seat, hand in enumerate(hands)])
    if known.count(False) == 1 and (counts.sum(0) <= DECK).all():
        unknown = known.index(False)
        counts[unknown] = DECK - counts.sum(0) + counts[unknown]
        known[unknown] = True
    if counts.min() < 0 or np.any(counts.sum(0) > DECK) or np.any(counts.sum(1) > HAND_SIZE):
        raise TranscriptError(f"{where}: the cards of this round do not come from two decks; its lines clash")
    # make up the number of hands that are not known: nobody looks at these cards
    spare = np.repeat(np.arange(len(DECK)), DECK - counts.sum(0))
    for seat in range(4):
        missing = HAND_SIZE - int(counts[seat].sum())
        np.add.at(counts[seat], spare[:missing], 1)
        spare = spare[missing:]
    return counts.astype(np.uint8), tuple(known)


def _counts(cards: Counter[str]) -> Array:
    counts = np.zeros(len(CARD_NAMES), np.int64)
    for card, number in cards.items():
        counts[CARD_NAMES.index(card)] += number
    return counts
