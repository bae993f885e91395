"""What a round's moves say, as inputs."""

from __future__ import annotations

import numpy as np

from blueprint.guandan.chooser import PlayedMoves
from games.guandan.cards import CARD_NAMES, RANKS, unpack
from games.guandan.notation import action_list
from gs2.guandan.beliefs.past_inputs import PAST_WIDTH, SEEN, past_inputs
from tests.gs2.guandan.beliefs.rounds import Played, some_rounds
from tests.reference.guandan_past import past_of


def slow(played: Played, seat: int) -> np.ndarray:
    level = int(played.state["level"][0])
    hands = [
        [CARD_NAMES[c] for c in np.flatnonzero(counts) for _ in range(counts[c])]
        for counts in unpack(played.start["hand"])[0]
    ]
    moves = []
    for action in played.moves.actions:
        kind, rank, cards = action_list(action, level)
        moves.append((kind, rank, [] if kind == "PASS" else list(cards)))
    out = np.zeros(PAST_WIDTH, np.uint8)
    for who, number in past_of(hands, int(played.start["player"][0]), moves, RANKS[level]):
        if who != seat:
            out[((who - seat) % 4 - 1) * SEEN + number] = 1
    return out


def test_inputs_are_those_of_the_slow_twin() -> None:
    some = 0
    for played in some_rounds(25, np.random.default_rng(0)):
        for seat in range(4):
            found = past_inputs(played.state, seat, played.moves)
            assert found is not None and found.shape == (1, PAST_WIDTH)
            assert np.array_equal(found[0], slow(played, seat))
            some += int(found.sum())
    assert some > 1000


def test_hidden_hands_do_not_matter() -> None:
    for played in some_rounds(10, np.random.default_rng(1)):
        seat = int(played.state["player"][0])
        hidden = played.state.copy()
        hidden["hand"][0, [s for s in range(4) if s != seat]] = 0
        told, blind = (past_inputs(state, seat, played.moves) for state in (played.state, hidden))
        assert told is not None and blind is not None and np.array_equal(told, blind)


def test_moves_that_do_not_lead_there_say_nothing() -> None:
    refused = 0
    for played in some_rounds(10, np.random.default_rng(2)):
        moves, seat = played.moves, int(played.state["player"][0])
        if len(moves) < 3:
            continue
        turned = PlayedMoves((moves.seats + 1) % 4, moves.actions)
        short = PlayedMoves(moves.seats[1:], moves.actions[1:])
        other = moves.actions.copy()
        other[0]["rank"] = (other[0]["rank"] + 1) % 13
        for wrong in (turned, short, PlayedMoves(moves.seats, other)):
            assert past_inputs(played.state, seat, wrong) is None
            refused += 1
    assert refused > 10
