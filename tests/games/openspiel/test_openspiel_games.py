"""OpenSpiel's games through our protocol, expanded or step by step, and ours beside them in lockstep."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games import CHANCE, TERMINAL, Game, GameError, decision_infosets, load_game
from games.infosets.naming import random_line
from games.openspiel.direct import DirectOpenSpielGame
from games.openspiel.expansion import OpenSpielGame
from games.size import RUNS, SLOW_WIDTH, estimate_size
from games.support.array_types import Array
from tests.games.random_games import check_quickly
from tests.patience import amount

pyspiel = pytest.importorskip("pyspiel")

PROBABILITY_TOLERANCE = 1e-12


def serialised_goofspiel(parameters: str) -> str:
    """Return OpenSpiel's string for a goofspiel with hidden bids made one after the other."""
    return f"turn_based_simultaneous_game(game=goofspiel(imp_info=True,egocentric=False,{parameters}))"


PAIRS = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "leduc_poker(suit_isomorphism=true)": "leduc_poker(suit_isomorphism=True)",
    "liars_dice(sides=3)": "liars_dice(dice_sides=3)",
    "liars_dice(dice=2,sides=2)": "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(dice=2,sides=2,bidding=reset-quantity)": (
        "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)"
    ),
    "goofspiel(cards=3,turns=3,returns=win_loss)": serialised_goofspiel(
        "num_cards=3,num_turns=-1,points_order=random,returns_type=win_loss"
    ),
    "goofspiel(cards=4,turns=4,points_order=ascending)": serialised_goofspiel(
        "num_cards=4,num_turns=4,points_order=ascending,returns_type=point_difference"
    ),
    "goofspiel(cards=4,turns=2,points_order=descending,returns=total_points)": serialised_goofspiel(
        "num_cards=4,num_turns=2,points_order=descending,returns_type=total_points"
    ),
}
"""Every history is compared."""
LARGE_PAIRS = {
    "liars_dice": "liars_dice",
    "liars_dice(dice=3,sides=5,bidding=reset-quantity)": (
        "liars_dice(numdice=3,dice_sides=5,bidding_rule=reset-quantity)"
    ),
    "liars_dice(dice=5,sides=6)": "liars_dice(numdice=5)",
    "goofspiel": serialised_goofspiel("num_cards=5,num_turns=3,returns_type=point_difference"),
    "goofspiel(cards=12,points_order=ascending)": serialised_goofspiel(
        "num_cards=12,num_turns=3,points_order=ascending,returns_type=point_difference"
    ),
    "goofspiel(cards=13,turns=13,returns=win_loss)": serialised_goofspiel(
        "num_cards=13,returns_type=win_loss"
    ),
}
HIDDEN = {
    "phantom_ttt": "phantom_ttt(gameversion=classical)",
    "phantom_ttt(abrupt=true)": "phantom_ttt(gameversion=abrupt)",
    "dark_hex": "dark_hex(gameversion=cdh,board_size=3)",
    "dark_hex(abrupt=true)": "dark_hex(gameversion=adh,board_size=3)",
    "dark_hex(size=2)": "dark_hex(gameversion=cdh,board_size=2)",
    "dark_hex(size=2,abrupt=true)": "dark_hex(gameversion=adh,board_size=2)",
}
"""Games whose infosets are not compared: OpenSpiel's dark hex forgets the order of tries."""
LARGE_PAIRS |= HIDDEN
"""Random histories are compared."""


