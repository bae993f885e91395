"""What plays: agents, asked about many decisions at once, and the blueprints that search asks for values.

    class Weakest:
        name = "weakest"

        def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
            return np.zeros(len(decisions), np.int64)

The arena, tables, self-play, responders and search all ask in this way. `agent_of` makes an agent of a
blueprint. `probabilities` and `drawn` ask one and refuse an answer that is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.game import Game
from games.infosets.trail import SeatTrail
from games.ragged import Ragged, pick_by
from games.support.array_types import Array, Bytes, Ints
from games.support.contract import ContractError

SUM_TOLERANCE = 1e-5
"""How far the probabilities of a row may sum from 1: float32 softmaxes over some hundred actions."""
SHAPE = (
    "an agent is called with Decisions and answers with one index, or one probability for each action; see "
    "blueprint/protocol.py"
)


class UnknownAgent(ValueError):
    """A name that no agent of the game has."""


@runtime_checkable
class Blueprint(Protocol):
    """A strategy for every seat with a value attached: tabular or neural, on any game.

    All three answer from what `player` knows at each state (its infoset), never from the hidden rest.
    Values are payoffs to `player`, on the game's own scale (`Game.payoff_range`). `agent_of`
    makes an agent of it.
    """

    name: str

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the probability of each action in `actions`, [m] float64; each row sums to 1.

        states: [n] states at which `player` acts; actions: one row of legal actions per state.
        """
        ...

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the value to `player` of each action in `actions`, [m] float64, when play goes on by it.

        states: [n] states at which `player` acts; actions: one row of legal actions per state.
        """
        ...

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return the value to `player` of each state, [n] float64, whoever is to act."""
        ...


def values_histories(blueprint: Blueprint) -> bool:
    """Return whether a blueprint's values are those of single histories, with what these hide.

    It then says so by an attribute of this name. Others answer from what the player knows.
    """
    return bool(getattr(blueprint, "values_histories", False))


class MoveRows(Protocol):
    """What a network sees, in bytes. seat_bits, move_bits, hidden_bits: widths of the rows."""

    seat_bits: int
    move_bits: int
    hidden_bits: int

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        """Write what seats see into the first seat_bits of [k or more, seat_bits or more].

        rows: [k] of which states; seats: [k] whose eyes. What comes behind is written afterwards.
        """
        ...

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        """Write moves, [m or more, move_bits]: words[offsets[j]:offsets[j + 1]] at states[rows[j]]."""
        ...

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes, at: int = 0) -> None:
        """Write the others' hands into columns of out from `at` on, [k or more, hidden_bits]."""
        ...

    def words(self, actions: Array) -> Ints:
        """Return the game's actions as words, [m] or [m, words of an action]."""
        ...


class MoveInputs(MoveRows, Protocol):
    """How a game is seen by a network, and played in lockstep.

    layout: name of the rows' layout. action_type: dtype of the game's actions. others: seats whose hands are
    hidden from one, each `hidden_bits / others` wide. trial_rounds: rounds of random play by which payoffs
    are scaled. untaught: what is done by rule, None for nothing.
    """

    game: Game
    layout: str
    action_type: Any
    others: int
    trial_rounds: int
    untaught: Untaught | None

    @property
    def past(self) -> Callable[[Array], RoundsPast] | None:
        """What takes note of the moves of rounds, [n], from here on; None where no agent follows them."""
        ...

    def deal(self, n: int, rng: np.random.Generator) -> Array:
        """Return n freshly dealt rounds, [n], at their first decision."""
        ...

    def legal(self, states: Array) -> Ragged:
        """Return the legal actions of contiguous states, [n], as `words`."""
        ...

    def act(self, states: Array, actions: Ints) -> None:
        """Take a legal action, a word of `legal`, [n], at each of contiguous states, [n], in place."""
        ...

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        """Return the ends of rounds, [n], after uniformly random play from states, [n]."""
        ...


class Untaught(Protocol):
    """What a game has and the rules that a network learned by have not: it is done by rule."""

    def here(self, states: Array) -> NDArray[np.bool_]:
        """Return whether the decision at each state is of that kind, [n]."""
        ...

    def decide(self, states: Array, seats: Ints, actions: Ragged, scores: NDArray[np.float64]) -> None:
        """Write the scores of the actions at these decisions, [m]: 0 for the rule's, -inf for the others."""
        ...

    def stakes(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return the payoffs at each state to 1 of the network's rules, [n]."""
        ...


class AgentFault(ContractError):
    """An agent whose answer is no choice and no policy."""


class Past(Protocol):
    """How games came to where they stand."""

    def of(self, row: int) -> Any:
        """Return what the seat to act at a row of `Decisions.states` saw on the way, and did.

        A `games.infosets.trail.SeatTrail`; where rounds of public moves alone are played, the `PlayedMoves`.
        """
        ...


class RoundsPast(Past, Protocol):
    """The moves of rounds that advance together."""

    def step(self) -> None:
        """Take note of the move that every running round has made."""
        ...


@dataclass(frozen=True, eq=False)
class PlayedMoves:
    """The moves of one round so far, oldest first, passes and forced moves included.

    seats: [k] uint8, who; actions: [k] of the game's action dtype, what.
    """

    seats: NDArray[np.uint8]
    actions: Array

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.seats)


