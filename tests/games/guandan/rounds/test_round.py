"""The round: turn order, trick ends, finishing, payoffs, infosets, bad input, random play."""

from __future__ import annotations

import numpy as np
import pytest

from games.game import CHANCE, TERMINAL, Game, GameError
from games.guandan.cards import ACTION, NO_ACTION, PASS, as_level, parse_cards, unpack
from games.guandan.notation import parse_action
from games.guandan.rounds.playout import random_playouts
from games.guandan.rounds.round import GuanDan, Shown, advance, deal, from_hands, initial_hands, legal
from games.guandan.rounds.state import NOBODY, STATE
from tests.games.guandan.positions import cards_of, names
from tests.patience import amount
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


def test_the_root_is_the_configured_start_or_lies_before_the_deal() -> None:
    assert GAME.player(GAME.root()).tolist() == [CHANCE]
    states = start("S3", "S4", "S5", "S6")
    root = GuanDan(start=states).root()
    assert root.dtype == STATE and np.array_equal(root["hand"], states["hand"])
    root["player"] = 3
    assert GuanDan(start=states).root()["player"][0] == 0


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


def test_turns_go_round_and_a_trick_goes_to_who_was_not_beaten() -> None:
    states = start("S3 D3", "S4 D4", "S5 D5", "S6 D6")
    states = play(states, "Single 3 S3", "Single 4 S4", "PASS")
    assert states["player"][0] == 3 and states["leader"][0] == 1 and states["passes"][0] == 1
    states = play(states, "PASS", "PASS")
    assert states["player"][0] == 1 and states["leader"][0] == NOBODY and states["tricks"][0] == 1
    assert states["beat"]["type"][0] == PASS and np.all(states["trick"]["type"] == NO_ACTION)
    assert states["last"]["type"][0].tolist() == [PASS, 1, PASS, PASS]
    assert PASS not in legal(states)[0]["type"]


def test_the_partner_takes_the_lead_of_a_finished_player_after_passing_himself() -> None:
    states = play(start("S9", "S4 D4", "S5 D5", "S6 D6"), "Single 9 S9")
    assert states["left"][0, 0] == 0 and states["player"][0] == 1
    states = play(states, "PASS", "PASS")
    assert states["player"][0] == 3  # the partner had his turn to pass and does not lead yet
    states = play(states, "PASS")
    assert states["player"][0] == 2 and states["leader"][0] == NOBODY


def test_a_finished_player_who_is_beaten_gives_no_lead_to_his_partner() -> None:
    states = play(start("S9", "ST D4", "S5 D5", "S6 D6"), "Single 9 S9", "Single T ST", "PASS", "PASS")
    assert states["player"][0] == 1 and states["tricks"][0] == 1


def test_a_double_win_ends_the_round_at_once_and_losers_stand_in_seat_order() -> None:
    states = play(start("S9", "S4 D4", "ST", "S6 D6"), "Single 9 S9", "PASS", "Single T ST")
    assert states["player"][0] == TERMINAL and states["order"][0].tolist() == [0, 2, 1, 3]
    assert GAME.returns(states)[0].tolist() == [3, -3, 3, -3]
    assert len(legal(states)[0]) == 0


def test_payoffs_are_two_for_first_and_third_and_one_for_first_and_last() -> None:
    states = play(start("S9", "ST", "SJ", "S6 D6"), "Single 9 S9", "Single T ST", "Single J SJ")
    assert states["order"][0].tolist() == [0, 1, 2, 3]
    assert GAME.returns(states)[0].tolist() == [2, -2, 2, -2]
    states = play(start("S9", "ST", "S6 D6", "SJ"), "Single 9 S9", "Single T ST", "PASS", "Single J SJ")
    assert states["order"][0].tolist() == [0, 1, 3, 2]
    assert GAME.returns(states)[0].tolist() == [1, -1, 1, -1]


