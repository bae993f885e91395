"""Equilibria near a given policy: magnetic mirror descent on a tree, for any number of deciding seats.

Every seat i maximises its payoff less what it pays for leaving its magnet ρ, the blueprint for example:

    u_i(π) - τ_i · Σ_I x_i(I) · w(I) · KL(π_I || ρ_I)

x_i(I) is its own reach of the infoset. w(I) is fixed: how likely the others and chance lead there while the
others follow their magnets, and with probability FLOOR anything else. The temperature τ_i is therefore a
price in payoffs: as long as the others stay near their magnets,

    π_I(a) ∝ ρ_I(a) · exp(q(I, a) / τ_i),

q being the value of the action less what is paid below it. At temperature 0 a seat pays nothing; at a high
one it keeps to its magnet. With two seats the game is convex-concave, and its equilibrium is the only one
wherever both pay. With more deciding seats the same update is made, without that guarantee.

An iteration is one step of mirror descent for each seat in turn, on its whole sequence form: the dilated
Kullback-Leibler distance to the present policy is the proximity term. It is weighed by w(I) or, where that is
more, by how likely the others lead there now, so that steps are about equally long everywhere. Steps are
optimistic: what the last one changed is expected to change again.

Source: Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer 2023, "A unified approach to
reinforcement learning, quantal response equilibria, and two-player zero-sum games". We differ in the weights
of both distances, in optimism, and in taking turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import Counted, iterations_at_once
from cfr.engine.resume import load_state, state_of
from cfr.solver import NEVER, SolverError, Stop, check_limits, run_until
from cfr.tree import FlatTree, require_tree
from cfr.tree.flat import Nodes, array_digest, infoset_parent_slots, own_slots
from cfr.values import check_policy, check_probabilities, reach, uniform
from cfr.variants import check_whole
from games.support.kernel import kernel

FLOOR = 0.05
"""Probability with which the others may do anything in the weights of infosets, so that those to which
their magnets never lead have a temperature as well."""
SMOOTHING = 1e-3
"""Share of uniform play in a magnet, so that no action of probability 0 is ruled out for good."""


@dataclass(frozen=True, eq=False)
class Anchor:
    """What every seat is drawn to, and how strongly.

    magnet: [n_slots] float64, a policy; infosets with nan are free of charge.
    temperature: price of leaving it, in payoffs per nat: one for all seats, or one for each; 0 is free.
    smoothing: share of uniform play in the magnet, in (0, 1]. Without any, an action that the magnet never
        plays could never be played.
    """

    magnet: NDArray[np.float64]
    temperature: float | tuple[float, ...]
    smoothing: float = SMOOTHING

    def temperatures(self, n_players: int) -> NDArray[np.float64]:
        """Return the temperature of each seat, [players] float64. Raises SolverError if out of range."""
        given = np.atleast_1d(np.asarray(self.temperature, np.float64))
        if len(given) == 1:
            given = np.repeat(given, n_players)
        if len(given) != n_players or not np.all((given >= 0) & (given < np.inf)):
            raise SolverError(
                f"anchor: temperature must be at least 0, one number or one for each of {n_players} seats; "
                f"got {self.temperature}"
            )
        if not 0 < self.smoothing <= 1:
            raise SolverError(f"anchor: smoothing must be in (0, 1]; got {self.smoothing}")
        return given


@dataclass(frozen=True, eq=False)
class AnchoredSolution:
    """The result of a run.

    policy: [n_slots] float64, of the last iteration.
    gap: NashConv / 2 of the regularised game, in payoffs: half the sum of what each seat could gain alone,
        what it pays for leaving its magnet included. 0 at the equilibrium.
    iteration: iterations done. seconds: wall-clock time of this run.
    stopped: what ended it: "iterations", "target", "deadline" or "callback".
    """

    policy: NDArray[np.float64]
    gap: float
    iteration: int
    seconds: float
    stopped: str


class AnchoredSolver(Counted):
    """Magnetic mirror descent on a tree, resumable exactly.

    iteration: iterations done so far. seats: the seats that decide, in the order of their updates.
    price: [I] float64, what a nat of distance from the magnet costs at each infoset, τ · w.
    """

    def __init__(self, tree: FlatTree, anchor: Anchor) -> None:
        """Start at the magnet, or uniformly where there is none.

        Raises SolverError for temperatures out of range, ValueError for a magnet of another size or that is
        no policy, ImperfectRecall where a player has forgotten what it did.
        """
        require_tree(tree)
        self.tree = tree
        self._done = np.zeros(1, np.int64)
        self.seats = tuple(int(seat) for seat in np.unique(tree.infoset_player))
        temperature = anchor.temperatures(tree.n_players)
        magnet, free = _smoothed(tree, anchor)
        before = infoset_parent_slots(tree)
        last = np.empty((len(self.seats), len(tree.terminal)), np.int64)
        for k, seat in enumerate(self.seats):
            last[k] = own_slots(tree, seat)[tree.terminal]
        scale = float(np.ptp(tree.returns)) if len(tree.returns) else 0.0
        self._rate = RATE / (scale or 1.0)
        found = reach(tree, magnet)
        often, anyhow = np.zeros(tree.n_infosets), np.zeros(tree.n_infosets)
        for seat in self.seats:
            mine = np.flatnonzero(tree.player == seat)
            often += np.bincount(tree.infoset[mine], found.without(seat)[mine], tree.n_infosets)
            anyhow += np.bincount(tree.infoset[mine], found.chance[mine], tree.n_infosets)
        weight = (1 - FLOOR) * often + FLOOR * anyhow
        self.price = np.where(free, 0.0, temperature[tree.infoset_player] * weight)
        log_magnet = np.log(magnet)
        ends = tree.terminal, last, np.ascontiguousarray(tree.returns.T[list(self.seats)])
        infosets = tree.infoset_player, tree.infoset_offset, before
        prices = self.price, weight, log_magnet
        self._game: tuple[Nodes, Infosets, Ends, Prices] = (tree.nodes, infosets, ends, prices)
        self._anchor = array_digest(self.price, log_magnet)
        self._state: State = (magnet.copy(), log_magnet.copy(), np.zeros(tree.n_slots))

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises SolverError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, SolverError)
        at_once = iterations_at_once(len(self.seats) * self.tree.n_nodes)
        seats = np.array(self.seats, np.int64)
        while self.iteration < last:
            some = min(at_once, last - self.iteration)
            iterate_mirror(self._done, some, self._rate, seats, *self._game, self._state)

    def start_from(self, policy: NDArray[np.float64]) -> None:
        """Begin at a policy, [n_slots] float64, with a share SMOOTHING of uniform play.

        Raises SolverError once iterations were run, ValueError for a policy of another size or whose
        infosets' probabilities do not sum to 1.
        """
        if self.iteration:
            raise SolverError(f"start_from: must come first; {self.iteration} iterations were run already")
        given = check_probabilities(check_policy(self.tree, policy), self.tree.infoset_offset)
        mixed = (1 - SMOOTHING) * given + SMOOTHING * uniform(self.tree.infoset_offset)
        self._state[0][:] = mixed
        self._state[1][:] = np.log(mixed)

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy of the last iteration, [n_slots] float64."""
        return self._state[0].copy()

    def exploitability(self) -> float:
        """Return NashConv / 2 of the regularised game, in payoffs; each seat deviates alone."""
        best, now = self.evaluate()
        return float((best - now).sum()) / 2

    def evaluate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (what each deciding seat could get alone, what it gets), twice [seats] float64, in payoffs.

        Both less what is paid for leaving the magnets. Payoffs of histories at which the seat never decided
        are the same in both and left out.
        """
        best, now = np.zeros(len(self.seats)), np.zeros(len(self.seats))
        for k, seat in enumerate(self.seats):
            best[k], now[k] = regularised(k, seat, *self._game, self._state)
        return best, now

    def state_dict(self) -> dict[str, Any]:
        """Return everything a later `load_state_dict` needs to continue exactly; arrays are copies."""
        return state_of(self.tree, self.iteration, self._arrays, anchor=self._anchor)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned, on the same tree and with the same anchor.

        Raises SolverError or StateError if it belongs to another tree or anchor, or cannot be used.
        """
        if state.get("format") != 1:
            raise SolverError(f"resume: format must be 1; got {state.get('format')!r}; solve afresh")
        anchor = state.get("anchor")
        if anchor != self._anchor and state.get("tree") == self.tree.digest:
            raise SolverError(
                f"resume: the anchor must be that of the saved run, {anchor}; got {self._anchor}; "
                "use that one, or solve afresh"
            )
        self.iteration = load_state(state, self._arrays, self.tree, SolverError)

    @property
    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        """What a run keeps, by its names in saved states."""
        return dict(zip(("policy", "log_policy", "gradient"), self._state, strict=True))


