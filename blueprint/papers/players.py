"""Who plays besides the network in self-play: pruned moves (ODMC), a teacher (SDMC), personalities (PDHQN).

A teacher, a rule agent, makes a share of the decisions early in training. The learner sees its actions and
what they led to as its own, so that sensible lines of play are in its data before its own values can find
them. The share falls to zero, after which nothing of it remains.

A persona is a seat that plays a round by a rule-based personality, so that a network can learn to tell them.
The type of a seat holds for a whole round, and is the label of every move that it makes there. The source
draws the personality's move or the network's anew at every decision; what a seat does could then not say
what it is.

In DouDiZhu and Big2 a move is worth what its type and rank are (table 5), adjusted by the personality where
it leads or where it follows (table 6). The tables are GuanDan's, and types are taken for their like: chains
and flushes for straights, planes for plates, trios with kickers and fours with two for full houses, the 2 for
the card of the level. Moves of the split of greatest value are candidates. Nearly all groups are worth -1
there, so that this is taken to be a split into the fewest turns (`HandRests.turns`). Otherwise as in GuanDan
(`blueprint.guandan.rules.split_agents`): a follower answers with a group of its split, or passes; bombs need
a value of at least zero then; ties go to the weakest; whoever's partner leads passes unless it goes out;
single cards are led for one less where an opponent holds one card, for one more where the partner does.
Nobody bids.

Sources: OpenGuanDan's description of SDMC (Ge et al. 2024), and the paper on personality-guided deep Monte
Carlo (PDHQN, 2025), sections 3.2, 3.4 and 3.5 and appendix B, tables 5 and 6. Neither gives the teacher's
share or its course: those are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import move_inputs
from blueprint.game_lockstep import Seated
from blueprint.guandan.rules.split_agents import ADJUSTMENTS, PersonalityAgent
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.pruning import Pruned, hand_rests
from blueprint.papers.styles import first_best
from blueprint.protocol import Agent, Decisions, DrawingAgent, MoveInputs, shared_out
from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import PLAY_KINDS, play_kinds
from games.climbing.doudizhu.move_table import KIND_NAMES, NUM_MOVES, move_table
from games.guandan.rounds.round import GuanDan
from games.support.array_types import Array, Ints

if TYPE_CHECKING:
    from blueprint.learning.pieces import Piece, PieceLearner


TYPES = (
    "pass",
    "single",
    "pair",
    "trips",
    "three pairs",
    "full house",
    "plate",
    "straight",
    "straight flush",
    "bomb",
)
"""Types of moves, as table 6 and GuanDan have them."""
PASS, SINGLE, PAIR, TRIPS, THREE_PAIRS, FULL_HOUSE, PLATE, STRAIGHT, STRAIGHT_FLUSH, BOMB = range(10)
RULED = PERSONALITIES[:3]
"""Personalities that have a rule; the fourth is the network's own play."""
TWO, BLACK, RED = 12, 13, 14
DOUDIZHU = {
    "pass": PASS,
    "solo": SINGLE,
    "pair": PAIR,
    "trio": TRIPS,
    "chain of solos": STRAIGHT,
    "chain of pairs": THREE_PAIRS,
    "chain of trios": PLATE,
    "trio with a solo": FULL_HOUSE,
    "trio with a pair": FULL_HOUSE,
    "plane with solos": PLATE,
    "plane with pairs": PLATE,
    "four with two solos": FULL_HOUSE,
    "four with two pairs": FULL_HOUSE,
    "bomb": BOMB,
    "rocket": BOMB,
}
BIG2 = {
    "pass": PASS,
    "single": SINGLE,
    "pair": PAIR,
    "triple": TRIPS,
    "straight": STRAIGHT,
    "flush": STRAIGHT,
    "full house": FULL_HOUSE,
    "four and one": BOMB,
    "straight flush": STRAIGHT_FLUSH,
    "deal": PASS,
}
_DOUDIZHU_TYPES = np.array([DOUDIZHU[name] for name in KIND_NAMES])
_BIG2_TYPES = np.array([BIG2[name] for name in PLAY_KINDS])


