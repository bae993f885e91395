"""The round of DouDiZhu against the slow twin, OpenSpiel and RLCard; random play; the contract of a game."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from games import TERMINAL, GameError
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import NUM_MOVES, move_letters, move_number, move_table
from games.climbing.doudizhu.multiset import cards_text, read_multiset
from games.climbing.doudizhu.round_state import CALLS, DEALS, empty_rounds, first_forbidden, round_views
from games.support.array_types import Rows
from tests.games.climbing.doudizhu.hands import round_of
from tests.patience import amount
from tests.reference.doudizhu import PASS, Auction, Round, all_moves, in_order

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
    deals = game.sample_deals(amount(12, 3), np.random.default_rng(spring))
    assert (deals["player"] == 0).all()
    assert deals["left"][0].tolist() == ([17, 17, 17] if game.by_bid else [20, 17, 17])
    for state in deals.reshape(-1, 1):
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


def test_bombs_the_rocket_and_spring_double_the_stake() -> None:
    game, spring = DouDizhu(), DouDizhu(spring=True)
    start = round_of("3333BR4", "56789T", "678899")
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
    start = round_of("33336666" + "9999QQQQ2222", farmers[0] + "B", farmers[1] + "R")
    bombs = [rank * 4 for rank in "3456789TJQKA"]
    end = played(game, start, " ".join([*bombs, "2222"]))
    assert game.returns(end)[0].tolist() == [8192, -8192, -8192]
    start = round_of("33336666" + "9999QQQQ22BR", farmers[0] + "2", farmers[1] + "2")
    end = played(game, start, " ".join(["BR pass pass", *bombs, "pass pass 2"]))
    assert game.returns(end)[0].tolist() == [-8192, 8192, 8192] == list(game.payoff_range)[:1] + [8192] * 2


def test_what_is_not_legal_is_refused() -> None:
    game = DouDizhu()
    state = round_of("33345", "4466", "778")
    second = played(game, state, "33")
    end = played(game, second, "44 pass pass 66")
    for at, moves, message in (
        (state, ("pass", "66", "B", "34567"), "not legal"),
        (second, ("4", "77", "pass 4"), "not legal"),
        (end, ("pass",), "is over"),
    ):
        for move in moves:
            with pytest.raises(GameError, match=message):
                played(game, at, move)
    for at, action in ((second, -1), (second, CALLS), (second, CALLS + 4), (second, 10**6), (game.root(), 0)):
        with pytest.raises(GameError, match="not legal"):
            acted(game, at, action)
    with pytest.raises(GameError, match="dealt rounds"):
        game.play_randomly(game.root(), np.random.default_rng(0))


@pytest.mark.parametrize("landlord", ["first", "bid"])
def test_a_step_takes_what_is_listed_and_nothing_else(landlord: str) -> None:
    game = DouDizhu(landlord=landlord)
    rng = np.random.default_rng(12)
    state, tables = game.root(), move_table().tables
    for _ in range(30):
        legal = game.actions(state)[0]
        tried = np.unique(np.concatenate([legal, rng.integers(-2, DEALS + 127, 400), np.arange(60)]))
        accepted = [
            action
            for action in tried.tolist()
            if first_forbidden(*round_views(state), np.array([action]), game.rules, tables) < 0
        ]
        assert accepted == sorted(legal.tolist())
        if len(legal) == 0:
            break
        state = acted(game, state, int(rng.choice(legal)))


def test_parameters_have_ranges() -> None:
    for options, message in (
        ({"ranks": 2}, "doudizhu"),
        ({"ranks": 16}, "doudizhu"),
        ({"landlord": "strongest"}, "doudizhu"),
        ({"returns": "money"}, "doudizhu"),
    ):
        with pytest.raises(GameError, match=message):
            DouDizhu(**options)  # type: ignore[arg-type]
    with pytest.raises(GameError, match="at least 0"):
        DouDizhu().sample_deals(-1, np.random.default_rng(0))
    with pytest.raises(GameError, match="a seat is"):
        DouDizhu().infoset_key(DouDizhu().root(), 3)


def openspiel_cards(text: str) -> str:
    """Return a move of OpenSpiel's in our letters."""
    if text == "Pass":
        return PASS
    return in_order(text.replace("(BWJ)", "B").replace("(CJ)", "R").replace("-", ""))


