"""Strategies by a short name: `uniform`, `cfr:100`, `noise:0.25`, or the file of a saved policy.

A name stands for probabilities on the listed tree, for a policy on the public tree, or for one on private
moves, as a game and the memory allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from blueprint.soft_choices import soft_shares
from cfr.best_response import best_response_values, expected_value
from cfr.policies.lock import LockedGame, LockedTree
from cfr.policies.policy import Policy, load_policy, uniform_policy
from cfr.policies.policy_words import load_policy_json, read_policy_json
from cfr.private_moves.form import Both, PrivateMovesForm, list_private_moves
from cfr.private_moves.solver import PrivateMovesSolver, is_private_run, load_private_policy
from cfr.public.policies.policy_file import is_public_policy, open_public_policy
from cfr.public.policies.public_policy import PublicPolicy, evaluate_policy
from cfr.public.public_solver import PublicSolver, require_memory, solver_bytes
from cfr.public.sweeper import usable_cores
from cfr.public.tree import grow_public
from cfr.sequence_form import SequenceForm, is_two_sided, sequence_form
from cfr.solver import Runs, solve
from cfr.tree import FlatTree, grow
from cfr.tree.flat import Nodes
from cfr.tree.memory import ALLOW_MORE, TooLarge, memory_limit
from cfr.variants import VARIANTS
from games.game import Game, payoff_span
from games.infosets.factored import FactoredGame
from games.infosets.private_moves import PrivateMovesGame
from games.support.counts import count_in
from games.support.kernel import kernel
from gs2.policies.profile_worth import profile_worth, worth_of_two
from gs2.policies.tabulate import Plays, policy_of

NOISE_BASE_ITERATIONS = 2_000
"""DCFR iterations behind `noise`: exploitability below 1e-3 of the payoff range on all research games."""
TRAINED = {"dmc": "games", "network": "decisions"}
"""Strategies from self-play, and what their length is counted in."""
SOFTNESS = 0.02
"""Temperature of `dmc`, as a share of the payoff range: near-best actions stay in play."""


class PolicySpecError(ValueError):
    """A text that names no strategy."""


@dataclass(frozen=True)
class Computed:
    """A strategy that a solver computes on any exact form of a game.

    It is the average policy of `iterations` of a CFR variant, mixed at every infoset with a share `even` of
    uniform play; no iteration gives uniform play itself.
    """

    variant: str
    iterations: int
    even: float = 0.0

    def run(self, solver: Runs, what: str, tell: Callable[[str], None]) -> None:
        """Run a solver to its last iteration. what: it computes; tell: hears of the progress."""
        while solver.iteration < self.iterations:
            solver.run(1)
            tell(f"computing {what}, iteration {solver.iteration:,} of {self.iterations:,} …")

    def mixed(self, average: NDArray[Any], uniform: NDArray[Any]) -> NDArray[Any]:
        """Return an average policy with its share of uniform play."""
        return (1 - self.even) * average + self.even * uniform if self.even else average


def is_computed(spec: str) -> bool:
    """Return whether a text is the name of a strategy that a solver computes, its number unread."""
    word, colon, _ = spec.partition(":")
    return word.strip().lower() in ((*VARIANTS, "noise") if colon else ("uniform",))


def computed_by(spec: str) -> Computed:
    """Return what computes the strategy that `uniform`, `VARIANT:ITERATIONS` or `noise:EPSILON` names.

    Raises PolicySpecError for another name, or a number that is none.
    """
    if not is_computed(spec):
        names = f"uniform, noise:EPSILON or VARIANT:ITERATIONS with one of {', '.join(VARIANTS)}"
        raise PolicySpecError(f"strategy must be {names}; got {spec!r}; give one of these")
    word, _, amount = spec.partition(":")
    word = word.strip().lower()
    if word == "uniform":
        return Computed("dcfr", 0)
    if word == "noise":
        try:
            epsilon = float(amount)
        except ValueError:
            epsilon = -1.0
        if not 0 <= epsilon <= 1:
            raise PolicySpecError(f"noise: epsilon must be a number in [0, 1]; got {amount!r}")
        return Computed("dcfr", NOISE_BASE_ITERATIONS, epsilon)
    return Computed(word, count_in(amount, f"{word}: iterations", PolicySpecError))


def is_policy_spec(spec: str) -> bool:
    """Return whether a text looks like the name of a strategy, or is a file that may hold one."""
    word, colon, _ = spec.partition(":")
    named = is_computed(spec) or (bool(colon) and word.strip().lower() in TRAINED)
    return named or Path(spec).is_file()


def check_policy_spec(spec: str) -> None:
    """Raise PolicySpecError unless a text names a strategy, or a file that is there; no game is looked at."""
    word, colon, amount = spec.partition(":")
    word = word.strip().lower()
    if is_computed(spec):
        computed_by(spec)
    elif colon and word in TRAINED:
        count_in(amount, f"{word}: {TRAINED[word]}", PolicySpecError)
    elif not Path(spec).is_file():
        raise PolicySpecError(
            "blueprint must be uniform, noise:EPSILON, dmc:GAMES, network:DECISIONS, VARIANT:ITERATIONS with "
            f"one of {', '.join(VARIANTS)}, or a file; got {spec!r}, and there is no such file"
        )


def stored_form(spec: str | Path) -> str:
    """Return the form that a file holds a policy on, "public" or "private"; "" for a listed one, or none."""
    if is_public_policy(spec):
        return "public"
    return "private" if is_private_run(spec) else ""


def check_policy_file(path: str | Path) -> None:
    """Raise PolicyError, FileProblem or another ValueError unless a file holds a policy, of whatever game."""
    if str(path).endswith(".json"):
        read_policy_json(path)
    elif not stored_form(path):
        load_policy(path)


def policy_from_spec(
    spec: str, game: Game, tree: FlatTree, form: SequenceForm | None = None, *, seed: int = 0
) -> NDArray[np.float64]:
    """Return the strategy that `spec` names on the slots of the game's tree, [n_slots] float64.

    spec: `uniform`; `cfr:100`, the average policy of that many iterations of a CFR variant; `noise:0.25`,
        a near-equilibrium mixed with 25 % of uniform play at every infoset; `dmc:20000`, a soft choice by
        action values of that many games of Monte-Carlo self-play; `network:300000`, a Deep-Monte-Carlo
        network after that many decisions; a policy file, .json or not, on a public tree or private moves; or
        a network's checkpoint (.safetensors).
    seed: of `dmc` and `network`.
    Raises PolicySpecError if it is none of these, PolicyError or CheckpointError if the file is another
    game's, ValueError for a network of `gs2 train GAME`, or a policy on a public tree, without states.
    """
    check_policy_spec(spec)
    word, colon, amount = spec.partition(":")
    word = word.strip().lower()
    if is_computed(spec):
        wanted = computed_by(spec)
        if wanted.iterations == 0:
            return uniform_policy(tree)
        base = solve(form or tree, variant=wanted.variant, iterations=wanted.iterations).policy
        return wanted.mixed(base, uniform_policy(tree))
    if colon and word == "dmc":
        q = monte_carlo_q(tree, int(amount), np.random.default_rng(seed))
        return soft_shares(q, tree.infoset_offset, SOFTNESS * payoff_span(game))
    if colon and word == "network":
        from blueprint.networks import trained_network

        return policy_of(trained_network(game, int(amount), np.random.default_rng(seed)), game, tree)
    if isinstance(game, LockedGame):  # files are of the game without the lock
        locked = LockedTree(grow(game.original), game.lock)
        return locked.part(policy_from_spec(spec, game.original, locked.original))
    if spec.endswith(".safetensors"):
        from blueprint.networks import load_network

        return policy_of(load_network(spec, game), game, tree)
    if spec.endswith(".json"):
        return load_policy_json(spec, game, tree).on(tree)
    form_of_file = stored_form(spec)
    if form_of_file == "public":
        return policy_of(open_public_policy(spec, game), game, tree)
    if form_of_file == "private":
        private = list_private_moves(game)
        return private.keyed(load_private_policy(spec, private)).on(tree)
    return load_policy(spec, game.name, tree).on(tree)


def is_computed_there(game: Game, spec: str) -> TypeGuard[FactoredGame]:
    """Return whether a name stands for a strategy that the public tree of this game can compute."""
    return isinstance(game, FactoredGame) and is_computed(spec)


def computed_policy(
    spec: str, game: FactoredGame, tell: Callable[[str], None] = lambda words: None
) -> PublicPolicy:
    """Return the strategy that `uniform`, `VARIANT:ITERATIONS` or `noise:EPSILON` names, in memory.

    Up to rounding it is the strategy that `policy_from_spec` finds on the listed tree. tell: hears of the
    progress.
    Raises PolicySpecError for another name, TooLarge if the public tree or its solver does not fit.
    """
    wanted = computed_by(spec)
    tree = grow_public(game)
    fits = solver_bytes(tree, wanted.variant, np.float64) <= memory_limit()
    dtype = np.dtype(np.float64 if fits else np.float32)
    blueprint = "a policy file that `gs2 blueprint --form public --precision 16` wrote, "
    require_memory(tree, wanted.variant, dtype, blueprint)
    solver = PublicSolver(tree, wanted.variant, dtype=dtype)
    uniform = PublicPolicy.of(solver) if wanted.even else None
    wanted.run(solver, f"{spec} on the public tree", tell)
    policy = PublicPolicy.of(solver)
    if uniform is None:
        return policy
    first, second = map(wanted.mixed, policy.rows, uniform.rows)
    return PublicPolicy(tree, (first, second), policy.index, note=spec)


ASKED_AT_ONCE = 1 << 16
"""Infosets that an agent is asked at together."""


def is_computed_privately(game: Game, spec: str) -> TypeGuard[PrivateMovesGame]:
    """Return whether a text stands for a strategy on this game's form of private moves."""
    known = is_computed(spec) or is_private_run(spec) or spec.endswith(".safetensors")
    return isinstance(game, PrivateMovesGame) and known


