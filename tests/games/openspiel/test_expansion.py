"""OpenSpiel's games through our protocol."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from games import GameError, decision_infosets, load_game
from games.openspiel.expansion import OpenSpielGame
from tests.games.random_games import check_quickly
from tests.games.trees import levels, sizes

pytest.importorskip("pyspiel")


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
    ("theirs", "ours"),
    [
        ("liars_dice(dice_sides=3)", "liars_dice(sides=3)"),
        (
            "goofspiel(imp_info=True,num_cards=4,num_turns=2,returns_type=point_difference)",
            "goofspiel(cards=4,turns=2)",
        ),
    ],
)
def test_both_faces_of_a_game_are_the_same_tree(theirs: str, ours: str) -> None:
    other, game = load_game(f"openspiel:{theirs}"), load_game(ours)
    assert sizes(other) == sizes(game)
    for one, two in zip(levels(other), levels(game), strict=True):
        np.testing.assert_array_equal(one.player, two.player)
        np.testing.assert_array_equal(one.actions.values, two.actions.values)
        np.testing.assert_allclose(one.probs, two.probs, rtol=0, atol=1e-12)
        over = one.player == -2
        np.testing.assert_array_equal(other.returns(one.states[over]), game.returns(two.states[over]))


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
        ("leduc_poker(suit_isomorphism=maybe)", "suit_isomorphism must be true or false; got 'maybe'"),
        ("restricted_nash_response(game=kuhn_poker,p=nan)", "p must be a finite number; got 'nan'"),
        ("misere(game=kuhn_pokker)", "did you mean kuhn_poker"),
        ("nfg_game(filename=/no/such.nfg)", "there is no file '/no/such.nfg'; check the path"),
        ("efg_game(filename=)", "there is no file ''"),
        ("universal_poker(numBoardCards=0)", "only read 1 board card numbers, need 2"),
        ("dark_hex_ir(num_rows=2,num_cols=2)", "imperfect recall"),
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
