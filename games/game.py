"""The contract of a game: a handful of pure functions over batches of states.

A state is one row of a NumPy array whose dtype (and trailing shape) the game owns; it holds the whole
history as far as anyone could ever need it. One history is a batch of one. The same functions serve a
three-card toy and a game of 108 cards, so everything above this file knows nothing else about games.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.ragged import Ragged
from games.support.array_types import Array
from games.support.contract import ContractError

CHANCE = -1
"""`player` at a state where chance acts."""
TERMINAL = -2
"""`player` at a state where the game is over."""


class GameError(ContractError):
    """Bad input to a game, or a game that breaks its contract: the rule, the value received, what to do."""


@dataclass(frozen=True)
class Infoset:
    """One infoset, by its key and by the words that name it.

    player: the seat whose infoset it is.
    key: the `width` words of `Game.infoset_key`.
    text: `Game.infoset_text` of any of its histories; `Game.parse_infoset` reads it back.
    seen: [t, width], the keys that its player saw on the way, each as often as it changed, the last `key`;
        None where they are not at hand. A game whose key does not spell the record out draws by them.
    """

    player: int
    key: tuple[int, ...]
    text: str
    seen: NDArray[np.uint64] | None = field(default=None, compare=False, repr=False)


@runtime_checkable
class Game(Protocol):
    """A finite game of perfect recall, mostly zero-sum between two teams, over batches of states.

    name: canonical game string, parameters included, that the registry reads back.
    num_players: seats, counted from 0.
    teams: for each seat its team, counted from 0; all seats of a team receive the same payoff, and the
        payoffs of all teams, each counted once, sum to zero. In a two-player game it is (0, 1). Where each
        seat plays for itself every seat is a team: `tree_cfr`, matches and training take any number of teams,
        the sequence form two; search sees two seats (`two_seats`). A game whose payoffs do not sum to zero
        says `zero_sum = False`: it can be played and measured, and CFR runs there without a guarantee.
    payoff_range: smallest and largest payoff of any player at any terminal.
    key_width: 64-bit words in an infoset key.

    A game may offer two functions more. `sample_deals` is a shortcut past the opening chance, for games whose
    deal takes many steps: it returns n states at which chance has nothing left to open, [n], drawn
    independently and each as often as chance leads there. `sample_histories` is for infosets too large to
    list (`games.infosets.sampling`). Without it histories are drawn by following what the player saw, which
    is as good unless much of what chance deals shows only later, as with many dice under a cup:

        sample_deals(n: int, rng: np.random.Generator) -> Array
        sample_histories(infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged

    Or it may say `remembers = False`: a player may be told different things while it waits and end up in one
    infoset, because it need not notice that it was asked to wait. Then only its own decisions are followed.

    `sample_histories` returns n histories that the player cannot tell apart, each as its actions from the
    root (chance's among them), drawn independently and each as often as chance's part of it says: others'
    moves count alike. The infoset may be that of a player who waits; its text may be empty, and then `seen`
    is there. `check_game` tests it. Where no infoset is small enough to be followed whole, `follows = False`
    spares the attempt.
    """

    name: str
    num_players: int
    teams: tuple[int, ...]
    payoff_range: tuple[float, float]
    key_width: int

    def root(self) -> Array:
        """Return the initial state, [1]."""
        ...

    def player(self, states: Array) -> NDArray[np.int8]:
        """Return who acts at each state, [n] int8: a seat, CHANCE or TERMINAL."""
        ...

    def actions(self, states: Array) -> Ragged:
        """Return the legal actions of each state, [n], in a fixed order that depends on the infoset alone.

        Rows of terminal states are empty. At chance states these are the outcomes.
        """
        ...

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action in `actions`, [m] float64, where chance acts; 1 elsewhere."""
        ...

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        """Return the states after `actions[j]` is taken at `states[rows[j]]`, [m]; `states` is unchanged."""
        ...

    def returns(self, states: Array) -> NDArray[np.float64]:
        """Return the payoffs of terminal states, [n, num_players] float64."""
        ...

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        """Return what `player` knows at each state, [n, key_width] uint64, whoever acts, chance included.

        Equal keys if and only if `player` cannot tell the histories apart (its own actions and the
        order of its observations included: perfect recall). Keys of different players may collide.
        """
        ...

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the class that branch limits count by, [m] int64; small games give each action its own."""
        ...

    def action_text(self, state: Array, action: Array) -> str:
        """Return one action in words; `state` is a single row. Unique among the actions of that state."""
        ...

    def state_text(self, state: Array) -> str:
        """Return one history in words, hidden information included."""
        ...

    def infoset_text(self, state: Array, player: int) -> str:
        """Return what `player` knows at this history in one line of words; unique per infoset and player."""
        ...

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names.

        Raises GameError with near matches if there is none.
        """
        ...


def not_zero_sum(name: str) -> GameError:
    """Return the error for a game whose payoffs do not sum to zero, where a command needs that."""
    return GameError(
        f"{name}: payoffs must sum to zero to be searched, trained on or exploited; these do not; gs2 "
        "blueprint (CFR without a guarantee) and gs2 exploitability take it, and load_game with "
        "general_sum=True"
    )


LARGEST_PAYOFF = 1e150
"""In size; a game's largest is 0 or no smaller than 1 by this, so that its square is a number above 0."""


def require_payoff_size(game: Game) -> None:
    """Raise GameError for payoffs whose squares are too large, or too small, for floating-point numbers."""
    largest = max(map(abs, game.payoff_range))
    if largest != 0 and not 1 / LARGEST_PAYOFF <= largest <= LARGEST_PAYOFF:
        raise GameError(
            f"{game.name}: the largest payoff must be 0, or of a size from {1 / LARGEST_PAYOFF:g} to "
            f"{LARGEST_PAYOFF:g}; got payoffs in {game.payoff_range}; count them in another unit"
        )


def payoff_span(game: Game) -> float:
    """Return the largest payoff minus the smallest, a unit to divide by: 1 where all payoffs are equal."""
    low, high = game.payoff_range
    return float(high - low) or 1.0