class Lockstep:
    """Compares matching states of both libraries, and that infosets match one to one."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.theirs: tuple[dict, dict] = ({}, {})
        self.ours: tuple[dict, dict] = ({}, {})

    def compare(self, states: np.ndarray, others: list[Any]) -> None:
        """Compare row i of `states` with `others[i]`, all of one length."""
        players = self.game.player(states)
        actions = self.game.actions(states)
        probs = self.game.chance_probs(states, actions)
        returns = self.game.returns(states[players == TERMINAL])
        over = np.cumsum(players == TERMINAL) - 1
        keys = [self.game.infoset_key(states, player) for player in (0, 1)]
        for row, other in enumerate(others):
            mine = slice(actions.offsets[row], actions.offsets[row + 1])
            if other.is_terminal():
                assert players[row] == TERMINAL
                assert mine.start == mine.stop
                assert returns[over[row]].tolist() == other.returns()
                continue
            if other.is_chance_node():
                assert players[row] == CHANCE
                outcomes, chances = zip(*other.chance_outcomes(), strict=True)
                assert actions.values[mine].tolist() == list(outcomes)
                np.testing.assert_allclose(probs[mine], chances, rtol=0, atol=PROBABILITY_TOLERANCE)
                continue
            assert players[row] == other.current_player()
            assert actions.values[mine].tolist() == other.legal_actions()
            for player in (0, 1) if self.game.name not in HIDDEN else ():
                ours = (players[row], keys[player][row].tobytes())
                theirs = (players[row], other.information_state_string(player))
                assert self.ours[player].setdefault(ours, theirs) == theirs
                assert self.theirs[player].setdefault(theirs, ours) == ours


@pytest.mark.parametrize("name", [*PAIRS, *LARGE_PAIRS])
def test_histories_and_the_range_of_payoffs_are_openspiels(name: str) -> None:
    width = amount(300, 60) if name in LARGE_PAIRS else None
    rng = np.random.default_rng(0)
    game, theirs = load_game(name, general_sum=True), pyspiel.load_game({**PAIRS, **LARGE_PAIRS}[name])
    if "total" not in name and "13" not in name:
        low, high = game.payoff_range
        assert theirs.min_utility() <= low and high <= theirs.max_utility()
    states, others = game.root(), [theirs.new_initial_state()]
    lockstep = Lockstep(game)
    while others:
        lockstep.compare(states, others)
        actions = game.actions(states)
        kept = np.sort(rng.permutation(len(actions.values))[:width])
        rows, taken = actions.rows[kept], actions.values[kept]
        others = [others[row].child(a) for row, a in zip(rows, taken, strict=True)]
        states = game.step(states, rows, taken)


pytest.importorskip("pyspiel")

BATTLESHIP = (
    "battleship(board_width=3,board_height=3,ship_sizes=[2],ship_values=[1],num_shots=4,"
    "allow_repeated_shots=false,loss_multiplier=1.0)"
)
SMALL = (
    "liars_dice(dice_sides=3)",
    "goofspiel(imp_info=True,egocentric=False,num_cards=3,returns_type=point_difference)",
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
    "allow_repeated_shots=false,loss_multiplier=1.0)",
)
LARGE = {"phantom_ttt": 9, BATTLESHIP: 21, "liars_dice(numdice=5)": 61}
"""Games without a tree, and their distinct actions."""
WIDTH = amount(200, 40)


def in_step(game: Game, other: Game, seed: int) -> list[tuple[Array, Array]]:
    """Return the same random part of two games, level by level."""
    rng = np.random.default_rng(seed)
    one, two = game.root(), other.root()
    found = []
    while len(one):
        found.append((one, two))
        actions = game.actions(one)
        assert np.array_equal(actions.values, other.actions(two).values)
        kept = np.sort(rng.permutation(len(actions.values))[:WIDTH])
        rows, taken = actions.rows[kept], actions.values[kept]
        one, two = game.step(one, rows, taken), other.step(two, rows, taken)
    return found


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        *((text, False) for text in SMALL),
        ("breakthrough(rows=3,columns=2)", True),
        ("repeated_game(stage_game=matrix_rps(),num_repetitions=2)", True),
    ],
)
def test_a_game_step_by_step_is_the_expanded_one(text: str, observed: bool) -> None:
    """observed: its infosets are by observations."""
    whole = OpenSpielGame(text)
    direct = DirectOpenSpielGame(text, check=not observed, by_observations=observed)
    keys: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
    back: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
    for one, two in in_step(whole, direct, 0):
        assert np.array_equal(whole.player(one), direct.player(two))
        actions = whole.actions(one)
        assert np.array_equal(whole.chance_probs(one, actions), direct.chance_probs(two, actions))
        over = whole.player(one) == TERMINAL
        assert np.array_equal(whole.returns(one[over]), direct.returns(two[over]))
        for seat in (0, 1):
            mine = np.flatnonzero(whole.player(one) == seat)
            pairs = zip(whole.infoset_key(one[mine], seat), direct.infoset_key(two[mine], seat), strict=True)
            for a, b in pairs:
                assert keys[seat].setdefault(a.tobytes(), b.tobytes()) == b.tobytes()
                assert back[seat].setdefault(b.tobytes(), a.tobytes()) == a.tobytes()
            for row in mine[:3]:
                assert whole.infoset_text(one[row], seat) == direct.infoset_text(two[row], seat)


@pytest.mark.parametrize("text", LARGE)
@pytest.mark.some(1)
def test_large_games_load_by_name_and_keep_the_contract(text: str) -> None:
    game = load_game(f"openspiel:{text}")
    assert isinstance(game, DirectOpenSpielGame)
    report = check_quickly(game, np.random.default_rng(1), max_width=amount(40, 12))
    assert not report.complete and report.terminals > 0
    sent = pickle.loads(pickle.dumps(game))
    assert sent.name == game.name
    assert np.array_equal(sent.infoset_key(sent.root(), 0), game.infoset_key(game.root(), 0))
    from blueprint.research.infoset_features import ActionColumns

    columns, stake = ActionColumns.sampled(game, np.random.default_rng(0))
    assert len(columns.known) == LARGE[text] and 0 < stake <= 1


@pytest.mark.parametrize("text", ["phantom_ttt", BATTLESHIP])
def test_infosets_of_large_games_are_read_back_by_following_the_game(text: str) -> None:
    game = load_game(f"openspiel:{text}")
    rng = np.random.default_rng(5)
    texts = [
        (seat, game.infoset_key(states, seat)[0], game.infoset_text(states[0], seat))
        for states, seat, _, taken in random_line(game, rng)
        if taken is not None
    ]
    fresh = load_game(f"openspiel:{text}")
    for seat, key, words in texts[: amount(5, 2)]:
        read = fresh.parse_infoset(words.upper())
        assert (read.player, read.key, read.text) == (seat, tuple(int(word) for word in key), words)


def test_states_that_are_no_longer_kept_are_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DirectOpenSpielGame, "remembered", 3)
    game, kept = DirectOpenSpielGame("phantom_ttt", check=False), load_game("openspiel:phantom_ttt")
    for one, two in in_step(game, kept, 1)[:8]:
        assert np.array_equal(game.infoset_key(one, 1), kept.infoset_key(two, 1))


def test_a_large_game_that_cannot_be_played_is_refused() -> None:
    with pytest.raises(
        GameError, match=r"perfect recall.*got one key for both \".*; and .*at most 3,000,000"
    ):
        load_game("openspiel:phantom_ttt_ir")  # it is meant to forget
    with pytest.raises(GameError, match=r'no infoset is called "P0 nothing"; did you mean'):
        load_game("openspiel:phantom_ttt").parse_infoset("P0 nothing")


@pytest.mark.parametrize("text", ["dark_hex", "phantom_go(board_size=2)"])
def test_infosets_are_by_observations_where_openspiels_are_missing_or_forget(text: str) -> None:
    game = DirectOpenSpielGame(text)
    assert game.by_observations and pickle.loads(pickle.dumps(game)).by_observations
    check_quickly(game, np.random.default_rng(2), max_width=20)


@pytest.mark.parametrize("text", ["phantom_ttt", "dark_chess"])
def test_the_size_of_a_large_game_looks_at_a_bounded_number_of_histories(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, looked = DirectOpenSpielGame(text, check=False), 0
    step = game.step

    def counted(states: Array, rows: Array, actions: Array) -> Array:
        nonlocal looked
        looked += len(rows)
        return step(states, rows, actions)

    monkeypatch.setattr(game, "step", counted)
    monkeypatch.setattr("games.size.SLOW_HISTORIES", 1_000)
    size = estimate_size(game)
    assert looked < 1_000 + 4 * RUNS * SLOW_WIDTH if not size.complete else looked < 100_000
    assert size.complete or (size.infosets is None and size.histories.low > 1_000)


@pytest.mark.parametrize(
    "name",
    [
        "openspiel:matrix_rps",
        "openspiel:liars_dice(dice_sides=3)",
        "openspiel:goofspiel(imp_info=True,num_cards=3)",
        "openspiel:turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,num_turns=2))",
        "openspiel:dark_hex(num_rows=2,num_cols=2)",
        "openspiel:pig(winscore=3,horizon=5)",
        "openspiel:goofspiel(num_cards=3)",
        "openspiel:repeated_game(stage_game=matrix_rps(),num_repetitions=2)",
        "openspiel:python_kuhn_poker",
        "openspiel:misere(game=kuhn_poker)",
    ],
)
@pytest.mark.some(4)
def test_openspiel_games_keep_the_contract_at_every_history(name: str) -> None:
    game = load_game(name)
    assert check_quickly(game, np.random.default_rng(0), max_width=20_000).complete
    assert load_game(game.name).name == game.name
    sent = pickle.loads(pickle.dumps(game))
    assert sent.name == game.name and [*decision_infosets(sent)] == [*decision_infosets(game)]
    assert sent.action_text(sent.root()[0], np.int64(0)) == game.action_text(game.root()[0], np.int64(0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leduk", "did you mean leduc_poker"),
        ("leduc_poker(cards=3)", "Unknown parameter 'cards'"),
        ("2048", "must have at least 2 players; this one has 1"),
        ("tiny_bridge_2p", "payoffs must sum to zero to be searched.*gs2 blueprint"),
        ("goofspiel(imp_info=True,num_cards=3,returns_type=total_points)", "payoffs must sum to zero"),
        ("kuhn_poker(players=2.5)", "players must be an integer of 32 bits; got '2.5'"),
        ("kuhn_poker(players=99999999999)", "players must be an integer of 32 bits"),
        ("kuhn_poker(players)", "must look like name=value"),
        ("kuhn_poker(players=2", "close the bracket"),
        ("kuhn_poker(players=2,players=2)", "players must be given once; got 'players=2' as well"),
        ("kuhn_poker(name=leduc_poker)", "name must be given once; got 'name=leduc_poker' as well"),
        ("leduc_poker(suit_isomorphism=maybe)", "suit_isomorphism must be true or false; got 'maybe'"),
        ("restricted_nash_response(game=kuhn_poker,p=nan)", "p must be a finite number; got 'nan'"),
        ("misere(game=kuhn_pokker)", "did you mean kuhn_poker"),
        ("nfg_game(filename=/no/such.nfg)", "there is no file '/no/such.nfg'; check the path"),
        ("efg_game(filename=)", "there is no file ''"),
        ("universal_poker(numBoardCards=0)", "only read 1 board card numbers, need 2"),
        ("dark_hex_ir(num_rows=2,num_cols=2)", "imperfect recall"),
        ("cursor_go(board_size=2,max_cursor_moves=3)", "must end within OpenSpiel's max_game_length = 32"),
        (
            "liars_dice_ir",
            r"joins two histories in which its player did or saw different.*imperfect recall.*remember$",
        ),
    ],
)
def test_other_games_are_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message) as caught:
        load_game(f"openspiel:{text}")
    assert "\n" not in str(caught.value)


def test_a_game_larger_than_allowed_is_refused() -> None:
    with pytest.raises(GameError, match="at most 1,000 histories"):
        OpenSpielGame("leduc_poker", max_states=1000)


def test_without_openspiel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(GameError, match=r"gs2\[openspiel\]"):
        load_game("openspiel:leduc_poker")


def test_unknown_infosets_come_with_near_matches() -> None:
    with pytest.raises(GameError, match='did you mean "P0 2"'):
        load_game("openspiel:kuhn_poker").parse_infoset("P0 7")


@pytest.mark.parametrize("chance", [False, True], ids=["player", "chance"])
def test_actions_of_one_number_are_refused_for_our_own_reader(chance: bool, tmp_path: Path) -> None:
    node = 'c "" 1 "" { "x" 1/2 "x" 1/2 } 0' if chance else 'p "" 1 1 "" { "x" "x" } 0'
    path = tmp_path / "twice.efg"
    path.write_text(f'EFG 2 R "" {{ "A" "B" }}\n{node}\nt "" 1 "" {{ 1, -1 }}\nt "" 2 "" {{ 5, -5 }}\n')
    with pytest.raises(
        GameError, match=r"different numbers.*labels are equal; load it as gambit:.*twice\.efg"
    ):
        load_game(f"openspiel:efg_game(filename={path})")


def test_a_file_that_openspiel_cannot_read_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.efg"
    head = 'EFG 2 R "" { "A" "B" }\np "" 1 1 "" { "x" } 0\n'
    for text, message in (
        (head, r"line 3: a node"),
        (head + 't "" 0', "load it as gambit:"),
        ('EFG 1 R "x" { "A" "B" }\n', "line 1"),
    ):
        path.write_text(text)
        with pytest.raises(GameError, match=rf"OpenSpiel cannot read.*file\.efg.*{message}") as caught:
            load_game(f"openspiel:efg_game(filename={path})")
        assert "\n" not in str(caught.value)
