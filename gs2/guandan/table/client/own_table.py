"""Tables in this process, without wires: four agents, or a person and three of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from games.guandan.cards import RANKS
from games.guandan.matches.match import AntiTribute, Dealt, Exchange, Match, Pending, RoundOver
from games.guandan.notation import action_list
from games.guandan.rules import Rules
from games.support.interruption import Noticed
from gs2.guandan.table.client.human import SeatLeft, UndoWanted
from gs2.guandan.table.client.screen import PlayScreen
from gs2.guandan.table.hosts import checked
from gs2.guandan.table.seat import AgentError, Seated
from gs2.guandan.table.server.recording import RecordedGames, RecordFolder, SessionResult
from gs2.guandan.table.session import GameCount, News, Session, default_choice


def play_games(
    agents: Sequence[Any],
    *,
    games: int = 1,
    rules: Rules | str | dict[str, object] = "ruling",
    seed: int = 0,
    record: Path | None = None,
) -> SessionResult:
    """Return what came of games between four agents, seats 0 and 2 against 1 and 3.

    agents: each with act(observation) -> index, or called with `Decisions`.
    record: folder for the records; what is in it stays.
    Raises AgentError if there are not four agents, or one answers with what is not a choice.
    """
    if len(agents) != 4:
        raise AgentError(f"a table has four seats; got {len(agents)} agents")
    seats = [Seated.of(agent) for agent in agents]
    kept = RecordedGames([seat.name for seat in seats], None if record is None else RecordFolder(record))
    session = Session(kept, games=games, rules=rules, seed=seed)
    session.begin()
    while session.pending:
        for seat in list(session.pending):
            observation = session.observe(seat)
            began = time.perf_counter()
            index = checked(seats[seat].answers([observation])[0], observation)
            kept.result.timing[seat].add(time.perf_counter() - began)
            session.choose(seat, index)
    return kept.result


class _Choice(NamedTuple):
    """A choice that was made: whether there was another, and the number of the game it belongs to."""

    seat: int
    chosen: int
    free: bool
    game: int


class OwnTable(RecordedGames):
    """Plays a session and tells the screen what happens.

    agents: by seat; that of the screen's may be a `HumanAgent`. record: folder for the records; what is in it
    stays.
    A choice taken back begins a new record: the one before it stays, and ends there.
    """

    def __init__(
        self,
        agents: Sequence[Any],
        screen: PlayScreen,
        *,
        games: int = 1,
        rules: Rules | str = "ruling",
        seed: int = 0,
        record: Path | None = None,
    ) -> None:
        self.agents = [Seated.of(agent) for agent in agents]
        names = [agent.name for agent in self.agents]
        super().__init__(names, None if record is None else RecordFolder(record))
        self.screen = screen
        self.left: str | None = None
        self._choices: list[_Choice] = []
        self._silent_until = 0
        self.session = Session(self, games=games, rules=rules, seed=seed)

    @property
    def record(self) -> Path | None:
        """The record of the game in play, or of the last one; None if none is kept."""
        return None if self.recorder is None else self.recorder.path

    def play(self) -> bool:
        """Play until the games are over, or the person leaves; return whether they are over.

        left: afterwards, what was said when the person left. Raises KeyboardInterrupt at Ctrl-C, whatever an
        agent makes of it.
        """
        try:
            self.session.begin()
            while self.session.pending:
                try:
                    self._next()
                except UndoWanted:
                    self._undo()
                except SeatLeft as error:
                    self.left = str(error)
                    return False
            return True
        finally:
            self.close()
            if self.folder is not None:
                self.folder.add_result(self.result, ended="left" if self.session.pending else "played")

    def _next(self) -> None:
        """Let a seat that is to act choose; where two are, agents go first."""
        session = self.session
        seat = max(session.pending, key=lambda seat: seat != self.screen.seat)
        observation = session.observe(seat)
        began = time.perf_counter()
        with Noticed() as noticed:
            try:
                index = checked(self.agents[seat].answers([observation])[0], observation)
            except (SeatLeft, UndoWanted):
                raise
            except Exception as error:
                if noticed.came:
                    raise KeyboardInterrupt from None
                self._failed(seat, error)
                index = default_choice(session.pending[seat])
        self.result.timing[seat].add(time.perf_counter() - began)
        free = len(observation.moves) > 1
        self._choices.append(_Choice(seat, index, free, session.played + 1))
        session.choose(seat, index)

    def _failed(self, seat: int, error: Exception) -> None:
        self.result.fallbacks[seat] += 1
        said = error if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        self.screen.say(f"{self.screen.who(seat)} fails ({said}); a default move is played", "bold red")

    def _undo(self) -> None:
        """Go back to before the person's last choice, by playing all the choices before it once more."""
        own = [k for k, made in enumerate(self._choices) if made.seat == self.screen.seat and made.free]
        if not own:
            self.screen.say("there is no choice of yours to take back")
            return
        kept = self._choices[: own[-1]]
        self._silent_until = self._choices[own[-1]].game
        self.close()
        before, self.result = self.result, SessionResult(self.result.names)
        self.result.timing, self.result.fallbacks = before.timing, before.fallbacks
        self._choices = kept
        show, self.screen.show = self.screen.show, lambda what: None
        try:
            self.session.begin((made.seat, made.chosen) for made in kept)
        finally:
            self.screen.show = show
            self._silent_until = 0
        self.screen.say("\ntaken back: you choose again", "bold")

    # --- the session tells ---

    def game_begun(self, number: int, match: Match) -> None:
        """Open a record; games that were over before an undo keep theirs."""
        if number >= self._silent_until:
            super().game_begun(number, match)
        self.screen.game_begun(number, self.session.games)

    def told(self, news: News) -> None:
        super().told(news)
        session, screen = self.session, self.screen
        match news:
            case Dealt():
                own, other = session.levels[screen.seat & 1], session.levels[1 - (screen.seat & 1)]
                screen.dealt(session.cards(screen.seat), RANKS[session.level], (RANKS[own], RANKS[other]))
            case AntiTribute(seats):
                screen.anti_tribute(seats)
            case Exchange():
                screen.exchanged(news.stage, news.named)
            case RoundOver():
                screen.round_over(news.order, news.left, news)
            case GameCount():
                screen.game_over(news.winner, [RANKS[level] for level in news.levels])

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        if due.stage == "play":
            self.screen.moved(seat, action_list(due.actions[index], self.session.level))
