"""The match at a table of GuanDan: its session, what happened so far, what people see, and how they go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from blueprint.guandan.rules.min_combination import min_combinations
from games.guandan.cards import NO_ACTION, PASS, RANKS, pack, unpack
from games.guandan.matches.match import Dealt, Event, Match, Pending, RoundOver
from games.guandan.matches.match_game import MatchPieces, match_header
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal_moves
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import as_rules
from games.support.array_types import Array, Rows
from gs2.guandan.table.selection import fitting, why_not, wild_words
from gs2.guandan.table.session import GameCount, Listener, News, Session, default_choice
from gs2.web.games.agent_worker import Seated
from gs2.web.games.card_face import fewest_moves, suggestion_order
from gs2.web.tables.table import Call, Offer, Play, Refused
from gs2.web.tables.table_log import PERSON, TableSetup

Data = dict[str, Any]
BOMBS = ("Bomb", "StraightFlush", "FourKings")
MOST_GAMES = 100
"""Games at a table."""
HINT = "standard"
"""How deeply a hint searches."""
HOSTS = "gs2.guandan.table.hosts"


class MatchPlay(Play, Listener):
    """The play of a match, and what people want to see of it.

    AGENTS: that anybody may seat, and what they are; the command line may add others. OFFER: the game as the
    page lists it; usual: whom one meets where nothing is said, the first of them before others.
    choices: (seat, index) of all so far. waiting: whether the people look at a round's result; agents wait
    for them. people: whether any seat is a person's.
    games: the record of each in pieces, the header first. ended: how those ended that are over.
    results: of rounds, for people: as a `RoundOver`, levels by name; game and round, counted from 1; trick,
    what each seat played last in the last trick, None where it did not; over, whether the game is.
    plays: of the round in play, in order.
    """

    AGENTS = (
        ("gs2", "searches half a second at most"),
        ("gs2-fast", "searches 50 ms at most"),
        ("gs2-deep", "searches 3 seconds at most"),
        ("blueprint", "the network alone"),
        ("strong", "the strongest of the rule-based agents"),
        ("mincomb", "rules: plays towards the fewest moves"),
        ("aggressive", "rules: beats what it can"),
        ("conservative", "rules: saves its high cards"),
        ("balanced", "rules: in between"),
        ("greedy", "rules: the simplest"),
        ("random", "any legal move"),
    )
    OFFER: ClassVar[Data] = {
        "summary": "",
        "options": [],
        "teams": [0, 1, 0, 1],
        "matches": True,
        "usual": ("gs2-fast", "blueprint", "greedy"),
    }
    order = (0, 1, 2, 3)
    opening = scores = None
    look, advisers = "guandan", ("gs2",)

    def __init__(self, setup: TableSetup, game: Any) -> None:
        if len(setup.seats) != 4:
            raise ValueError("four seats, each a name")
        self.setup, self.game, self.people = setup, game, PERSON in setup.seats
        self.names: list[str] = []
        self.session = Session(self, games=setup.games, rules=setup.rules, seed=setup.seed)
        self._begin()

    def _begin(self, choices: Sequence[tuple[int, int]] = ()) -> None:
        """Play anew up to here; results on the way were left."""
        self.choices: list[tuple[int, int]] = []
        self.games: list[list[Data]] = []
        self.ended: list[Data] = []
        self.results: list[Data] = []
        self.plays: list[Data] = []
        self.session.begin(choices)
        self.waiting = False

    # --- the session tells ---

    def game_begun(self, number: int, match: Match) -> None:
        self.games.append([match_header(match)])
        self._pieces = MatchPieces()

    def happened(self, events: list[Event]) -> None:
        self.games[-1] += self._pieces.of(events)

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        self.choices.append((seat, index))
        if due.stage == "play":
            words = action_list(due.actions[index], self.session.level)
            self.plays.append({"seat": int(seat), "move": words, "lead": self.session.opens})

    def told(self, news: News) -> None:
        """Forget the round before, or keep how a round or a game ended."""
        if isinstance(news, Dealt):
            self.plays = []
        elif isinstance(news, RoundOver):
            self._round_over(news)
        elif isinstance(news, GameCount):
            self._game_over(news)

    def _round_over(self, result: RoundOver) -> None:
        told = {name: getattr(result, name) for name in ("winner", "gain", "rise", "failed", "dropped")}
        trick: list[list[Any] | None] = [None] * 4
        for play in self.plays:
            trick = [None] * 4 if play["lead"] else trick
            trick[play["seat"]] = play["move"]
        told |= {
            "game": len(self.games),
            "round": sum(end["game"] == len(self.games) for end in self.results) + 1,
            "level": RANKS[result.level],
            "levels": [RANKS[level] for level in result.levels],
            "order": list(result.order),
            "fails": list(result.fails),
            "left": result.left,
            "trick": trick,
            "over": False,
        }
        self.results.append(told)
        self.waiting = self.people

    def _game_over(self, count: GameCount) -> None:
        levels = [RANKS[level] for level in count.levels]
        self.ended.append({"winner": count.winner, "rounds": count.rounds, "levels": levels})
        self.results[-1]["over"] = True
        self.waiting = self.people and count.played < count.wanted

    # --- what is played ---

    @staticmethod
    def fields(data: Data) -> Data:
        games = data.get("games", 1)
        if isinstance(games, bool) or not isinstance(games, int) or not 1 <= games <= MOST_GAMES:
            raise Refused("wrong", f"games is a whole number in 1..{MOST_GAMES}; got {games!r:.40}")
        rules = data.get("rules", "ruling")
        if not isinstance(rules, str):
            raise Refused("wrong", f"rules are the name of a preset; got {rules!r:.40}")
        as_rules(rules)  # refuses a name that no preset has
        return {"games": games, "rules": rules}

    def call(self, what: str, agent: Seated, seat: int) -> Call | None:
        key = self.setup.id, seat
        match what:
            case "answer":
                return f"{HOSTS}:answer_one", agent.name, key, self.session.observe(seat)
            case "hint":  # whoever is asked
                return f"{HOSTS}:hint", self.session.observe(seat), HINT
            case "ready":
                return f"{HOSTS}:ready", HINT
            case "forget":
                return f"{HOSTS}:forget", agent.name, key
        return f"{HOSTS}:load", agent.name

    def hint_told(self, seat: int) -> Callable[[Data], Data]:
        moves = self.session.due(seat).actions
        return lambda found: found | {"choice": self.move(moves, found["index"])["move"]}

    def named(self, names: list[str]) -> None:
        self.names = names

    @property
    def pending(self) -> Collection[int]:
        """Seats that are to act; none while people look at a result."""
        return () if self.waiting else list(self.session.pending)

    @property
    def fresh(self) -> bool:
        return not self.plays and bool(self.results)

    @property
    def over(self) -> bool:
        return self.session.stage == "over"

    @property
    def extra(self) -> Sequence[str]:
        return ("next",) if self.waiting else ()

    @property
    def standing(self) -> dict[str, Any]:
        """The game and the round in play, and the levels."""
        levels = [RANKS[level] for level in self.session.levels]
        return {"number": len(self.games), "round": self.session.match.round, "levels": levels}

    def record(self, which: str) -> str:
        """Return the record of a game, by default of the last; where people play, once all are over."""
        games = len(self.games)
        if which and not (which.isdecimal() and 1 <= int(which) <= games):
            raise Refused("wrong", f"a game is 1..{games}; got {which[:20]!r}")
        if self.people and not self.over:
            raise Refused("closed", "the record shows every hand; it is available once the last game is over")
        return self.game_record(int(which) if which else games)

    def game_record(self, game: int, *, whole: bool = True) -> str:
        """Return the record so far of a game, counted from 1; whole: with the round in play."""
        header, *rows = self.games[game - 1]
        if not whole and "payoffs" not in rows[-1]:
            rows = rows[: max(at for at, row in enumerate(rows) if "chance" in row)]
        # people may have sat down since the game began
        rows = [{**header, "agents": list(self.names)}, *rows]
        return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)

    def record_to_review(self, asked: dict[str, Any]) -> str:
        """Return what people may see of a game's record, by default of the last game with a result."""
        results, games = self.results, len(self.games)
        game = asked.get("game", results[-1]["game"] if results else games)
        if isinstance(game, bool) or not isinstance(game, int) or not 1 <= game <= games:
            raise Refused("wrong", f"a game is 1..{games}; got {game!r:.40}")
        if not self.people or self.over:
            return self.game_record(game)
        if all(end["game"] != game for end in results):
            told = f"of game {game} none is yet" if results else "none is yet"
            raise Refused("closed", f"a review shows every hand of rounds that are over; {told}")
        return self.game_record(game, whole=False)

    def count(self, seat: int) -> int:
        return len(self.session.pending[seat].actions)

    def default_choice(self, seat: int) -> int:
        """Return a pass if the seat may, else the weakest choice."""
        return default_choice(self.session.pending[seat])

    def take(self, seat: int, index: int, marks: list[str] | None = None) -> None:
        self.session.choose(seat, index)

    def last_choice(self, seat: int) -> int | None:
        places = range(len(self.choices) - 1, -1, -1)
        return next((place for place in places if self.choices[place][0] == seat), None)

    def back_to(self, place: int) -> None:
        self._begin(self.choices[:place])

    def carry_out(self, word: str, value: Any) -> None:
        """Leave a round's result for the next round."""
        if word != "next":
            raise ValueError(f"a line must be one of sit, choose, undo, next; got {word!r}")
        self.waiting = False

    def next_round(self, seat: int | None, wish: Any) -> tuple[str, Any] | None:
        """Return the line that leaves a result; None where another player has continued."""
        return ("next", 1) if self.waiting else None

    def moment(self, what: str, seat: int) -> Offer:
        """Return a seat's last choice.

        Where two seats pay tribute, one need not look again because the other has chosen.
        """
        return (self.last_choice(seat),)

    # --- what a person does with cards ---

    def move(self, moves: Rows, index: int) -> Data:
        """Return one of some moves as the page has them."""
        words = action_list(moves[index], self.session.level)
        return {"index": int(index), "move": words, "wild": wild_words(moves[index], self.session.level)}

    def fits(self, seat: int, cards: list[str]) -> tuple[list[Data], Data | None]:
        moves = self.session.due(seat).actions
        found = fitting(moves, cards) if cards else []
        reason = None if found else why_not(self.session.observe(seat), cards)
        return [self.move(moves, index) for index in found], None if reason is None else reason.to_json()

    def suggested(self, seat: int) -> list[Data]:
        """Return moves to suggest; each card to pay or return is one."""
        moves = self.session.due(seat).actions
        playing = self.session.stage == "play"
        hand = self.session.cards(seat)
        places = suggested_moves(moves, hand, self.session.level) if playing else range(len(moves))
        return [self.move(moves, place) for place in places]

    def layout(self, seat: int) -> Callable[[], list[list[str]]]:
        hand, level = np.array(self.session.hand(seat), np.uint64), self.session.level
        return lambda: guandan_moves(hand, level)

    # --- what is seen ---

    def view(self, you: int | None, hands: bool) -> Data:
        return {
            "match": self._match(),
            "round": self._round(you, hands),
            "turn": {"seats": sorted(self.session.pending), "you": self._turn(you)},
            "waiting": "next" if self.waiting else None,
            "results": self.results,
            "games_over": self.ended,
        }

    def _match(self) -> Data:
        match = self.session.match
        return {
            "game": len(self.games),
            "levels": [RANKS[level] for level in match.levels],
            "owner": match.owner,
            "round": match.round,
            "wins": list(self.session.wins),
            "fails": list(self.session.fails),
            "tries": as_rules(self.setup.rules).ace_limit,
            "over": self.over,
        }

    def _turn(self, you: int | None) -> Data | None:
        due = self.session.pending.get(-1 if you is None else you)
        if due is None:
            return None
        passes = (due.actions["type"] == PASS).nonzero()[0] if due.stage == "play" else []
        may = int(passes[0]) if len(passes) else None
        return {"stage": due.stage, "count": len(due.actions), "pass": may, "moves": None}

    def _round(self, you: int | None, hands: bool) -> Data:
        session = self.session
        state, level = session.match.state[0], session.level
        playing = session.stage in ("play", "over")
        leader, beat = int(state["leader"]), state["beat"]
        follows = playing and leader != NOBODY and beat["type"] != NO_ACTION
        return {
            "number": f"{len(self.games)}.{session.match.round}",
            "level": RANKS[level],
            "phase": session.stage,
            "over": self.over,
            "hands": [session.cards(seat) if hands or seat == you else None for seat in range(4)],
            "rest": session.rest,
            "tributes": [list(transfer) for transfer in session.tributes],
            "returns": [list(transfer) for transfer in session.returns],
            "anti": list(session.anti),
            "plays": self.plays,
            "greater": {"seat": leader, "move": action_list(beat, level)} if follows else None,
            "order": [int(seat) for seat in state["order"] if seat != NOBODY] if playing else [],
        }


