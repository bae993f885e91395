"""Histories drawn at one infoset: the source of searches in a game that cannot be listed.

What is drawn is made a tree of its own, which the pipeline then searches as it does a whole game's:

1. Histories of the infoset (`games.infosets.sampling`), with everyone's reach under the blueprint.
2. Companions: histories of every opponent infoset that they belong to. Without them an opponent would know,
   wherever it acts, which of a few histories it is in, and nobody answers such an opponent.
3. The subgame below all of these, to the end of the game or to a depth limit and leaf values.

A root's weight estimates the reach of chance and the searching player: that of the infoset's own histories
as drawn there, that of the rest of an opponent infoset as its companions say, both without bias. Where
everything there is to draw was drawn, weights are exact and so is the search. Where a seat may not notice
that another moved, everything includes what it may later confuse with what lies below (`sealed_groups`).
Elsewhere a certificate knows only a part of what the opponent may hold, so that some of what was drawn is
kept out of the subgame for it alone, and less of what it certifies is used (`_trust`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from blueprint.tabular import KeyIndex
from cfr.tree import TreeBudget, grow, require_states
from cfr.tree.memory import SEARCH_BYTES, TooLarge
from cfr.values import group_values
from games.game import Game, payoff_span
from games.infosets.following import thinned
from games.infosets.histories import HistorySample, joined_samples, line_order
from games.infosets.sampling import follow_trails
from games.infosets.trail import Trail
from games.infosets.two_seats import seat_trails
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.policies.tabulate import places_among, policy_of
from gs2.search.config.search import BY_RESPONSE, SearchConfig, on_tree
from gs2.search.context import SearchContext, SearchOptions, Strategy
from gs2.search.continuation_policies import ValuedByAnother
from gs2.search.gadget.path import LIVE
from gs2.search.generation import generate
from gs2.search.histories.sampled_growth import ActionErrors, action_errors, fitting_roots, grow_sampled
from gs2.search.histories.seats import past_rule
from gs2.search.result import ActionRow, SampleSize, SearchResult
from gs2.search.subgame.continuations import known_at
from gs2.search.subgame.cut import root_numbers
from gs2.search.subgame.leaf import LeafEvaluator

SEALING = TreeBudget(max_nodes=100_000, history_bytes=SEARCH_BYTES)
"""What may lie below histories where it is searched for what it can be confused with."""


def are_sealed(own: HistorySample, groups: list[HistorySample]) -> bool:
    """Return whether what looks like the infoset or a group leads to it, after equally many moves."""
    lengths = np.unique(np.concatenate([own.lines.counts, *(group.lines.counts for group in groups)]))
    return len(lengths) == 1 and own.sealed and all(group.sealed for group in groups)


def sealed_groups(
    game: Game,
    player: int,
    own: HistorySample,
    groups: list[HistorySample],
    follow: Callable[[list[Trail], int], list[HistorySample]],
    most: int,
) -> list[HistorySample] | None:
    """Return histories that nobody can take for others, at or below them; None if there are more than `most`.

    A search at some histories is exact if no seat, at anything below them, can take itself to be outside.
    Where all that looks like an infoset to its player leads to its histories, that holds
    (`HistorySample.sealed`). Where a seat need not notice that another moved, histories of other infosets are
    added until it does: what `gs2.search.histories.covers` does on a whole tree, without one.
    own: all histories of the player's infoset. groups: all of the opponent's infosets that they belong to.
    follow: gives up to n histories of each trail. Every infoset of both seats below is followed to the end of
    the game, what lies outside is added, and again, until none reaches outside.
    """
    if are_sealed(own, groups):
        return groups
    seen: set[tuple[int, int, bytes]] = set()
    while True:
        every = joined_samples(groups)
        every = every.take(np.flatnonzero(apart(every.lines, np.zeros(len(every), bool))))
        if len(every) > most:
            return None
        trails = _trails_below(game, player, own, every, seen)
        if trails is None or len(trails) > most:
            return None
        new = follow(trails, most + 1) if trails else []
        if not all(sample.complete for sample in new):
            return None
        if not new:
            return [every]
        groups = [every, *new]


def _trails_below(
    game: Game, player: int, own: HistorySample, roots: HistorySample, seen: set[tuple[int, int, bytes]]
) -> list[Trail] | None:
    """Return a trail to each infoset at or below some histories that is not in `seen`, and add it there.

    Where the player acts, what its opponent knows is an infoset, too. None if the tree is too large, or if
    the blueprint of other seats never leads from the histories to those of the infoset, `own`.
    """
    ones = np.ones(len(roots))
    try:
        tree = require_states(grow(game, roots.states, ones, budget=SEALING), "sampling")
    except TooLarge:
        return None
    root_of, trails = root_numbers(tree), []
    for seat, acting in ((0, 0), (1, 1), (1 - player, player)):
        nodes = np.flatnonzero(tree.player == acting)
        keys = game.infoset_key(tree.states[nodes], seat)
        if seat == acting == player and not np.all(keys == game.infoset_key(own.states[:1], seat), 1).any():
            return None
        lines = []
        for row in np.unique(keys, axis=0, return_index=True)[1].tolist():
            name = seat, acting, keys[row].tobytes()
            if name not in seen:
                seen.add(name)
                node = int(nodes[row])
                root = roots.lines[int(root_of[node])]
                lines.append(np.concatenate([root, tree.action[tree.way_to(node)].astype(root.dtype)]))
        if lines:
            counts = np.array([len(line) for line in lines])
            trails += seat_trails(game, Ragged.from_counts(counts, np.concatenate(lines)), seat)
    return trails


def apart(lines: Ragged, first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which histories are kept so that none goes on from another, [n] bool.

    first: [n] bool, those that are kept rather than the others.
    """
    kept = np.ones(len(lines), bool)
    names: set[bytes] = set()
    above: set[bytes] = set()
    lengths = np.unique(lines.counts).tolist()
    for row in np.lexsort((lines.counts, ~first)).tolist():
        line = lines[row]
        ways = {line[:length].tobytes() for length in lengths if length <= len(line)}
        kept[row] = not (ways & names) and line.tobytes() not in above
        if kept[row]:
            names.add(line.tobytes())
            above |= ways
    return kept


