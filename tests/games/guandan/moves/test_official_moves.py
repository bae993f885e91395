"""Legal moves against lists recorded from the official generator, its two defects pinned one by one."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES, RANKS, TYPE_NAMES, as_level, make_actions, pack, parse_cards
from games.guandan.moves.listing import legal_moves
from tests.games.guandan.positions import action_ids
from tests.patience import amount

SAMPLE = Path(__file__).parents[3] / "data" / "guandan_moves_sample.jsonl.gz"
EVERY = 573 // amount(573, 81)
"""The positions of the sample that are looked at: each with --long, otherwise every seventh."""
Id = tuple[int, int, int]


def read(text: str) -> Id:
    """Return "Type|rank|cards" as (type, rank code, cards as one integer)."""
    if text.startswith("PASS"):
        return 0, 0, 0
    kind, rank, cards = text.split("|")
    lo, hi = pack(parse_cards(cards)).tolist()
    return TYPE_NAMES.index(kind), RANKS.index(rank), lo | hi << 64


@pytest.fixture(scope="module")
def positions() -> list[tuple[dict, list[Id], set[Id]]]:
    """Return (position, official list, our list) for each position of the sample."""
    found = []
    with gzip.open(SAMPLE, "rt") as lines:
        for line in islice(lines, None, None, EVERY):
            position = json.loads(line)
            beat = None
            if position["greater"]:
                kind, rank, cards = position["greater"].split("|")
                counts = parse_cards(cards)[None]
                beat = make_actions([TYPE_NAMES.index(kind)], [RANKS.index(rank)], counts)
            ours = legal_moves(pack(parse_cards(position["hand"])), as_level(position["level"]), beat)[0]
            ids = action_ids(ours)
            assert len(ids) == len(set(ids))
            found.append((position, [read(text) for text in position["actions"]], set(ids)))
    assert len(found) == -(-573 // EVERY)
    return found


def is_heart_straight(move: Id, level: str) -> bool:
    """Return whether a move is a plain straight of hearts alone with a wild card among them."""
    kind, _, cards = move
    if TYPE_NAMES[kind] != "Straight":
        return False
    held = [name for c, name in enumerate(CARD_NAMES) if cards >> (2 * c if c < 28 else 2 * c + 8) & 3]
    return all(name[0] == "H" for name in held) and "H" + level in held


def test_official_lists_and_heart_straights_are_exactly_ours(positions) -> None:
    for position, official, ours in positions:
        hearts = {move for move in ours if is_heart_straight(move, position["level"])}
        assert set(official) | hearts == ours, position["i"]


@pytest.mark.long
def test_the_official_generator_omits_straights_of_hearts_with_a_wild_card(positions) -> None:
    """It asks whether all cards share a suit before it looks for wild cards, themselves hearts.

    With spades it lists the same shape under both names, so hearts are no exception in the rules.
    """
    omitted = 0
    for position, official, ours in positions:
        missing = ours - set(official)
        assert all(is_heart_straight(move, position["level"]) for move in missing)
        assert not any(is_heart_straight(move, position["level"]) for move in official)
        omitted += len(missing)
    assert omitted == 237
    level = as_level("2")
    for suit in "HSCD":
        hand = parse_cards(f"{suit}5 {suit}6 {suit}7 {suit}8 H2")
        moves = legal_moves(pack(hand), level)[0]
        made = {(TYPE_NAMES[a["type"]], RANKS[a["rank"]]) for a in moves if a["size"] == 5}
        assert made == {(kind, rank) for kind in ("Straight", "StraightFlush") for rank in "45"}


def test_the_official_generator_repeats_full_houses_with_two_wild_cards(positions) -> None:
    """Holding two, it spends them in either order: the same cards come out permuted."""
    repeated = 0
    for position, official, _ in positions:
        wild = CARD_NAMES.index("H" + position["level"])
        for (kind, _, cards), times in Counter(official).items():
            if times > 1:
                repeated += times - 1
                assert TYPE_NAMES[kind] == "ThreeWithTwo"
                assert parse_cards(position["hand"])[wild] == 2
                assert cards >> (2 * wild if wild < 28 else 2 * wild + 8) & 3 > 0
    assert repeated > 0
    assert repeated == sum(p["n"] - p["n_unique"] for p, _, _ in positions)


def test_the_sample_covers_every_level_and_zero_to_two_wild_cards(positions) -> None:
    assert {position["level"] for position, _, _ in positions} == set(RANKS[:13])
    wilds = {parse_cards(p["hand"])[4 * as_level(p["level"])] for p, _, _ in positions}
    assert wilds == {0, 1, 2}
    assert np.mean([position["greater"] is None for position, _, _ in positions]) > 0.3
