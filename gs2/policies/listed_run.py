"""A run of CFR on the listed tree of a game, some of whose infosets may be locked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cfr.policies.lock import LockedTree
from cfr.policies.policy import PolicyError, load_policy, load_state, save_policy, tabular_policy
from cfr.policies.policy_words import policy_words, save_policy_json
from cfr.sequence_form import is_two_sided, sequence_form
from cfr.solver import Solver
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from cfr.variants import Variant
from games.game import Game
from gs2.policies.profile_worth import no_promise, profile_worth, worth_of_two
from gs2.policies.public_trees import forget_run
from gs2.policies.solver_run import Settings, SolverRun


class ListedRun(SolverRun[Solver | TreeSolver]):
    """A run on the listed tree. Its policy is saved with its state, or alone, in words, in a .json file."""

    form = "listed"

    def __init__(
        self, game: Game, row: Variant, tree: FlatTree, settings: Settings, output: Path | None
    ) -> None:
        lock = settings.lock
        self._locked = None if lock is None else LockedTree(tree, lock.read(game, tree))
        solved = tree if self._locked is None else self._locked.tree
        two = is_two_sided(solved)
        solver = Solver(sequence_form(solved, game), row) if two else TreeSolver(solved, row)
        self._game, self._tree, self._output = game, tree, output
        in_words = output is not None and output.suffix == ".json"
        self._words = policy_words(game, tree) if in_words else None
        self._note = "" if lock is None else f", {lock.file} locked"
        super().__init__(solver, None if in_words else output)
        self.notice = "" if two else f"{game.name}: {no_promise(tree)}"

    @classmethod
    def begin(
        cls, game: Game, row: Variant, tree: FlatTree, settings: Settings, output: Path | None
    ) -> ListedRun:
        """Return a run, resumed if its file is there and the settings do not forbid it.

        tree: the game's, with its states for a lock or a policy in words.
        Raises PolicyError for an output that holds no run of this game, StateError for another variant's.
        """
        run = cls(game, row, tree, settings, output)
        if output is not None and output.exists() and not settings.fresh:
            load_policy(output, game.name, tree)
            state = load_state(output, tree)
            if state is None:
                raise PolicyError(
                    f"{output}: it holds a policy but no run to resume; use --fresh to replace it"
                )
            run._solver.load_state_dict(state)
            run.resumed = True
        run.save()  # before the work: an unwritable place is better known now
        if output is not None and settings.fresh:
            forget_run(output)
        return run

    @property
    def about(self) -> dict[str, Any]:
        """Return how many infosets are locked, if any are to be."""
        return {} if self._locked is None else {"locked": self._locked.n_locked}

    def save(self) -> None:
        """Save the policy, with the state unless it is in words."""
        if self._output is None:
            return
        solver, average = self._solver, self._solver.average_policy()
        whole = average if self._locked is None else self._locked.whole(average)
        note = f"{solver.variant.name}, {solver.iteration} iterations{self._note}"
        policy = tabular_policy(self._game.name, self._tree, whole, note)
        if self._words is None:
            save_policy(self._output, policy, solver.state_dict())
        else:
            save_policy_json(self._output, policy, self._tree, self._words)

    def _measured(self) -> dict[str, Any]:
        solver = self._solver
        if isinstance(solver, TreeSolver):
            return profile_worth(solver.tree, solver.average_policy())
        return worth_of_two(*solver.evaluate())