def policy_on(form: PrivateMovesForm, blueprint: Plays) -> Both:
    """Return a blueprint's policy on the form, asked once at each infoset."""

    def asked(player: int) -> NDArray[np.float64]:
        states = form.decisions(player)
        parts = [np.ones(1)]
        for start in range(0, len(states), ASKED_AT_ONCE):
            rows = states[start : start + ASKED_AT_ONCE]
            parts.append(blueprint.policy(form.game, rows, player, form.game.actions(rows)))
        return np.concatenate(parts)

    return asked(0), asked(1)


def exact_exploitability(game: Game) -> Callable[[Blueprint], float]:
    """Return what measures a blueprint of `game`: NashConv / 2, in payoffs.

    The form is a tree of every history, or for hidden stones the infosets of each player.
    Raises TooLarge for a game that has neither.
    """
    if isinstance(game, PrivateMovesGame):
        form = list_private_moves(game)
        return lambda blueprint: form.evaluate(policy_on(form, blueprint)).exploitability
    tree = grow(game)
    listed = sequence_form(tree, game) if is_two_sided(tree) else None
    return lambda blueprint: _listed_worth(tree, listed, policy_of(blueprint, game, tree))["exploitability"]


def _listed_worth(tree: FlatTree, listed: SequenceForm | None, probs: NDArray[np.float64]) -> dict[str, Any]:
    """Return what a strategy is worth on a listed tree. listed: its sequence form, if it has two sides."""
    if listed is None:
        return profile_worth(tree, probs)
    return worth_of_two(expected_value(listed, probs), best_response_values(listed, probs))


