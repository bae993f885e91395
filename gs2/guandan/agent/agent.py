"""The GS2 agent: at each decision the blueprint's opinion, then search as far as time allows.

Whatever fails on the way (no consistent deal, an evaluator that raises, no time left), the agent plays what
it has by then, at worst the blueprint's move or the first legal one, and says so in the decision.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import rounds_alone
from blueprint.protocol import Decisions, PlayedMoves
from games.game import TERMINAL, GameError
from games.guandan.cards import ACTION
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance, deal
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.kernel.lazy import compile_at_once
from gs2.guandan.agent.deals.dealing import Dealer, DealNetworks, load_networks
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.decision import Decision, noted_faults
from gs2.guandan.agent.endgame import is_endgame, solve_drawn
from gs2.guandan.agent.evaluator import InTime, evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig, agent_preset
from gs2.guandan.agent.racing import MoveComparison, Question, candidate_moves, compare_moves
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent.solving.deal_source import (
    DealMemory,
    DealProblem,
    Deals,
    renewed,
    valued,
)
from gs2.guandan.agent.solving.decision_game import contested, solve_contest

_GAME = GuanDan(moves="canonical")
PACE = 500_000
"""Positions that the endgame solver visits in a second, at least (our measurement)."""
OPEN_SHARE = 0.5
"""Share of the time left that it may take."""
AT_FIRST = 3
"""Waves of deals drawn before a comparison; the rest is drawn if that is not enough to settle it."""
COMPILING, FEW = 120.0, 4
"""Seconds and deals that a search has while kernels are compiled."""
RESERVE = 0.06
"""Share of the deadline kept for finishing the work under way."""


Situation = tuple[Array, Array | None, PlayedMoves | None]
"""A state, the actions to choose from (None for the canonical ones), and the moves of its round, if known."""


class Gs2Agent:
    """Plays GuanDan by a blueprint and search; one instance serves any number of rounds and seats.

    networks: the blueprint's evaluator, what plays rollouts, and what knows how likely deals are.
    config: a configuration or a preset's name.
    """

    follows = True

    def __init__(
        self,
        networks: DealNetworks,
        config: GuanDanConfig | str = "standard",
        rng: np.random.Generator | None = None,
    ) -> None:
        self.config = agent_preset(config) if isinstance(config, str) else config
        self.networks, self.evaluator = networks, networks.evaluator
        self.rng = np.random.default_rng() if rng is None else rng
        self._memory = DealMemory()
        self.rollouts = Rollouts.of(networks, self.config)
        self.name = f"gs2-{self.config.name}"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision as an index within its row, [n] int64."""
        past = decisions.past
        group: list[Situation] = []
        for j, row in enumerate(decisions.rows.tolist()):
            moves = None if past is None else past.of(row)
            known = moves if isinstance(moves, PlayedMoves) else None
            group.append((decisions.states[row : row + 1], decisions.table[j], known))
        return np.array([decision.choice for decision in self.decide_all(group)], np.int64)

    def decide(
        self, state: Array, actions: Array | None = None, moves: PlayedMoves | None = None
    ) -> Decision:
        """Return the decision at one state; its player looks at nothing that its seat cannot see.

        state: [1] STATE, unfinished; hidden hands are ignored. actions: [m] ACTION to choose from, by default
            the canonical moves. moves: of the round so far, where they are known.
        Raises GameError if the round is over.
        """
        return self.decide_all([(state, actions, moves)])[0]

    def decide_all(self, situations: Sequence[Situation]) -> list[Decision]:
        """Return the decision in each situation (state, actions, moves), see `decide`.

        Their rollouts run together. They may take as long as one after the other: the deadline is one of
        them all.
        """
        began = time.perf_counter()
        group = []
        for state, actions, moves in situations:
            state = np.array(state, copy=True, ndmin=1)
            if state["player"][0] == TERMINAL:
                raise GameError("guandan: the round is over and no player can act; start a new one")
            if actions is None:
                actions = legal(state, canonical=True).values
            if self.config.objective == "levels":
                state = rounds_alone(state)
            group.append(Decision(state, np.array(actions, ACTION), moves))
        self._search(group, began)
        return group

    def _search(self, group: Sequence[Decision], began: float) -> None:
        """Take these decisions. began: an instant of `time.perf_counter()`, from which their time counts."""
        thinking = [progress for progress in group if len(progress.actions) > 1]
        deadline = began + len(thinking) * self.config.deadline * (1 - RESERVE)
        questions = []
        for progress in self._ask(thinking):
            with noted_faults(progress):
                try:
                    question = self._think(progress, deadline)
                except TimeoutError as error:
                    progress.notes.append(f"{error}: the blueprint's move is played")
                    continue
                if question is not None:
                    questions.append((progress, question))
        self._compare(questions, deadline)

    def warm_up(self, at: Array | None = None) -> list[str]:
        """Search on the time of no decision: kernels compile at first use.

        at: [1] STATE, a decision; what it needs and little else is compiled. By default the agent searches
            here and there in a made-up round.

        Returns the stages that decided. Seconds on a fresh install, a fraction of one later. The agent's own
        random stream is not touched.
        """
        few = {"worlds": FEW, "k": FEW, "sample": 4 * FEW, "room": 4 * FEW}
        given = self.config.to_json()
        unread = self.config.unread(given)
        few = {name: min(number, given[name]) for name, number in few.items() if name not in unread}
        small = self.config.replace(deadline=COMPILING, **few)
        rng = np.random.default_rng(0)
        twin = Gs2Agent(self.networks, small, rng)
        if at is not None:
            return [twin.decide(at.copy()).stage]
        compile_at_once()
        walker = Gs2Agent(self.networks, "blueprint", np.random.default_rng(0))
        state = deal(1, np.random.default_rng(0))
        asked = set()
        stages = []
        while state["player"][0] != TERMINAL:
            kind = (int(state["player"][0]), int(np.count_nonzero(state["left"][0])))
            move = walker.decide(state)
            if len(move.actions) > 1 and kind not in asked:
                asked.add(kind)
                move = twin.decide(state)
                stages.append(move.stage)
            advance(state, move.action)
        return stages

    def _ask(self, group: list[Decision]) -> list[Decision]:
        """Ask the blueprint for its moves, for all together if it can; return those it answered."""
        if not group:
            return []
        states = np.concatenate([progress.state for progress in group])
        sizes = np.array([len(progress.actions) for progress in group])
        table = Ragged.from_counts(sizes, np.concatenate([progress.actions for progress in group]))
        with noted_faults(*group) as fault:
            for progress in group:
                # until the blueprint has spoken: pass if allowed, else the first move listed
                progress.stage = "first"
            q = evaluator_values(self.evaluator, states, table)
            for j, progress in enumerate(group):
                progress.q = q[table.offsets[j] : table.offsets[j + 1]]
            if not np.isfinite(q).all():
                raise ValueError("the blueprint's action values must be finite")
            for progress in group:
                progress.choice = progress.blueprint = int(np.argmax(progress.q))
                progress.stage = "blueprint"
                progress.lap("blueprint")
        if not fault:
            return group
        return [] if len(group) == 1 else [p for progress in group for p in self._ask([progress])]

    def _think(self, progress: Decision, deadline: float) -> Question | None:
        """Settle the choice in `progress`, or return the question that rollouts should settle."""
        config = self.config
        if config.method == "none":
            return None
        dealer = None
        if config.endgame and is_endgame(progress.state, config.open_cards):
            dealer = self._dealer(progress, deadline)
            if self._settle_endgame(progress, dealer, deadline):
                return None
        if np.delete(progress.state["left"][0], progress.seat).sum() > config.most_cards:
            return None
        progress.candidates = candidate_moves(progress.q, progress.actions["type"], config)
        if progress.asked is not None and progress.asked not in progress.candidates:
            others = progress.candidates[: max(1, config.moves.candidates - 1)]
            progress.candidates = np.append(others, progress.asked)
        if len(progress.candidates) == 1:
            progress.stage = "clear"
            return None
        if time.perf_counter() >= deadline:
            progress.notes.append("the time was up before search began: the blueprint's move is played")
            return None
        if not config.compares:
            self._solve(progress, deadline)
            return None
        chosen, dealer = progress.candidates, dealer or self._dealer(progress, deadline)
        most = config.deals.worlds
        first = min(AT_FIRST * config.comparison.wave, most)
        worlds = progress.worlds = dealer.draw(first, most)
        more = None if first == most else partial(dealer.draw, most - first, most, listing=False)
        progress.lap("sampling")
        return Question(progress.state, progress.actions[chosen], progress.q[chosen], worlds, more)

    def _compare(self, questions: list[tuple[Decision, Question]], deadline: float) -> None:
        """Choose by rollouts of the candidates in common deals."""
        if not questions:
            return
        with noted_faults(*(progress for progress, _ in questions)) as fault:
            results = compare_moves(
                [question for _, question in questions], self.rollouts, self.config, deadline
            )
            for (progress, question), comparison in zip(questions, results, strict=True):
                progress.lap("rollouts")
                progress.comparison = comparison
                progress.worlds = comparison.worlds
                if comparison.rollouts == 0:
                    progress.notes.append(
                        "the time was up before search began: the blueprint's move is played"
                    )
                    continue
                if comparison.stopped == "deadline":
                    there = len(comparison.worlds) if comparison.worlds.exact else self.config.deals.worlds
                    played = len(comparison.payoffs)
                    progress.notes.append(f"the time was up after {played} of {there} deals")
                progress.choice = int(progress.candidates[comparison.best])
                progress.stage = "rollout"
                if self.config.method == "subgame":
                    self._play_on(progress, question, comparison, deadline)
        if fault and len(questions) > 1:
            for pair in questions:
                self._compare([pair], deadline)

    def _play_on(
        self, progress: Decision, question: Question, comparison: MoveComparison, deadline: float
    ) -> None:
        """Choose among the moves that stood the comparison by the game of how everybody plays on."""
        if len(contested(comparison)) < 2:
            return
        if time.perf_counter() >= deadline:
            progress.notes.append("the time was up before anybody could play on otherwise: rollouts decide")
            return
        found = solve_contest(question, comparison, self.rollouts, self.config, deadline)
        progress.solution = solution = replace(found, moves=progress.candidates[found.moves])
        progress.choice = int(solution.moves[np.argmax(solution.policy)])
        progress.stage = "subgame"
        progress.lap("subgame")

    def _solve(self, progress: Decision, deadline: float) -> None:
        """Choose by generative subgame solving as published."""
        state, config = progress.state, self.config
        problem = DealProblem(progress, deadline, self.rollouts, config)
        try:
            draw = partial(self._deals, progress, deadline)
            solution = problem.solve(draw, self._draws(state))
        except (TimeoutError, MemoryError) as error:
            progress.notes.append(f"{error}: the blueprint's move is played")
            return
        finally:
            if problem.chosen is not None:
                progress.worlds = problem.chosen
                self._memory.remember(problem.chosen.states, progress.seat)
            progress.lap("subgame", problem.log.seconds)
        progress.solution = solution
        soft = np.exp((progress.q[solution.moves] - progress.q.max()) / config.deals.temperature)
        policy = config.subgame.anchor * solution.policy + (1 - config.subgame.anchor) * soft / soft.sum()
        progress.choice = int(solution.moves[np.argmax(policy)])
        progress.stage = "subgame"

    def _dealer(self, progress: Decision, deadline: float) -> Dealer:
        """Return what draws deals that the player to act considers possible, as far as time allows."""
        until: Any = InTime(self.evaluator, deadline)
        networks, rng = replace(self.networks, evaluator=until), self._draws(progress.state)
        return Dealer(progress.state, progress.moves, networks, self.config.deals, rng)

    def _draws(self, state: Array) -> np.random.Generator:
        """Return what is drawn from at a decision: the agent's stream, or one of the infoset's own."""
        seed = self.config.deals.draws
        if seed is None:
            return self.rng
        told = _GAME.infoset_key(state, int(state["player"][0]))[0, :2]  # the hash says all
        return np.random.default_rng([seed, *told.tolist()])

    def _deals(self, progress: Decision, deadline: float) -> Deals:
        """Return deals for a subgame: sampled, or kept from before and topped up by new ones."""
        state, config, dealer = progress.state, self.config, self._dealer(progress, deadline)
        most, evaluator = config.deals.sample, dealer.networks.evaluator
        new = valued(dealer.draw(most, most), evaluator, config)
        old = self._memory.survivors(state, progress.seat)
        if not config.deals.nested or new.worlds.exact or not len(old):
            return new
        weight = 1.0 if config.deals.greedy else float(new.worlds.weights.mean())
        kept = dealer.weighed(Worlds(old, np.full(len(old), weight), False))
        return renewed(valued(kept, evaluator, config), new, config, dealer.rng)

    def _settle_endgame(self, progress: Decision, dealer: Dealer, deadline: float) -> bool:
        """Decide the end of a round with open cards; return whether that settled the choice."""
        limit = min(self.config.endgame, int(OPEN_SHARE * (deadline - time.perf_counter()) * PACE))
        if limit <= 0:
            return False
        solved = solve_drawn(dealer, progress.actions, limit)
        progress.lap("endgame")
        if solved is None:
            progress.notes.append("the end of the round was too large to solve in time")
            return False
        if not solved.settled:
            progress.notes.append("against best play with open cards all moves come to the same")
            return False
        progress.worlds = solved.worlds
        if solved.certain:
            progress.endgame, progress.stage = solved, "endgame"
            progress.choice = solved.best(progress.q)
            return True
        progress.candidates = np.argsort(-progress.q, kind="stable")
        progress.comparison, progress.stage = solved.compared(progress.candidates, progress.q), "open"
        progress.choice = int(progress.candidates[progress.comparison.best])
        return True


def make_agent(
    blueprint: str | Path | None = None,
    config: GuanDanConfig | str = "standard",
    rng: np.random.Generator | None = None,
) -> Gs2Agent:
    """Return the agent on the networks of a checkpoint (`load_networks`), by default the shipped one."""
    return Gs2Agent(load_networks(blueprint), config, rng)
