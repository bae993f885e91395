"""Pieces: shares of a generation of self-play, which come out the same wherever they are played.

A piece is rounds, dealt or to be dealt, and a seed. With the weights that play it decides every game to the
last move: one that was lost with its machine is played again. `PieceGame` plays; what comes back is
`PlayedPiece`. A trainer hands out a generation, learns, and collects the oldest one that is out: `ThreadCrew`
plays in this process, `ray_crew` has one whose actors play anywhere.

From there a piece comes back as a record: the index of every move chosen and the target of every decision
learned from. The trainer plays it again by these indices, without a network, and has the same states. A
decision takes some ten bytes so, and up to 816 as it is learned from.
"""

from __future__ import annotations

import pickle
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.game_lockstep import PlayRecord, Seated, play_rounds
from blueprint.learning.learner import BaseLearner, arrays_of
from blueprint.learning.returns import lambda_returns, shared_worth
from blueprint.paper_parts import paper_part
from blueprint.protocol import Agent, Decisions, DrawingAgent, MoveInputs, drawn
from blueprint.soft_choices import SoftAgent, TopChoices
from blueprint.structured import Columns
from games.game import Game
from games.support.array_types import Array, Ints
from games.support.interruption import Interrupted
from games.support.work.executor import niceness, step_behind

CriticValues = Callable[[Array, Ints], Array]
"""Values states [n], all hands open, for seats [n]: an answer a row."""
CERTAIN = 0.15
"""Share that is learned of the decisions that leave no doubt, where `MoveTraining.focus` is set."""


@dataclass(frozen=True)
class Piece:
    """A share of a generation.

    generation, part: which one. rounds: how many. dealt: these as they begin, packed, and their dtype; empty
    where they are dealt as they are played. seed: of everything that is drawn in it. decisions: trained when
    it was handed out, for what cools down. weights: how often each member of the league is met, as shares.
    """

    generation: int
    part: int
    rounds: int
    dealt: tuple[bytes, Any]
    seed: np.random.SeedSequence
    decisions: int
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        place: tuple[int, int],
        rounds: Array | int,
        rng: np.random.Generator,
        decisions: int,
        weights: Array | None = None,
    ) -> Piece:
        """Return the piece of (generation, part) with these rounds, [n], or so many that are to be dealt.

        rng: unused, of its seed.
        """
        seed = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
        weights = np.ones(0) if weights is None else weights
        if isinstance(rounds, int):
            return cls(*place, rounds, (b"", None), seed, decisions, weights)
        packed = zlib.compress(np.ascontiguousarray(rounds).tobytes(), 1)
        return cls(*place, len(rounds), (packed, rounds.dtype), seed, decisions, weights)

    def states(self) -> Array:
        """Return its rounds as they begin, [n], to be played in place, where they are dealt."""
        return np.array(np.frombuffer(zlib.decompress(self.dealt[0]), self.dealt[1]))

    def generator(self) -> np.random.Generator:
        """Return the generator of everything that is drawn in it, from its start."""
        return np.random.Generator(np.random.PCG64(self.seed))


class Opposed(Seated):
    """Plays some seats by others than the network, `agents[0]`; what they decide is not learned from."""

    def ours(self, record: PlayRecord) -> NDArray[np.bool_]:
        """Return which decisions of these rounds the network took, [n]."""
        found: NDArray[np.bool_] = self.who[record.rounds, record.seats] == 0
        return found

    def own(self, record: PlayRecord) -> PlayRecord:
        """Return a record of these rounds without what the others decided; all moves stay counted."""
        return record.where(self.ours(record))

    def met_by(self, payoffs: Array) -> tuple[NDArray[np.int64], Array] | None:
        """Return whom the network met, as `PlayedPiece.met`; None where nobody keeps it."""
        return None


@dataclass(frozen=True, eq=False)
class PlayedPiece:
    """What a piece came to.

    samples: what is learned from it. steps: decisions taken, forced ones included. rounds: played to the end.
    met: whom the network met, where there is a league: [rounds] int64 member of it or NOBODY, and [rounds]
    payoff to the network's side. choices: the answer to each decision with a choice, in order; of: which of
    them the samples are, [decisions] bool; offered: moves that they had in all. final: [rounds] at the end.
    In a record samples are the columns that do not follow from the moves, and final is a checksum.
    """

    samples: Any
    steps: int
    rounds: int
    met: tuple[NDArray[np.int64], Array] | None
    choices: NDArray[np.int64]
    of: NDArray[np.bool_]
    offered: int
    final: Any


