"""Pieces: shares of a generation of self-play, which come out the same wherever they are played.

A piece is the cards dealt and a seed. With the weights that play it decides every game to the last move: one
that was lost with its machine is played again. `PieceGame` plays; what comes back is `PlayedPiece`. A trainer
hands out a generation, learns, and collects the oldest one that is out: `ThreadCrew` plays in this process,
`ray_crew` has one whose actors play anywhere.

From there a piece comes back as a record: the index of every move chosen and the target of every decision
learned from. The trainer plays it again by these indices, without a network, and has the same states. A
decision takes five bytes so, and 816 as it is learned from.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from blueprint.game_lockstep import PlayRecord, play_rounds
from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.dmc import CriticValues, Learner, Samples, outcome_classes
from blueprint.guandan.training.opponents import SparringAgent, league_of
from blueprint.paper_parts import paper_part
from blueprint.protocol import Agent, Decisions, drawn
from blueprint.soft_choices import TopChoices
from games.guandan.cards import ACTION
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import STATE
from games.support.array_types import Array
from games.support.interruption import Interrupted
from games.support.work.executor import niceness, step_behind


@dataclass(frozen=True)
class Piece:
    """A share of a generation.

    generation, part: which one. dealt: its rounds as they begin, packed. seed: of everything that is drawn in
    it. decisions: trained when it was dealt, for what cools down. weights: how often each member of the
    league is met, as shares.
    """

    generation: int
    part: int
    dealt: bytes
    seed: np.random.SeedSequence
    decisions: int
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, place: tuple[int, int], states: Array, rng: np.random.Generator, decisions: int, weights: Array
    ) -> Piece:
        """Return the piece of (generation, part) with these rounds, [n] STATE; rng: unused, of its seed."""
        dealt = zlib.compress(np.ascontiguousarray(states).tobytes(), 1) if len(states) else b""
        seed = cast(np.random.SeedSequence, rng.bit_generator.seed_seq)
        return cls(*place, dealt, seed, decisions, weights)

    def states(self) -> Array:
        """Return its rounds as they begin, [n] STATE, to be played in place."""
        return (
            np.array(np.frombuffer(zlib.decompress(self.dealt), STATE)) if self.dealt else np.empty(0, STATE)
        )

    def generator(self) -> np.random.Generator:
        """Return the generator of everything that is drawn in it, from its start."""
        return np.random.Generator(np.random.PCG64(self.seed))


@dataclass(frozen=True, eq=False)
class PlayedPiece:
    """What a piece came to.

    samples: what is learned from it. steps: decisions taken, forced ones included. rounds: played to the end.
    met: whom the network met, where there is a league: [rounds] int64 member of it or NOBODY, and [rounds]
    payoff to the network's side. choices: the answer to each decision with a choice, in order; of: which of
    them the samples are, [decisions] bool; final: [rounds] STATE at the end.
    """

    samples: Samples
    steps: int
    rounds: int
    met: tuple[NDArray[np.int64], Array] | None
    choices: NDArray[np.int64]
    of: NDArray[np.bool_]
    final: Array


def player_of(learner: Learner, config: TrainConfig, decisions: int, rng: np.random.Generator) -> Agent:
    """Return the network as it plays now, after so many decisions."""
    temperature = config.temperature_at(decisions)
    if config.policy and decisions >= config.policy_from:
        return learner.policy_agent(temperature, rng)
    return learner.agent(0.0 if config.policy else temperature, config.epsilon, rng)


def piece_agent(
    player: Agent, config: TrainConfig, piece: Piece, rng: np.random.Generator, rounds: int
) -> Agent:
    """Return who plays a piece of so many rounds: the network, and whom else the configuration wants."""
    agent = player
    if config.prune >= 0 or config.guide or config.personas:
        agent = paper_part("GuanDan player")(agent, config, piece, rng, rounds)
    if config.strangers_share == 0:
        return agent
    strangers = league_of(config).load(rng)
    return SparringAgent(agent, strangers, config.strangers_share, rounds, rng, piece.weights)


class PieceGame:
    """A piece with those who will play it, by the weights of the moment this object was made."""

    def __init__(self, piece: Piece, learner: Learner, critic_values: CriticValues | None) -> None:
        """Take a piece; critic_values: values what is played, as `Learner.critic_values` returns it."""
        self.piece, self.learner, self.critic_values = piece, learner, critic_values
        self._rng = piece.generator()
        self._states = piece.states()
        config = learner.config
        self._player = player_of(learner, config, piece.decisions, self._rng)
        self._agent = piece_agent(self._player, config, piece, self._rng, len(self._states))

    def play(self, scratch: Scratch, stopped: Callable[[], bool]) -> PlayedPiece:
        """Return what the piece comes to; raise Interrupted once `stopped` says so. To be called once."""
        heard, agent = _Heard(self._agent, stopped), self._agent
        record = play_rounds(self._states, heard, scratch)
        payoff = GuanDan().returns(record.final)[:, 0]
        of = np.ones(len(record.states), bool)
        met = None
        if isinstance(agent, SparringAgent):
            of, met = agent.ours(record), (agent.met, agent.payoffs(payoff))
            record = agent.own(record)
        kept = getattr(self._player, "choices", None)  # of a policy
        choices = None if kept is None else kept()
        types = getattr(agent, "types", None)  # of seats that play by personalities
        samples, at = self.learner.samples(
            record, payoff, self.critic_values, self._rng, choices=choices, types=types
        )
        learned = np.zeros(len(record.states), bool)
        learned[at] = True
        of[of] = learned
        answers = np.concatenate([*heard.answers, np.zeros(0, np.int64)])
        return PlayedPiece(samples, record.steps, len(payoff), met, answers, of, record.final)


class _Heard:
    """An agent that stops the game once it is told to, and keeps its answers."""

    def __init__(self, agent: Agent, stopped: Callable[[], bool]) -> None:
        self.agent, self.stopped = agent, stopped
        self.answers: list[NDArray[np.int64]] = []

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return the agent's answer."""
        return self.draw(decisions)[0]

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the agent's answer and its probability."""
        if self.stopped():
            raise Interrupted
        found = drawn(self.agent, decisions)
        self.answers.append(np.asarray(found[0], np.int64))
        return found


