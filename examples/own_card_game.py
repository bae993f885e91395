"""Your own card game in one file, from its rules to a trained network, a searched move and a replayed record.

    python examples/own_card_game.py [DECISIONS]
    gs2 match --game examples/own_card_game.py:Sevens examples/own_card_game.py:Keeper uniform --pairs 200
    gs2 train examples/own_card_game.py:Sevens -o sevens.safetensors --minutes 5
    gs2 web --game examples/own_card_game.py:Sevens --game-agent examples/own_card_game.py:Keeper

Sevens, with 24 cards for three: each suit is opened by its jack and grows down to the nine and up to the
ace. Whoever can play a card must; whoever sheds all first is paid a chip for each card that the others hold.
The art is to keep back the cards that the others wait for.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import games
from blueprint import Decisions
from gs2.web.games.card_face import Face

RANKS, SUITS, SEATS = "9TJQKA", "cdhs", 3
DECK = tuple(rank + suit for suit in SUITS for rank in RANKS)
PASS = "pass"


class Table(NamedTuple):
    """Who holds what, and what was played, with the seats."""

    hands: tuple[tuple[str, ...], ...] = ((),) * SEATS
    played: tuple[tuple[int, str], ...] = ()
    dealt: int = 0


def fits(card: str, out: set[str]) -> bool:
    """Return whether a card opens a suit, or continues what lies on the table."""
    place = RANKS.index(card[0])
    nearer = place - (place > 2) + (place < 2)  # the jack, RANKS[2], is in the middle
    return nearer == place or RANKS[nearer] + card[1] in out


class SevensFace(Face):
    """How the browser shows the game: a seat's cards; moves are cards already."""

    def hand(self, state: Any, seat: int) -> list[str]:
        """Return the cards that a seat holds, as the page calls them."""
        held = self.game.infoset_text(state, seat).split("holds")[1].split("|")[0]
        return self.cards_of(held, [])