class PieceLearner(BaseLearner):
    """A learner by whose weights pieces are played.

    A kind of it says how rounds are played (`inputs`, `dealt`), by which `snapshot`, and what is learned
    (`derived`, `worth`); perhaps who else plays (`seated`), and what values rounds (`critic_values`,
    `valued`).
    KIND: of its samples. SENT: of their columns, those that do not follow from a record; besides `choices`.
    SOFT: plays by a network. anneal: a factor of the learning rate.
    """

    KIND: ClassVar[type[Columns]]
    SENT: ClassVar[tuple[str, ...]] = ("target", "share", "types")
    SOFT: ClassVar[type[SoftAgent]] = SoftAgent
    inputs: MoveInputs
    anneal = 1.0

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self.inputs.game

    @property
    def teacher(self) -> Agent | None:
        """The rule agent of `guide`; None without one."""
        return None

    def dealt(self, piece: Piece, rng: np.random.Generator) -> Array:
        """Return a piece's rounds as they begin, to be played in place. rng: of the piece, which may deal."""
        return piece.states()

    def snapshot(self, module: Any = None) -> Any:
        """Return a network as it plays now, which answers `advantages`; None: the mean of the weights."""
        raise NotImplementedError

    def critic_values(self) -> CriticValues | None:
        """Return what values states now, for threads beside the one that learns; None where nothing does."""
        return None

    def agent(self) -> Agent:
        """Return a player of the best moves by the mean of the weights as they are now."""
        return self.SOFT(self.snapshot())

    def players(self, decisions: int) -> Callable[[np.random.Generator], Agent]:
        """Return what makes players by the weights of now, after so many decisions.

        A policy plays by the weights that learn, and keeps what it chose among (`choices`).
        """
        config, temperature = self.config, self.config.temperature_at(decisions)
        if config.policy and decisions >= config.policy_from:
            scores, k = self.snapshot(self.network).advantages, config.policy_top
            return lambda rng: cast(Agent, paper_part("policy player")(scores, k, temperature, rng))
        soft: Any = {"temperature": 0.0 if config.policy else temperature, "epsilon": config.epsilon}
        network = self.snapshot()
        return lambda rng: self.SOFT(network, near=config.near, rng=rng, **soft)

    def seated(self, agent: Agent, piece: Piece, rng: np.random.Generator) -> Agent:
        """Return who plays a piece: the network, and whom else the configuration wants."""
        if self.config.prune >= 0 or self.config.guide or self.config.personas:
            return cast(Agent, paper_part("self-play")(agent, self, piece, rng))
        return agent

    def derived(self, record: PlayRecord, payoffs: Array) -> dict[str, Array]:
        """Return the columns of samples that follow from a record. payoffs: [rounds, seats]."""
        raise NotImplementedError

    def worth(self, final: Array, payoffs: Array) -> NDArray[np.float64]:
        """Return what rounds were worth to each seat, [rounds, seats], in the unit of the network's values.

        final: [rounds] at their end. payoffs: [rounds, seats].
        """
        raise NotImplementedError

    def valued(self, critic_values: CriticValues, record: PlayRecord) -> Array:
        """Return what the states of a record are worth to who decides, [n], in the same unit."""
        return critic_values(record.states, record.seats)

    def samples(
        self,
        record: PlayRecord,
        payoffs: Array,
        critic_values: CriticValues | None,
        rng: np.random.Generator,
        *,
        choices: TopChoices | None = None,
        types: Array | None = None,
    ) -> tuple[Any, Ints | slice]:
        """Return what is learned of a record, with targets, and which of its decisions these are, in order.

        payoffs: [rounds, seats]. critic_values: of the weights that played. rng: draws what is learned, if
        not all. choices: what was chosen among at each of its decisions, where a policy learns. types:
        [rounds, seats] of seats that play a part.
        Without choices, and without a critic, returns are not bootstrapped: that is plain Monte Carlo. Before
        a policy begins the network's own value is not taken off them either.
        """
        config, alone = self.config, choices is None and self.mean_critic is None
        critic_values = None if alone and config.policy else critic_values
        share = np.ones(len(record), np.float32)
        kept: Ints | slice = slice(None)
        if config.focus:
            share = np.minimum(share, CERTAIN + config.focus * (1.0 - record.chance)).astype(np.float32)
            kept = np.flatnonzero(rng.random(len(share)) < share)
            choices, record = None if choices is None else choices.take(kept), record.where(kept)
        values = np.zeros(len(record)) if critic_values is None else self.valued(critic_values, record)
        trace = 1.0 if critic_values is None or alone else config.trace
        worth = self.worth(record.final, payoffs)
        target = lambda_returns(record.rounds, record.seats, values, worth, shared_worth(self.game), trace)
        own = None if types is None else paper_part("labels")(types, record.rounds, record.seats)
        kind: Any = self.KIND
        derived = self.derived(record, payoffs)
        return kind(**derived, target=target, share=share[kept], choices=choices, types=own), kept

    def _playing(self) -> dict[str, Any]:
        """Return the parts that play and value."""
        parts = {"network": self.mean_network}
        if self.config.policy and self.network is not self.mean_network:
            parts["learned"] = self.network
        if self.mean_critic is not None:
            parts["critic"] = self.mean_critic
        return parts

    def weights(self) -> dict[str, Array]:
        """Return copies of what plays and values now, by name, as they travel to those who play.

        In single precision: small batches are played in it also where large ones go through bfloat16.
        """
        parts = (arrays_of(module, f"{part}.") for part, module in self._playing().items())
        return {name: value for found in parts for name, value in found.items()}

    def take_weights(self, weights: dict[str, Array]) -> None:
        """Play and value by the weights of a learner elsewhere, of the same network."""
        for part, module in self._playing().items():
            own = {k.removeprefix(f"{part}."): v for k, v in weights.items() if k.startswith(f"{part}.")}
            module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in own.items()})

    def rate(self, samples: Any, decisions: int) -> float:
        """Return the learning rate of a batch. decisions: trained so far."""
        rate = self.anneal * super().rate(samples, decisions)
        return rate * (self.config.policy_rate if samples.choices is not None else 1.0)

    def remembered(self, fresh: list[Any]) -> list[Any]:
        """Return what is learned from; a policy that begins does not learn from what came before."""
        kind = fresh[0].choices is None
        self.replay = [samples for samples in self.replay if (samples.choices is None) == kind]
        return super().remembered(fresh)


