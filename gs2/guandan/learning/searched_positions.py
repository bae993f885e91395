"""Positions of self-play where the network doubts, with what search says of the moves there.

`gs2 guandan search-positions CHECKPOINT -o FILE --minutes N`

The network plays itself, softly. At a share of the decisions with several moves near the best, the search
compares these moves in common deals (`gs2.guandan.agent.racing`). What the rollouts alone come to becomes
the target of these moves: a mean that leaned on the network's opinion would teach it what it thinks. All
others keep the network's own value, and a share of the decisions without doubt is kept as it is, so that
what is not searched is not forgotten.
Source: expert iteration, Anthony, Tian and Barber 2017; Silver et al. 2017.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.training.supervised import SoftPlay
from blueprint.protocol import Decisions
from blueprint.structured import Columns
from cfr.policies.policy import Archive
from cfr.tree.memory import memory_limit
from games.guandan.cards import ACTION
from games.guandan.rounds.state import STATE
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real
from games.support.files import open_regular, replacing
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.evaluator import batched_scores
from gs2.guandan.agent.guandan_config import GuanDanConfig

SEARCH = GuanDanConfig.of(
    name="expert",
    method="rollout",
    deadline=3600,
    worlds=24,
    wave=24,
    candidates=3,
    gap=0.3,
    depth=8,
    trust=100.0,
    pool=48,
    endgame=20_000,
    open_cards=0,
)
"""The search that teaches: few deals at many positions; endgames that are solved teach nothing of values."""
SURE = 0.2
"""Standard deviation in levels that no target is surer than: most of what a search finds at a decision is of
that decision alone (our measurement)."""
APART = 0.6
"""The same of a move that nobody searched."""
FORMAT = "gs2-searched-2"


class PositionsError(ValueError):
    """A file that holds no searched positions, or damaged ones."""


@attrs.frozen(slots=False)
class SeekConfig(Configuration):
    """Which positions are searched.

    share: of the decisions in doubt that are searched. kept: of the others, kept as the network values them.
    temperature, epsilon: of the self-play, in levels, and its share of random moves. rounds: played at once.
    """

    label: ClassVar[str] = "SeekConfig"

    share: float = attrs.field(default=0.25, validator=real(0, 1, above=True))
    kept: float = attrs.field(default=0.1, validator=real(0, 1))
    temperature: float = attrs.field(default=0.05, validator=real(0, 100))
    epsilon: float = attrs.field(default=0.01, validator=real(0, 1))
    rounds: int = attrs.field(default=256, validator=integer(1))


@dataclass(frozen=True, eq=False)
class SearchedPositions(Columns):
    """Decisions with a target for every move.

    states: [n] STATE. actions: table of their canonical moves. target: [m] float32, in levels, comparable
    within a decision. weight: [m] float32, one over the target's variance. searched: [n] bool.
    """

    PER_ACTION = ("target", "weight")
    states: Array
    actions: Ragged
    target: NDArray[np.float32]
    weight: NDArray[np.float32]
    searched: NDArray[np.bool_]

    def save(self, path: str | Path) -> None:
        """Write the positions; the file is whole at every moment.

        Raises FileProblem if it cannot be written.
        """
        with replacing(path) as file:
            np.savez(
                file,
                format=np.frombuffer(FORMAT.encode(), np.uint8),
                states=np.ascontiguousarray(self.states).view(np.uint8),
                counts=self.actions.counts.astype(np.int32),
                moves=np.ascontiguousarray(self.actions.values).view(np.uint8),
                target=self.target,
                weight=self.weight,
                searched=self.searched,
            )

    @classmethod
    def load(cls, path: str | Path) -> SearchedPositions:
        """Return the positions of a file.

        Raises PositionsError if it holds none; FileProblem if it is no file.
        """
        most = memory_limit()
        try:
            with open_regular(path) as file:
                archive = Archive(file, most=most)
                parts = {name: archive[name] for name in archive.names}
            if parts.pop("format").tobytes().decode() != FORMAT:
                raise ValueError("another format")
            states, moves = parts["states"].view(STATE), parts["moves"].view(ACTION)
            actions = Ragged.from_counts(parts["counts"].astype(np.int64), moves)
            made = cls(states, actions, parts["target"], parts["weight"], parts["searched"])
            lengths = (len(made.target), len(made.weight), len(moves))
            if len(set(lengths)) != 1 or not len(states) == len(actions) == len(made.searched):
                raise ValueError("its parts do not fit together")
        except (ValueError, KeyError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise PositionsError(f"{path} must hold searched positions; it does not ({error})") from error
        return made


def _searched(decision: Decision) -> SearchedPositions | None:
    """Return what a decision teaches; None where its moves were not compared."""
    comparison, compared = decision.comparison, decision.candidates
    if comparison is None or not comparison.rollouts:
        return None
    target, weight = decision.q.copy(), np.full(len(decision.q), APART**-2)
    target[compared] = decision.q[compared[0]] + comparison.mean
    # the first is what the others are compared with: it is as sure as the surest of them
    error = np.concatenate([[comparison.error[1:].min()], comparison.error[1:]])
    weight[compared] = 1.0 / (error**2 + SURE**2)
    return _one(decision.state, decision.actions, target, weight, searched=True)


def _kept(decision: Decisions, scores: NDArray[np.float32]) -> SearchedPositions:
    state, weight = decision.states[decision.rows], np.full(len(scores), APART**-2)
    return _one(state, decision.actions.copy(), scores, weight, searched=False)


def _one(state: Array, actions: Array, target: Array, weight: Array, *, searched: bool) -> SearchedPositions:
    table = Ragged.from_counts(np.array([len(actions)]), actions)
    return SearchedPositions(
        state, table, target.astype(np.float32), weight.astype(np.float32), np.array([searched])
    )


def seek_positions(
    agent: Gs2Agent, rng: np.random.Generator, config: SeekConfig | None = None
) -> SearchedPositions:
    """Return positions of a batch of rounds of self-play by the agent's blueprint, searched by the agent.

    Raises PositionsError if nothing was searched or kept.
    """
    config = config or SeekConfig()
    parts: list[SearchedPositions] = []

    def look(decisions: Decisions, scores: NDArray[np.float32]) -> None:
        """Search at a share of the doubtful decisions, and keep some of the others."""
        offsets = decisions.offsets
        best = np.maximum.reduceat(scores, offsets[:-1])
        near = scores >= np.repeat(best, np.diff(offsets)) - agent.config.moves.gap
        doubt = np.add.reduceat(near.astype(np.int64), offsets[:-1]) > 1
        drawn = rng.random(len(decisions))
        past = decisions.past
        group = [
            (part.states[part.rows], part.actions, None if past is None else past.of(int(part.rows[0])))
            for part in _singly(decisions, doubt & (drawn < config.share))
        ]
        kept = ~doubt & (drawn < config.kept)
        found = [_searched(decision) for decision in agent.decide_all(group)] if group else []
        each = zip(_singly(decisions, kept), np.flatnonzero(kept), strict=True)
        found += [_kept(part, scores[offsets[j] : offsets[j + 1]]) for part, j in each]
        parts.extend(positions for positions in found if positions is not None)

    play = SoftPlay(
        partial(batched_scores, agent.evaluator), look, config.temperature, config.epsilon, rng, follows=True
    )
    play.play(config.rounds)
    if not parts:
        raise PositionsError(f"no position of {config.rounds} rounds was searched or kept; play more rounds")
    return SearchedPositions.joined(parts)


def _singly(decisions: Decisions, which: NDArray[np.bool_]) -> list[Decisions]:
    return [decisions.span(int(j), int(j) + 1) for j in np.flatnonzero(which)]
