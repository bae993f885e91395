"""Strategies on the form of private moves: by name, from a file, and by runs that are resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.best_response import best_response_values
from cfr.policies.policy import PolicyError
from cfr.private_moves.form import Both, PrivateMovesForm, list_private_moves
from cfr.private_moves.solver import PrivateMovesSolver, is_private_run, load_private_policy
from cfr.public.saved_run import load_checkpoint, save_checkpoint
from cfr.sequence_form import sequence_form
from cfr.tree import grow
from cfr.variants import Variant
from games.game import Game, GameError
from games.infosets.private_moves import PrivateMovesGame
from gs2.policies.policy_spec import computed_by, is_computed
from gs2.policies.profile_worth import worth_of_two
from gs2.policies.solver_run import Settings, SolverRun
from gs2.policies.tabulate import policy_of

AT_ONCE = 1 << 16
"""Infosets that an agent is asked at together."""


def is_computed_privately(game: Game, spec: str) -> TypeGuard[PrivateMovesGame]:
    """Return whether a text stands for a strategy on this game's form of private moves."""
    known = is_computed(spec) or is_private_run(spec) or spec.endswith(".safetensors")
    return isinstance(game, PrivateMovesGame) and known


def policy_on(form: PrivateMovesForm, blueprint: Blueprint) -> Both:
    """Return a blueprint's policy on the form, asked once at each infoset."""

    def asked(player: int) -> NDArray[np.float64]:
        states = form.decisions(player)
        parts = [np.ones(1)]
        for start in range(0, len(states), AT_ONCE):
            rows = states[start : start + AT_ONCE]
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
    listed = sequence_form(tree, game)
    return lambda blueprint: sum(best_response_values(listed, policy_of(blueprint, game, tree))) / 2


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


class PrivateRun(SolverRun[PrivateMovesSolver]):
    """A run on private moves. Its policy is saved with its state."""

    form = "private"

    @classmethod
    def begin(cls, game: Game, row: Variant, settings: Settings, output: Path | None) -> PrivateRun:
        """Return a run, resumed if its file is there and the settings do not forbid it.

        Raises GameError for a game without private moves, TooLarge for one that does not fit, PolicyError for
        an output that holds no such run, StateError for another game's or variant's.
        """
        if not isinstance(game, PrivateMovesGame):
            raise GameError(
                f"{game.name}: the private form is of games whose players see their own tries alone; "
                "this one has no `placements`; use --form listed (see games.infosets.private_moves)"
            )
        there = output is not None and output.exists() and not settings.fresh
        if there and not is_private_run(str(output)):
            raise PolicyError(
                f"{output}: it holds no run on the form of private moves; use --fresh to replace it"
            )
        run = cls(PrivateMovesSolver(list_private_moves(game), row, threads=settings.threads), output)
        if there and output is not None:
            load_checkpoint(output, run._solver)
            run.resumed = True
        else:
            run.save()
        return run

    def _measured(self) -> dict[str, Any]:
        found = self._solver.evaluate()
        return worth_of_two(found.value, found.best_response)

    def save(self) -> None:
        """Save the state, which the policy is part of."""
        if self.run_file is not None:
            save_checkpoint(self.run_file, self._solver)
