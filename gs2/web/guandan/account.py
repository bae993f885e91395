"""What happened at a table so far, as plain data: rounds, their results, and each game's record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from games.guandan.cards import RANKS
from games.guandan.matches.events import Event, Played
from games.guandan.matches.match import Match
from games.guandan.matches.match_game import MatchPieces, match_header
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from gs2.guandan.table.session import GameCount, Listener, RoundResult, Session

__all__ = ["GameAccount", "RoundEnd", "TableAccount"]


@dataclass(frozen=True)
class RoundEnd:
    """A round that is over, for people.

    level: the round's. left: [seat, cards] of those who still held any. over: whether the game is.
    trick: what each seat played last in the last trick, None where it did not.
    The rest is as in `RoundResult`, levels by name.
    """

    game: int
    round: int
    level: str
    order: list[int]
    winner: int
    gain: int
    rise: int
    levels: list[str]
    left: list[tuple[int, list[str]]]
    trick: list[list[Any] | None]
    fails: list[int]
    failed: int | None
    dropped: bool
    over: bool = False


@dataclass
class GameAccount:
    """One game: its record in pieces, and how it ended (None while it lasts). level: of its round."""

    header: dict[str, Any]
    level: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    pieces: MatchPieces = field(default_factory=MatchPieces)
    over: dict[str, Any] | None = None


@dataclass
class TableAccount(Listener):
    """Hears a session and keeps what people want to see of it.

    plays: of the round in play, in order. anti: seats that refused tribute in it.
    fails: of each team at A in the game in play, before this round.
    """

    names: Sequence[str]
    games: list[GameAccount] = field(default_factory=list)
    results: list[RoundEnd] = field(default_factory=list)
    plays: list[dict[str, Any]] = field(default_factory=list)
    anti: list[int] = field(default_factory=list)
    fails: tuple[int, ...] = (0, 0)
    session: Session | None = None
    _opens: bool = True

    def game_begun(self, number: int, match: Match) -> None:
        """Begin a record."""
        self.games.append(GameAccount(match_header(match), match.level))
        self.fails = (0, 0)

    def happened(self, events: list[Event]) -> None:
        """Add to the record."""
        game = self.games[-1]
        game.rows += game.pieces.of(events)
        for event in events:
            game.level = getattr(event, "level", game.level)
            if isinstance(event, Played):
                self._played(event, game.level)

    def _played(self, event: Played, level: int) -> None:
        words = action_list(event.action, level)
        self.plays.append({"seat": int(event.seat), "move": words, "lead": self._opens})

    def asked(self, seats: Sequence[int]) -> None:
        """Note whether the next move opens a trick."""
        assert self.session is not None
        self._opens = bool(self.session.match.state["leader"][0] == NOBODY)

    def round_begun(self) -> None:
        """Forget the round before."""
        self.plays, self.anti = [], []

    def anti_tribute(self, seats: Sequence[int]) -> None:
        """Keep who refused."""
        self.anti = [int(seat) for seat in seats]

    def round_over(self, result: RoundResult) -> None:
        """Keep the result."""
        self.fails = result.fails
        number = sum(1 for end in self.results if end.game == len(self.games)) + 1
        self.results.append(
            RoundEnd(
                game=len(self.games),
                round=number,
                level=RANKS[result.level],
                order=list(result.order),
                winner=result.winner,
                gain=result.gain,
                rise=result.rise,
                levels=[RANKS[level] for level in result.levels],
                left=[(int(seat), list(cards)) for seat, cards in result.left],
                trick=self._last_trick(),
                fails=list(result.fails),
                failed=result.failed,
                dropped=result.dropped,
            )
        )

    def _last_trick(self) -> list[list[Any] | None]:
        trick: list[list[Any] | None] = [None] * 4
        for play in self.plays:
            if play["lead"]:
                trick = [None] * 4
            trick[play["seat"]] = play["move"]
        return trick

    def game_over(self, count: GameCount) -> None:
        """Keep how the game ended."""
        self.games[-1].over = {
            "winner": count.winner,
            "rounds": count.rounds,
            "levels": [RANKS[level] for level in count.levels],
        }
        last = asdict(self.results[-1]) | {"over": True}
        self.results[-1] = RoundEnd(**last)

    def record(self, game: int | None = None) -> str:
        """Return a game's record so far, by default of the game in play."""
        found = self.games[-1 if game is None else game]
        # people may have sat down since the game began
        rows = ({**found.header, "agents": list(self.names)}, *found.rows)
        return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