class PieceCrew(Protocol):
    """Those who play. One trainer has it to itself.

    size: pieces of a generation, where the configuration does not tell.
    """

    size: int

    def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
        """Have a generation played by the learner's weights of now, or by newer ones handed out later.

        version: of these weights, the number of generations learned from.
        """
        ...

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces."""
        ...

    def notes(self) -> dict[str, float]:
        """Return what a row of the curve tells of the generation collected last."""
        ...

    def abandon(self) -> None:
        """Stop whoever plays; nothing more is handed out or collected."""
        ...


class ThreadCrew:
    """Players in threads of this process, beside the one that learns.

    Several of them let it go first: on two cores two players and a learner get two thirds of a core each
    otherwise, and the learner is done last, alone.
    """

    def __init__(self, threads: int) -> None:
        """Take the number of threads in all; with one, pieces are played when they are collected."""
        self.size = max(1, threads - 1)
        self._alone = threads == 1
        self._pool: ThreadPoolExecutor | None = None
        self._rooms = [Scratch() for _ in range(self.size)]
        self._due: deque[list[PieceGame | Future[PlayedPiece]]] = deque()
        self._versions: deque[tuple[int, int]] = deque()
        self._abandoned = False
        self._stale = 0

    def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
        """Take the weights of now, and begin to play by them."""
        games = [PieceGame(piece, learner, None) for piece in pieces]
        critic_values = learner.critic_values()
        for game in games:
            game.critic_values = critic_values
        if self._alone:
            self._due.append(list(games))
        else:
            self._pool = self._pool or self._players()
            self._due.append([self._pool.submit(self._play, game) for game in games])
        self._versions.append((pieces[0].generation, version))

    def _players(self) -> ThreadPoolExecutor:
        if self.size == 1:
            return ThreadPoolExecutor(1, "players")
        behind = partial(step_behind, niceness(), whole_process=False)
        return ThreadPoolExecutor(self.size, "players", initializer=behind)

    def _play(self, game: PieceGame) -> PlayedPiece:
        room = self._rooms.pop()
        try:
            return game.play(room, lambda: self._abandoned)
        finally:
            self._rooms.append(room)

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces."""
        played = [
            game.result() if isinstance(game, Future) else self._play(game) for game in self._due.popleft()
        ]
        generation, version = self._versions.popleft()
        self._stale = generation - version
        return played

    def notes(self) -> dict[str, float]:
        """Return how old the weights were, where they may be old."""
        return {"staleness": self._stale} if self._stale else {}

    def abandon(self) -> None:
        """Stop the players at their next decision."""
        self._abandoned = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


