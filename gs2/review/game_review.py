"""Records of any game that the page offers, judged by the agent that usually plays it: a network with search.

A decision is judged from what its seat knew. The search compares the few moves that the network thinks best,
in drawn deals; a move that it leaves out has the network's value alone. Where the agent searches nothing, as
a policy of a small game, its values decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.networks import shipped_file
from games.game import CHANCE
from games.record import RoundRecordError, parse_rounds
from games.support.array_types import Array
from gs2.review.review_data import (
    THRESHOLDS,
    Compared,
    RecordedGame,
    Review,
    ReviewedDecision,
    ReviewedPlay,
    ReviewedRound,
    ReviewError,
    players_of,
    printable,
)
from gs2.review.reviewing import GameReviewing, whole_lines
from gs2.web.games.agent_worker import Seated, agent_view
from gs2.web.games.card_face import PASSED, card_face, seat_points
from gs2.web.games.game_round import GameRound
from gs2.web.games.offers import GAMES, game_titled, offered_agents
from gs2.wings import FIRST

SEARCHES = {"fast": "rollout:branches=4", "standard": "rollout:branches=6,samples=128"}
"""What an agent that searches does, by the review's preset."""
SHOWN = 6
"""Moves that are compared where nothing is searched."""
USUAL = 2.0
"""What a round brings or costs where the thresholds are as they are, and where no round has paid anybody."""


@dataclass(frozen=True, eq=False)
class PlayedRound:
    """A recorded round. number: its place in the file, from 1. players: of each seat."""

    played: GameRound
    number: int
    players: tuple[int, ...]

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of each step, chance's too."""
        face, history = card_face(self.played.game), self.played.history()
        return ["text"] * len(history) if face is None else face.kinds(history)

    @cached_property
    def steps(self) -> list[int]:
        """The places of the moves among all steps; calls are none."""
        who = self.played.players
        return [at for at, kind in enumerate(self.kinds) if who[at] != CHANCE and kind != "call"]

    @property
    def choices(self) -> list[int]:
        """The numbers of those moves for which there was another."""
        return [k for k, at in enumerate(self.steps) if len(self.legal(at)) > 1]

    def legal(self, at: int) -> Array:
        """Return the actions from which a step was chosen."""
        return self.played.game.actions(self.played.states[at])[0]

    @cached_property
    def seen(self) -> dict[str, Any]:
        """What the game's face sees at the end, all hands open."""
        face, words = card_face(self.played.game), self.played.words
        if face is not None:
            return face.seen(self.played, None, hands=True)
        moves = [{"seat": self.played.players[at], "move": ["text", "", [words(at)]], "lead": True}
                 for at in self.steps]  # fmt: skip
        return {"hands": [None] * self.played.game.num_players, "plays": moves}

    @cached_property
    def start(self) -> list[list[str] | None]:
        """The hands at the first move, all open; None of a game without cards."""
        face, seen = card_face(self.played.game), self.seen
        if face is not None and self.steps:
            seen = face.seen(self.played.until(self.steps[0]), None, hands=True)
        return list(seen["hands"])

    def hand(self, seat: int, before: int = 0) -> list[str] | None:
        """Return the cards that a seat held before a move; None of a game without cards."""
        earlier = [one["move"] for one in self.seen["plays"][:before] if one["seat"] == seat]
        gone = {card for move in earlier if move is not PASSED for card in move[2]}
        start = self.start[seat]
        return None if start is None else [card for card in start if card not in gone]

    @cached_property
    def told(self) -> ReviewedRound:
        """The round as a review shows it, nothing judged."""
        round_, plays = self.played, self.seen["plays"]
        alone, seats = self.seen.get("landlord"), range(round_.game.num_players)
        teams = tuple(round_.game.teams if alone is None else (int(seat != alone) for seat in seats))
        points = seat_points(round_) if round_.over else []
        best = int(np.argmax(points)) if points else 0
        result = {"order": [], "winner": teams[best], "payoffs": points, "levels": None, "left": []}
        return ReviewedRound(
            number=self.number,
            first=plays[0]["seat"] if plays else 0,
            hands=tuple(self.start),
            plays=tuple(ReviewedPlay(one["seat"], one["move"], one["lead"]) for one in plays),
            result={**result, "gain": points[best]} if points else None,
            players=self.players,
            teams=teams,
        )

    def moves(self, k: int) -> Callable[[int], list[Any]]:
        """Return what gives an action that could have been taken, by its place, as a move of the page."""
        game, at = self.played.game, self.steps[k]
        state, legal, face = self.played.states[at][0], self.legal(at), card_face(game)
        if face is None:
            return lambda place: ["text", "", [game.action_text(state, legal[place])]]
        kinds, hand = face.kinds(legal), self.hand(self.played.players[at], k) or []
        return lambda place: face.move(game.action_text(state, legal[place]), hand, kinds[place])