def _base() -> NDArray[np.float64]:
    """Return table 5, [types, ranks], ranks from 3 to 2 and the jokers."""
    value = np.full((len(TYPES), 15), -1.0)
    value[PASS] = 0
    value[SINGLE, [TWO, BLACK, RED]] = (-0.5, 0.0, 0.5)
    value[PAIR, [10, 11, TWO]] = (-0.5, 0.0, 0.0)
    for kind in (TRIPS, FULL_HOUSE):
        value[kind, 7:13] = (-0.5, -0.5, -0.5, 0.0, 0.0, 0.5)
    value[[PLATE, THREE_PAIRS]] = -0.5
    value[STRAIGHT, 5:8] = -0.5
    value[[STRAIGHT_FLUSH, BOMB]] = 1.0
    return value


BASE = _base()


def move_types(inputs: MoveInputs, words: Ints) -> tuple[Ints, Ints]:
    """Return the type of each move, of TYPES, and the rank it counts as, [m] each.

    A straight's rank is its lowest, that of a full house its trio's; calls are passes.
    """
    game = inputs.game
    if isinstance(game, Big2):
        types = _BIG2_TYPES[play_kinds(words.view(np.uint64), game.rules.book())]
        suited = (words[:, None] >> 4 * np.arange(13)) & 15
        held = sum((suited >> suit & 1 for suit in range(4)), np.zeros_like(suited))
        most = held.max(1, keepdims=True)
        return types, np.where(words == 0, 0, np.argmax((held == most) & (held > 0), 1))
    heads = move_table().heads[np.minimum(words, NUM_MOVES - 1)]
    types = np.where(words < NUM_MOVES, _DOUDIZHU_TYPES[heads & 255], PASS)
    return types, np.where(words < NUM_MOVES, heads >> 8 & 255, 0)