def suggested_moves(moves: Rows, hand: Sequence[str], level: int) -> list[int]:
    """Return places of moves to suggest, in their order: one of each type and rank, none of them a pass.

    hand: the cards held, by name.
    """
    kinds = moves["type"].astype(np.int64) << 8 | moves["rank"]
    firsts = np.sort(np.unique(kinds, return_index=True)[1]).tolist()
    places = [place for place in firsts if moves[place]["type"] != PASS]
    words = [action_list(moves[place], level) for place in places]
    order = suggestion_order([(kind in BOMBS, cards) for kind, _, cards in words], hand, f"H{RANKS[level]}")
    return [places[at] for at in order]


def guandan_moves(hand: Array, level: int) -> list[list[str]]:
    """Return the fewest moves of a packed hand [2] at a level (its rank code), each a list of card names."""

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        moves = legal_moves(hand, level, canonical=True)[0]
        taken = np.stack([moves["lo"], moves["hi"]], axis=1)
        left = pack(unpack(hand) - unpack(taken))
        needed, sizes = min_combinations(left, level), moves["size"].astype(np.int64)
        return left, sizes, needed, lambda i: " ".join(action_list(moves[i], level)[2])

    return [words.split() for words in fewest_moves(np.asarray(hand, np.uint64), leads)]
