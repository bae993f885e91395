"""The round of DouDiZhu: turns, auction, payoffs and random play, against the slow twin and OpenSpiel."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from games import CHANCE, TERMINAL, GameError
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.move_table import move_letters, move_number, move_table
from games.climbing.doudizhu.multiset import cards_text, read_multiset
from games.climbing.doudizhu.round_kernels import empty_rounds
from games.climbing.doudizhu.round_state import CALLS, NUM_ACTIONS, first_forbidden, round_views
from games.support.array_types import Rows
from tests.games.climbing.doudizhu.invariants import broken_rules
from tests.games.climbing.doudizhu.test_moves import openspiel_cards
from tests.patience import amount
from tests.reference.doudizhu import Auction, Round

ONE = np.zeros(1, np.int64)


def acted(game: DouDizhu, state: Rows, action: int) -> Rows:
    return game.step(state, ONE, np.array([action]))


def played(game: DouDizhu, state: Rows, moves: str) -> Rows:
    for move in moves.split():
        state = acted(game, state, move_number(move))
    return state


@pytest.mark.parametrize("spring", [False, True])
@pytest.mark.parametrize("landlord", ["first", "bid"])
def test_rounds_go_as_in_the_slow_twin(landlord: str, spring: bool) -> None:
    game = DouDizhu(landlord=landlord, spring=spring)
    rng = random.Random(spring)
    for state in game.sample_deals(amount(12, 3), np.random.default_rng(spring)).reshape(-1, 1):
        auction = Auction()
        while game.by_bid and auction.options():
            actions = game.actions(state)[0]
            assert (actions - CALLS).tolist() == auction.options()
            auction.calls.append(rng.choice(auction.options()))
            state = acted(game, state, CALLS + auction.calls[-1])
        first = auction.landlord() if game.by_bid else 0
        if first is None:
            assert state["player"][0] == TERMINAL and not game.returns(state).any()
            continue
        twin = Round([cards_text(hand) for hand in state["hand"][0]], first)
        while twin.winner is None:
            assert game.player(state)[0] == twin.player
            legal = {move_letters(move): move for move in game.actions(state)[0].tolist()}
            assert set(legal) == twin.legal()
            move = rng.choice(sorted(legal))
            if rng.random() < 0.5:
                move = max(legal, key=lambda cards: (cards != "pass", len(cards)))
            twin.play(move)
            state = acted(game, state, legal[move])
            assert [cards_text(hand) for hand in state["hand"][0]] == twin.hands
        assert game.player(state)[0] == TERMINAL
        points = twin.points(max(auction.calls, default=1), spring=spring)
        assert game.points(state)[0].tolist() == points
        whole = 2 if landlord == "first" else 1
        assert game.returns(state)[0, 0] == points[0] / whole


@pytest.mark.parametrize(
    ("options", "rounds"),
    [({}, 3000), ({"landlord": "bid", "spring": True}, 3000), ({"ranks": 4}, 1000), ({"ranks": 1}, 300)],
)
def test_random_rounds_break_no_rule(options: dict[str, object], rounds: int) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(4)
    ends, decisions = game.play_randomly(game.sample_deals(rounds, rng), rng)
    assert broken_rules(game, ends) == []
    assert (decisions >= ends["plays"]).all()


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"landlord": "bid", "spring": True}])
def test_a_million_random_rounds_break_no_rule(options: dict[str, object]) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    for _ in range(500):
        ends, _ = game.play_randomly(game.sample_deals(2000, rng), rng)
        assert broken_rules(game, ends) == []


def test_a_broken_round_is_noticed() -> None:
    game = DouDizhu()
    rng = np.random.default_rng(6)
    ends, _ = game.play_randomly(game.sample_deals(50, rng), rng)
    for name in ("hand", "played", "left", "record", "gaps", "plays", "moves", "bombs", "player"):
        wrong = ends.copy()
        wrong[name].reshape(50, -1)[7, 0] += 1
        assert broken_rules(game, wrong), name


def test_a_batch_plays_as_each_round_alone() -> None:
    game = DouDizhu()
    deals = game.sample_deals(20, np.random.default_rng(7))
    rng = np.random.default_rng(8)
    states = deals
    for _ in range(30):
        going = np.flatnonzero(game.player(states) >= 0)
        actions = game.actions(states).take(going)
        pick = actions.offsets[:-1] + (rng.random(len(going)) * actions.counts).astype(np.int64)
        after = game.step(states, going, actions.values[pick])
        for k, row in enumerate(going):
            alone = acted(game, states[row : row + 1], int(actions.values[pick[k]]))
            assert alone.tobytes() == after[k : k + 1].tobytes()
        states = after


def test_bombs_the_rocket_and_spring_double_the_stake() -> None:
    game, spring = DouDizhu(), DouDizhu(spring=True)
    start = rounds_from_hands(["3333BR4", "56789T", "678899"])
    for moves, points, with_spring in (
        ("BR pass pass 3333 pass pass 4", [8, -4, -4], [16, -8, -8]),
        ("3333 pass pass BR pass pass 4", [8, -4, -4], [16, -8, -8]),
        ("4 5 pass pass 6789T", [-2, 1, 1], [-4, 2, 2]),
        ("4 5 pass 3333 pass pass BR", [8, -4, -4], [8, -4, -4]),
    ):
        end = played(game, start, moves)
        assert end["player"][0] == TERMINAL
        assert game.points(end)[0].tolist() == points
        assert spring.points(end)[0].tolist() == with_spring
        assert game.returns(end)[0].tolist() == [points[0] / 2, points[1], points[2]]
        assert np.array_equal(DouDizhu(returns="win_loss").returns(end)[0], np.sign(points))


def test_the_largest_payoff_can_be_won_and_lost() -> None:
    game = DouDizhu()
    farmers = ["44447777TTTTKKKK", "55558888JJJJAAAA"]
    start = rounds_from_hands(["33336666" + "9999QQQQ2222", farmers[0] + "B", farmers[1] + "R"])
    bombs = [rank * 4 for rank in "3456789TJQKA"]
    end = played(game, start, " ".join([*bombs, "2222"]))
    assert game.returns(end)[0].tolist() == [8192, -8192, -8192]
    start = rounds_from_hands(["33336666" + "9999QQQQ22BR", farmers[0] + "2", farmers[1] + "2"])
    end = played(game, start, " ".join(["BR pass pass", *bombs, "pass pass 2"]))
    assert game.returns(end)[0].tolist() == [-8192, 8192, 8192] == list(game.payoff_range)[:1] + [8192] * 2


def test_a_bid_multiplies_the_stake_and_any_seat_may_become_landlord() -> None:
    game = DouDizhu(landlord="bid", ranks=1)
    start = game.sample_deals(1, np.random.default_rng(1))
    for calls, landlord in (([3], 0), ([0, 3], 1), ([0, 1, 2, 0, 0], 2), ([0, 1, 0, 2, 0, 3], 2)):
        state = start
        for call in calls:
            assert state["landlord"][0] == 3
            state = acted(game, state, CALLS + call)
        assert state["landlord"][0] == landlord == game.player(state)[0]
        assert state["left"][0].tolist() == [4 if seat == landlord else 1 for seat in range(3)]
        end, _ = game.play_randomly(state, np.random.default_rng(0))
        points = game.returns(end)[0]
        assert abs(points[landlord]) == 2 * abs(points[landlord - 1]) >= 2 * max(calls)
    void = acted(game, acted(game, acted(game, start, CALLS), CALLS), CALLS)
    assert game.player(void)[0] == TERMINAL and not game.returns(void).any()


def test_what_is_not_legal_is_refused() -> None:
    game = DouDizhu()
    state = rounds_from_hands(["33345", "4466", "778"])
    for move in ("pass", "66", "B", "34567"):
        with pytest.raises(GameError, match="not legal"):
            played(game, state, move)
    state = played(game, state, "33")
    for move in ("4", "77", "pass 4"):
        with pytest.raises(GameError, match="not legal"):
            played(game, state, move)
    for action in (-1, CALLS, CALLS + 4, 10**6):
        with pytest.raises(GameError, match="not legal"):
            acted(game, state, action)
    end = played(game, state, "44 pass pass 66")
    with pytest.raises(GameError, match="is over"):
        played(game, end, "pass")
    with pytest.raises(GameError, match="not legal"):
        acted(game, game.root(), 0)
    with pytest.raises(GameError, match="dealt rounds"):
        game.play_randomly(game.root(), np.random.default_rng(0))


@pytest.mark.parametrize("landlord", ["first", "bid"])
def test_a_step_takes_what_is_listed_and_nothing_else(landlord: str) -> None:
    game = DouDizhu(landlord=landlord)
    rng = np.random.default_rng(12)
    state, tables = game.root(), move_table().tables
    for _ in range(50):
        legal = game.actions(state)[0]
        tried = np.unique(np.concatenate([legal, rng.integers(-2, NUM_ACTIONS + 2, 400), np.arange(60)]))
        accepted = [
            action
            for action in tried.tolist()
            if first_forbidden(*round_views(state), np.array([action]), game.rules, tables) < 0
        ]
        assert accepted == sorted(legal.tolist())
        if len(legal) == 0:
            break
        state = acted(game, state, int(rng.choice(legal)))


@pytest.mark.parametrize(
    ("hands", "message"),
    [
        (["3", "4"], r"shape \[n, 3\]"),
        (["3", "", "4"], r"1\.\.20 cards"),
        (["33", "33", "3"], "four of a rank"),
        (["3", "x", "4"], "a card is one of"),
    ],
)
def test_hands_that_cannot_be_are_refused(hands: list[str], message: str) -> None:
    with pytest.raises(GameError, match=message):
        rounds_from_hands(hands)


def test_parameters_have_ranges() -> None:
    for options in ({"ranks": 2}, {"ranks": 16}, {"landlord": "strongest"}, {"returns": "money"}):
        with pytest.raises(GameError, match="doudizhu"):
            DouDizhu(**options)  # type: ignore[arg-type]
    with pytest.raises(GameError, match="at least 0"):
        DouDizhu().sample_deals(-1, np.random.default_rng(0))
    with pytest.raises(GameError, match="a start is"):
        DouDizhu(start=empty_rounds(1))


def test_openspiel_lists_and_pays_the_same_in_whole_rounds() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("dou_dizhu")
    game = DouDizhu(landlord="bid", spring=True)
    rng = random.Random(9)
    void = 0
    for _ in range(60):
        state = theirs.new_initial_state()
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        first = state.current_player()  # our seat 0
        ours = empty_rounds(1)
        ours["player"], ours["dealt"] = 0, 15
        left = read_multiset("".join(rank * 4 for rank in "3456789TJQKA2") + "BR")
        for seat in range(3):
            words = state.observation_string((first + seat) % 3)
            hand = read_multiset(openspiel_cards(re.findall(r"My hand (\S*)", words)[0]))
            ours["hand"][0, seat], ours["left"][0, seat] = hand, 17
            left -= hand
        ours["bottom"] = left
        while not state.is_terminal():
            actions = state.legal_actions()
            words = [state.action_to_string(action) for action in actions]
            legal = game.actions(ours)[0].tolist()
            assert (state.current_player() - first) % 3 == game.player(ours)[0]
            if ours["landlord"][0] == 3:
                names = [CALLS + (0 if word == "Pass" else int(word[-1])) for word in words]
                assert sorted(names) == legal
            else:
                names = [move_number(openspiel_cards(word)) for word in words]
            both = [at for at, name in enumerate(names) if name in legal]  # the rest is in the rulings
            at = rng.choice(both)
            state.apply_action(actions[at])
            ours = acted(game, ours, names[at])
        assert ours["player"][0] == TERMINAL
        void += ours["landlord"][0] == 3
        returns = state.returns()
        assert [returns[(first + seat) % 3] for seat in range(3)] == game.returns(ours)[0].tolist()
    assert void < 30


def test_rlcard_plays_the_same_rounds() -> None:
    rlcard = pytest.importorskip("rlcard")
    table = rlcard.make("doudizhu", config={"seed": 10})
    game = DouDizhu(returns="win_loss")
    rng = random.Random(10)
    for _ in range(15):
        table.reset()
        hands = [player.initial_hand for player in table.game.players]
        state = rounds_from_hands(hands)
        while not table.is_over():
            theirs = set(table.game.state["actions"])
            legal = {move_letters(move): move for move in game.actions(state)[0].tolist()}
            assert set(legal) == theirs and game.player(state)[0] == table.get_player_id()
            move = rng.choice(sorted(theirs))
            table.step(move, raw_action=True)
            state = acted(game, state, legal[move])
        assert game.player(state)[0] == TERMINAL
        assert np.array_equal(game.returns(state)[0] > 0, np.array(table.get_payoffs()) > 0)


def test_dealt_rounds_are_at_the_first_decision() -> None:
    for landlord in ("first", "bid"):
        deals = DouDizhu(landlord=landlord).sample_deals(5, np.random.default_rng(11))
        assert (deals["player"] == 0).all() and (deals["player"] != CHANCE).all()
        assert deals["left"][0].tolist() == ([20, 17, 17] if landlord == "first" else [17, 17, 17])
