"""One seat's knowledge of its games, gathered from a server's messages.

A seat hears of a round as a hand, tribute and plays; it answers from an `Observation`. Between the two lies
this: every message is noted, and at a request the round is replayed from the seat's own point of view.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import ACTION, CARD_NAMES, HAND_SIZE, NO_ACTION, RANKS, as_level, pack, parse_cards
from games.guandan.matches.tribute import ACE, card_place, score_round
from games.guandan.rounds.position import parse_position
from games.guandan.rounds.round import advance
from games.guandan.rounds.state import NOBODY, STATE
from games.guandan.rules import RULING, Rules
from gs2.guandan.table.client.screen import PlayScreen
from gs2.guandan.table.seat import Observation, Transfer
from gs2.guandan.table.server.recording import Timing
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.moves import read_move, read_moves

logger = logging.getLogger("gs2.guandan.table")


@dataclass
class GameEnd:
    """A game that ended.

    rounds: that the seat saw of it. won: whether its team won; None for a draw, or where nobody said.
    """

    rounds: int
    won: bool | None


@dataclass
class ClientResult:
    """What a seat lived through.

    ended: games, in their order; games: how many. rounds: that ended; shares: those won by 3, 2, 1 levels
    (positive) or lost (negative).
    decisions: answered. timing: of the agent. refused: answers that the server refused. unread: messages that
    could not be read. reconnects: connections opened again. result: the server's gameResult, if it sent one.
    """

    user: str
    seat: int = -1
    room: int | None = None
    ended: list[GameEnd] = field(default_factory=list)
    rounds: int = 0
    shares: dict[int, int] = field(default_factory=lambda: dict.fromkeys((3, 2, 1, -1, -2, -3), 0))
    decisions: int = 0
    fallbacks: int = 0
    refused: int = 0
    unread: int = 0
    reconnects: int = 0
    timing: Timing = field(default_factory=Timing)
    result: dict[str, Any] | None = None

    @property
    def games(self) -> int:
        """Games that ended."""
        return len(self.ended)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "timing"}
        ended = [asdict(game) for game in self.ended]
        return {**data, "games": self.games, "ended": ended, "timing": self.timing.summary()}


def shown_by_tribute(
    tributes: Sequence[Transfer], returns: Sequence[Transfer], refused: Sequence[int], level: int
) -> tuple[list[list[str]], list[int]]:
    """Return the cards that all know of each hand, by name, and the highest place of its others, [4] each."""
    known: list[list[str]] = [[] for _ in range(4)]
    cap = [14] * 4
    back = {(b, a): card for a, b, card in returns}
    for payer, receiver, card in tributes:
        if back.get((payer, receiver)) != card:
            known[receiver].append(card)
        # the payer's other cards are no higher, and no big joker: two would have spared it the tribute
        cap[payer] = min(int(card_place(CARD_NAMES.index(card), level)), 13)
    for (payer, _), card in back.items():
        known[payer].append(card)
    for seat in refused:
        known[seat] += ["HR"] * (2 // len(refused))
    return known, cap


def level_owner(levels: Sequence[int], level: int, winners: int | None) -> int | None:
    """Return the team whose level a round is played at; None in the first round of a game.

    levels: of both teams. winners: of the last round, if it was of the same game. Where the levels differ,
    these tell: a seat that was away may have missed how the last round ended.
    """
    return levels.index(level) if levels[0] != levels[1] and level in levels else winners


class Tracker:
    """What a seat has been told. `note` everything, then `observe` a request.

    result: where rounds and games that end are counted, and the seat is kept. screen: shows what is told, the
    end of a game once; None where nobody looks. over: the gameOver heard since the last deal, None for none;
    told: whether a gameResult was heard since.
    followed: whether the last request for a move was what the messages before it lead to. If not, a message
    was missed, and the observation holds only what the request itself says.

    Some servers end every game with gameOver and the last with gameResult too, the official one every game
    with gameResult and the last with gameOver too: between two deals one game ends. Others say one word after
    all games: there a game has ended where a round begins as only first rounds do.
    """

    def __init__(self, rules: Rules = RULING, result: ClientResult | None = None) -> None:
        """Take the rules of the games, which no message tells."""
        self.rules, self.result = rules, result or ClientResult("")
        self.screen: PlayScreen | None = None
        self.seat = 0
        self._hand: list[str] = []
        self.followed, self.told = True, False
        self.over: m.GameOver | None = None
        # of the game in play: its rounds, and the team that won the last one at A
        self._rounds = 0
        self._won: int | None = None
        self._new_game()
        self._begin()

    def _new_game(self) -> None:
        self.winners: int | None = None
        self.fails = [0, 0]
        # of the round: both teams' levels and whose it is played at, once a request has told
        self._standing: tuple[list[int], int | None] | None = None

    def _begin(self) -> None:
        self.plays: list[tuple[int, list[Any]]] = []
        self.tributes: tuple[Transfer, ...] = ()
        self.returns: tuple[Transfer, ...] = ()
        self.refused: list[int] = []
        self._exchanged = False
        self._round: NDArray[np.void] | None = None
        self._replayed = 0

    def note(self, message: m.ServerMessage) -> None:
        screen = self.screen
        if isinstance(message, m.Beginning):
            if screen is not None:
                self._show_deal(screen, message)
            self.seat = self.result.seat = message.myPos
            self._hand = message.handCards
            self.over, self.told = None, False
            self._begin()
        elif isinstance(message, m.PlayNotice):
            self.plays.append((message.curPos, list(message.curAction)))
            if screen is not None:
                screen.moved(*self.plays[-1])
        elif isinstance(message, m.AntiTributeNotice):
            self._exchanged = True
            self.refused = message.antiPos
            if screen is not None:
                screen.anti_tribute(message.antiPos)
        elif isinstance(message, m.TributeNotice):
            self._exchanged = True
            if isinstance(message, m.Back):
                self.returns = tuple(message.result)
            else:
                self.tributes = tuple(message.result)
            if screen is not None:
                screen.exchanged("back" if isinstance(message, m.Back) else "tribute", message.result)
        elif isinstance(message, m.Act):
            self._exchanged = self._exchanged or message.stage != "play"
            # there both teams are at 2 and nobody owes tribute; in any later round the last winners are above
            # 2, or tribute was paid or refused before the first move
            if not self._exchanged and message.selfRank == message.oppoRank == message.curRank == "2":
                if self._rounds:
                    self._game_over()
                self._new_game()
        elif isinstance(message, m.EpisodeOver):
            self._round_over(message)
        elif isinstance(message, m.GameOver | m.GameResult):
            self._word_of_the_end(message)
        elif screen is not None and (message.type == "error" or message.code != 200):
            data = message.data if isinstance(message.data, dict) else {}
            screen.say(f"the server says: {data.get('msg') or message.msg}", "bold yellow")

    def _show_deal(self, screen: PlayScreen, message: m.Beginning) -> None:
        screen.seat = message.myPos
        # whoever comes back in the middle of a round is dealt it once more
        ended = self.told or self.over is not None
        screen.rounds = 0 if ended else screen.rounds - (message.handCards == self._hand)
        own, other = message.selfRank, message.oppoRank
        levels = (own, other) if own and other else None
        hand = sorted(message.handCards, key=lambda card: RANKS.index(card[-1]))
        screen.dealt(hand, message.levelCard or message.curRank, levels)

    def _round_over(self, message: m.EpisodeOver) -> None:
        """Count a round, and the failures at A that came with it."""
        order, result = message.order, self.result
        result.rounds += 1
        if sorted(order) == [0, 1, 2, 3]:
            gain = 4 - order.index((order[0] + 2) % 4)
            result.shares[gain if (order[0] - result.seat) % 2 == 0 else -gain] += 1
            if self.screen is not None:
                self.screen.round_over(order, message.restCards)
        self._rounds += 1
        self.winners = order[0] & 1 if order else None
        # a game is won by winning a round at A
        self._won = self.winners if message.curRank == "A" else None
        self._count_failures(order)
        self._begin()

    def _game_over(self) -> None:
        """Count a game; who won its last round won it, unless the server says otherwise."""
        won = None if self._won is None else self._won == self.result.seat % 2
        self.result.ended.append(GameEnd(self._rounds, won))
        self._rounds, self._won = 0, None

    def _word_of_the_end(self, message: m.GameOver | m.GameResult) -> None:
        """Take a server's word for the end of a game, and for who won it; show the first of two."""
        result, first = self.result, self.over is None and not self.told
        if first:
            self._game_over()
        if message.victory in (-1, 0, 1):
            result.ended[-1].won = None if message.victory == -1 else message.victory == result.seat % 2
        if first and self.screen is not None:
            levels, won = getattr(message, "victoryRank", None), result.ended[-1].won
            known = levels if levels and len(levels) == 2 else None
            self.screen.game_over(None if won is None else (result.seat + 1 - won) % 2, known)
        if isinstance(message, m.GameOver):
            self.over = message
        else:
            self.told = True
            fields = {name: getattr(message, name) for name in message.__struct_fields__}
            result.result = {name: value for name, value in fields.items() if value is not None}
        self._new_game()

    def _count_failures(self, finished: list[int]) -> None:
        """Count failures at A, which no message tells, from how a round ended; note one that won nothing."""
        standing, self._standing = self._standing, None
        if standing is None or standing[1] is None or not finished:
            return
        order = [*finished, *(seat for seat in range(4) if seat not in finished)]
        score = score_round(
            np.array([order]),
            np.array([standing[1]]),
            np.array([standing[0]]),
            np.array([self.fails]),
            np.zeros((1, 2), np.int64),
            rules=self.rules,
        )
        self.fails = score.fails[0].tolist()
        most = self.rules.max_drops  # as many drops take as many rounds
        if most is not None and self._rounds >= most and score.winner[0] == NOBODY:
            self._won = None  # if no other round comes, it was the last drop, and the game is drawn

    def _stand(self, act: m.Act) -> tuple[list[int], int | None]:
        """Return both teams' levels, and whose the round is played at, as a request tells."""
        levels = [as_level(act.selfRank), as_level(act.oppoRank)]
        levels = levels if self.seat % 2 == 0 else levels[::-1]
        owner = level_owner(levels, as_level(act.curRank), self.winners)
        # a team below A has not failed since it dropped, whatever was missed
        self.fails = [fails if level == ACE else 0 for fails, level in zip(self.fails, levels, strict=True)]
        self._standing = levels, owner
        return levels, owner

    def observe(self, act: m.Act) -> tuple[Observation, list[int]]:
        """Return the request as an observation, and the index in `actionList` of each of its choices.

        A list that lacks the PASS one has when following (the official server's) gets it, as index -1.
        """
        moves, places = read_moves(act.actionList)
        if act.stage == "play" and act.greaterPos >= 0 and not np.any(moves["type"] == 0):
            moves = np.concatenate([np.zeros(1, np.uint64).repeat(3).view(ACTION), moves])
            places.insert(0, -1)
        listed = [["PASS", "PASS", "PASS"] if i < 0 else list(act.actionList[i]) for i in places]
        record, heard = read_moves([move for _, move in self.plays])
        observation = Observation(
            seat=self.seat,
            stage=act.stage,
            state=self._state(act),
            moves=moves,
            actors=np.array([self.plays[k][0] for k in heard], np.uint8),
            record=record,
            tributes=self.tributes,
            returns=self.returns,
            listed=listed,
        )
        return observation, places

    def _state(self, act: m.Act) -> NDArray[np.void]:
        """Return the round as this seat knows it, [1] STATE, hidden hands empty."""
        if act.stage != "play":
            return self._as_told(act)
        try:
            self.followed = self._replay(act)
        except GameError as error:
            logger.debug("seat %d: the round cannot be replayed: %s", self.seat, error)
            self.followed = False
        if self.followed:
            assert self._round is not None
            return self._round.copy()
        self._round = None
        return self._as_told(act)

    def _fields(self, act: m.Act) -> dict[str, Any]:
        levels, owner = self._stand(act)
        level = as_level(act.curRank)
        known, cap = shown_by_tribute(self.tributes, self.returns, self.refused, level)
        return {
            "seat": self.seat,
            "level": act.curRank,
            "levels": [RANKS[rank] for rank in levels],
            "owner": owner,
            "fails": self.fails,
            "rules": self.rules.changes(),
            "known": [" ".join(cards) for cards in known],
            "cap": cap,
        }

    def _replay(self, act: m.Act) -> bool:
        """Bring the round up to date, play by play; return whether it leads to what the request says."""
        if self._round is None:
            own = Counter(act.handCards)
            for seat, move in self.plays:
                if seat == self.seat and move[0] != "PASS":
                    own.update(move[2])
            first = self.plays[0][0] if self.plays else self.seat
            fields = {**self._fields(act), "first": first, "player": first, "hand": " ".join(own.elements())}
            self._round, _ = parse_position(json.dumps(fields))
            self._replayed = 0
        state = self._round
        row = state[0]
        for seat, move in self.plays[self._replayed :]:
            words = read_move(move)
            if words is None or row["player"] != seat:
                return False
            action = np.array([words], np.uint64).view(ACTION)[:, 0]
            if seat != self.seat:
                # a hidden hand is lent the cards it shows
                row["hand"][seat] += np.array(words[1:], np.uint64)
            advance(state, action)
        self._replayed = len(self.plays)
        leader = -1 if row["leader"] == NOBODY else int(row["leader"])
        rest = [info.rest for info in act.publicInfo] if act.publicInfo else row["left"].tolist()
        same_hand = np.array_equal(row["hand"][self.seat], pack(parse_cards(act.handCards)))
        here = (int(row["player"]), leader, row["left"].tolist())
        return same_hand and here == (self.seat, act.greaterPos, rest)

    def _as_told(self, act: m.Act) -> NDArray[np.void]:
        """Return what the request alone tells: a seat that comes back in mid-round knows no more."""
        state = np.zeros(1, STATE)
        row = state[0]
        row["level"] = as_level(act.curRank)
        row["levels"], owner = self._stand(act)
        row["owner"] = NOBODY if owner is None else owner
        row["fails"], row["ace"] = self.fails, self.rules.ace
        hand = list(act.handCards)
        if act.stage == "back" and len(hand) == HAND_SIZE and act.tribute in CARD_NAMES:
            # the official server deals the tribute out only afterwards
            hand.append(str(act.tribute))
        row["hand"][self.seat] = pack(parse_cards(hand, limit=HAND_SIZE + 1))
        row["left"] = [info.rest for info in act.publicInfo] if act.publicInfo else HAND_SIZE
        row["left"][self.seat] = len(hand)
        row["first"] = row["player"] = self.seat
        row["leader"] = row["order"] = NOBODY
        row["cap"] = 14
        row["trick"]["type"] = row["last"]["type"] = NO_ACTION
        greatest = None if act.greaterAction is None else read_move(act.greaterAction)
        if act.greaterPos >= 0 and greatest is not None:
            beat = np.array([greatest], np.uint64).view(ACTION)[0, 0]
            row["leader"], row["beat"] = act.greaterPos, beat
            row["trick"][act.greaterPos] = row["last"][act.greaterPos] = beat
        return state
