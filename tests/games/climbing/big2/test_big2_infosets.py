"""What a seat knows: its key, words, and the hands that the others may hold."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from games import TERMINAL, GameError, Infoset
from games.check import chi_square_bound
from games.climbing.big2.big2 import Big2
from games.infosets import infoset_at
from games.infosets.histories import follow_lines
from tests.games.climbing.big2.boards import VARIANTS, after_random, dealt
from tests.patience import amount


def random_states(game: Big2, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n states of random rounds at which somebody acts."""
    met = [game.sample_deals(n, rng)]
    while len(states := met[-1]):
        after = after_random(game, states, rng)
        met.append(after[game.player(after) != TERMINAL])
    return rng.choice(np.concatenate(met), n, replace=False)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.some(4)
def test_infosets_are_read_back_from_their_words_and_histories_drawn_there_lie_in_them(
    options: dict[str, Any],
) -> None:
    game, rng = Big2(**options), np.random.default_rng(1)
    states = random_states(game, rng, amount(6, 3))
    for state, seat in itertools.product(states[:, None], range(game.num_players)):
        found = infoset_at(game, state, seat)
        try:
            assert game.parse_infoset(found.text) == found
            assert game.parse_infoset(found.text.lower().replace(" ", "  ")) == found
            lines = game.sample_histories(found, 8, rng)
        except GameError as error:  # deals that forced passes leave may be too rare to be drawn
            assert options.get("must_play") and "passes that had to be" in str(error)
            continue
        ends, _, _ = follow_lines(game, lines)
        assert np.array_equal(game.infoset_key(ends, seat), np.tile(np.array(found.key, np.uint64), (8, 1)))
        assert np.all(game.player(ends) == game.player(state))


def test_cards_of_an_infoset_may_be_named_in_any_order_and_words_of_none_are_refused_with_hints() -> None:
    game = Big2(players=2, ranks=3, suits=2, cards=3)
    wanted = game.parse_infoset("P1 holds D4 C4 C5 | P0 leads: D3 C3, pass")
    assert game.parse_infoset("p1 holds C5 D4,c4 | p0 leads: C3 D3, PASS") == wanted
    for text in (
        "P0 holds D3 | P1 leads",
        "P1 holds D3 D4 C5 | P0 leads",
        "P1 holds D4 C5 S2 | P0 leads",
        "P3 holds D4 C4 C5 | P0 leads",
        "nothing of the kind",
    ):
        with pytest.raises(GameError, match="did you mean"):
            game.parse_infoset(text)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.some(3)
def test_a_wrong_move_of_an_infoset_is_named_by_its_number_and_cards(options: dict[str, Any]) -> None:
    game, rng = Big2(**options), np.random.default_rng(7)
    told = 0
    for _ in range(3):
        state, number = game.sample_deals(1, rng), 0
        while (seat := int(game.player(state)[0])) != TERMINAL:
            number += 1
            actions = game.actions(state)[0]
            free = state.copy()
            free["head"] = free["beat"] = 0
            wrong = np.setdiff1d(game.actions(free)[0], actions)
            why = "does not beat"
            if not state["head"][0]:
                wrong, why = np.zeros(1, np.uint64), "is no lead"
            if len(wrong) and rng.random() < 0.3:
                action = rng.choice(wrong)
                word = game.action_text(state[0], action)
                # as another seat sees it, whose hand the move does not change
                line = game.infoset_text(state[0], (seat + 1) % game.num_players)
                with pytest.raises(GameError, match=f'move {number}, "{word}" of seat {seat}, {why}'):
                    game.parse_infoset(f"{line}{':' if line.endswith('leads') else ','} {word}")
                told += 1
            state = game.step(state, np.zeros(1, np.int64), rng.choice(actions, 1))
    assert told > 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("P0 holds H5 | P0 leads: D3 C4", 'move 1, "D3 C4" of seat 0, is no combination'),
        ("P0 holds D3 H5 | P0 leads: C4", 'move 1, "C4" of seat 0, opens without the lowest card, D3'),
        ("P0 holds H4 H5 D5 | P0 leads: pass", 'move 1, "pass" of seat 0, is no lead'),
        ("P0 holds H4 H5 | P0 leads: D3, pass, pass", 'move 3, "pass" of seat 0, is no lead'),
        (
            "P0 holds C5 | P0 leads: D3 C3, H3",
            'move 2, "H3" of seat 1, does not beat "D3 C3"; play a higher pair',
        ),
        ("P0 holds nothing | P0 leads: D3 C3 H3, D4", 'move 2, "D4", comes after the end of the round'),
    ],
)
def test_a_refusal_tells_why(line: str, why: str) -> None:
    game = Big2(players=2, ranks=3, suits=3, cards=3)
    with pytest.raises(GameError, match=why):
        game.parse_infoset(line)


