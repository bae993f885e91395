"""The layout of the network's inputs and outputs: what each byte of a row says, and what V is a class of.

A checkpoint names the layout that it was trained on by its hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.row_layout import block_starts, rows_hash, rows_width
from games.guandan.matches.chances import RESULTS
from games.guandan.rounds.state import ACT_KINDS, ACT_PLACES, ACT_TYPES, ACTS_SEEN

OUTCOMES = tuple(map(float, RESULTS))
"""Payoffs of a round to one side, the classes of V."""
PLAYED_SCALE = 0.25
"""Counts of played cards reach 8, the other inputs are 0 or 1."""

STATE_BLOCKS = (
    ("hand", 108),  # own cards: at least one copy, two copies, card by card
    ("hand_ranks", 78),  # own natural cards of each rank 2..A: at least 1..6
    ("wild", 2),  # own wild cards: at least 1, 2
    ("unseen", 108),  # cards neither held nor played
    ("unseen_ranks", 104),  # the same by rank, at least 1..8, wild cards included
    ("left", 112),  # cards each seat holds, one-hot 0..27; seats count from the one who sees
    ("played", 60),  # cards each seat has played, counts of 15 ranks
    ("beat", 42),  # action to beat: type 11, place 15, bomb size 7, wild cards 2, whose 4, passes 3
    ("trick", 81),  # last action in this trick of the three others: type or none 12, place 15
    ("last", 108),  # last action in the round of all four: type or none 12, place 15
    ("level", 13),  # the round's level
    ("out", 16),  # place at which each seat finished: 1st, 2nd, 3rd, not yet
    ("known", 45),  # counts of ranks that the three others are known to hold still
    ("cap", 45),  # highest place their other cards can have
    ("actor", 4),  # who acts
    ("owner", 2),  # whose level it is: own team's, theirs
)
"""(name, width) of each block of a state's row, in order."""

HIDDEN_BLOCKS = (
    ("cards", 324),  # cards of the next, partner and previous seat: at least one copy, both copies
    ("ranks", 234),  # their natural cards of each rank: at least 1..6
    ("wild", 6),  # their wild cards: at least 1, 2
    ("spare", 12),
)
"""(name, width) of each block of what the critic sees beyond a state's row."""

ACTION_BLOCKS = (
    ("type", 11),
    ("place", 15),  # in the level-aware order: singles, pairs, trips, full houses, bombs
    ("low", 13),  # lowest place of a sequence, the low ace first
    ("size", 7),  # of a bomb, 4..10
    ("uses_wild", 2),  # at least 1, 2
    ("pair", 15),  # place of a full house's pair
    ("ranks", 78),  # natural cards left of each rank: at least 1..6
    ("jokers", 4),  # jokers left: at least 1, 2 of each
    ("wild", 2),  # wild cards left: at least 1, 2
    ("cards", 52),  # natural cards left, at least one copy
    ("left", 12),  # cards left: 0..10, more
    ("singles", 8),  # ranks left with one card: at least 1..8
    ("pairs", 6),
    ("trips", 5),
    ("bombs", 4),  # four or more
    ("straights", 4),  # straights within the natural cards left: windows, at least 1..4
    ("flushes", 3),  # straight flushes left, wild cards helping
    ("higher", 4),  # higher combinations of the type that unseen natural cards allow: 0, 1, 2, more
    ("spare", 11),
)
"""(name, width) of each block of an action's row, in order."""


S, A, H = block_starts(STATE_BLOCKS), block_starts(ACTION_BLOCKS), block_starts(HIDDEN_BLOCKS)
"""Where each block of these rows starts, by name."""
STATE_WIDTH, ACTION_WIDTH, HIDDEN_WIDTH = map(rows_width, (STATE_BLOCKS, ACTION_BLOCKS, HIDDEN_BLOCKS))
VERSION = 1
FEATURE_HASH = rows_hash(VERSION, STATE_BLOCKS, ACTION_BLOCKS)
"""Names the layout; a checkpoint trained on another one is refused."""
PAST_WIDTH = 3 * ACTS_SEEN
"""Inputs of a network that remembers, after a state's row: what the others did (`acts` of STATE)."""
_PAST = [ACT_KINDS, ACT_TYPES, ACT_PLACES]
STAKES_WIDTH = 12
"""Inputs of a network that sees the stakes, last: how much more or less than levels results are worth."""
STAKES_SCALE = 32
"""Bytes of stakes are so many to a level."""


def layout_hash(*, past: bool, stakes: bool) -> str:
    """Return the name of the layout of a network that remembers or not, and sees the stakes or not."""
    more: list[object] = [[*_PAST] if past else None, [STAKES_WIDTH, STAKES_SCALE] if stakes else None]
    if not past and not stakes:
        return FEATURE_HASH
    return rows_hash(FEATURE_HASH, *more)


LAYOUTS = tuple(layout_hash(past=past, stakes=stakes) for past in (False, True) for stakes in (False, True))
"""The layouts that are written here."""


def state_scale() -> NDArray[np.float32]:
    """Return what each byte of a state's row is multiplied by before the first layer, [STATE_WIDTH]."""
    scale = np.ones(STATE_WIDTH, np.float32)
    width = dict(STATE_BLOCKS)["played"]
    scale[S.played : S.played + width] = PLAYED_SCALE
    return scale
