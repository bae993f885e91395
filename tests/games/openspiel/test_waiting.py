"""What a player knows while it waits, against the definition, on random games of perfect recall."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from games import CHANCE, TERMINAL, GameError, load_game
from games.infosets.waiting import own_sequences, told_on_the_way, waiting_knowledge
from games.openspiel.expansion import OpenSpielGame
from tests.games.openspiel.efg import HIDDEN_MOVE, efg_of, saved
from tests.games.random_games import Node, RandomGame, check_quickly
from tests.patience import amount

pytest.importorskip("pyspiel")

SEEDS = range(amount(40, 8))


def loaded(text: str, folder: Path) -> OpenSpielGame:
    game = load_game(saved(text, folder))
    assert isinstance(game, OpenSpielGame)
    return game


Drawn = Callable[[int, bool], tuple[list[Node], OpenSpielGame]]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Return what gives the nodes of a seed's random game, its turns in public order or not, and the game."""
    folder = tmp_path_factory.mktemp("waiting")

    @cache
    def one(seed: int, public_order: bool) -> tuple[list[Node], OpenSpielGame]:
        text, nodes = efg_of(RandomGame(seed, public=public_order, depth=7, most=300))
        return nodes, loaded(text, folder)

    return one


def arrays(game: OpenSpielGame, seat: int) -> tuple[np.ndarray, ...]:
    """Return parents, who acts, and the key of `seat` at each node; nodes stand in the order of the file."""
    states = np.arange(len(game._player))
    return game._parent, game.player(states), game.infoset_key(states, seat)[:, 0].astype(np.int64)


def line(parent: np.ndarray, acting: np.ndarray, key: np.ndarray, node: int, seat: int) -> list[int]:
    """Return the knowledge sets of `seat` from its last own action to a node where it acts, in order."""
    sets: list[int] = []
    node = int(parent[node])
    while node >= 0 and acting[node] != seat:
        if not sets or sets[-1] != key[node]:
            sets.append(int(key[node]))
        node = int(parent[node])
    return sets[::-1]


def own_past(parent: np.ndarray, acting: np.ndarray, game: OpenSpielGame, key: np.ndarray, seat: int) -> list:
    """Return each node's list of the seat's own infosets and actions above it."""
    pasts: list[tuple] = [()]
    for node in range(1, len(parent)):
        up = int(parent[node])
        own = ((int(key[up]), int(game._parent_action[node])),) if acting[up] == seat else ()
        pasts.append(pasts[up] + own)
    return pasts


@pytest.mark.parametrize("public_order", [False, True], ids=["private order", "public order"])
@pytest.mark.parametrize("seed", SEEDS)
def test_knowledge_sets_are_those_that_perfect_recall_asks_for(
    seed: int, public_order: bool, drawn: Drawn
) -> None:
    nodes, game = drawn(seed, public_order)
    assert len(game._player) == len(nodes)
    for seat in (0, 1):
        parent, acting, key = arrays(game, seat)
        assert acting.tolist() == [node.who for node in nodes]
        # Where the player acts, its infosets are the file's.
        names: dict[int, tuple] = {}
        for node in np.flatnonzero(acting == seat):
            seen = nodes[node].known[seat]
            assert names.setdefault(int(key[node]), seen) == seen
        assert len(set(names.values())) == len(names)
        # Nobody forgets: equal knowledge, equal past.
        pasts = own_past(parent, acting, game, key, seat)
        remembered: dict[int, tuple] = {}
        for node in range(len(parent)):
            assert remembered.setdefault(int(key[node]), pasts[node]) == pasts[node]
        # What a player knows later it learned on the way: one line of sets to all histories of an infoset.
        lines: dict[int, list[list[int]]] = {}
        for node in np.flatnonzero(acting == seat).tolist():
            lines.setdefault(int(key[node]), []).append(line(parent, acting, key, node, seat))
        for ways in lines.values():
            there = [way for way in ways if way]
            assert all(way == there[0] for way in there)
            assert len(there) == len(ways) or not there or len(there[0]) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_where_everybody_counts_the_moves_the_sets_are_the_finest(seed: int, drawn: Drawn) -> None:
    """With depths in step the finest sets are known: joined by a chain of common next infosets."""
    game = drawn(seed, True)[1]
    for seat in (0, 1):
        parent, acting, key = arrays(game, seat)
        n = len(parent)
        depth = np.zeros(n, int)
        ahead: list[set[int]] = [set() for _ in range(n)]
        for node in range(1, n):
            depth[node] = depth[parent[node]] + 1
        for node in range(n - 1, 0, -1):  # children come after their parents
            up = int(parent[node])
            if acting[up] != seat:
                ahead[up] |= {int(key[node])} if acting[node] == seat else ahead[node]
        live = [v for v in range(n) if acting[v] != seat and ahead[v]]
        joined = [
            [depth[one] == depth[two] and bool(ahead[one] & ahead[two]) for two in live] for one in live
        ]
        chain = connected_components(np.array(joined))[1] if live else np.zeros(0)
        assert np.array_equal(key[live][:, None] == key[live], chain[:, None] == chain)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_never_acts_again_learns_nothing_more(seed: int, drawn: Drawn) -> None:
    game = drawn(seed, False)[1]
    for seat in (0, 1):
        parent, acting, key = arrays(game, seat)
        sets: dict[tuple, int] = {}
        acts_below = np.zeros(len(parent), bool)
        for node in range(len(parent) - 1, 0, -1):
            acts_below[parent[node]] |= acts_below[node] | (acting[node] == seat)
        pasts = own_past(parent, acting, game, key, seat)
        for node in np.flatnonzero((acting != seat) & ~acts_below).tolist():
            up = int(node)
            while up >= 0 and not (acting[up] != seat and acts_below[up]) and acting[up] != seat:
                up = int(parent[up])
            last = int(key[up]) if up >= 0 and acting[up] != seat else -1
            name = (pasts[node], last, acting[node] == TERMINAL)
            assert sets.setdefault(name, int(key[node])) == key[node]
        assert len(set(sets.values())) == len(sets)