LARGE = 255
"""Indices from here on take four bytes beside the one that says so."""


class BadRecord(ValueError):
    """Bytes that are no record of the piece that they should be of."""


def pack_record(played: PlayedPiece) -> bytes:
    """Return the record of a piece."""
    samples, choices = played.samples, played.choices
    arrays: dict[str, Array] = {
        "choices": np.minimum(choices, LARGE).astype(np.uint8),
        "large": choices[choices >= LARGE].astype(np.uint32),
        "target": samples.target,
        "steps": np.array([played.steps], np.int64),
        "final": _check(played.final),
    }
    if not played.of.all():
        arrays["of"] = np.packbits(played.of)
    if (samples.share != 1).any():
        arrays["share"] = samples.share
    if played.met is not None:
        arrays |= {"who": played.met[0].astype(np.int16), "payoff": played.met[1].astype(np.float64)}
    if samples.types is not None:
        arrays["types"] = samples.types
    if samples.choices is not None:
        top = samples.choices
        moves = zlib.compress(np.ascontiguousarray(top.actions).tobytes(), 1)
        arrays |= {
            "top.actions": np.frombuffer(moves, np.uint8),
            "top.count": top.count.astype(np.uint8),
            "top.picked": top.picked.astype(np.uint8),
            "top.log_chance": top.log_chance,
        }
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def unpack_record(data: bytes, piece: Piece, scratch: Scratch) -> PlayedPiece:
    """Return what a piece came to, played again by its record.

    Raises BadRecord if the bytes are damaged, or where other rules, another version, have played them.
    """
    try:
        arrays = load(data)
        return _replayed(arrays, piece, scratch)
    except (SafetensorError, KeyError, IndexError, zlib.error) as error:
        raise _bad(piece, f"they are damaged: {error}") from error


def _replayed(arrays: dict[str, Array], piece: Piece, scratch: Scratch) -> PlayedPiece:
    choices = arrays["choices"].astype(np.int64)
    choices[choices == LARGE] = arrays["large"]
    told = _Told(choices)
    record = play_rounds(piece.states(), told, scratch)
    if told.wrong or told.at != len(choices) or _check(record.final) != arrays["final"]:
        raise _bad(piece, "its rounds do not come out so here")
    payoff = GuanDan().returns(record.final)[:, 0]
    n = len(choices)
    of = np.unpackbits(arrays["of"], count=n).astype(bool) if "of" in arrays else np.ones(n, bool)
    met = (arrays["who"].astype(np.int64), arrays["payoff"]) if "who" in arrays else None
    samples = _samples(arrays, record, payoff, of)
    if not len(samples.states) == len(samples.target) == len(samples.share):
        raise _bad(piece, "its targets are of another number of decisions")
    return PlayedPiece(samples, int(arrays["steps"][0]), len(payoff), met, choices, of, record.final)


def _samples(arrays: dict[str, Array], record: PlayRecord, payoff: Array, of: NDArray[np.bool_]) -> Samples:
    whole = bool(of.all())
    states, actions = (x if whole else x[of] for x in (record.states, record.actions))
    rounds, seats = (x if whole else x[of] for x in (record.rounds, record.seats))
    target = arrays["target"]
    share = arrays["share"] if "share" in arrays else np.ones(len(target), np.float32)
    top = None
    if "top.actions" in arrays:
        moves = np.frombuffer(bytearray(zlib.decompress(arrays["top.actions"].tobytes())), ACTION)
        count, picked = (arrays[f"top.{name}"].astype(np.int64) for name in ("count", "picked"))
        top = TopChoices(moves.reshape(len(target), -1), count, picked, arrays["top.log_chance"])
    outcome = outcome_classes(seats, payoff[rounds])
    return Samples(states, actions, outcome, target, share, top, types=arrays.get("types"))


def _check(final: Array) -> NDArray[np.uint32]:
    """Return a checksum of the rounds at their end, [1]."""
    return np.array([zlib.crc32(np.ascontiguousarray(final).tobytes())], np.uint32)


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
