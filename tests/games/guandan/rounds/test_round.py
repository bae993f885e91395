"""The round: turn order, trick ends, finishing, payoffs, infosets, bad input, random play."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from games.game import CHANCE, TERMINAL, Game, GameError
from games.guandan.cards import ACTION, as_level, parse_cards, unpack
from games.guandan.notation import parse_action
from games.guandan.rounds.playout import legal, random_playouts
from games.guandan.rounds.round import GuanDan, Shown, advance, deal, from_hands
from games.guandan.rounds.state import NOBODY, STATE
from tests.games.guandan.positions import cards_of, names
from tests.games.random_games import check_quickly
from tests.patience import LONG, amount
from tests.reference.guandan.guandan_round import Round

GAME = GuanDan()


def start(*hands: str, **options) -> np.ndarray:
    """Return a round of four small hands, [1] STATE."""
    return from_hands([parse_cards(hand) for hand in hands], **options)


def play(states: np.ndarray, *moves: str) -> np.ndarray:
    """Return the state after moves in words, each checked."""
    for move in moves:
        action = parse_action(move, int(states["level"][0]))
        assert action[0] in legal(states)[0], move
        states = GAME.step(states, np.array([0]), action)
    return states


def random_choice(states: np.ndarray, rng: np.random.Generator, canonical: bool = False) -> np.ndarray:
    """Return one uniformly random legal action for each state, a PASS where the round is over."""
    moves = legal(states, canonical=canonical)
    chosen = np.zeros(len(states), ACTION)
    live = moves.counts > 0
    rows = moves.offsets[:-1] + (rng.random(len(states)) * moves.counts).astype(np.int64)
    chosen[live] = moves.values[rows[live]]
    return chosen


def test_a_round_is_a_game_with_two_teams() -> None:
    assert isinstance(GAME, Game)
    assert GAME.teams == (0, 1, 0, 1) and GAME.num_players == 4
    assert GuanDan("canonical").name == "guandan(moves=canonical)"
    with pytest.raises(GameError, match='"full" or "canonical"'):
        GuanDan("some")
    assert GAME.player(GAME.root()).tolist() == [CHANCE]
    moves = GAME.actions(start("S3", "S4", "S5", "S6")).values
    assert np.array_equal(GAME.action_type(moves), moves["type"])


def test_deals_are_whole_and_replay_from_their_seed() -> None:
    states = deal(500, np.random.default_rng(7), level=4)
    counts = unpack(states["hand"])
    assert np.all(counts.sum(2) == 27) and np.all(counts.sum(1) == 2)
    again = deal(500, np.random.default_rng(7), level=4)
    assert states.tobytes() == again.tobytes()
    assert set(states["first"]) == {0, 1, 2, 3} and np.array_equal(states["first"], states["player"])
    # every card lies with every seat about equally often
    share = counts.sum(0) / counts.sum()
    assert np.all(np.abs(share - 1 / 216) < 6 * np.sqrt(1 / 216 / 54_000))


@pytest.mark.parametrize(
    ("hands", "moves", "order", "gain"),
    [
        # a double win ends the round at once, and the losers stand in seat order
        (("S9", "S4 D4", "ST", "S6 D6"), ("9 S9", "PASS", "T ST"), [0, 2, 1, 3], 3),
        (("S9", "ST", "SJ", "S6 D6"), ("9 S9", "T ST", "J SJ"), [0, 1, 2, 3], 2),
        (("S9", "ST", "S6 D6", "SJ"), ("9 S9", "T ST", "PASS", "J SJ"), [0, 1, 3, 2], 1),
    ],
)
def test_a_double_win_pays_three_first_and_third_two_and_first_and_last_one(
    hands: tuple[str, ...], moves: tuple[str, ...], order: list[int], gain: int
) -> None:
    for owner in (NOBODY, 0, 1):
        states = start(*hands, level=as_level("A"), owner=owner)
        states = play(states, *(move if move == "PASS" else f"Single {move}" for move in moves))
        assert states["player"][0] == TERMINAL and len(legal(states)[0]) == 0
        assert states["order"][0].tolist() == order
        # at the team's own level A a win with the partner last gains nothing
        paid = 0 if gain == 1 and owner == 0 else gain
        assert GAME.returns(states)[0].tolist() == [paid, -paid, paid, -paid]


def test_rounds_equal_the_slow_reference_move_by_move() -> None:
    rng = np.random.default_rng(11)
    n = amount(40, 6)
    states = deal(n, rng, level=rng.integers(0, 13, n))
    slow = [Round([names(counts) for counts in unpack(row["hand"])], int(row["first"])) for row in states]
    while np.any(states["player"] != TERMINAL):
        actions = random_choice(states, rng)
        for row, action, twin in zip(states, actions, slow, strict=True):
            if row["player"] != TERMINAL:
                twin.play((int(action["type"]), int(action["rank"])), names(cards_of(action)))
        advance(states, actions)
        for row, twin in zip(states, slow, strict=True):
            assert row["player"] == (TERMINAL if twin.player is None else twin.player)
            assert (row["leader"] == NOBODY) == (twin.best is None)
            assert [names(counts) for counts in unpack(row["hand"])] == [
                sorted(hand, key=names(np.ones(54, int)).index) for hand in twin.hands
            ]
            if twin.best is not None:
                assert row["leader"] == twin.best[0]
                assert (row["beat"]["type"], row["beat"]["rank"]) == twin.best[1]
        assert not GAME.returns(states[states["player"] != TERMINAL]).any()
    for row, twin, payoff in zip(states, slow, GAME.returns(states), strict=True):
        assert row["order"].tolist() == twin.finished and payoff.tolist() == twin.payoffs()


def test_infoset_keys_tell_levels_and_known_cards() -> None:
    base = GAME.infoset_key(start("S3", "S4", "S5", "S6"), 0)
    assert not np.array_equal(base, GAME.infoset_key(start("S3", "S4", "S5", "S6", level=1), 0))
    shown = np.array([parse_cards(cards) for cards in ("", "S4", "", "")])
    assert not np.array_equal(base, GAME.infoset_key(start("S3", "S4", "S5", "S6", shown=Shown(shown)), 0))


def test_infoset_keys_of_random_play_never_collide() -> None:
    rng = np.random.default_rng(4)
    states = deal(amount(300, 40), rng)
    seen = set()
    steps = 0
    while np.any(live := states["player"] != TERMINAL):
        for seat in range(4):
            seen |= {key.tobytes() for key in GAME.infoset_key(states[live], seat)}
        steps += 4 * int(live.sum())
        advance(states, random_choice(states, rng, canonical=True))
    assert len(seen) == steps


def test_illegal_actions_are_refused_and_change_nothing() -> None:
    states = play(start("S9 D9", "S4 D4", "S5 D5", "S6 D6"), "Pair 9 S9 D9")
    before = states.tobytes()
    for move in ("Pair 4 S4 D4", "Single 4 S4", "Pair T ST DT"):
        assert parse_action(move, 0)[0] not in legal(states)[0]
    for move in ("Pair T ST DT", "Single 5 S5"):
        with pytest.raises(GameError, match="cannot play action 0"):
            GAME.step(states, np.array([0]), parse_action(move, 0))
    wrong = parse_action("Single 4 S4", 0)
    wrong["size"] = 2
    with pytest.raises(GameError, match="cannot play action 0"):
        GAME.step(states, np.array([0]), wrong)
    assert states.tobytes() == before
    over, _ = random_playouts(deal(1, np.random.default_rng(0)), np.random.default_rng(0))
    with pytest.raises(GameError, match="the round is over"):
        GAME.step(over, np.array([0]), np.zeros(1, ACTION))
    ended = over.tobytes()
    advance(over, np.zeros(1, ACTION))
    assert over.tobytes() == ended, "a finished round stays as it is"
    with pytest.raises(GameError, match="as many actions"):
        advance(states, np.zeros(2, ACTION))
    with pytest.raises(GameError, match="the cards are being dealt"):
        GAME.step(GAME.root(), np.array([0]), np.zeros(1, ACTION))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 13}, "level must lie in"),
        ({"first": 4}, "first must lie in"),
        ({"owner": 2}, "owner is team"),
        ({"n": -1}, "at least 0"),
        ({"level": "1"}, "a level must be one of"),
    ],
)
def test_deals_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message):
        deal(**{"n": 1, "rng": np.random.default_rng(0), **options})


def test_hands_and_seats_that_are_none_are_refused() -> None:
    full = np.zeros((4, 54), int)
    full[:, 0] = 1
    for hands, message in ((full, "a third time"), (np.zeros((3, 54)), "shape")):
        with pytest.raises(GameError, match=message):
            from_hands(hands)
    with pytest.raises(GameError, match=r"1\.\.27 cards"):
        start("S3", "S4", "", "S6")
    with pytest.raises(GameError, match="must be in it"):
        start("S3", "S4", "S5", "S6", shown=Shown([parse_cards(c) for c in ("S4", "", "", "")]))
    with pytest.raises(GameError, match="a seat is"):
        GAME.infoset_key(start("S3", "S4", "S5", "S6"), 4)
    assert len(deal(0, np.random.default_rng(0))) == 0


class Endgame(GuanDan):
    """A round that begins with hands of a few cards, whose infosets are followed."""

    follows = True
    sample_histories = None

    def __init__(self, moves: str, begun: np.ndarray) -> None:
        super().__init__(moves)
        self.begun = begun

    def root(self) -> np.ndarray:
        return self.begun.copy()


@pytest.mark.parametrize("moves", [pytest.param("full", marks=pytest.mark.long), "canonical"])
@pytest.mark.some(1)
def test_a_small_endgame_keeps_the_contract_in_every_history(moves: str) -> None:
    hands = ("S3 D3 H2", "S4 D4", "S5 D5") if LONG in os.environ else ("S3 H2", "S4 D4", "S5")
    game = Endgame(moves, start(*hands, "S6"))
    report = check_quickly(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete and report.terminals > 30


def test_a_state_is_its_fields_and_nothing_between_them() -> None:
    # states are compared, hashed and kept as bytes
    assert STATE.itemsize == sum(STATE[name].itemsize for name in STATE.names or ())