class _ChangedPlay(ValuedByAnother):
    """A blueprint in whose place a player follows a strategy at some infosets of a tree.

    The tree may lack some of the actions there: with `beyond` = never those are not played.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        player: int,
        strategy: Strategy,
        infosets: NDArray[np.int64],
        beyond: str,
    ) -> None:
        tree = strategy.tree
        self._never = beyond == "never"
        self.name, self.base, self._player = blueprint.name, blueprint, player
        self._index = KeyIndex(tree.infoset_key[infosets])
        actions = tree.slot_actions()
        self._there = [(actions[s], strategy.raw[s]) for s in map(tree.slots, infosets.tolist())]

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        probs = np.array(self.base.policy(game, states, player, actions), np.float64)
        if player != self._player:
            return probs
        found = self._index.find(game.infoset_key(states, player))
        for number in np.unique(found[found >= 0]).tolist():
            rows = np.flatnonzero(found == number)
            kept, instead = self._there[number]
            legal = actions[int(rows[0])]
            slots = actions.offsets[rows][:, None] + np.arange(len(legal))
            here = np.zeros(len(legal)) if self._never else probs[slots[0]]
            places = places_among(legal, kept)
            here[places] = 0
            here[places] = instead * (1 - here.sum())
            probs[slots] = here
        return probs


SPARE = 2
"""Histories of an opponent infoset that are drawn for each companion asked for."""

RESERVE = 16
"""Opponent infosets kept out of the subgame at which half of a certified weight is used where nothing else
speaks for those that were not drawn."""
LEAST = 0.01
"""Share of a certified weight that is used in any case."""


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a game that one search is made on: the whole tree, or what lies below histories drawn.

    Where they are drawn it is a `gs2.search.context.TrialSource`: what a subgame was solved on says nothing
    of what was not drawn, so a certificate by games draws others for that alone. Those that the tree lacks,
    and whatever lies behind a depth limit or a branch that was left out, are played by the blueprint.

    context, strategy: the tree, and the blueprint on it. infoset: its number in the tree. asked: the
    configuration as it was asked for; config: of the search on this tree, which lists its histories.
    size: how much was drawn; None where the game is listed. errors: of the values of the infoset's actions;
    None where nothing was left to luck. trail: what led to an infoset whose histories are drawn. seed: of
    those that a certificate draws.
    """

    context: SearchContext
    strategy: Strategy
    infoset: int
    asked: SearchConfig
    config: SearchConfig
    size: SampleSize | None = None
    errors: ActionErrors | None = None
    trail: Trail | None = None
    seed: int = 0

    def draw(self, n: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return n histories of the infoset and their weights, independent of each other.

        Of an infoset that is known wholly they are drawn as likely as they are; elsewhere each trial is a
        sample of one history, of a weight without bias. Of a game that draws by itself, those that it drew.
        """
        assert self.trail is not None  # or all histories are listed
        rng = np.random.default_rng(self.seed)
        draw = _Draw(self.context.game, self._blueprint, self.trail, self.asked, rng)
        found = draw.follow([self.trail], n)[0]
        weight = draw.likely(found)
        if found.complete:
            return found.states[rng.choice(len(found), n, p=weight / weight.sum())], np.ones(n)
        if found.scaled:
            ones = draw.follow([self.trail] * n, 1)
            if all(one.scaled for one in ones):
                every = joined_samples(ones)
                return every.states, draw.likely(every)
        order = rng.permutation(len(found))
        return found.states[order], weight[order]

    def plays(self, strategies: tuple[Strategy, ...]) -> tuple[Blueprint, ...]:
        """Return what plays each of some strategies on the tree where any of them is not the blueprint."""
        tree = self.strategy.tree
        player = int(tree.infoset_player[self.infoset])
        changed = np.any([strategy.raw != self.strategy.raw for strategy in strategies], axis=0)
        there = np.unique(tree.slot_infoset[changed & (tree.slot_player == player)])
        beyond = self.asked.subgame.beyond
        return tuple(_ChangedPlay(self._blueprint, player, one, there, beyond) for one in strategies)

    @property
    def _blueprint(self) -> Blueprint:
        return self.strategy.known_blueprint(self.context.game)

    def legal(self) -> tuple[NDArray[Any], Ragged]:
        """Return a history of the infoset, [1], and its legal actions, of which the tree may lack some."""
        tree = require_states(self.context.tree, "search")
        first = int(tree.infoset_first_node()[self.infoset])
        state = tree.states[first : first + 1]
        return state, self.context.game.actions(state)

    def places(self, legal: Ragged) -> NDArray[np.int64]:
        """Return the place of each of the tree's actions among the legal ones of the infoset, [k] int64."""
        tree = self.context.tree
        return places_among(legal.values, tree.slot_actions()[tree.slots(self.infoset)])

    def whole(self, legal: Ragged, here: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the policy over all legal actions, [a] float64, from that over the tree's, [k] float64."""
        searched, out = self.places(legal), np.zeros(len(legal.values))
        if self.asked.subgame.beyond == "blueprint" and len(searched) < len(legal.values):
            out[:] = self._played(legal)
        out[searched] = 0
        out[searched] = here * (1 - out.sum())
        return out

    def _played(self, legal: Ragged) -> NDArray[np.float64]:
        """Return what the blueprint plays of all legal actions, [a] float64."""
        game, (state, _) = self.context.game, self.legal()
        player = int(self.context.tree.infoset_player[self.infoset])
        return np.array(self._blueprint.policy(game, state, player, legal), np.float64)

    def told(self, found: SearchResult) -> SearchResult:
        """Return a result with the standard error of every value that hangs on what was drawn or played out.

        Actions beyond the branches are listed too, with what the blueprint plays of all.
        """
        if self.errors is not None:
            every = self.errors.of(np.eye(len(found.actions)))
            actions = [
                replace(row, error=float(error)) for row, error in zip(found.actions, every, strict=True)
            ]
            shares = [[row.refined for row in actions], [row.blueprint for row in actions]]
            after, before = self.errors.of(np.array(shares)).tolist()
            found = replace(found, actions=tuple(actions), value_error=after, blueprint_value_error=before)
        game, (state, legal) = self.context.game, self.legal()
        if len(legal.values) == len(found.actions):
            return found
        played, searched = self._played(legal), self.places(legal)
        refined = self.whole(legal, np.array([row.refined for row in found.actions]))
        rows = [
            ActionRow(game.action_text(state[0], action), float(old), float(new), None)
            for action, old, new in zip(legal.values, played, refined, strict=True)
        ]
        for place, row in zip(searched.tolist(), found.actions, strict=True):
            rows[place] = replace(row, blueprint=rows[place].blueprint, refined=rows[place].refined)
        branches = found.config.subgame
        beyond = f"branches = {branches.branches}" + f", gap = {branches.gap}" * (branches.gap is not None)
        note = f"actions not searched: {len(rows) - len(searched)} of {len(rows)} ({beyond})"
        share = float(np.delete(played, searched).sum())
        if share > 0:
            note += f"; the blueprint plays them {share:.2%} of the time, and values are without them"
        return replace(found, actions=tuple(rows), cut_off=(note, *found.cut_off))


def sample_tree(
    game: Game,
    blueprint: Blueprint,
    trail: Trail,
    config: SearchConfig,
    rng: np.random.Generator,
    leaf: LeafEvaluator | None = None,
) -> Part:
    """Return the tree below histories drawn at the end of a trail, where its player acts.

    leaf: values histories at the depth limit in place of the configured evaluator.
    Raises ConfigError for a configuration that needs more of the game than a sample, for a leaf without a
    depth limit and for a game of more than two players, GameError if nothing can be drawn, TooLarge if what
    lies below does not fit.
    """
    if game.num_players != 2:
        raise ConfigError(
            f"{game.name}: a search at sampled histories needs two players; got {game.num_players}; see it "
            "from two seats (gs2.search.histories.seats), as refine_at and solve_infoset do"
        )
    if trail.acting != trail.player:
        raise ConfigError(
            f"{game.name}: the player of the trail must act where it ends; player {trail.player} waits there "
            f"for {trail.acting}"
        )
    SearchOptions(leaf=leaf).check_leaf(config)
    if leaf is None:
        config.require_sampled()
        leaf = SearchOptions().leaf_for(config)
    draw = _Draw(game, blueprint, trail, config, rng)
    roots = draw.roots()
    while True:
        kept = roots.states, roots.weight, roots.reach
        tree, playouts = grow_sampled(game, blueprint, kept, config, rng, leaf)
        context = SearchContext(game, tree)
        key = tree.infoset_key == trail.keys[-1]
        number = int(np.flatnonzero((tree.infoset_player == trail.player) & key.all(axis=1))[0])
        fitting = fitting_roots(context, number)
        if fitting.all():
            break
        roots = roots.take(np.flatnonzero(fitting))
    strategy = Strategy(tree, policy_of(blueprint, game, tree), blueprint, above=roots.above)
    drawn = roots.config
    errors = action_errors(strategy, number, playouts)
    if config.solve.doubt > 0:
        gains = errors.gains(strategy.probs[tree.slots(number)])
        doubt = config.solve.doubt * float(gains.max()) / payoff_span(game)
        priced = attrs.evolve(drawn.solve, temperature=drawn.solve.temperature + doubt)
        drawn = attrs.evolve(drawn, solve=priced)
    elif config.solve.caution > 0:
        luck = replace(errors, drawn=np.zeros_like(errors.drawn)) if roots.every else errors
        noise = luck.share(strategy.probs[tree.slots(number)])
        shorter = drawn.solve.step / (1 + config.solve.caution * noise)
        drawn = attrs.evolve(drawn, solve=attrs.evolve(drawn.solve, step=shorter))
    seed = int(rng.integers(1 << 62)) if config.safety.certificate == "statistical" else 0
    games = 0 if playouts is None else playouts.payoffs.shape[1]
    exact = roots.size.complete and games == 0
    size = replace(roots.size, games=games)
    return Part(context, strategy, number, config, drawn, size, None if exact else errors, trail, seed)


@dataclass(frozen=True, eq=False)
class _Roots:
    """What a sampled tree stands on; r histories.

    weight: [r] float64, reach of chance and, where the player's own play leads here, of the player.
    above: [r, P] float64, the parts of reach that `weight` leaves out, the opponent's as far as it is
    believed. reach: [r] float64, `weight` with the opponent's part. every: whether none of the infoset's is
    missing.
    """

    states: NDArray[Any]
    weight: NDArray[np.float64]
    above: NDArray[np.float64]
    reach: NDArray[np.float64]
    config: SearchConfig
    size: SampleSize
    every: bool

    def take(self, rows: NDArray[np.int64]) -> _Roots:
        """Return some of the histories."""
        size = replace(self.size, drawn=len(rows), complete=False)
        parts = {name: getattr(self, name)[rows] for name in ("states", "weight", "above", "reach")}
        return replace(self, size=size, every=False, **parts)


class _Draw:
    """Draws the histories of one search."""

    def __init__(
        self, game: Game, blueprint: Blueprint, trail: Trail, config: SearchConfig, rng: np.random.Generator
    ) -> None:
        self.game, self.blueprint, self.trail, self.config, self.rng = game, blueprint, trail, config, rng
        self.player, self.opponent = trail.player, 1 - trail.player
        self.drawn = 0
        self.past = past_rule(blueprint, self.player, config)

    def follow(self, trails: list[Trail], n: int) -> list[HistorySample]:
        """Return up to n histories of each trail's infoset."""
        explore = self.config.histories.explore
        return follow_trails(self.game, trails, n, self.rng, policy=self.past, explore=explore)

    def likely(self, sample: HistorySample) -> NDArray[np.float64]:
        """Return how likely chance and the opponent, as far as it is believed, make histories, [n] float64.

        Alike where they never lead here.
        """
        theirs = sample.players[:, self.opponent] ** self.config.histories.belief
        weight: NDArray[np.float64] = sample.stands * sample.chance * theirs
        return weight if weight.sum() > 0 else np.ones(len(sample))

    def roots(self) -> _Roots:
        """Return the histories drawn, with their weights and the configuration that fits them."""
        most, config = self.config.histories.samples, self.config
        own = self.follow([self.trail], most)[0]
        self.drawn = len(own)
        certified = config.safety.certificate in BY_RESPONSE
        closure = config.histories.order is None or config.subgame.rest == "summary"
        # A certificate of what is solved at other infosets must know who may notice it there.
        closure = closure or (certified and config.safety.scope == "block")
        if closure and own.complete:
            groups = self._sealed(own, self._closure(own, most))
            if groups is not None:
                return self._joined(own, groups, on_tree(config), True)
        companions = config.histories.companions
        if companions == 0:
            return self._joined(own, [], _of_a_part(config, len(own), 1.0), False)
        # Those of the infoset itself are among them, and are known already.
        drawn = SPARE * companions
        groups = self.follow(self._opponents(own), drawn) if own.complete else []
        exact = own.complete and all(group.complete and len(group) <= companions for group in groups)
        small = exact and sum(len(group) for group in groups) <= most
        if config.generation.generator != "all" and not certified and not closure and not small:
            own, config = self._chosen(own, config)
            groups, exact = [], False
        groups = groups or self.follow(self._opponents(own), drawn)
        if exact and not closure and (sealed := self._sealed(own, groups)) is not None:
            return self._joined(own, sealed, on_tree(config), True)
        inside = len(groups) // 2
        if config.generation.generator != "all" and certified:
            k = config.generation.fallback_k if config.subgame.rest == "summary" else config.generation.k
            inside = max(1, min(inside, k or 1))
        config = _of_a_part(config, inside, _trust(own, len(groups) - inside) if certified else 1.0)
        return self._joined(own, groups, config, False)

    def _chosen(self, own: HistorySample, config: SearchConfig) -> tuple[HistorySample, SearchConfig]:
        """Return the histories that the generator chooses by the blueprint's values, before others are drawn.

        Companions of what is not chosen would be grown for nothing.
        """
        group = self._groups(own)
        weight = own.stands * own.chance
        values = self.blueprint.value(self.game, own.states, self.opponent)
        worth = group_values(values, weight, group)[group]
        assert config.generation.k is not None  # every generator that chooses has one
        rows, _ = generate(config.generation.generator, worth, weight, config.generation.k, self.rng)
        return own.take(rows), config.replace(generator="all")

    def _groups(self, histories: HistorySample) -> NDArray[np.int64]:
        """Return the number of the opponent's infoset at each history, [n] from 0."""
        return known_at(self.game, histories.states, self.opponent)

    def _opponents(self, own: HistorySample) -> list[Trail]:
        """Return the trail of the opponent to each of its infosets among some histories."""
        first = np.unique(self._groups(own), return_index=True)[1]
        return seat_trails(self.game, own.lines.take(first), self.opponent)

    def _closure(self, own: HistorySample, most: int) -> list[HistorySample] | None:
        """Return the common-knowledge closure, by infosets of the opponent; None if it has more histories."""
        seen: tuple[set[bytes], set[bytes]] = (set(), set())
        seen[self.player].add(self.trail.keys[-1].tobytes())
        found: list[HistorySample] = []
        new = [own]
        while new:
            for seat in (self.opponent, self.player):
                trails = []
                for sample in new:
                    keys = self.game.infoset_key(sample.states, seat)
                    fresh = []
                    for row in np.unique(keys, axis=0, return_index=True)[1]:
                        name = keys[row].tobytes()
                        if name not in seen[seat]:
                            seen[seat].add(name)
                            fresh.append(row)
                    trails += seat_trails(self.game, sample.lines.take(np.array(fresh, np.int64)), seat)
                new = self.follow(trails, most + 1) if trails else []
                if not all(sample.complete for sample in new):
                    return None
                if seat == self.opponent:
                    found += new
                    if sum(len(sample) for sample in found) > most:
                        return None
        return found

    def _sealed(self, own: HistorySample, groups: list[HistorySample] | None) -> list[HistorySample] | None:
        """Return the groups with all that may be confused with what lies below; None if it is too much."""
        subgame = self.config.subgame  # a thinned tree need not lead from further roots to the infoset
        whole = subgame.depth is None and subgame.branches is None
        if groups is None or not (whole or are_sealed(own, groups)):
            return None
        return sealed_groups(self.game, self.player, own, groups, self.follow, self.config.histories.samples)

    def _joined(
        self, own: HistorySample, groups: list[HistorySample], config: SearchConfig, exact: bool
    ) -> _Roots:
        """Return the histories of the infoset and of the opponent infosets as one."""
        player = self.player
        reached = bool(np.any(own.chance * own.players[:, player] > LIVE))
        if groups:
            every = joined_samples(groups) if exact else self._with_own(own, groups, reached)
        else:
            every = own
        weight = self._weight(every, reached)
        above = every.players.copy()
        above[:, self.opponent] **= self.config.histories.belief
        if reached:
            above[:, player] = 1.0
        order = line_order(every.lines)
        counts = every.lines.counts
        if not exact and counts.min() < counts.max():
            key = self.game.infoset_key(every.states, player)
            inside = np.all(key == self.trail.keys[-1], axis=1)
            order = order[apart(every.lines, inside)[order]]
        size = SampleSize(
            histories=self.drawn,
            opponents=int(self._groups(every).max()) + 1 if groups else 0,
            drawn=len(order),
            effective=own.effective(player),
            complete=exact,
        )
        reach = weight * above[:, self.opponent]
        parts = every.states[order], weight[order], above[order], reach[order]
        return _Roots(*parts, config, size, own.complete)

    def _with_own(self, own: HistorySample, groups: list[HistorySample], reached: bool) -> HistorySample:
        """Return the infoset's histories as drawn there, and the rest of the opponent infosets as drawn here.

        Where sums over the latter are of no scale, they are given that at which both agree on the former.
        """
        game, most = self.game, self.config.histories.companions
        every = joined_samples(groups)
        stands, weight = every.stands.copy(), self._weight(every, reached)
        outside = np.any(game.infoset_key(every.states, self.player) != self.trail.keys[-1], axis=1)
        kept = outside.copy()
        end = 0
        for group in groups:
            start, end = end, end + len(group)
            others = start + np.flatnonzero(outside[start:end])
            if not group.scaled:
                key = game.infoset_key(group.states[:1], self.opponent)
                mine = np.all(game.infoset_key(own.states, self.opponent) == key, axis=1)
                ours = self._weight(own, reached)[mine].sum()
                # An infoset that no draw met is likely to be less than one draw's worth of it.
                met = weight[start:end][~outside[start:end]].sum()
                stands[others] *= ours / max(met, weight[start:end].mean(), LIVE)
            if len(others) > most:
                rows, each = thinned(weight[others], most, self.rng)
                kept[others] = False
                kept[others[rows]] = True
                stands[others[rows]] *= each
        rest = replace(every, stands=stands).take(np.flatnonzero(kept))
        return joined_samples([own, rest])

    def _weight(self, sample: HistorySample, reached: bool) -> NDArray[np.float64]:
        """Return the weight of each history as a root, [n] float64."""
        weight = sample.stands * sample.chance
        return weight * sample.players[:, self.player] if reached else weight


def _trust(own: HistorySample, held: int) -> float:
    """Return which share of a certified weight is used, in [0, 1].

    held: opponent infosets drawn and kept out of the subgame, which are as good as new to its solution: of h
    of them that no weight up to λ harms, the next one is harmed below λ with probability 1 / (h + 1), and
    harm is convex in the weight. So λ is used for the share of the infoset that was drawn, less that
    probability, and with more reserve for the rest. Measured: docs/how-to/sampled_histories.md.
    """
    stands = float(np.sum(own.stands * own.chance))
    share = float(np.sum(own.chance)) / stands if own.scaled and stands > 0 else 0.0
    trust = share * held / (held + 1) + (1 - share) * held / (held + RESERVE)
    return max(round(trust, 2), LEAST)


@lru_cache(maxsize=256)
def _of_a_part(config: SearchConfig, most: int, trust: float) -> SearchConfig:
    """Return a configuration for the tree of a sample of what it asks for.

    most: histories that may enter the subgame if a certificate is to judge it by others.
    trust: share of a certified weight that is used.
    Of the player's other infosets only some histories are there: what is solved at them replaces nothing.
    """
    if config.subgame.rest == "summary":
        chosen = config.generation
        if chosen.generator != "all":
            config = config.replace(fallback_k=max(1, chosen.fallback_k or chosen.k or 1))
        config = config.fallback()
    changes: dict[str, Any] = {"source": "enumerated", "depth": None, "branches": None}
    if config.safety.scope == "block":
        changes["scope"] = "subtree"
    if config.safety.certificate in BY_RESPONSE:
        changes["shrink"] = config.safety.shrink * trust
        if config.generation.k is not None:
            changes["k"] = max(1, min(config.generation.k, most))
    return config.replace(**changes)