@pytest.mark.parametrize("seed", SEEDS[: amount(10, 2)])
def test_random_files_keep_the_contract(seed: int, drawn: Drawn) -> None:
    game = drawn(seed, False)[1]
    assert game.derived == (0, 1)  # such a file says nothing about players who wait
    assert check_quickly(game, np.random.default_rng(0)).complete


def test_a_player_who_cannot_tell_whether_the_other_moved_waits_in_one_set(tmp_path: Path) -> None:
    game = loaded(HIDDEN_MOVE, tmp_path)
    _, acting, key = arrays(game, 0)
    assert acting[:3].tolist() == [CHANCE, 1, 0]
    assert key[0] == key[1]  # before the hidden move, and where player 1 makes it
    assert key[2] == key[5] == key[8] != key[1]
    assert game.infoset_text(np.array(1), 0) == "P0 | waiting"


def test_a_games_own_words_are_kept_where_they_are_sound() -> None:
    for name in ("kuhn_poker", "leduc_poker", "dark_hex(num_rows=2,num_cols=2)"):
        assert OpenSpielGame(name).derived == ()


def test_words_that_tell_too_much_or_come_in_another_order_are_refuted() -> None:
    #     0 chance: 1, 2;  player 0 acts at 3 and 4, one infoset; it was told different things before
    parent = np.array([-1, 0, 0, 1, 2])
    acting = np.array([CHANCE, 1, 1, 0, 0], np.int8)
    infoset = np.array([-1, -1, -1, 7, 7])
    action = np.array([-1, 0, 1, 0, 0])
    sequence = own_sequences(parent, acting, infoset, action, 0)
    assert sequence.tolist() == [0] * 5
    for said, agrees in (([0, 1, 2, 9, 9], False), ([0, 1, 1, 9, 9], True), ([0, 0, 0, 9, 9], True)):
        conflict = told_on_the_way(parent, acting, infoset, sequence, np.array(said), 0)[1]
        assert (conflict is None) == agrees
    assert told_on_the_way(parent, acting, infoset, sequence, np.array([0, 1, 2, 9, 9]), 0)[1] == (3, 4)
    sets = waiting_knowledge(parent, acting, infoset, sequence, 0)
    assert sets[1] == sets[2] != sets[0] and sets[3] == sets[4] == -1


def test_a_game_that_forgets_is_refused_with_two_histories_that_show_it(tmp_path: Path) -> None:
    forgets = HIDDEN_MOVE.replace('p "" 1 1 "" { "a" "b" } 0\nt "" 5', 'p "" 2 1 "" { "L" "R" } 0\nt "" 5')
    forgets = forgets.replace('p "" 1 1 "" { "a" "b" } 0\nt "" 3', 'p "" 2 1 "" { "L" "R" } 0\nt "" 3')
    with pytest.raises(GameError, match=r'two histories .*they are "move" and "move, R"; choose'):
        loaded(forgets, tmp_path)
    fewer = HIDDEN_MOVE.replace('p "" 1 1 "" { "a" "b" } 0\nt "" 5 "" { 3, -3 }\n', 'p "" 1 1 "" { "a" } 0\n')
    with pytest.raises(GameError):
        loaded(fewer, tmp_path)


def test_a_hidden_move_hides_the_move_not_the_card_before_it(tmp_path: Path) -> None:
    """The card is dealt at 0; then player 1 may or may not move, which player 0 does not see."""
    lines = ['EFG 2 R "card and hidden move" { "A" "B" }', 'c "" 1 "" { "J" 1/2 "K" 1/2 } 0']
    for card in (1, 2):
        lines.append('c "" 2 "" { "move" 1/2 "none" 1/2 } 0')
        leaf = 0
        for moves in (2, 0):  # two hidden moves of player 1, or none
            if moves:
                lines += [f'p "" 2 {card} "" {{ "L" }} 0', f'p "" 2 {card + 2} "" {{ "L" "R" }} 0']
            for _ in range(max(moves, 1)):
                lines.append(f'p "" 1 {card} "" {{ "a" "b" }} 0')
                lines += [
                    f't "" {10 * card + leaf + end} "" {{ {leaf - end}, {end - leaf} }}' for end in (0, 1)
                ]
                leaf += 2
    game = loaded("\n".join(lines) + "\n", tmp_path)
    parent, acting, key = arrays(game, 0)
    assert acting[:4].tolist() == [CHANCE, CHANCE, 1, 1]
    other = int(np.flatnonzero(parent == 0)[1])
    assert acting[other : other + 3].tolist() == [CHANCE, 1, 1]
    assert key[1] == key[2] == key[3] and key[other] == key[other + 1] == key[other + 2]
    assert len({int(key[0]), int(key[1]), int(key[other])}) == 3
