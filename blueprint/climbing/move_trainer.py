"""Deep Monte Carlo for climbing games: the network, gradient steps, and the trainer with its checkpoints.

The head of the moves learns from `return - critic(all hands)`. What the critic expects does not depend on the
move taken, so that it only takes the luck of the deal off: the mean, given what the seat knows, stays
Q(I, a) - V(I), a control variate. The critic is asked before it learns from the same rounds. Without a
critic, V(I) stands in its place: plain Deep Monte Carlo. Where seats played by personalities, a head learns
whose move it was (PDHQN, section 3.5), and another by whose rule the others play.

A generation is played by the mean of the weights, learned from and forgotten, so that a checkpoint between
two generations holds all there is: a run that was resumed ends where one without a break does.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.checkpoint import (
    CheckpointError,
    check_features,
    read_checkpoint,
)
from blueprint.climbing.climbing_blueprint import ClimbingBlueprint
from blueprint.climbing.move_config import CLIMBING, ClimbingConfig, described_config
from blueprint.climbing.move_inputs import InputLists, MoveInputs, move_inputs
from blueprint.game_lockstep import PlayRecord, Seated, play_rounds
from blueprint.layers.fast_moves import FastCritic, FastMoves, fast_moves
from blueprint.layers.fused import MoveHead, Tower
from blueprint.learning.base_trainer import BaseTrainer
from blueprint.learning.learner import BaseLearner, Losses, arrays_of
from blueprint.paper_parts import paper_part
from blueprint.protocol import Agent
from blueprint.soft_choices import SoftAgent, TopChoices
from blueprint.structured import Columns
from games.game import Game
from games.support.array_types import Array, Ints
from games.support.configuration import ConfigError


class MoveNetwork(MoveHead):
    """V(I) by a tower that runs once a decision, A(I, a) by a head for each move; Q is their sum."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits, config.state, config.blocks)
        self.value = nn.Linear(config.state, 1)
        self._begin_head(config.state, inputs.move_bits, config.action, config.action_blocks)

    def values(self, h: Tensor) -> Tensor:
        """Return V, [n], from the tower's output."""
        found: Tensor = self.value(h).squeeze(-1)
        return found


def move_network(inputs: MoveInputs, config: ClimbingConfig) -> MoveNetwork:
    """Return a new network of a configuration."""
    kind = MoveNetwork
    if config.hands or config.personality or config.recognise:
        kind = paper_part("climbing network")
    return kind(inputs, config)