def private_policy(
    spec: str, form: PrivateMovesForm, tell: Callable[[str], None] = lambda words: None
) -> Both:
    """Return the strategy that `uniform`, `VARIANT:ITERATIONS`, `noise:EPSILON` or a file stands for.

    The file is a run's, or a network's. tell: hears of the progress.
    Raises PolicySpecError for another name, StateError or CheckpointError for another game's file.
    """
    if spec.endswith(".safetensors"):
        from blueprint.networks import load_network

        network = load_network(spec, form.game)
        tell(f"asking {spec} at {form.n_slots:,} slots …")
        return policy_on(form, network)
    if is_private_run(spec):
        return load_private_policy(spec, form)
    wanted = computed_by(spec)
    if wanted.iterations == 0:
        return form.uniform()
    solver = PrivateMovesSolver(form, wanted.variant)
    wanted.run(solver, spec, tell)
    first, second = map(wanted.mixed, solver.average_policy(), form.uniform())
    return first, second


def measured(
    game: Game,
    spec: str,
    lock: Callable[[FlatTree], Policy] | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Return what a strategy is worth in a game, exactly, as JSON says it.

    A stored policy is measured on the form of its file, another on the listed tree, or where that does not
    fit on the form that computes it. lock: gives the fixed part of the listed tree. tell: hears of the
    progress.
    Raises TooLarge for a game that fits in no form; what `policy_from_spec` and the forms raise.
    """
    form = stored_form(spec)
    if form == "public":
        return _measured_publicly(open_public_policy(spec, game), spec, tell)
    if form == "private":
        return measured_privately(game, spec, tell)
    # a network is asked at states, and a lock may be in words
    asked = spec.endswith(".safetensors") or spec.strip().lower().startswith("network:")
    try:
        tree = grow(game, keep_states=asked or lock is not None)
    except TooLarge as large:
        rule = large.rule
        try:
            if lock is None and is_computed_privately(game, spec):
                return measured_privately(game, spec, tell)
            if lock is None and is_computed_there(game, spec):
                return _measured_publicly(computed_policy(spec, game, tell), spec, tell)
        except TooLarge as last:
            rule = last.rule
        raise TooLarge(rule, f"{ALLOW_MORE}; gs2 exploit bounds an agent's from below") from None
    tell(f"computing {spec} …")
    listed = sequence_form(tree, game) if is_two_sided(tree) else None
    probs = policy_from_spec(spec, game, tree, listed)
    if lock is not None:
        locked = LockedTree(tree, lock(tree))
        tree, probs = locked.tree, locked.part(probs)
        listed = sequence_form(tree) if is_two_sided(tree) else None
    return _listed_worth(tree, listed, probs)


def _measured_publicly(policy: PublicPolicy, spec: str, tell: Callable[[str], None]) -> dict[str, Any]:
    tell(f"measuring {spec} on the public tree of {policy.tree.game.name} …")
    found = evaluate_policy(policy, threads=usable_cores())
    return {"form": "public", "note": policy.note, **worth_of_two(found.value, found.best_response)}


def measured_privately(
    game: Game, spec: str, tell: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Return what a strategy is worth on a game's form of private moves, as JSON says it.

    Raises what `list_private_moves` and `private_policy` do.
    """
    tell(f"listing the infosets of {game.name} …")
    form = list_private_moves(game)
    policy = private_policy(spec, form, tell)
    tell(f"measuring {spec} on the private moves of {game.name} …")
    found = form.evaluate(policy)
    infosets = [side.n_infosets for side in form.sides]
    return {"form": "private", "infosets": infosets, **worth_of_two(found.value, found.best_response)}


AT_ONCE = 20_000
"""Games that the kernel plays before it returns: a few hundredths of a second, so that Ctrl-C is heard."""
EPSILON, LEAST_STEP = 0.1, 0.01
"""Of Monte-Carlo self-play: probability of a uniformly random action, and the least step towards a return."""


def monte_carlo_q(tree: FlatTree, episodes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return Q(I, a) of every slot after `episodes` games of ε-greedy self-play, [n_slots] float64.

    tree: one root. Each game moves the value of every action played towards the player's return, in payoffs,
    by the mean of its returns so far, but at least by LEAST_STEP, since the opponents keep changing.
    Source: the update of DouZero and DanZero (Monte-Carlo returns, no bootstrapping), with a table.
    """
    returns = np.zeros((tree.n_nodes, tree.n_players))
    returns[tree.terminal] = tree.returns
    q, visits = np.zeros(tree.n_slots), np.zeros(tree.n_slots, np.int64)
    shape = tree.nodes, tree.n_children, tree.infoset_offset, returns
    for start in range(0, episodes, AT_ONCE):
        games, depth = min(AT_ONCE, episodes - start), len(tree.level_offsets)
        _self_play(*shape, games, EPSILON, LEAST_STEP, rng, depth, visits, q)
    return q


@kernel
def _self_play(
    nodes: Nodes,
    n_children: NDArray[np.int32],
    offset: NDArray[np.int64],
    returns: NDArray[np.float64],
    episodes: int,
    epsilon: float,
    least_step: float,
    rng: np.random.Generator,
    depth: int,
    visits: NDArray[np.int64],
    q: NDArray[np.float64],
) -> None:
    """Play games and move the values in place, all games from node 0. returns: [N, P], of terminal nodes."""
    _, first_child, player, infoset, chance_prob = nodes
    slots = np.empty(depth, np.int64)
    seats = np.empty(depth, np.int64)
    for _ in range(episodes):
        node = 0
        length = 0
        while n_children[node] > 0:
            n = n_children[node]
            if player[node] < 0:
                left = rng.random()
                k = 0
                while k < n - 1 and left >= chance_prob[first_child[node] + k]:
                    left -= chance_prob[first_child[node] + k]
                    k += 1
            else:
                start = offset[infoset[node]]
                if rng.random() < epsilon:
                    k = int(rng.random() * n)
                else:
                    k = 0
                    for a in range(1, n):
                        if q[start + a] > q[start + k]:
                            k = a
                slots[length] = start + k
                seats[length] = player[node]
                length += 1
            node = first_child[node] + k
        gain = returns[node]
        for i in range(length):
            s = slots[i]
            visits[s] += 1
            q[s] += max(1.0 / visits[s], least_step) * (gain[seats[i]] - q[s])
