"""OpenSpiel's games step by step: the same as expanded, and those that are too large for that."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from games import TERMINAL, GameError, load_game
from games.game import Game
from games.openspiel.direct import DirectOpenSpielGame
from games.openspiel.expansion import OpenSpielGame
from games.size import RUNS, SLOW_WIDTH, estimate_size
from games.support.array_types import Array
from tests.games.random_games import check_quickly
from tests.games.trees import random_line
from tests.patience import amount

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


def levels(game: Game, other: Game, seed: int) -> list[tuple[Array, Array]]:
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
    for one, two in levels(whole, direct, 0):
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
    for one, two in levels(game, kept, 1)[:8]:
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