def _table(inputs: MoveInputs, states: Array, seats: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the partners of who decides, [n, seats], and whether one of them leads."""
    rows, players = np.arange(len(seats)), inputs.game.num_players
    if isinstance(inputs.game, Big2):
        return np.zeros((len(seats), players), np.bool_), np.zeros(len(seats), np.bool_)
    landlord = states["landlord"].astype(np.int64)[:, None] == np.arange(3)
    mates = (landlord == landlord[rows, seats][:, None]) & (np.arange(3) != seats[:, None])
    mates &= ~landlord[rows, seats][:, None]
    leader = np.minimum(states["leader"].astype(np.int64), 2)
    return mates, mates[rows, leader] & (states["leader"] < 3)


def personality_choice(inputs: MoveInputs, personality: str) -> Agent:
    """Return who chooses by a personality's rule, of RULED. Raises GameError for a game without any."""
    leads, follows = np.array(ADJUSTMENTS[personality], np.float64)  # GuanDan's joker bomb goes last: unused
    rests = hand_rests(inputs.game, "personas must be 0", "have personalities", climbing=True)

    def choose(d: Decisions) -> Ints:
        seats, starts, counts = d.seats, d.offsets[:-1], np.diff(d.offsets)
        at = np.repeat(np.arange(len(seats)), counts)
        states = np.ascontiguousarray(d.states[d.rows])
        types, ranks = move_types(inputs, inputs.words(d.actions))
        turns = rests.turns(d)
        passes = types == PASS
        lead = ~np.logical_or.reduceat(passes, starts)
        left = rests.left(states)
        mates, mate_leads = _table(inputs, states, seats)
        others = np.arange(left.shape[1]) != seats[:, None]
        foe = ((left == 1) & others & ~mates).any(1)
        mate = ((left == 1) & mates).any(1)
        score = BASE[types, ranks] + np.where(lead[at], leads[types], follows[types])
        score += ((types == SINGLE) & lead[at]) * (mate[at] * 1.0 - foe[at] * 1.0)
        # of a split: the rest takes one turn less than the hand, which a pass leaves as it is
        least = np.minimum.reduceat(np.where(passes, 99, turns), starts)
        hand = np.where(lead, least + 1, np.maximum.reduceat(np.where(passes, turns, 0), starts))
        allowed = turns < hand[at]
        allowed &= ~(~lead[at] & (types >= STRAIGHT_FLUSH) & (score < 0)) & (lead | ~mate_leads)[at] & ~passes
        score = np.where(allowed, score, -1e9)
        score = np.where(passes, -1e6, score) - 1e-3 * ranks
        score = np.where(~passes & (turns == 0), 1e6, score)  # whoever can goes out
        return first_best(score, d.offsets)

    return choose


OWN = len(PERSONALITIES) - 1
"""The type of a seat that the network plays itself."""
PARTS = 0x9E45
"""Sets GuanDan's stream of the types apart from that of play."""


def guidance_share(decisions: float, guide: float, share: float) -> float:
    """Return the probability that the teacher makes a decision: `share` at first, linearly 0 at `guide`.

    decisions: trained so far.
    """
    return share * max(0.0, 1.0 - decisions / guide) if guide > 0 else 0.0


class Guided(DrawingAgent):
    """An agent whose decisions are each made by `teacher` with probability `share`, else by `agent`."""

    def __init__(self, agent: Agent, teacher: Agent, share: float, rng: np.random.Generator) -> None:
        self.agent, self.teacher, self.share, self.rng = agent, teacher, share, rng

    def draw(self, decisions: Decisions) -> tuple[Ints, NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (teacher: 0)."""
        taught = self.rng.random(len(decisions)) < self.share
        return shared_out(decisions, taught, (self.agent, self.teacher), self.rng)


def drawn_types(
    share: float, shape: tuple[int, int], rng: np.random.Generator, dtype: Any = np.int64
) -> NDArray[Any]:
    """Return the type of each seat of some rounds, [rounds, seats]: a personality in `share` of the seats."""
    types = rng.integers(0, OWN, shape, dtype=dtype)
    types[rng.random(shape) >= share] = OWN
    return types


def labels(types: NDArray[Any], rounds: Ints, seats: Ints) -> NDArray[Any]:
    """Return the types of all seats at some decisions, [n, seats], from the one that decides on.

    types: [rounds, seats]; rounds, seats: [n] of the decisions.
    """
    around = np.arange(types.shape[1])
    found: NDArray[Any] = types[rounds[:, None], (seats[:, None] + around) % len(around)]
    return found


class Personas(Seated):
    """Plays each seat by its type: as an agent does, or by a rule-based personality.

    rules: of the personalities. types: of each seat, [rounds, seats].
    """

    def __init__(self, agent: Agent, rules: Sequence[Agent], types: NDArray[Any]) -> None:
        super().__init__((*rules, agent), types)
        self.types = types

    def draw(self, decisions: Decisions) -> tuple[Ints, NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (1 of a rule)."""
        choice, chance = super().draw(decisions)
        chance[self.who[decisions.rows, decisions.seats] != OWN] = 1.0
        return choice, chance


def climbing_personas(agent: Agent, inputs: MoveInputs, types: Ints) -> Personas:
    """Return who plays each seat of a climbing game by its type, [rounds, seats]."""
    return Personas(agent, [personality_choice(inputs, name) for name in PERSONALITIES[:OWN]], types)


def self_player(agent: Agent, learner: PieceLearner, piece: Piece, rng: np.random.Generator) -> Agent:
    """Return who plays a piece, as the learner's configuration prunes, guides and types its seats."""
    config, game, shape = learner.config, learner.game, (piece.rounds, learner.game.num_players)
    if config.prune >= 0:
        agent = Pruned(agent, game, config.prune)
    share = guidance_share(piece.decisions, config.guide, config.guide_share)
    if share and learner.teacher is not None:
        agent = Guided(agent, learner.teacher, share, rng)
    if not config.personas:
        return agent
    if not isinstance(game, GuanDan):
        return climbing_personas(agent, move_inputs(game), drawn_types(config.personas, shape, rng))
    # the types of the seats follow from the piece's seed alone, whoever plays it
    own = np.random.SeedSequence(piece.seed.entropy, spawn_key=(*piece.seed.spawn_key, PARTS))
    types = drawn_types(config.personas, shape, np.random.default_rng(own), np.uint8)
    return Personas(agent, [PersonalityAgent(name) for name in PERSONALITIES[:OWN]], types)