class GameReview(GameReviewing):
    """Reviews records of a game; thresholds are shares of what a round of the record brings on average."""

    def __init__(self, game: str, preset: str = "fast") -> None:
        """Raise ReviewError at a game that the page does not offer, so that no record has code run."""
        if game.partition("(")[0] not in GAMES:
            games = f"{FIRST}, {', '.join(GAMES)}, as no agent judges your own game"
            raise ReviewError(f"a review judges one of {games}; got {game!r:.60}")
        super().__init__(game, preset)
        self.usual = USUAL
        self.played = game_titled(game)
        agent = next(one for one in offered_agents() if one.plays(self.played))
        name, _, search = agent.name.partition("+")
        self.settings = {"agent": f"{name}+{SEARCHES[preset]}" if search else name}
        self.network = agent.label
        self.seated = Seated(self.played.name, self.settings["agent"])

    def read(self, text: str, name: str) -> RecordedGame:
        """Return the rounds of a record; a player may sit elsewhere in each."""
        records = parse_rounds(whole_lines(text), name, repair=True)
        names, sitting = players_of(record.agents for _, record in records)
        rounds = []
        for number, ((line, record), players) in enumerate(zip(records, sitting, strict=True), 1):
            if record.game not in (self.game, self.played.name):
                raise ReviewError(
                    f"{name}, line {line}: the rounds of a review are of one game; got {record.game!r:.60} "
                    f"after {self.game}; review them one by one"
                )
            try:
                played = GameRound.recorded(self.played, record)
            except RoundRecordError as error:
                raise RoundRecordError(f"{name}, line {line}: {error}") from None
            rounds.append(PlayedRound(played, number, players))
        shown = tuple(printable(one) or f"player {k}" for k, one in enumerate(names))
        return RecordedGame("record", shown, tuple(rounds), records[-1][1].complete)

    @property
    def files(self) -> tuple[Path, ...]:
        path = shipped_file(self.played.name)
        return () if path is None else (path,)

    def review(self, game: RecordedGame, **how: Any) -> Review:
        paid = [np.abs(seat_points(one.played)).mean() for one in game.rounds if one.played.over]
        self.usual = float(np.mean(paid or [0.0])) or USUAL
        share = self.usual / USUAL
        self.thresholds = {k: limit * (share if k != "sure" else 1.0) for k, limit in THRESHOLDS.items()}
        return super().review(game, **how)

    def decisions(self, played: PlayedRound) -> int:
        return len(played.choices)

    def judgement(self, played: PlayedRound, tell: Callable[[int], None]) -> dict[str, Any]:
        """Return the decisions of a round judged, and the curve of what the seats thought."""
        decisions, values = [], {}
        for k in played.choices:
            decision, values[k] = self._decision(played, k)
            decisions.append(decision)
            tell(1)
        round_ = played.played
        points = seat_points(round_) if round_.over else []
        curve = _curve(played.seen["plays"], played.told.teams, values, points)
        return {"decisions": tuple(decisions), "curve": curve}

    def _decision(self, played: PlayedRound, k: int) -> tuple[ReviewedDecision, float | None]:
        """Return the judgement of a move, and what its seat thought the best worth."""
        round_, at = played.played, played.steps[k]
        legal, history = played.legal(at), np.concatenate([round_.taken[0][:0], *round_.taken[:at]])
        # a network that learned wins alone counts them as what the round came to
        win = abs(seat_points(round_)[round_.players[at]]) if round_.over else 0.0
        view = agent_view(
            self.seated, history, progress=lambda done, of: None, most=None, win=win or self.usual
        )
        rows = {row["index"]: row for row in view["moves"]}
        mine = int(np.flatnonzero(legal == round_.taken[at][0])[0])
        searched = any(row["gain"] is not None for row in rows.values())
        known = [place for place, row in rows.items() if row["value"] is not None]
        network = max(known, key=lambda place: rows[place]["value"], default=view["best"])

        def gain(place: int) -> tuple[float, float] | None:
            """Return what a move wins over the usual one, and the error."""
            row = rows[place]
            if row["gain"] is not None:
                return row["gain"], row["error"]
            return (row["value"] - rows[network]["value"], 0.0) if row["value"] is not None else None

        compared = [place for place in rows if not searched or rows[place]["gain"] is not None]
        judged = {place: gain(place) for place in dict.fromkeys([*compared[:SHOWN], mine])}
        gains = {place: found for place, found in judged.items() if found is not None}
        best = max(gains, key=lambda place: (gains[place][0], place == mine), default=mine)
        order = sorted(gains, key=lambda place: (place != best, -gains[place][0])) or [mine]
        others, top, off = played.moves(k), rows[network]["value"], gains.get(mine)
        found: list[Compared] = []
        for place in order:
            value, ahead = rows[place]["value"], (0.0, 0.0)
            if off is not None and place != mine:
                ahead = gains[place][0] - off[0], hypot(gains[place][1], off[1])
            found.append((place, *ahead, value, None if value is None else value - top))
        stage = "search" if rows[mine]["gain"] is not None else "values"
        decision = ReviewedDecision.of(
            found,
            # of equal cards those played are named
            lambda place: played.seen["plays"][k]["move"] if place == mine else others(place),
            played=mine,
            network=network,
            limits=self.thresholds,
            unknown=off is None,
            play=k,
            seat=round_.players[at],
            choices=len(legal),
            stage="clear" if searched and len(compared) == 1 and best == mine else stage,
        )
        return decision, top


def _curve(
    plays: list[dict[str, Any]], teams: tuple[int, ...], values: dict[int, float | None], points: Any
) -> tuple[float, ...]:
    """Return the value to team 0 before every move and after the last, as the seats to act thought.

    Nothing where there are more teams than two, or an agent without values. A forced move changes nothing.
    """
    if set(teams) != {0, 1} or not values or any(value is None for value in values.values()):
        return ()
    found: list[float | None] = []
    now = None
    for k, one in enumerate(plays):
        if k in values:
            team = teams[one["seat"]]
            now = (1 - 2 * team) * float(values[k] or 0.0) * teams.count(team)
        found.append(now)
    first = next(value for value in found if value is not None)
    end = sum(paid for paid, team in zip(points, teams, strict=True) if team == 0) if points else found[-1]
    return tuple(first if value is None else value for value in (*found, end))