def test_winning_at_the_teams_own_level_a_with_the_partner_last_gains_nothing() -> None:
    hands = ("S9", "ST", "S6 D6", "SJ")
    moves = ("Single 9 S9", "Single T ST", "PASS", "Single J SJ")
    for owner, gain in ((0, 0), (1, 1), (NOBODY, 1)):
        states = play(start(*hands, level=as_level("A"), owner=owner), *moves)
        assert GAME.returns(states)[0].tolist() == [gain, -gain, gain, -gain]


def test_no_payoff_before_the_end() -> None:
    assert not GAME.returns(start("S9", "ST", "S6 D6", "SJ")).any()


def test_rounds_equal_the_slow_reference_move_by_move() -> None:
    rng = np.random.default_rng(11)
    n = amount(40, 16)
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
    for row, twin, payoff in zip(states, slow, GAME.returns(states), strict=True):
        assert row["order"].tolist() == twin.finished and payoff.tolist() == twin.payoffs()


def check_random_rounds(n: int, seed: int, canonical: bool) -> int:
    """Play n random rounds in batches and check what must hold of each; return the decisions taken."""
    rng = np.random.default_rng(seed)
    total = 0
    while n > 0:
        size = min(n, 20_000)
        states = deal(size, rng, level=rng.integers(0, 13, size))
        after, decisions = random_playouts(states, rng, canonical=canonical)
        assert np.all(after["player"] == TERMINAL)
        assert np.array_equal(initial_hands(after), states["hand"])
        held, played = unpack(after["hand"]).astype(int), unpack(after["played"]).astype(int)
        assert np.all((held + played).sum(1) == 2)
        assert np.array_equal(held.sum(2), after["left"])
        assert np.array_equal(np.sort(after["order"], 1), np.broadcast_to(np.arange(4), (size, 4)))
        out = after["left"] == 0
        assert np.all((out[:, 0] & out[:, 2]) | (out[:, 1] & out[:, 3]))
        assert np.array_equal(out.sum(1), after["finished"])
        payoffs = GAME.returns(after)
        assert np.all(payoffs.sum(1) == 0) and np.all(payoffs[:, :2] == payoffs[:, 2:])
        assert np.all(np.isin(np.abs(payoffs), (1, 2, 3)))
        assert np.array_equal(decisions, after["plays"]) and decisions.min() >= 4
        total += int(decisions.sum())
        n -= size
    return total


@pytest.mark.parametrize("canonical", [False, True])
def test_random_rounds_keep_every_invariant(canonical: bool) -> None:
    n = amount(4000, 1500)
    assert check_random_rounds(n, 5, canonical) > n * 60


@pytest.mark.long
def test_a_million_random_rounds_keep_every_invariant() -> None:
    check_random_rounds(500_000, 6, False)
    check_random_rounds(500_000, 7, True)


def test_playouts_replay_from_their_seed_and_leave_their_states_alone() -> None:
    states = deal(50, np.random.default_rng(1))
    before = states.tobytes()
    first, _ = random_playouts(states, np.random.default_rng(2))
    second, _ = random_playouts(states, np.random.default_rng(2))
    assert states.tobytes() == before
    assert first.tobytes() == second.tobytes()
    other, _ = random_playouts(states, np.random.default_rng(3))
    assert other.tobytes() != first.tobytes()


def test_a_finished_round_stays_as_it_is() -> None:
    states, _ = random_playouts(deal(5, np.random.default_rng(1)), np.random.default_rng(2))
    before = states.tobytes()
    advance(states, np.zeros(5, ACTION))
    assert states.tobytes() == before