@pytest.mark.parametrize(
    ("opening", "must_play"), [("lowest", False), ("lowest", True), ("holder", True), ("first", False)]
)
def test_hidden_hands_are_drawn_uniformly_from_those_that_agree(opening: str, must_play: bool) -> None:
    # every deal, followed along a line that is possible in some: what is left is what agrees
    game = Big2(players=3, ranks=4, suits=2, cards=2, opening=opening, must_play=must_play)
    states = game.root()
    for _ in range(8):
        actions = game.actions(states)
        states = game.step(states, actions.rows, actions.values)
    rng = np.random.default_rng(3)
    tried = 0
    while tried < 4:
        state = states[rng.integers(len(states))][None]
        # all deals beside the one that is played, as long as they allow what happens
        beside = states[np.all(game.infoset_key(states, 1) == game.infoset_key(state, 1), axis=1)]
        for _ in range(int(rng.integers(0, 4))):
            actions = game.actions(state)[0]
            action = actions[rng.integers(len(actions))]
            state = game.step(state, np.zeros(1, np.int64), action[None])
            rows = np.flatnonzero(np.bincount(*_allowed(game, beside, action), minlength=len(beside)))
            beside = game.step(beside, rows, np.full(len(rows), action))
            beside = beside[np.all(game.infoset_key(beside, 1) == game.infoset_key(state, 1), axis=1)]
            if game.player(state)[0] == TERMINAL:
                break
        if len(beside) < 2 or game.player(state)[0] == TERMINAL:
            continue
        tried += 1
        ends, _, _ = follow_lines(game, game.sample_histories(infoset_at(game, state, 1), 2000, rng))
        seen = Counter(end.tobytes() for end in ends)
        assert set(seen) <= {other.tobytes() for other in beside}
        expected = 2000 / len(beside)
        off = sum((seen.get(other.tobytes(), 0) - expected) ** 2 / expected for other in beside)
        assert off <= chi_square_bound(len(beside) - 1)


def _allowed(game: Big2, states: np.ndarray, action: np.uint64) -> tuple[np.ndarray]:
    """Return the rows of states at which an action is legal, for np.bincount."""
    actions = game.actions(states)
    return (actions.rows[actions.values == action],)


def test_histories_are_not_drawn_from_what_is_no_infoset() -> None:
    game, rng = Big2(), np.random.default_rng(4)
    state = game.sample_deals(1, rng)
    key = [int(word) for word in game.infoset_key(state, 1)[0]]
    with pytest.raises(GameError, match="once all cards are dealt; 0 are"):
        game.sample_histories(infoset_at(game, game.root(), 0), 3, rng)
    with pytest.raises(GameError, match="at least one deal must agree"):
        game.sample_histories(Infoset(1, (key[0] | (1 << 52) - 1, *key[1:]), ""), 3, rng)
    other = (int(state["first"][0]) + 1) % 4
    with pytest.raises(GameError, match="the first play must be of the seat that led"):
        game.sample_histories(Infoset(1, (key[0], other << 6 | 1, *key[2:]), ""), 3, rng)


def test_a_round_reads_well() -> None:
    game = Big2(players=3, ranks=3, suits=3, cards=2)
    states = dealt(game, "D3 H3", "C3 D4", "C4 H5")
    assert game.state_text(states[0]) == "P0 holds D3 H3, P1 holds C3 D4, P2 holds C4 H5 | P0 leads"
    for action in (1, 1 << 4, 0, 0):
        states = game.step(states, np.zeros(1, np.int64), np.array([action], np.uint64))
    assert game.infoset_text(states[0], 2) == "P2 holds C4 H5 | P0 leads: D3, D4, pass, pass"
    root = game.root()
    assert game.infoset_text(root[0], 2) == "P2 holds nothing | dealing, 9 to go"
    assert game.action_text(root[0], game.actions(root)[0][-1]) == "leave D3 out"
    assert game.action_text(root[0], game.actions(root)[0][1]) == "deal D3 to P1"