def differs_by_ruling(move: str, hand: str, beat: str | None, *, ours: bool) -> bool:
    """Return whether a listed ruling explains that one side alone lists a move."""
    kind, _, rank = all_moves(move)[move]
    if not ours:
        return kind == "bomb" and beat == "BR"
    if kind in ("four_solo", "four_pair"):
        return True
    return kind in ("solo", "pair", "trio") and len(move) > 3 and hand.count(rank) == 4


def test_openspiel_lists_and_pays_the_same_in_whole_rounds_but_for_the_rulings() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("dou_dizhu")
    game = DouDizhu(landlord="bid", spring=True)
    rng = random.Random(9)
    void, rounds = 0, amount(60, 12)
    for _ in range(rounds):
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
            seat = int(game.player(ours)[0])
            assert (state.current_player() - first) % 3 == seat
            if ours["landlord"][0] == 3:
                names = [CALLS + (0 if word == "Pass" else int(word[-1])) for word in words]
                assert sorted(names) == legal
            else:
                names = [move_number(openspiel_cards(word)) for word in words]
            hand, beat = cards_text(ours["hand"][0, seat]), move_letters(int(ours["beat"][0]))
            for move in {*names} ^ {*legal}:
                assert differs_by_ruling(move_letters(move), hand, beat, ours=move in legal), (
                    move,
                    hand,
                    beat,
                )
            at = rng.choice([at for at, name in enumerate(names) if name in legal])
            state.apply_action(actions[at])
            ours = acted(game, ours, names[at])
        assert ours["player"][0] == TERMINAL
        void += ours["landlord"][0] == 3
        returns = state.returns()
        assert [returns[(first + seat) % 3] for seat in range(3)] == game.returns(ours)[0].tolist()
    assert void < rounds / 2


def test_rlcard_plays_the_same_rounds() -> None:
    rlcard = pytest.importorskip("rlcard")
    from rlcard.games.doudizhu.utils import ID_2_ACTION

    assert {move_letters(move) for move in range(NUM_MOVES)} == set(ID_2_ACTION)
    table = rlcard.make("doudizhu", config={"seed": 10})
    game = DouDizhu(returns="win_loss")
    rng = random.Random(10)
    for _ in range(amount(15, 3)):
        table.reset()
        hands = [player.initial_hand for player in table.game.players]
        state = round_of(*hands)
        while not table.is_over():
            theirs = set(table.game.state["actions"])
            legal = {move_letters(move): move for move in game.actions(state)[0].tolist()}
            assert set(legal) == theirs and game.player(state)[0] == table.get_player_id()
            move = rng.choice(sorted(theirs))
            table.step(move, raw_action=True)
            state = acted(game, state, legal[move])
        assert game.player(state)[0] == TERMINAL
        assert np.array_equal(game.returns(state)[0] > 0, np.array(table.get_payoffs()) > 0)


def test_payoffs_with_an_auction_are_each_seats_own() -> None:
    game = DouDizhu(landlord="bid", ranks=1, spring=True)
    assert game.teams == (0, 1, 2) and DouDizhu().teams == (0, 1, 1)
    rng = np.random.default_rng(3)
    ends, _ = game.play_randomly(game.sample_deals(3000, rng), rng)
    returns = game.returns(ends)
    assert (returns.min(), returns.max()) == game.payoff_range == (-12.0, 24.0)
    assert not returns.sum(1).any()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, (-8192.0, 8192.0)),
        ({"ranks": 4}, (-16.0, 16.0)),
        ({"ranks": 1}, (-2.0, 2.0)),
        ({"returns": "win_loss"}, (-1.0, 1.0)),
        ({"landlord": "bid"}, (-49152.0, 49152.0)),
        ({"landlord": "bid", "ranks": 1}, (-6.0, 12.0)),
        ({"landlord": "bid", "returns": "win_loss"}, (-2.0, 2.0)),
    ],
)
def test_payoff_ranges_are_what_can_be_won_and_lost(
    options: dict[str, object], wanted: tuple[float, float]
) -> None:
    assert DouDizhu(**options).payoff_range == wanted  # type: ignore[arg-type]


def test_actions_are_told_apart_by_kind() -> None:
    game = DouDizhu()
    deals = game.actions(game.root()).values
    types = game.action_type(deals)
    assert len(np.unique(types)) == len(deals) and types.min() >= 19
    state = round_of("333456789BR", "4466", "778")
    assert set(game.action_type(game.actions(state).values)) == {1, 2, 3, 4, 7, 14}