class PieceGame:
    """A piece with those who will play it, by the weights of the moment this object was made."""

    def __init__(
        self,
        piece: Piece,
        learner: PieceLearner,
        critic_values: CriticValues | None,
        players: Callable[[np.random.Generator], Agent] | None = None,
    ) -> None:
        """Take a piece; critic_values, players: what the learner's methods return of these names."""
        self.piece, self.learner, self.critic_values = piece, learner, critic_values
        self._rng = piece.generator()
        self._player = (players or learner.players(piece.decisions))(self._rng)
        self._agent = learner.seated(self._player, piece, self._rng)

    def play(self, stopped: Callable[[], bool]) -> PlayedPiece:
        """Return what the piece comes to; raise Interrupted once `stopped` says so. To be called once."""
        heard, agent, learner = _Heard(self._agent, stopped), self._agent, self.learner
        record = play_rounds(learner.dealt(self.piece, self._rng), heard, learner.inputs)
        payoffs, offered = learner.game.returns(record.final), record.offered
        of, met = np.ones(len(record), bool), None
        if isinstance(agent, Opposed):
            of, met, record = agent.ours(record), agent.met_by(payoffs), agent.own(record)
        kept = getattr(self._player, "choices", None)  # of a policy
        choices = None if kept is None else kept()
        types = getattr(agent, "types", None)  # of seats that play by personalities
        samples, at = learner.samples(
            record, payoffs, self.critic_values, self._rng, choices=choices, types=types
        )
        learned = np.zeros(len(record), bool)
        learned[at] = True
        of[of] = learned
        answers = np.concatenate([*heard.answers, np.zeros(0, np.int64)])
        steps, rounds = record.steps, len(record.final)
        return PlayedPiece(samples, steps, rounds, met, answers, of, offered, record.final)


class _Heard(DrawingAgent):
    """An agent that stops the game once it is told to, and keeps its answers."""

    def __init__(self, agent: Agent, stopped: Callable[[], bool]) -> None:
        self.agent, self.stopped = agent, stopped
        self.answers: list[NDArray[np.int64]] = []

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the agent's answer and its probability."""
        if self.stopped():
            raise Interrupted
        found = drawn(self.agent, decisions)
        self.answers.append(np.asarray(found[0], np.int64))
        return found


