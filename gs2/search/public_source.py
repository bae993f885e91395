"""A source of histories on a public tree: pairs of private states, of which one search keeps some.

The stages are those of `gs2.search.pipeline`. A history is a pair of private states here, numbered row by row
as (own, opponent's), and the tree below is shared by all of them: a closure of hundreds of pairs costs what
its public tree does.

`PublicProblem` is a subgame at a public state, with its gadget, solved by vector-form CFR. The roots are
pairs of private states, some of which may be left out. Above them the opponent chooses as the gadget lets it:
whether to enter with each private state (`resolve`), with which one (`maxmargin`), or not at all (`unsafe`).
The searching player may be held to its old policy with some of its private states.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import discount_table
from cfr.public.policies.public_policy import PublicPolicy, learnt_rows, one_history, private_numbers, way_on
from cfr.public.sweeper import (
    AVERAGE,
    BEST,
    CURRENT,
    LEARN,
    NO_RULES,
    VALUE,
    PolicySweeper,
    Rules,
    SideArrays,
    Sweep,
    Sweeper,
    new_side,
    usable_cores,
)
from cfr.public.tree import PublicTree, padded, past_forced, path_to
from cfr.variants import REGRET_NOISE, Variant
from games.game import Infoset
from games.support.array_types import Array
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, Log, SearchOptions
from gs2.search.explain import Seen, explain
from gs2.search.gadget.path import LIVE
from gs2.search.histories.enumerated import UNREACHED, Considered, Kept, keep_histories, with_all
from gs2.search.pipeline import HistorySource, LeftAlone, Refinement, note_lateness, refine_from, variant_of
from gs2.search.result import SearchResult
from gs2.search.safety import ROUNDING, Attempt, Certified, Proposal, best_attempt


@dataclass(frozen=True, eq=False)
class PublicProblem:
    """What is solved at a public state.

    tree: the public tree below it. player: who searches.
    pairs: [own private states, the opponent's] float64, probability by chance of each pair; 0 if left out.
    reach: [own] float64, the searching player's own part in how it comes there.
    opponent_reach: [opponent's] float64, the opponent's; only `unsafe` reads it.
    alternative: [opponent's] float64, what each of its private states is worth to it outside, in payoffs.
    free: [own] bool, private states with which the player's policy is solved; with others it is `old`.
    old: the player's policy below the state, [rows, wide].
    gadget: resolve, maxmargin or unsafe.
    """

    tree: PublicTree
    player: int
    pairs: NDArray[np.float64]
    reach: NDArray[np.float64]
    opponent_reach: NDArray[np.float64]
    alternative: NDArray[np.float64]
    free: NDArray[np.bool_]
    old: NDArray[np.float64]
    gadget: str


class EntryChoice:
    """The opponent's choices above the roots, learnt like every other regret.

    mass: probability that chance and the searching player lead to each of its private states; those at most
    LIVE are out of the game.
    """

    def __init__(self, problem: PublicProblem, v: Variant, discounts: NDArray[np.float64]) -> None:
        """Take the subgame, and a variant with its discounts (`discount_table`)."""
        self.problem, self.variant, self._discounts = problem, v, discounts
        self.mass = problem.reach @ problem.pairs
        self.live = self.mass > LIVE
        self._asked = problem.gadget == "resolve"
        n = len(self.mass)
        self._total = self.mass[self.live].sum()
        self._regret, self._expected, self._sum = (np.zeros((n, 1 + self._asked)) for _ in range(3))
        self._t = 0

    def _policy(self, *, average: bool = False) -> NDArray[np.float64]:
        """Return the next choices, or the average of all so far.

        They sum to 1 for each private state, or over all of them, as the opponent chooses.
        """
        number = self._regret
        if self.variant.predictive and self._t:
            number = self._discounted(number) + self._expected
        found = np.array(0.5) if self._asked else self.live[:, None] / self.live.sum()
        for each in (np.maximum(number, 0.0) * self.live[:, None], self._sum)[: 1 + average]:
            total = each.sum(1 if self._asked else None, keepdims=True)
            found = np.where(total > 0, each / np.where(total > 0, total, 1), found)
        return found

    def _discounted(self, regrets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return regrets as they count after the iterations done."""
        positive, negative = self._discounts[self._t, :2]
        return np.asarray(regrets * np.where(regrets > 0, positive, negative))

    def reach(self, *, average: bool = False) -> NDArray[np.float64]:
        """Return what the roots are dealt with: [opponent's private states], to multiply the pairs with.

        average: by the average of all choices so far, in place of the next one.
        """
        if self.problem.gadget == "unsafe":
            likely = self.problem.opponent_reach * self.live
            if not (likely @ self.mass) > LIVE:
                likely = self.live.astype(np.float64)
            return np.asarray(likely / (likely @ self.mass))
        policy = self._policy(average=average)
        if self._asked:
            return np.asarray(policy[:, 1] * self.live / self._total)
        return np.asarray(np.where(self.live, policy[:, 0] / np.where(self.live, self.mass, 1), 0.0))

    def worth(self, solved: NDArray[np.float64], theirs: float) -> tuple[float, float]:
        """Return what the opponent gets by the best choices, and what its average choices make sure of.

        solved: [opponent's private states], each one's value against the solution. theirs: what the player
        gets by best-responding, with the roots dealt as the average has it.
        """
        problem, solved = self.problem, np.where(self.live, solved, 0.0)
        if problem.gadget == "unsafe":
            return float((self.reach() * self.mass) @ solved), -theirs
        average, outside = self._policy(average=True), np.where(self.live, problem.alternative, 0.0)
        if self._asked:
            share = np.where(self.live, self.mass, 0.0) / self._total
            best = float(share @ np.maximum(solved, outside))
            return best, float((share * average[:, 0]) @ outside) - theirs
        return float((solved - outside)[self.live].max()), -theirs - float(average[:, 0] @ outside)

    def learn(self, values: NDArray[np.float64], weight: float) -> None:
        """Update the choices from counterfactual values [opponent's private states] of entering.

        weight: of the choices just made in their average.
        """
        if self.problem.gadget == "unsafe":
            return
        policy, problem = self._policy(), self.problem
        self._sum += weight * policy
        if self._asked:
            both = np.stack([problem.alternative * self.mass, values], axis=1)
            worth = np.where(self.live[:, None], both, 0.0) / self._total
            gain = worth - (policy * worth).sum(1, keepdims=True)
        else:
            margin = np.where(
                self.live, values / np.where(self.live, self.mass, 1) - problem.alternative, 0.0
            )
            gain = np.where(self.live, margin - policy[:, 0] @ margin, 0.0)[:, None]
        self._regret = self._discounted(self._regret) + gain
        self._t += 1
        if self.variant.clip:
            self._regret = np.maximum(self._regret, 0.0)
        self._expected = gain


def solve_problem(
    problem: PublicProblem, v: Variant, iterations: int, threads: int, deadline: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    """Return the solution after some iterations, or when the deadline (of `time.perf_counter()`) is over.

    First the searching player's policy below the public state, [rows, wide]; then what the opponent's private
    states are worth to it against that, as the subgame sees it, nan where it leaves them out; the solution's
    exploitability within the gadget, in payoffs; and the iterations run.
    """
    tree, me = problem.tree, problem.player
    opponent = 1 - me
    n_mine = tree.n_private[me]
    sweeper = Sweeper(tree, np.float64, threads)
    fresh = [new_side(tree, p, np.float64, predictive=v.predictive, held=False) for p in (0, 1)]
    sides: tuple[SideArrays, SideArrays] = (fresh[0], fresh[1])
    sides[me][5][:n_mine] = problem.free
    held = np.zeros(padded(n_mine))
    held[:n_mine] = ~problem.free
    # What is held to the old policy starts with its probabilities for regrets, and never learns others.
    sides[me][0][:] = (problem.old * held).reshape(-1)
    scale = tree.payoff_scale
    table = discount_table(iterations + 1, float(v.alpha), float(v.beta))
    rules: Rules = (v.clip, v.predictive, REGRET_NOISE * scale * float(problem.pairs.sum()), table)
    choice = EntryChoice(problem, v, table)
    reach = problem.reach
    done = 0
    for t in range(1, iterations + 1):
        weight = float(t) ** v.gamma
        entry = choice.reach()
        sweeper.sweep(Sweep(me, LEARN, CURRENT, (t - 1, t - 1), t, weight), rules, sides, entry)
        updated = (t, t - 1) if me == 0 else (t - 1, t)
        values = sweeper.sweep(Sweep(opponent, LEARN, CURRENT, updated, t, weight), rules, sides, reach)
        choice.learn(values, weight)
        done = t
        if deadline is not None and time.perf_counter() >= deadline:
            break
    policy = np.zeros((tree.n_rows[me], padded(n_mine)))
    learnt = np.concatenate([*learnt_rows(tree, me, sides[me], rules, done)])
    policy[:, :n_mine] = np.where(problem.free, learnt, problem.old[:, :n_mine])
    gap, solved = _review(sweeper, rules, sides, choice, policy, done)
    sweeper.close()
    return policy, solved, gap, done


def _review(
    sweeper: Sweeper,
    rules: Rules,
    sides: tuple[SideArrays, SideArrays],
    choice: EntryChoice,
    policy: NDArray[np.float64],
    done: int,
) -> tuple[float, NDArray[np.float64]]:
    """Return (gap, what each of the opponent's private states is worth against the policy) in the subgame."""
    problem = choice.problem
    me = problem.player
    mine: Any = list(sides[me])
    mine[2] = np.ascontiguousarray(policy).reshape(-1)
    pair = (tuple(mine), sides[1]) if me == 0 else (sides[0], tuple(mine))

    def values(player: int, mode: int, reach: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(sweeper.sweep(Sweep(player, mode, AVERAGE, (done, done)), rules, pair, reach))

    entry = choice.reach(average=True)
    own = np.where(problem.free, values(me, BEST, entry), values(me, VALUE, entry))
    with np.errstate(invalid="ignore", divide="ignore"):
        solved = np.where(choice.live, values(1 - me, BEST, problem.reach) / choice.mass, np.nan)
    best, sure = choice.worth(solved, float(problem.reach @ own))
    return (best - sure) / 2, solved


GADGETS = ("unsafe", "resolve", "maxmargin")
NOT_PUBLIC = (
    *("entry_floor", "depth", "branches", "warm_start", "target", "shrink"),
    *("samples", "companions", "belief", "slip", "explore"),
)
"""Fields that a search on a public tree never reads."""


class PublicSearchError(ValueError):
    """A search that the public form does not have: the rule, the value received and the next step."""


@dataclass(frozen=True)
class PublicPlace:
    """An infoset of a factored game. node: of the public tree. private: the acting player's private state."""

    node: int
    private: int


def check_public(config: SearchConfig) -> None:
    """Raise PublicSearchError for a configuration whose stages the public form does not have."""
    values, unset = config.to_json(), SearchConfig.defaults()
    wanted = {
        "gadget": GADGETS,
        **{name: (unset[name],) for name in NOT_PUBLIC},
        "solver": ("cfr",),
        "alternative": ("best-response", "profile"),
        "certificate": ("none", "margin", "anchored"),
        "scope": ("infoset", "subtree", "block"),
        "source": ("auto", "enumerated"),
    }
    for name, choices in wanted.items():
        if values[name] not in choices:
            words = ", ".join("none" if one is None else str(one) for one in choices)
            several = "one of " * (len(choices) > 1)
            raise PublicSearchError(f"{name} on a public tree must be {several}{words}; got {values[name]}")
    if _may_summarise(config) and not config.subgame.whole:
        raise PublicSearchError("whole on a public tree must be above 0; got 0")


def _may_summarise(config: SearchConfig) -> bool:
    """Return whether a closure of more than `whole` nodes would be kept in summary, were it listed."""
    return config.subgame.rest == "summary" and config.generation.generator != "all"


def public_states(tree: PublicTree, node: int) -> Array:
    """Return the public state at a node, [1]."""
    game = tree.game
    states = past_forced(game, game.public_root())
    for at, edge in path_to(tree, node):
        action = edge - int(tree.first_edge[at])
        values = game.actions(states).values[action : action + 1]
        states = past_forced(game, game.step(states, np.zeros(1, np.int64), values))
    return states


class PublicSource(HistorySource):
    """The pairs of private states of one infoset of a public tree, under one strategy of both players.

    Slots are places in the player's policy below the public state, [rows, wide], counted row by row.
    config: of the search, as it came to be where the player's own strategy never leads. chance: [own private
    states, the opponent's] float64, probability of each pair. threads: None for all cores.
    """

    def __init__(
        self,
        strategy: PublicPolicy,
        place: PublicPlace,
        config: SearchConfig,
        options: SearchOptions = NO_OPTIONS,
        *,
        threads: int | None = None,
    ) -> None:
        """Take a place where a player has a choice.

        Raises PublicSearchError for stages that the public form does not have, and for more public states
        below than the configuration lets be solved whole.
        """
        check_public(config)
        self.strategy, self.place, self.config, self.deadline = strategy, place, config, options.deadline
        self.log, self.threads, tree = Log(), threads, strategy.tree
        self.player = int(tree.player[place.node])
        self.below = tree.below(place.node)
        if _may_summarise(config):
            if len(self.below) > config.subgame.whole:
                raise PublicSearchError(
                    f"whole on a public tree must be at least its public states, {len(self.below):,} here, "
                    f"for nothing is kept in summary; got {config.subgame.whole:,}; raise it, or take "
                    "maxmargin"
                )
            self.config = with_all(config)
        self._dealt = tree.game.deal_weights(public_states(tree, place.node))[0]
        self.chance = self._dealt if self.player == 0 else self._dealt.T
        self.reach = strategy.reach(place.node, self.player)
        self.opponent_reach = strategy.reach(place.node, 1 - self.player)
        policies = strategy.below(place.node)
        self.old, self._reply = np.ascontiguousarray(policies[self.player]), policies[1 - self.player]
        self._sweeping: tuple[NDArray[np.float64], PolicySweeper] | None = None

    def consider(self) -> Considered:
        """Return the pairs that the method asks for, with reach and alternative values.

        Raises PublicSearchError for an order between the infoset and the closure.
        """
        private, chance = self.place.private, self.chance
        off_path = not (self.reach[private] > 0 and chance[private].sum() > LIVE)
        if off_path:
            self.log.notes.append(UNREACHED)
            self.reach, self.config = np.ones(len(self.reach)), self.config.for_unreached()
        config = self.config
        infoset_alone = config.histories.order == 1 and config.subgame.rest != "summary"
        listed = chance > 0
        if infoset_alone:
            # Opponent infosets that the infoset's histories do not belong to are no neighbours of it.
            listed &= listed[private]
        self._check_order()
        self.log.lap("knowledge")
        pairs = chance * listed
        mass = self.reach @ pairs
        live = mass > LIVE
        alternative = np.full(len(live), np.nan)
        mode = VALUE if config.histories.alternative == "profile" else BEST
        values = self._sweeper(pairs).values(1 - self.player, mode, self._pair(self.old), self.reach)
        alternative[live] = values[live] / mass[live]
        other, own = np.nonzero((listed & live).T)
        self.log.lap("alternative")
        return Considered(
            player=self.player,
            opponent=1 - self.player,
            infoset=private,
            nodes=(own * chance.shape[1] + other).astype(np.int32),
            own_infoset=own.astype(np.int32),
            in_set=(own == private) | (not infoset_alone),
            group=other.astype(np.int32),
            reach=self.reach[own] * chance[own, other],
            opponent_reach=self.opponent_reach[other],
            alternative=alternative,
            dropped=int(np.count_nonzero(listed.any(axis=0) & ~live)),
            off_path=off_path,
        )

    def _check_order(self) -> None:
        """Raise PublicSearchError for a knowledge set between the infoset and the closure: its boundary runs
        through infosets of the player's, whose policy here is solved whole or not at all."""
        order, pairs = self.config.histories.order, self.chance > 0
        if order is None or order == 1:
            return
        known = pairs & (np.arange(len(pairs)) == self.place.private)[:, None]
        for _ in range(order - 1):
            known = pairs & (known.any(axis=1)[:, None] | known.any(axis=0))
        if not np.array_equal(known, pairs):
            raise PublicSearchError(
                "order on a public tree must be 1, none, or one that reaches the closure; here order "
                f"{order} holds {known.sum()} of its {pairs.sum()} histories; list the game, or take a "
                "higher order"
            )

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        """Return the pairs that enter the subgame. Raises LeftAlone if chance deals none of them."""
        if not len(considered.nodes):
            raise LeftAlone("no history was generated that chance deals")
        kept = keep_histories(considered, self.config, rng, self.log)
        self.log.lap("generation")
        return kept

    def solve(self, considered: Considered, kept: Kept) -> Proposal:
        """Return what the subgame's solution proposes, after a first iteration as far as the time allows."""
        pairs = self.chance * self._pairs(considered, kept.rows)
        free = np.zeros(len(self.reach), bool)
        free[considered.own_infoset[kept.rows[~kept.frozen]]] = True
        problem = PublicProblem(
            tree=self._masked(pairs),
            player=self.player,
            pairs=pairs,
            reach=self.reach,
            opponent_reach=self.opponent_reach,
            alternative=np.nan_to_num(considered.alternative),
            free=free,
            old=self.old,
            gadget=self.config.gadget.kind,
        )
        stage, threads = self.config.solve, self.threads or usable_cores()
        solution = solve_problem(problem, variant_of(stage), stage.iterations, threads, self.deadline)
        policy, solved, gap, iterations = solution
        stopped = "deadline" if iterations < stage.iterations else ""
        note_lateness(stopped, iterations, self.config, self.log)
        self.log.lap("solve")
        scope, states = self.config.safety.scope, len(self.below)
        there = free & ((scope == "block") | (np.arange(len(self.reach)) == self.place.private))
        rows = np.arange(len(self.old))
        if scope == "infoset":
            rows = self.here()[0] // self.old.shape[1]
        slots = (rows[:, None] * self.old.shape[1] + np.flatnonzero(there)).reshape(-1)
        probs = policy.reshape(-1)[slots]
        return Proposal(slots, probs, solved, states, states, states, iterations, gap)

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        rows = np.arange(self.below.first_edge[0], self.below.first_edge[1]) + int(self.below.row[0])
        slots = rows * self.old.shape[1] + self.place.private
        return slots, self.old.reshape(-1)[slots]

    def certify(self, considered: Considered, proposal: Proposal) -> Certified:
        """Return the best mixture by which no private state of the opponent's gains, as far as is known."""
        config, slots = self.config.safety, proposal.slots
        before, after = considered.alternative, proposal.solved
        if config.certificate == "none" and config.anchor == 1:
            return Certified(1.0, slots, proposal.probs, considered, before, after)
        judged = self.chance * self._noticed(considered, slots)
        mass = self.reach @ judged
        live, sweeper = mass > LIVE, self._sweeper(judged)
        new = self.old.copy()
        new.reshape(-1)[slots] = proposal.probs
        plans = [_plans(sweeper, self.player, policy) for policy in (self.old, new)]

        def mix(weight: float) -> NDArray[np.float64]:
            mixed = (1 - weight) * plans[0] + weight * plans[1]
            return _as_policy(self.below, self.player, mixed, new)

        def attempt(weight: float) -> Attempt:
            policy = mix(weight) if weight else self.old
            found = sweeper.values(1 - self.player, BEST, self._pair(policy), self.reach)
            values = np.where(live, found / np.where(live, mass, 1), 0.0)
            return Attempt(weight, policy.reshape(-1)[slots], values, float(mass @ values))

        if config.certificate == "none":
            return Certified(
                config.anchor, slots, mix(config.anchor).reshape(-1)[slots], considered, before, after
            )
        start = attempt(0.0)
        low, high = self.below.game.payoff_range
        most = start.values + ROUNDING * (high - low)
        best = best_attempt(
            attempt, lambda tried: bool(np.all(tried.values <= most)), start, config, self.deadline
        )
        return Certified(best.weight, slots, best.mixed, considered, start.values, best.values)

    def _noticed(self, considered: Considered, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the pairs by which a certificate judges a change at some slots, [own, opponent's].

        Whatever private state of the opponent's may meet one with which the policy changes notices it, also
        one that the infoset searched rules out.
        """
        pairs = self._pairs(considered, np.arange(len(considered.nodes)))
        if self.config.safety.certificate == "none":
            return pairs
        changed = np.unique(slots % self.old.shape[1])
        noticed: NDArray[np.bool_] = pairs.any(axis=0) | (self.chance[changed] > 0).any(axis=0)
        found: NDArray[np.bool_] = (self.chance > 0) & noticed
        return found

    def _pairs(self, considered: Considered, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return some rows of the pairs considered, [own, opponent's]."""
        found = np.zeros(self.chance.shape, bool)
        found[considered.own_infoset[rows], considered.group[rows]] = True
        return found

    def _masked(self, pairs: NDArray[np.float64]) -> PublicTree:
        """Return the tree without the payoffs of pairs whose weight, [own, opponent's], is 0."""
        kept = (pairs > 0) if self.player == 0 else (pairs > 0).T
        paid = self.below.payoffs.restricted(kept, self._dealt > 0, self.below.kinds_used)
        return replace(self.below, payoffs=paid)

    def _pair(self, policy: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both players' policies, with this one of the searching player."""
        return (policy, self._reply) if self.player == 0 else (self._reply, policy)

    def _sweeper(self, pairs: NDArray[np.float64]) -> PolicySweeper:
        """Return what sweeps the tree of some pairs by their weights; kept while these are asked for."""
        if self._sweeping is None or not np.array_equal(self._sweeping[0], pairs):
            self.close()
            self._sweeping = pairs, PolicySweeper(self._masked(pairs), threads=self.threads)
        return self._sweeping[1]

    def close(self) -> None:
        """End the threads."""
        if self._sweeping is not None:
            self._sweeping[1].close()
            self._sweeping = None


def _plans(sweeper: PolicySweeper, player: int, probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the plan of a policy [rows, wide]: the probability of each sequence below the root."""
    mine, out = sweeper.side(player, probs), np.zeros(probs.size)
    none = np.zeros((sweeper.tree.n_rows[1 - player], sweeper.wide[1 - player]))
    pair = (*mine[:2], out, *mine[3:]), sweeper.side(1 - player, none)
    what = Sweep(1 - player, VALUE, CURRENT, (0, 0), weight=1.0)
    sweeper.sweep(what, NO_RULES, pair if player == 0 else pair[::-1])
    return out.reshape(probs.shape)


def _as_policy(
    tree: PublicTree, player: int, plans: NDArray[np.float64], instead: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return plans [rows, wide] as a policy, `instead` where they never lead."""
    nodes = np.flatnonzero(tree.player == player)
    starts = tree.row[nodes]
    total = np.add.reduceat(plans, starts, axis=0)
    counts = np.diff(np.append(starts, len(plans)))
    total = np.repeat(total, counts, axis=0)
    return np.where(total > 0, plans / np.where(total > 0, total, 1), instead)


@dataclass(frozen=True, eq=False)
class PublicRefinement:
    """What one search came to. source: that was searched. found: the refinement, in the source's numbers."""

    source: PublicSource
    found: Refinement

    @property
    def policy(self) -> NDArray[np.float64]:
        """The player's policy below the public state, [rows, wide], the refined one spliced in."""
        policy = self.source.old.copy()
        policy.reshape(-1)[self.found.slots] = self.found.probs
        return policy

    @property
    def strategy(self) -> PublicPolicy:
        """Both players' strategies, the refined policy spliced in."""
        source = self.source
        every = np.ones(len(source.reach), bool)
        return source.strategy.spliced(source.place.node, source.player, self.policy, every)

    @property
    def seen(self) -> Seen:
        """The infoset as its player sees it."""
        before, place, player = self.source.strategy, self.source.place, self.source.player
        game, public, chance = before.tree.game, public_states(before.tree, place.node), self.source.chance
        own, other = np.divmod(self.found.considered.nodes, chance.shape[1])

        def dealt(rows: NDArray[np.int64]) -> Array:
            pair = (own[rows], other[rows]) if player == 0 else (other[rows], own[rows])
            return game.deal(np.repeat(public, len(rows)), *pair)

        pair = np.array([[place.private], [np.argmax(chance[place.private])]])
        count = before.probs(place.node).shape[1]
        return Seen(
            game=game,
            state=game.deal(public, *(pair if player == 0 else pair[::-1]))[0],
            actions=game.actions(public).values,
            before=before.probs(place.node)[place.private],
            after=self.policy[:count, place.private],
            q=before.values.behind(place.node, player, public)[place.private],
            states=dealt,
        )


def refine_public(
    strategy: PublicPolicy,
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
    *,
    threads: int | None = None,
) -> PublicRefinement:
    """Return the strategy refined at an infoset for the player who acts there.

    rng: of the pairs that are generated.
    options: only its deadline is read; it and `time_limit` end the solution, however little was solved.
    Raises what `PublicSource` raises.
    """
    source = PublicSource(strategy, place, config, options.within(config), threads=threads)
    try:
        return PublicRefinement(source, refine_from(source, rng))
    finally:
        source.close()


class PublicBlueprint:
    """A strategy on a public tree that `gs2.search.explain.solve_infoset` searches with in its own form.

    strategy: both players' policies on the tree of the game that is searched.
    """

    def __init__(self, strategy: PublicPolicy) -> None:
        """Take the policy. Raises PublicPolicyError if its file's tree is damaged."""
        strategy.check_tree()
        self.strategy = strategy

    def searched(
        self,
        infoset: Infoset,
        config: SearchConfig,
        rng: np.random.Generator,
        options: SearchOptions = NO_OPTIONS,
    ) -> SearchResult:
        """Return the refined strategy at an infoset and how it was found."""
        began = time.perf_counter()
        place = find_place(self.strategy.tree, infoset)
        prepared = time.perf_counter() - began
        refined = refine_public(self.strategy, place, config, rng, options)
        found = explain(refined.seen, refined.found, config, most=options.listed)
        return replace(found, seconds={"prepare": prepared, **found.seconds})


def find_place(tree: PublicTree, infoset: Infoset) -> PublicPlace:
    """Return where an infoset lies on a game's public tree.

    Raises PublicSearchError if its player has no choice there; GameError if it is no infoset of the game.
    """
    game = tree.game
    line, states = one_history(game, infoset)
    way = way_on(tree, line)
    node = max(int(tree.child[way[-1][1]]), 0) if way else 0
    own = private_numbers(game, game.public_state(states), states, infoset.player)[0]
    if game.player(states)[0] != infoset.player or len(game.actions(states).values) < 2 or own < 0:
        raise PublicSearchError(
            f"{game.name}: its player must have a choice at the infoset; {infoset.text!r} leaves none"
        )
    return PublicPlace(node, int(own))