def solve_anchored(
    tree: FlatTree,
    anchor: Anchor,
    *,
    iterations: int | None = None,
    target: float | None = None,
    stop: Stop = NEVER,
    start: NDArray[np.float64] | Mapping[str, Any] | None = None,
) -> AnchoredSolution:
    """Return the last policy of magnetic mirror descent, run until the first limit is met.

    iterations: how many to run in this call. target: stop once the gap is at most this, in payoffs.
    stop: a deadline, or what else ends the run. Iterations, a target or a deadline must be given.
    start: [n_slots] float64, a policy, or the `AnchoredSolver.state_dict()` of a run to continue; by default
        the magnet.
    Raises SolverError for limits or temperatures out of range; ImperfectRecall; ValueError for a magnet or a
    start of another size, or that is no policy.
    """
    check_limits("solve_anchored", iterations, target, stop)
    began = time.perf_counter()
    solver = AnchoredSolver(tree, anchor)
    if isinstance(start, Mapping):
        solver.load_state_dict(start)
    elif start is not None:
        solver.start_from(start)
    last = inf if iterations is None else solver.iteration + iterations
    stopped = run_until(solver, last, target, stop, began)
    return AnchoredSolution(
        policy=solver.current_policy(),
        gap=solver.exploitability(),
        iteration=solver.iteration,
        seconds=time.perf_counter() - began,
        stopped=stopped,
    )