class HandCritic(nn.Module):
    """What all hands are worth to who looks, from a seat's view and the others' hands."""

    def __init__(self, inputs: MoveInputs, width: int) -> None:
        super().__init__()
        self.tower = Tower(inputs.seat_bits + inputs.hidden_bits, width, 2)
        self.value = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return [n] values from [n, seat_bits + hidden_bits]."""
        found: Tensor = self.value(self.tower(x)).squeeze(-1)
        return found


@dataclass(frozen=True, eq=False)
class MoveSamples(Columns):
    """Decisions with what they led to.

    states, actions, seats: of `PlayRecord`. worth: [n, seats] float32, what the round came to for each seat,
    in the target's unit. baseline: [n] float32, what the critic expected for who decided; 0 without one.
    choices: what was chosen among, where a policy learns. types: [n, seats] whose rule each seat played by,
    where they played by personalities, from the seat that decides on.
    """

    states: Array
    actions: Array
    seats: Ints
    worth: NDArray[np.float32]
    baseline: NDArray[np.float32]
    choices: TopChoices | None = None
    types: Ints | None = None


class MoveLearner(BaseLearner):
    """The network, its critic and their optimiser; `mean_network` and `mean_critic` play and value."""

    in_order = False

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        self.inputs, self.config = inputs, config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network: Any = move_network(inputs, config)
            critic = HandCritic(inputs, config.critic) if config.critic else None
        known = [*network.parameters(), *(() if critic is None else critic.parameters())]
        averaged = config.average > 0
        super().__init__(network, critic, ((known, 1.0),), means=(averaged, averaged))
        self.temperature = config.temperature
        self.weighed |= {"policy": config.policy, "hands": config.hands}
        self.weighed |= {"types": config.recognise, "personality": config.labels}

    def snapshot(self) -> FastMoves:
        """Return the network as it plays now: by the mean of the weights, or, for a policy, by these."""
        playing = self.network if self.config.policy else self.mean_network
        return fast_moves(self.inputs, arrays_of(playing, "network."), half=self.half)

    def samples(
        self,
        played: PlayRecord,
        worth: NDArray[np.float64],
        choices: TopChoices | None = None,
        types: Ints | None = None,
    ) -> MoveSamples:
        """Return what is learned of some rounds. worth: [rounds, seats], in the target's unit.

        choices: what was chosen among at each of the decisions, where a policy learns. types: [rounds, seats]
        whose rule each seat played by, of PERSONALITIES, where there were any.
        """
        baseline = np.zeros(len(played), np.float32)
        if self.mean_critic is not None and len(played):
            critic = FastCritic(self.inputs, arrays_of(self.mean_critic, "critic."), half=self.half)
            baseline = critic.values(played.states, played.seats)
        each = worth[played.rounds].astype(np.float32)
        own = None if types is None else paper_part("labels")(types, played.rounds, played.seats)
        return MoveSamples(played.states, played.actions, played.seats, each, baseline, choices, own)

    def losses(self, samples: MoveSamples) -> Losses:
        """Return the mean losses of a batch."""
        inputs, states, seats, config = self.inputs, samples.states, samples.seats, self.config
        n, choices = len(samples), samples.choices
        rows = np.arange(n)
        # others look on as well, so that V is known where they do not act
        onlookers = rows[: round(config.views * n)]
        players = inputs.game.num_players
        others = (seats[onlookers] + self.rng.integers(1, players, len(onlookers))) % players
        who, looks = np.concatenate([rows, onlookers]), np.concatenate([seats, others])
        x = np.empty((len(who), inputs.seat_bits), np.uint8)
        inputs.write_seats(states, who, looks, x)
        worth = torch.from_numpy(samples.worth[who, looks])
        h = self.network.tower(self.tensor(x))
        v = self.network.values(h).float()
        baseline = torch.from_numpy(samples.baseline) if self.critic is not None else v[:n].detach()
        target = worth[:n] - baseline
        found = dict.fromkeys(("critic", "hands", "policy"), torch.zeros(()))
        if choices is None:
            a = self.network.advantages(h[:n], self._moves(samples, samples.actions, 1)).float()
        else:
            moves = self._moves(samples, choices.actions.reshape(-1), choices.actions.shape[1])
            a, found["policy"] = self.played(h[:n], moves, choices, target, torch.ones(n))
        found |= {"advantage": F.mse_loss(a, target), "value": F.mse_loss(v, worth)}
        hidden = np.empty((n, inputs.hidden_bits), np.uint8)
        if self.critic is not None or config.hands:
            inputs.write_hidden(states, rows, seats, hidden)
        if self.critic is not None:
            seen = self.critic(self.tensor(np.concatenate([x[:n], hidden], 1))).float()
            found["critic"] = F.mse_loss(seen, worth[:n])
        if config.hands or samples.types is not None:
            moves_again = partial(self._moves, samples, samples.actions, 1)
            found |= self.network.missed(h[:n], hidden, samples.types, moves_again)
        return found

    def _moves(self, samples: MoveSamples, actions: Array, k: int) -> Tensor:
        """Return the inputs of moves, [k n, move_bits], k of them a decision."""
        n = len(samples)
        moves = np.empty((n * k, self.inputs.move_bits), np.uint8)
        offsets, words = k * np.arange(n + 1), self.inputs.words(actions)
        self.inputs.write_moves(samples.states, np.arange(n), samples.seats, offsets, words, moves)
        return self.tensor(moves)


TOGETHER = 1024
"""Rounds that are played in lockstep by one thread at a time."""
ROUND_MOVES = 60
"""Decisions of a round in random play, about."""


def random_stake(inputs: MoveInputs, target: str) -> float:
    """Return what is at stake in a round: payoffs to 1 of the network's answers.

    Of "win" it is 1, of "payoff" the standard deviation of payoffs in random play, always the same rounds.
    """
    if target == "win":
        return 1.0
    rng = np.random.default_rng(0x57A6E)
    ends = inputs.play_randomly(inputs.deal(inputs.trial_rounds, rng), rng)
    return float(inputs.game.returns(ends).std())


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Have torch use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class MoveTrainer(BaseTrainer):
    """The trainer of a climbing game.

    decisions: moves of self-play so far; choices: those of them where there was a choice, which are learned.
    """

    COUNTED: ClassVar[dict[str, type]] = {
        "generation": int,
        "decisions": int,
        "choices": int,
        "rounds": int,
        "seconds": float,
        "processor_seconds": float,
    }
    learner: MoveLearner

    def __init__(
        self,
        game: Game,
        config: ClimbingConfig,
        *,
        threads: int = 1,
        teacher: Agent | None = None,
        rival: Agent | None = None,
    ) -> None:
        """Begin with random parameters.

        threads: that play and learn. teacher: who plays a share of the first moves, where there is a guide.
        rival: somebody fixed to answer, who plays all other teams, each team in as many rounds; None for
            self-play.
        Raises GameError for a game whose moves are no inputs, ConfigError for fields that need what it lacks.
        """
        super().__init__()
        self.inputs = move_inputs(game)
        if config.guide and teacher is None:
            raise ConfigError(
                f"ClimbingConfig: guide must be 0 without a rule agent to teach; got {config.guide:g}"
            )
        if config.hands and not self.inputs.hidden_bits:
            raise ConfigError(
                f"ClimbingConfig: hands must be 0 where no game says what is hidden; got {config.hands:g}"
            )
        self.game, self.config, self.threads, self.teacher = game, config, threads, teacher
        self.rival, self.teams = rival, np.array(game.teams)
        self.learner = MoveLearner(self.inputs, config)
        self.stake = random_stake(self.inputs, config.target)
        self.rng = np.random.default_rng(config.seed)
        self.choices = self.rounds = 0

    def run_generation(self) -> dict[str, Any]:
        """Play one generation, learn from it, and return what happened."""
        with torch_threads(self.threads):
            return super().run_generation()

    def play(self) -> tuple[list[MoveSamples], int, dict[str, float]]:
        """Play a generation; return what it teaches, its moves, and what its row tells."""
        rounds = self.config.rounds
        with torch_threads(1):  # each player has its own thread
            whole, choices, types = self.play_rounds()
        worth = self.worth(self.game.returns(whole.final))
        self.choices += len(whole)
        self.rounds += rounds
        offered = whole.offered / max(len(whole), 1)
        told = {"moves_per_round": whole.steps / rounds, "offered": offered, "spread": float(worth.std())}
        return [self.learner.samples(whole, worth, choices, types)], whole.steps, told

    def row(self, steps: int, seconds: float, playing: float) -> dict[str, Any]:
        """Return the counters and the speed."""
        return {**self.counted(), "decisions_per_second": steps / seconds, "playing": playing / seconds}

    def play_rounds(self) -> tuple[PlayRecord, TopChoices | None, Ints | None]:
        """Return what was decided in the rounds of a generation; they are played in parts.

        Each part has a random stream. Where a policy learns, also what was chosen among; where seats played
        by personalities, by whose rule each did, [rounds, seats].
        """
        network = self.learner.snapshot()
        config, inputs = self.config, self.inputs
        sizes = [min(TOGETHER, config.rounds - at) for at in range(0, config.rounds, TOGETHER)]
        streams = self.rng.spawn(len(sizes))
        temperature = config.temperature_at(self.decisions)
        self.learner.temperature = temperature
        agents: list[Any] = []
        for rng, size in zip(streams, sizes, strict=True):
            agent: Agent
            if config.policy:
                agent = paper_part("policy player")(network.advantages, config.policy_top, temperature, rng)
            else:
                agent = SoftAgent(network, temperature=temperature, epsilon=config.epsilon, rng=rng)
                if config.prune >= 0 or config.guide or config.personas:
                    agent = paper_part("climbing player")(agent, self, rng, size)
                if self.rival is not None:  # each of its seats draws by itself
                    seats = np.arange(len(self.teams))
                    own = self.teams == np.arange(size)[:, None] % len(set(self.teams.tolist()))
                    seated = (agent, *[self.rival] * len(seats))
                    agent = Seated(seated, np.where(own, 0, 1 + seats), rng)
            agents.append(agent)

        def play(k: int) -> PlayRecord:
            agent = agents[k]
            played = play_rounds(inputs.deal(sizes[k], streams[k]), agent, InputLists(inputs))
            if self.rival is None or config.policy:
                return played
            return played.where(agent.who[played.rounds, played.seats] == 0)

        if self.threads == 1:
            played = [play(k) for k in range(len(sizes))]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                played = list(pool.map(play, range(len(sizes))))
        whole = played[0] if len(played) == 1 else PlayRecord.joined(played)
        chosen = [part for part in (agent.choices() for agent in agents) if part] if config.policy else []
        types = [agent.types for agent in agents] if config.personas else []
        return (
            whole,
            TopChoices.joined(chosen) if chosen else None,
            np.concatenate(types) if types else None,
        )

    def worth(self, payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return payoffs [rounds, seats] in the target's unit."""
        return np.sign(payoffs) if self.config.target == "win" else payoffs / self.stake

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint says of its game, network and training."""
        return {
            "kind": CLIMBING,
            "game": self.game.name,
            "features": self.inputs.layout,
            "config": self.config.to_json(),
            "stake": self.stake,
        }

    @classmethod
    def begun(
        cls,
        path: str | Path | None,
        game: Game,
        config: ClimbingConfig | None = None,
        *,
        threads: int = 1,
        teacher: Agent | None = None,
    ) -> MoveTrainer:
        """Return a new trainer, or for a path the one that a checkpoint holds.

        config: None is that of the checkpoint, or the default.
        Raises CheckpointError if the file is damaged, foreign, of another game, or lacks what resuming needs,
        and for another configuration than the checkpoint's.
        """
        if path is None:
            return cls(game, config or ClimbingConfig(), threads=threads, teacher=teacher)
        tensors, description = read_checkpoint(path)
        own = described_config(path, description, game)
        trainer = cls(game, own, threads=threads, teacher=teacher)
        check_features(path, description, trainer.inputs.layout)
        trainer.learner.restore(tensors, path)
        trainer.stake = float(description["stake"])
        trainer.recall(path, description, own.seed)
        if config not in (None, own):
            raise CheckpointError(
                f"{path}: a resumed run keeps its settings; leave them out, or train elsewhere"
            )
        return trainer


def trained_climbing_network(game: Game, decisions: int, rng: np.random.Generator) -> ClimbingBlueprint:
    """Return the blueprint that so many decisions of self-play come to, with a small network."""
    rounds = min(max(decisions // ROUND_MOVES, 16), 2048)
    config = ClimbingConfig(seed=int(rng.integers(1 << 62)), rounds=rounds, batch=min(64 * rounds, 2048) // 4)
    trainer = MoveTrainer(game, config)
    while trainer.decisions < decisions:
        trainer.run_generation()
    tensors = trainer.learner.tensors()
    name = f"network:{decisions}"
    return ClimbingBlueprint(
        FastMoves(trainer.inputs, tensors, half=False, name=name), trainer.stake, name=name
    )