class Sevens(games.SimpleGame):
    """Plain methods on one state; `games.SimpleGame` makes the batched game of them."""

    card_face = SevensFace
    num_players, teams = SEATS, (0, 1, 2)
    max_length = 4 * len(DECK)  # the deal, and at most two passes before each card
    payoff_range = (-8.0, 16.0)

    def start(self) -> Table:
        return Table()

    def turn(self, table: Table) -> int:
        if table.dealt < len(DECK):
            return games.CHANCE
        return len(table.played) % SEATS if all(table.hands) else games.TERMINAL

    def choices(self, table: Table) -> list[Any]:
        if table.dealt < len(DECK):  # who gets the next card of the deck
            return [seat for seat in range(SEATS) if len(table.hands[seat]) < len(DECK) // SEATS]
        out = {card for _, card in table.played}
        return [card for card in table.hands[self.turn(table)] if fits(card, out)] or [PASS]

    def chances(self, table: Table) -> list[float]:
        missing = [len(DECK) // SEATS - len(table.hands[seat]) for seat in self.choices(table)]
        return [n / sum(missing) for n in missing]  # so every deal is as likely as every other

    def after(self, table: Table, choice: Any) -> Table:
        hands = list(table.hands)
        if table.dealt < len(DECK):
            hands[choice] += (DECK[table.dealt],)
            return Table(tuple(hands), (), table.dealt + 1)
        seat = self.turn(table)
        hands[seat] = tuple(card for card in hands[seat] if card != choice)
        return Table(tuple(hands), (*table.played, (seat, choice)), table.dealt)

    def payoff(self, table: Table) -> list[float]:
        left = [len(hand) for hand in table.hands]
        return [float(sum(left)) if n == 0 else -float(n) for n in left]

    def sees(self, table: Table, player: int) -> str:
        held = " ".join(table.hands[player])
        said = ", ".join(f"P{seat} {card}" for seat, card in table.played)
        return f"card {table.dealt} holds {held} | {said}"

    def shows(self, table: Table, player: int) -> list[int]:
        """What a network is shown: own cards, cards played, how many others hold, and who has passed."""
        out = {card for _, card in table.played}
        passed = {seat for seat, card in table.played if card == PASS}
        seats = [(player + k) % SEATS for k in range(1, SEATS)]
        cards = [int(card in held) for held in (table.hands[player], out) for card in DECK]
        return cards + [len(table.hands[seat]) for seat in seats] + [int(seat in passed) for seat in seats]

    def shows_move(self, table: Table, player: int, choice: str) -> list[int]:
        """What a network is shown of a move: the card, those that may follow, and which of these are held."""
        follow = behind(choice)
        own = [int(card in follow and card in table.hands[player]) for card in DECK]
        return [int(card == choice) for card in DECK] + [int(card in follow) for card in DECK] + own

    def hides(self, table: Table, player: int) -> list[int]:
        """What the critic of training sees besides: who holds each of the other cards."""
        seats = [(player + k) % SEATS for k in range(1, SEATS)]
        return [int(card in table.hands[seat]) for seat in seats for card in DECK]


class Keeper:
    """A rule agent: it plays cards that open the way to its own, or to nobody's, before all others."""

    name = "keeper"

    def __call__(self, decisions: Decisions) -> Any:
        """Return the probability of each action; the agent looks at what its seat sees, and nothing else."""
        game, choices, good = decisions.game, decisions.table, []
        for j, (row, seat) in enumerate(zip(decisions.rows.tolist(), decisions.seats.tolist(), strict=True)):
            state = decisions.states[row]
            held = game.infoset_text(state, seat).split("holds")[1].split("|")[0].split()
            words = [game.action_text(state, choice) for choice in choices[j]]
            gifts = [sum(card not in held for card in behind(word)) for word in words]
            best = np.array(gifts) == min(gifts)
            good += (best / best.sum()).tolist()
        return np.array(good)


def behind(card: str) -> list[str]:
    """Return the cards that a card lets follow."""
    if card == PASS:
        return []
    place = RANKS.index(card[0])
    steps = (-1, 1) if place == 2 else (1,) if place > 2 else (-1,)
    return [RANKS[place + step] + card[1] for step in steps if 0 <= place + step < len(RANKS)]


def main(decisions: int = 100_000, pairs: int = 100) -> dict[str, Any]:
    """Check the game, play, train, search and replay; return what was found."""
    import gs2
    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.climbing.move_config import ClimbingConfig
    from blueprint.climbing.move_trainer import MoveTrainer
    from blueprint.learning.run import RunLimits, train
    from games.infosets.trail import Watcher
    from games.record import replayed_rounds
    from gs2.play.arena import Meeting, play_match
    from gs2.play.ladder import LadderPlan, play_ladder
    from gs2.play.match_files import MatchFiles

    rng, game, here = np.random.default_rng(0), Sevens(), Path(__file__).resolve()
    games.check_game(game, rng, max_width=20)  # names a broken rule, the method and the history
    rules, keeper = f"{here}:Sevens", f"{here}:Keeper"
    with tempfile.TemporaryDirectory() as folder:
        # A network learns the game by playing it against itself; it is shown what each move does.
        weights = Path(folder) / "sevens.safetensors"
        config = ClimbingConfig(rounds=128, batch=512)  # games between two updates, decisions a gradient step
        train(weights, lambda path: MoveTrainer.begun(path, game, config), RunLimits(decisions=decisions))
        network = load_climbing_blueprint(weights, game, temperature=0.1)

        # A match: the same deals for both agents, each of them against two of the other.
        records = Path(folder) / "rounds.jsonl"
        match = play_match(Meeting(rules, keeper, "uniform", pairs), output=MatchFiles(records=records))
        low, high = match.interval()
        print(f"keeper among two that play at random: {match.net:+.2f} [{low:+.2f}, {high:+.2f}] chips")

        # A ladder of three.
        ladder = play_ladder(LadderPlan(rules, (keeper, "uniform", str(weights)), pairs))
        assert ladder is not None
        for k in ladder.order:
            print(f"  {ladder.labels[k]:20} {ladder.points[k].mean:+.2f} chips a game")

        # A record says all that it takes to play the round again; every move is checked.
        rounds = list(replayed_rounds(records, game, name=rules))
        last = rounds[-1]
        print(f"{len(rounds)} rounds replayed; the last: {game.state_text(last.end[0]).split(', ', 24)[-1]}")

    # A search at one decision, by hands that fit all that seat 1 has seen on the way.
    watcher, state = Watcher(game, 1), game.root()
    for word in [*"012012", *"120120", *"201201", *"021102", "Jd"]:  # who gets which card, suit by suit
        watcher.see(state)
        state = game.played(state, [word])
    watcher.see(state)
    result = gs2.solve_infoset(game, network, watcher.trail, gs2.preset("gs2"), rng)
    print(game.infoset_text(state[0], 1))
    for card, before in result.blueprint.items():
        print(f"  {card:5} {before:.3f} -> {result.refined[card]:.3f}")
    return {"match": match.net, "rounds": len(rounds), "refined": result.refined}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