@dataclass(frozen=True)
class Trails:
    """A `Past` that is known. each: of every row."""

    each: Sequence[SeatTrail | PlayedMoves]

    def of(self, row: int) -> Any:
        """Return what is known of a row."""
        return self.each[row]


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions to be taken together, each with its choices.

    states: [all] of the game, every running or finished one of the batch.
    rows: [n] int64, states at which somebody is to choose. seats: [n] int64, who; an agent looks at nothing
        that its seat cannot see.
    offsets: [n + 1] int64, and actions [m] of the game: decision j is among
        `actions[offsets[j]:offsets[j + 1]]`.
    past: how every game came to its state, for agents that follow the games; None where nobody keeps it.
    played: the game; None in the batches that a game's own networks are asked about.
    """

    states: Array
    rows: NDArray[np.int64]
    seats: NDArray[np.int64]
    offsets: NDArray[np.int64]
    actions: Array
    past: Past | None = None
    played: Game | None = None

    @classmethod
    def of(
        cls,
        states: Array,
        actions: Ragged,
        seats: Array | int | None = None,
        *,
        game: Game | None = None,
        past: Past | None = None,
    ) -> Decisions:
        """Return one decision at each state, [n], among its actions.

        seats: [n], or one for all, who decides; None for the field `player` of the states.
        """
        asked = np.asarray(states["player"] if seats is None else seats, np.int64)
        asked = asked if asked.ndim else np.full(len(states), asked)
        return cls(states, np.arange(len(states)), asked, actions.offsets, actions.values, past, game)

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.rows)

    @property
    def game(self) -> Game:
        """The game that is played. Raises ValueError where whoever asks has not said."""
        if self.played is None:
            raise ValueError(
                "Decisions: game must be known to this agent; got None; pass Decisions.of(game=)"
            )
        return self.played

    @property
    def table(self) -> Ragged:
        """The actions of each decision, [n] rows."""
        return Ragged(self.offsets, self.actions)

    def where(self, mask: NDArray[np.bool_]) -> Decisions:
        """Return the decisions at which `mask` [n] holds."""
        counts = np.diff(self.offsets)
        offsets = np.zeros(int(mask.sum()) + 1, np.int64)
        np.cumsum(counts[mask], out=offsets[1:])
        return self._at(mask, offsets, self.actions[np.repeat(mask, counts)])

    def span(self, low: int, high: int) -> Decisions:
        """Return decisions low..high - 1; what they hold is shared, not copied."""
        first, last = self.offsets[low], self.offsets[high]
        return self._at(slice(low, high), self.offsets[low : high + 1] - first, self.actions[first:last])

    def _at(self, which: Any, offsets: NDArray[np.int64], actions: Array) -> Decisions:
        rows, seats = self.rows[which], self.seats[which]
        return Decisions(self.states, rows, seats, offsets, actions, self.past, self.played)

    def spans(self, size: int) -> Iterator[Decisions]:
        """Yield the decisions in order, `size` at a time."""
        for low in range(0, len(self), size):
            yield self.span(low, min(low + size, len(self)))


class Agent(Protocol):
    """Plays any seat of a game: called with decisions, it answers each from what the decision's seat can see.

    Five attributes are used where an agent has them: `name`, what to call it in messages; `follows`, whether
    it is to be given `Decisions.past`; `rng`, replaced for each piece of work where rounds are played in
    lockstep; `draw`, which answers with indices and with the probability of each, [n] float32; and `cards`,
    which answers the `CardDecisions` of tribute between rounds with one card each.
    """

    def __call__(self, decisions: Decisions, /) -> Array:
        """Return the index of one action within each decision's own, [n] integers; or the probability of each
        of `decisions.actions`, [m] floats, summing to 1 in each decision. It may take long, as that of a
        search; probabilities must be the same when asked again.
        """
        ...


class DrawingAgent:
    """An agent that tells the probability of what it answers; a kind of it says how it draws."""

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (0: not known)."""
        raise NotImplementedError


class BlueprintAgent:
    """Plays by a blueprint's policy, however a game came to its state."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Take a blueprint."""
        self.blueprint, self.name = blueprint, blueprint.name

    def __call__(self, decisions: Decisions) -> Array:
        """Return the probability of each action, [m] float64."""
        return seat_by_seat(
            decisions, lambda d, seat: self.blueprint.policy(d.game, d.states[d.rows], seat, d.table)
        )


def agent_of(made: Agent | Blueprint) -> Agent:
    """Return an agent; one is made of a blueprint. Raises AgentFault for anything else."""
    if isinstance(made, Blueprint):  # which a network of PyTorch may be that can be called otherwise
        return BlueprintAgent(made)
    if callable(made):
        return made
    has = next((f"has {old}(…) alone" for old in ("policy", "act") if hasattr(made, old)), "cannot be called")
    raise AgentFault(f"{type(made).__name__} must be an agent or a blueprint; it {has}; {SHAPE}")