def _smoothed(tree: FlatTree, anchor: Anchor) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the magnet with its share of uniform play, [n_slots], and which infosets lack one, [I] bool."""
    given = check_policy(tree, anchor.magnet)
    free = np.zeros(tree.n_infosets, bool)
    free[tree.slot_infoset[np.isnan(given)]] = True
    even = uniform(tree.infoset_offset)
    magnet = check_probabilities(np.where(free[tree.slot_infoset], even, given), tree.infoset_offset)
    return (1 - anchor.smoothing) * magnet + anchor.smoothing * even, free


RATE = 2.0
"""Step size of mirror descent, in inverse payoffs times the tree's payoff range. Of 1, 2, 4 and 8 the largest
that converged on Kuhn and Leduc poker, Liar's Dice, Goofspiel and random forests at every temperature tried.
Temperatures under half a percent of the payoff range take more than 300 iterations."""
COOLING = 0.3
"""Iteration t is made at a temperature of at least COOLING / t payoff ranges, of every seat: at low
temperatures policies spiral for long, and this leads them in. Free infosets are drawn to uniform play."""
LEAST = -700.0
"""Logarithm of the smallest probability that is told from 0."""

Infosets = tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]
"""(player, first slot, own slot before) of each infoset."""
Ends = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]
"""(terminals [Z], each deciding seat's last own slot there [seats, Z], its payoff there [seats, Z])."""
Prices = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""(price of leaving the magnet at each infoset, w of each infoset, logarithm of the magnet)."""
State = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""(policy, its logarithm, the gradient of the last iteration), on slots."""


@kernel(lazy=True)
def iterate_mirror(
    done: NDArray[np.int64],
    n: int,
    rate: float,
    seats: NDArray[np.int64],
    nodes: Nodes,
    infosets: Infosets,
    ends: Ends,
    prices: Prices,
    state: State,
) -> None:
    """Run `n` more iterations than `done`, [1]."""
    policy, log_policy, gradient = state
    price, weight, log_magnet = prices
    infoset_player, offset, before = infosets
    others = np.empty(len(nodes[0]))
    gain = np.empty(len(policy))
    often = np.empty(len(infoset_player))
    for t in range(done[0], done[0] + n):
        for k in range(len(seats)):
            seat = seats[k]
            _gradient(k, seat, nodes, infosets, ends, policy, others, gain, often)
            for i in range(len(infoset_player)):
                if infoset_player[i] != seat:
                    continue
                for s in range(offset[i], offset[i + 1]):
                    now = gain[s]
                    if t > 0:
                        gain[s] = 2.0 * now - gradient[s]
                    gradient[s] = now
            # Bottom up: what the best step below an action is worth is added to the action's gain.
            for i in range(len(infoset_player) - 1, -1, -1):
                if infoset_player[i] != seat:
                    continue
                first, end = offset[i], offset[i + 1]
                cost = max(price[i], COOLING * RATE / rate * weight[i] / (t + 1))
                hold = max(often[i], weight[i]) / rate
                total = cost + hold
                if total <= 0.0:
                    continue
                top = -np.inf
                for s in range(first, end):
                    policy[s] = (gain[s] + cost * log_magnet[s] + hold * log_policy[s]) / total
                    top = max(top, policy[s])
                mass = 0.0
                for s in range(first, end):
                    mass += math.exp(policy[s] - top)
                log_mass = top + math.log(mass)
                for s in range(first, end):
                    log_policy[s] = max(policy[s] - log_mass, LEAST)
                    policy[s] = math.exp(log_policy[s])
                if before[i] >= 0:
                    gain[before[i]] += total * log_mass
    done[0] += n


@kernel(lazy=True)
def _gradient(
    k: int,
    seat: int,
    nodes: Nodes,
    infosets: Infosets,
    ends: Ends,
    policy: NDArray[np.float64],
    others: NDArray[np.float64],
    gain: NDArray[np.float64],
    often: NDArray[np.float64],
) -> None:
    """Fill `gain`, at the seat's slots, with what ends right after them is worth, by the others' reach.

    And `often`, at its infosets, with that reach.
    """
    parent, first_child, player, infoset, chance_prob = nodes
    infoset_player, offset, _ = infosets
    terminal, last, payoff = ends
    for i in range(len(infoset_player)):
        if infoset_player[i] == seat:
            often[i] = 0.0
            gain[offset[i] : offset[i + 1]] = 0.0
    for node in range(len(parent)):
        up = parent[node]
        others[node] = chance_prob[node]
        if up >= 0:
            others[node] *= others[up]
            if player[up] >= 0 and player[up] != seat:
                others[node] *= policy[offset[infoset[up]] + node - first_child[up]]
        if player[node] == seat:
            often[infoset[node]] += others[node]
    for z in range(len(terminal)):
        if last[k, z] >= 0:
            gain[last[k, z]] += others[terminal[z]] * payoff[k, z]


@kernel(lazy=True)
def regularised(
    k: int, seat: int, nodes: Nodes, infosets: Infosets, ends: Ends, prices: Prices, state: State
) -> tuple[float, float]:
    """Return (what the seat could get alone, what it gets), less what it pays for leaving its magnet."""
    policy, log_policy, _ = state
    price, _, log_magnet = prices
    infoset_player, offset, before = infosets
    gain = np.zeros(len(policy))
    often = np.zeros(len(infoset_player))
    _gradient(k, seat, nodes, infosets, ends, policy, np.empty(len(nodes[0])), gain, often)
    best, now = gain.copy(), gain
    value_best, value_now = 0.0, 0.0
    for i in range(len(infoset_player) - 1, -1, -1):
        if infoset_player[i] != seat:
            continue
        first, end = offset[i], offset[i + 1]
        most, got = -np.inf, 0.0
        for s in range(first, end):
            most = max(most, best[s] + price[i] * log_magnet[s])
            got += policy[s] * (now[s] - price[i] * (log_policy[s] - log_magnet[s]))
        if price[i] > 0.0:
            mass = 0.0
            for s in range(first, end):
                mass += math.exp((best[s] + price[i] * log_magnet[s] - most) / price[i])
            most += price[i] * math.log(mass)
        if before[i] >= 0:
            best[before[i]] += most
            now[before[i]] += got
        else:
            value_best += most
            value_now += got
    return value_best, value_now