def test_infoset_keys_agree_exactly_when_the_seat_saw_the_same() -> None:
    states = start("S3 D3 S9", "S4 D4 SJ", "S5 D5 SQ", "S6 D6 SK")
    other = start("S3 D3 S9", "S4 D4 SJ", "S6 D6 SK", "S5 D5 SQ")
    assert np.array_equal(GAME.infoset_key(states, 0), GAME.infoset_key(other, 0))
    assert not np.array_equal(GAME.infoset_key(states, 2), GAME.infoset_key(other, 2))
    states, other = (play(s, "Single 3 S3", "Single 4 S4", "PASS", "PASS", "PASS") for s in (states, other))
    assert np.array_equal(GAME.infoset_key(states, 0), GAME.infoset_key(other, 0))
    assert not np.array_equal(GAME.infoset_key(states, 0), GAME.infoset_key(states, 1))
    # the same cards in another order are another record
    one = play(start("S3 D3 S9", "S4 D4", "S5", "S6"), "Single 3 S3", "PASS", "PASS", "PASS", "Single 3 D3")
    two = play(start("S3 D3 S9", "S4 D4", "S5", "S6"), "Single 3 D3", "PASS", "PASS", "PASS", "Single 3 S3")
    assert not np.array_equal(GAME.infoset_key(one, 1), GAME.infoset_key(two, 1))
    # so is the same play at another level, or with a known card
    base = GAME.infoset_key(start("S3", "S4", "S5", "S6"), 0)
    assert not np.array_equal(base, GAME.infoset_key(start("S3", "S4", "S5", "S6", level=1), 0))
    shown = np.array([parse_cards(cards) for cards in ("", "S4", "", "")])
    assert not np.array_equal(base, GAME.infoset_key(start("S3", "S4", "S5", "S6", shown=Shown(shown)), 0))


def test_infoset_keys_of_random_play_never_collide() -> None:
    rng = np.random.default_rng(4)
    states = deal(300, rng)
    seen = set()
    steps = 0
    while np.any(live := states["player"] != TERMINAL):
        for seat in range(4):
            seen |= {key.tobytes() for key in GAME.infoset_key(states[live], seat)}
        steps += 4 * int(live.sum())
        advance(states, random_choice(states, rng, canonical=True))
    assert len(seen) == steps


def test_stepping_leaves_the_states_alone_and_takes_many_actions_of_one() -> None:
    states = start("S3 D3 S9", "S4 D4", "S5 D5", "S6 D6")
    before = states.tobytes()
    moves = GAME.actions(states)
    after = GAME.step(states, moves.rows, moves.values)
    assert states.tobytes() == before and len(after) == len(moves.values)
    assert np.array_equal(after["last"][:, 0], moves.values)
    assert np.array_equal(GAME.player(after), np.ones(len(after)))
    assert np.array_equal(GAME.chance_probs(states, moves), np.ones(len(moves.values)))
    assert np.array_equal(GAME.action_type(moves.values), moves.values["type"])


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
    with pytest.raises(GameError, match="as many actions"):
        advance(states, np.zeros(2, ACTION))


def test_deals_that_are_none_are_refused() -> None:
    full = np.zeros((4, 54), int)
    full[:, 0] = 1
    with pytest.raises(GameError, match="a third time"):
        from_hands(full)
    with pytest.raises(GameError, match=r"1\.\.27 cards"):
        start("S3", "S4", "", "S6")
    with pytest.raises(GameError, match="shape"):
        from_hands(np.zeros((3, 54)))
    with pytest.raises(GameError, match="must be in it"):
        start("S3", "S4", "S5", "S6", shown=Shown([parse_cards(c) for c in ("S4", "", "", "")]))
    rng = np.random.default_rng(0)
    with pytest.raises(GameError, match="level must lie in"):
        deal(1, rng, level=13)
    with pytest.raises(GameError, match="first must lie in"):
        deal(1, rng, first=4)
    with pytest.raises(GameError, match="owner is team"):
        deal(1, rng, owner=2)
    with pytest.raises(GameError, match="at least 0"):
        deal(-1, rng)
    with pytest.raises(GameError, match="a level is one of"):
        deal(1, rng, level="1")
    with pytest.raises(GameError, match="a seat is"):
        GAME.infoset_key(deal(1, rng), 4)
    assert len(deal(0, rng)) == 0
    assert deal(2, rng, level="A")["level"].tolist() == [12, 12]


def test_a_state_is_its_fields_and_nothing_between_them() -> None:
    # states are compared, hashed and kept as bytes
    assert STATE.itemsize == sum(STATE[name].itemsize for name in STATE.names or ())