def blueprint_of(agent: Agent) -> Blueprint | None:
    """Return the blueprint that an agent plays by, or refines by search; None if it has none."""
    found = getattr(agent, "blueprint", None)
    return found if isinstance(found, Blueprint) else None


def follows(agent: Agent) -> bool:
    """Return whether an agent is to be told how each game came to its state."""
    return bool(getattr(agent, "follows", False))


def agent_name(agent: Agent) -> str:
    """Return what to call an agent."""
    return str(getattr(agent, "name", type(agent).__name__))


def probabilities(agent: Agent, decisions: Decisions) -> NDArray[np.float64]:
    """Return an agent's probability of each action, [m] float64; those of a decision sum to 1.

    Raises AgentFault for an answer that is no choice and no policy.
    """
    found = _answer(agent, decisions)
    if found.dtype.kind == "f":
        return found
    probs = np.zeros(len(decisions.actions))
    probs[decisions.offsets[:-1] + found] = 1.0
    return probs


def drawn(
    agent: Agent, decisions: Decisions, rng: np.random.Generator | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the index of an agent's action within each decision's own, [n] int64, and its probability, [n].

    rng: draws by probabilities. The probability is 0 where the agent does not tell. What its `draw`
    answers is not checked. Raises AgentFault for an answer that is no choice and no policy, or a policy
    without `rng`.
    """
    draw = getattr(agent, "draw", None)
    if draw is not None:
        told: tuple[NDArray[np.int64], NDArray[np.float32]] = draw(decisions)
        return told
    found = _answer(agent, decisions)
    if found.dtype.kind != "f":
        return found, np.zeros(len(decisions), np.float32)
    if rng is None:
        raise AgentFault(f"agent {agent_name(agent)}: it must answer with indices here; got probabilities")
    picked = pick_by(decisions.table, found, rng.random(len(decisions)))
    return picked, found[decisions.offsets[:-1] + picked].astype(np.float32)


def _answer(agent: Agent, decisions: Decisions) -> Array:
    """Return what an agent answers: [n] int64 or [m] float64."""
    found = np.asarray(agent(decisions))
    counts = np.diff(decisions.offsets)
    if found.dtype.kind in "iu":
        if found.shape != counts.shape or np.any((found < 0) | (found >= counts)):
            raise AgentFault(
                f"agent {agent_name(agent)}: it must answer each decision with an index of its legal moves; "
                f"got an array of shape {found.shape} that is not"
            )
        return found.astype(np.int64, copy=False)
    if found.dtype.kind != "f" or found.shape != decisions.actions.shape[:1]:
        raise AgentFault(
            f"{agent_name(agent)}: a policy must have one probability for each of {len(decisions.actions)} "
            f"actions; got an array of shape {found.shape}; {SHAPE}"
        )
    probs = np.asarray(found, np.float64)
    rows = np.repeat(np.arange(len(counts)), counts)
    total = np.bincount(rows, probs, minlength=len(counts))
    # nan compares as False, so the test is for what must hold
    if len(probs) and not (probs.min() >= 0 and np.all(np.abs(total - 1) <= SUM_TOLERANCE)):
        least: NDArray[np.float64] = np.minimum.reduceat(probs, decisions.offsets[:-1])
        bad = int(np.argmax(~(np.abs(total - 1) <= SUM_TOLERANCE) | (least < 0)))
        first, last = decisions.offsets[bad : bad + 2]
        words = decisions.game.infoset_text(decisions.states[decisions.rows[bad]], int(decisions.seats[bad]))
        raise AgentFault(
            f"{agent_name(agent)}: probabilities must not be negative and must sum to 1; got "
            f'{probs[first:last].tolist()} at "{words}"; {SHAPE}'
        )
    scaled: NDArray[np.float64] = probs / np.repeat(total, counts)
    return scaled


def seat_by_seat(decisions: Decisions, answer: Callable[[Decisions, int], Array]) -> Array:
    """Return the probability of each action, [m] float64, where each seat's decisions are answered apart.

    answer: called with decisions of one seat, and the seat, returns [m] of them.
    """
    seats = np.unique(decisions.seats)
    if len(seats) == 1:
        return answer(decisions, int(seats[0]))
    counts = np.diff(decisions.offsets)
    found = np.empty(len(decisions.actions))
    for seat in seats:
        mask = decisions.seats == seat
        found[np.repeat(mask, counts)] = answer(decisions.where(mask), int(seat))
    return found


def shared_out(
    decisions: Decisions,
    who: NDArray[Any],
    agents: Sequence[Agent],
    rng: np.random.Generator | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return what `drawn` does, each decision being one agent's. who: [n] integers or bool, its place."""
    choice, chance = np.empty(len(decisions), np.int64), np.empty(len(decisions), np.float32)
    for k, agent in enumerate(agents):
        mask = who == k
        if mask.any():
            choice[mask], chance[mask] = drawn(agent, decisions.where(mask), rng)
    return choice, chance