class ThreadCrew:
    """Players in threads of this process, beside the one that learns. One trainer has them to itself.

    size: pieces that are played at a time.
    Several of them let it go first: on two cores two players and a learner get two thirds of a core each
    otherwise, and the learner is done last, alone.
    """

    def __init__(self, threads: int, *, learns: bool = True) -> None:
        """Take the number of threads in all; with one, pieces are played when they are collected.

        learns: whether one of them learns meanwhile.
        """
        self.size = max(1, threads - learns)
        self._alone, self._behind = threads == 1, learns and self.size > 1
        self._pool: ThreadPoolExecutor | None = None
        self._due: deque[list[PieceGame | Future[PlayedPiece]]] = deque()
        self._versions: deque[tuple[int, int]] = deque()
        self._abandoned = False
        self._stale = 0

    def hand_out(self, pieces: list[Piece], learner: PieceLearner, version: int) -> None:
        """Have a generation played by the learner's weights of now.

        version: of these weights, the number of generations learned from.
        """
        players, values = learner.players(pieces[0].decisions), learner.critic_values()
        games = [PieceGame(piece, learner, values, players) for piece in pieces]
        if self._alone:
            self._due.append(list(games))
        else:
            told = niceness() if self._behind else None
            self._pool = self._pool or ThreadPoolExecutor(
                self.size, "players", initializer=_begin, initargs=(told,)
            )
            self._due.append([self._pool.submit(self._play, game) for game in games])
        self._versions.append((pieces[0].generation, version))

    def _play(self, game: PieceGame) -> PlayedPiece:
        return game.play(lambda: self._abandoned)

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces."""
        played = [
            game.result() if isinstance(game, Future) else self._play(game) for game in self._due.popleft()
        ]
        generation, version = self._versions.popleft()
        self._stale = generation - version
        return played

    def notes(self) -> dict[str, float]:
        """Return what a row of the curve tells of the generation collected last: how old its weights were."""
        return {"staleness": self._stale} if self._stale else {}

    def abandon(self) -> None:
        """Stop the players at their next decision."""
        self._abandoned = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _begin(behind: int | None) -> None:
    """Have a thread use one of torch's, and let a learner of a niceness go first, if there is one."""
    torch.set_num_threads(1)
    if behind is not None:
        step_behind(behind, whole_process=False)


class BadRecord(ValueError):
    """Bytes that are no record of the piece that they should be of."""


def pack_record(played: PlayedPiece, sent: tuple[str, ...]) -> bytes:
    """Return the record of a piece. sent: `PieceLearner.SENT`."""
    columns = {name: getattr(played.samples, name) for name in (*sent, "choices")}
    told = replace(played, samples=columns, final=_check(played.final))
    return zlib.compress(pickle.dumps(told), 1)


def unpack_record(data: bytes, piece: Piece, learner: PieceLearner) -> PlayedPiece:
    """Return what a piece came to, played again by its record.

    learner: of those who played. Raises BadRecord if the bytes are damaged, or where other rules, another
    version, have played them.
    """
    try:
        played: PlayedPiece = pickle.loads(zlib.decompress(data))
    except zlib.error as error:
        raise _bad(piece, f"they are damaged: {error}") from error
    told, rng = _Told(played.choices), piece.generator()
    if not piece.dealt[0]:
        learner.seated(told, piece, rng)  # may draw before the deal
    record = play_rounds(learner.dealt(piece, rng), told, learner.inputs)
    if told.wrong or told.at != len(played.choices) or _check(record.final) != played.final:
        raise _bad(piece, "its rounds do not come out so here")
    kind: Any = learner.KIND
    taught = record if played.of.all() else record.where(played.of)
    samples = kind(**learner.derived(taught, learner.game.returns(record.final)), **played.samples)
    return replace(played, samples=samples, final=record.final)


def _check(final: Array) -> int:
    """Return a checksum of the rounds at their end."""
    return zlib.crc32(np.ascontiguousarray(final).tobytes())


def _bad(piece: Piece, why: str) -> BadRecord:
    return BadRecord(
        f"record: of piece {piece.part} of generation {piece.generation}: {why}; "
        "play with the same gs2 everywhere"
    )


class _Told:
    """An agent that gives the answers of a record."""

    def __init__(self, choices: NDArray[np.int64]) -> None:
        self.choices, self.at, self.wrong = choices, 0, False

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return the next answers; first moves, and `wrong` set, where there are none that fit."""
        found = self.choices[self.at : self.at + len(decisions)]
        self.at += len(decisions)
        if len(found) < len(decisions) or (found >= np.diff(decisions.offsets)).any():
            self.wrong = True
            return np.zeros(len(decisions), np.int64)
        return found
