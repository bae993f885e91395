"""Deep Monte Carlo for climbing games: the network, gradient steps, and the trainer with its checkpoints.

The head of the moves learns from `return - critic(all hands)`. What the critic expects does not depend on the
move taken, so that it only takes the luck of the deal off: the mean, given what the seat knows, stays
Q(I, a) - V(I), a control variate. The critic is asked before it learns from the same rounds. Without a
critic, V(I) stands in its place: plain Deep Monte Carlo. Where seats played by personalities, a head learns
whose move it was (PDHQN, section 3.5), and another by whose rule the others play.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.checkpoint import CheckpointError, check_description, read_checkpoint
from blueprint.climbing.climbing_blueprint import ClimbingBlueprint, described_play
from blueprint.climbing.move_config import CLIMBING, ClimbingConfig, described_config
from blueprint.climbing.move_inputs import move_inputs
from blueprint.game_lockstep import PlayRecord
from blueprint.layers.fast_moves import FastCritic, FastMoves, fast_moves
from blueprint.layers.fused import MoveHead, Tower
from blueprint.learning.learner import Losses, arrays_of
from blueprint.learning.pieces import CriticValues, Opposed, Piece, PieceLearner, PlayedPiece
from blueprint.learning.self_play import EVALUATION_SEED, Opponent, SelfPlayTrainer, Setup
from blueprint.paper_parts import paper_part
from blueprint.protocol import Agent, MoveInputs
from blueprint.soft_choices import TopChoices
from blueprint.structured import Columns
from games.game import Game, payoff_span
from games.registry import load_game
from games.support.array_types import Array, Ints
from games.support.configuration import ConfigError
from games.support.work.carried import name_here


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
    in the target's unit. target: [n] float32, return minus baseline, what the moves' head learns. share: [n]
    float32, probability with which each decision was kept. choices: what was chosen among, where a policy
    learns. types: [n, seats] whose rule each seat played by, where they played by personalities, from the
    seat that decides on.
    """

    states: Array
    actions: Array
    seats: Ints
    worth: NDArray[np.float32]
    target: NDArray[np.float32]
    share: NDArray[np.float32]
    choices: TopChoices | None = None
    types: Ints | None = None


class MoveLearner(PieceLearner):
    """The network, its critic and their optimiser; `mean_network` and `mean_critic` play and value.

    rival: somebody fixed to answer, who plays all other teams, each team in as many rounds of a piece; None
    for self-play. stake: payoffs to 1 of the network's answers.
    """

    KIND = MoveSamples
    in_order = False
    teacher: Agent | None = None
    rival: Agent | None = None

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        self.inputs, self.config = inputs, config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network: Any = move_network(inputs, config)
            critic = HandCritic(inputs, config.critic) if config.critic else None
        known = [*network.parameters(), *(() if critic is None else critic.parameters())]
        averaged = config.average > 0
        super().__init__(network, critic, ((known, 1.0),), means=(averaged, averaged))
        self.memory, self.temperature = config.replay, config.temperature
        self.weighed |= {"policy": config.policy, "hands": config.hands}
        self.weighed |= {"types": config.recognise, "personality": config.labels}
        self.stake = 1.0

    def dealt(self, piece: Piece, rng: np.random.Generator) -> Array:
        """Return a piece's rounds as they begin, to be played in place."""
        return self.inputs.deal(piece.rounds, rng)

    def seated(self, agent: Agent, piece: Piece, rng: np.random.Generator) -> Agent:
        """Return who plays a piece: the network, and whom else the configuration and a rival want."""
        agent = super().seated(agent, piece, rng)
        if self.rival is None or self.config.policy:
            return agent
        teams = np.array(self.game.teams)
        own = teams == np.arange(piece.rounds)[:, None] % len(set(self.game.teams))
        seats = np.arange(len(teams))  # each of the rival's draws by itself
        return Opposed((agent, *[self.rival] * len(seats)), np.where(own, 0, 1 + seats), rng)

    def snapshot(self, module: Any = None) -> FastMoves:
        """Return a network as it plays now; None: the mean of the weights."""
        module = self.mean_network if module is None else module
        return fast_moves(self.inputs, arrays_of(module, "network."), half=self.half)

    def agent(self) -> Agent:
        """Return a player of the best moves, pruned as those of its checkpoint are."""
        found, prune = super().agent(), self.config.prune
        return found if prune < 0 else cast(Agent, paper_part("pruned")(found, self.game, prune))

    def critic_values(self) -> CriticValues:
        """Return what values states now, [n] float32: the critic, or without one V of what a seat sees."""
        if self.mean_critic is not None:
            return FastCritic(self.inputs, arrays_of(self.mean_critic, "critic."), half=self.half).values
        seen = self.snapshot()
        return lambda states, seats: seen.values(states, np.arange(len(states)), seats)

    def worth(self, final: Array, payoffs: Array) -> NDArray[np.float64]:
        """Return payoffs [rounds, seats] in the target's unit."""
        return np.sign(payoffs) if self.config.target == "win" else payoffs / self.stake

    def derived(self, record: PlayRecord, payoffs: Array) -> dict[str, Array]:
        """Return the columns of samples that follow from a record. payoffs: [rounds, seats]."""
        worth = self.worth(record.final, payoffs)[record.rounds].astype(np.float32)
        return {"states": record.states, "actions": record.actions, "seats": record.seats, "worth": worth}

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
        target = torch.from_numpy(samples.target)
        found = dict.fromkeys(("critic", "hands", "policy"), torch.zeros(()))
        if choices is None:
            a = self.network.advantages(h[:n], self._moves(samples, samples.actions)).float()
        else:
            moves = self._moves(samples, choices.actions[choices.there()], choices.count)
            weight = 1 / torch.from_numpy(samples.share)
            a, found["policy"] = self.played(h[:n], moves, choices, target, weight)
        found |= {"advantage": F.mse_loss(a, target), "value": F.mse_loss(v, worth)}
        hidden = np.empty((n, inputs.hidden_bits), np.uint8)
        if self.critic is not None or config.hands:
            inputs.write_hidden(states, rows, seats, hidden)
        if self.critic is not None:
            some = slice(None, n, config.critic_every)
            seen = self.critic(self.tensor(np.concatenate([x[some], hidden[some]], 1))).float()
            found["critic"] = F.mse_loss(seen, worth[some])
        if config.hands or samples.types is not None:
            moves_again = partial(self._moves, samples, samples.actions)
            found |= self.network.missed(h[:n], hidden, samples.types, moves_again)
        return found

    def _moves(self, samples: MoveSamples, actions: Array, count: Ints | None = None) -> Tensor:
        """Return the inputs of moves, [m, move_bits]. count: [n], moves of each decision, None for one."""
        n = len(samples)
        moves = np.empty((len(actions), self.inputs.move_bits), np.uint8)
        offsets = np.arange(n + 1) if count is None else np.concatenate([[0], np.cumsum(count)])
        words = self.inputs.words(actions)
        self.inputs.write_moves(samples.states, np.arange(n), samples.seats, offsets, words, moves)
        return self.tensor(moves)


TOGETHER = 1024
"""Rounds that are played in lockstep by one thread at a time."""
ROUND_MOVES = 60
"""Decisions of a round in random play, about."""


def random_stake(inputs: MoveInputs, target: str) -> float:
    """Return what is at stake in a round: payoffs to 1 of the network's answers.

    Of "win" it is 1, of "payoff" the standard deviation of payoffs in random play, always the same rounds; a
    hundredth of the payoff range if they all end alike.
    """
    if target == "win":
        return 1.0
    rng = np.random.default_rng(0x57A6E)
    ends = inputs.play_randomly(inputs.deal(inputs.trial_rounds, rng), rng)
    return float(inputs.game.returns(ends).std()) or payoff_span(inputs.game) / 100


class MoveTrainer(SelfPlayTrainer):
    """The trainer of a climbing game.

    decisions: moves of self-play so far; choices: those of them where there was a choice, which are learned.
    called: the game's string, by which actors load it.
    """

    COUNTED: ClassVar[dict[str, type]] = SelfPlayTrainer.COUNTED | {"choices": int}
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
        rival: somebody fixed to answer (`MoveLearner`).
        Raises GameError for a game whose moves are no inputs, ConfigError for fields that need what it lacks.
        """
        inputs = move_inputs(game)
        if config.guide and teacher is None:
            raise ConfigError(
                f"ClimbingConfig: guide must be 0 without a rule agent to teach; got {config.guide:g}"
            )
        if config.hands and not inputs.hidden_bits:
            raise ConfigError(
                f"ClimbingConfig: hands must be 0 where no game says what is hidden; got {config.hands:g}"
            )
        learner = MoveLearner(inputs, config)
        learner.teacher, learner.rival = teacher, rival
        learner.stake = random_stake(inputs, config.target)
        super().__init__(learner, threads=threads)
        self.game, self.inputs, self.called, self.choices = game, inputs, game.name, 0

    @property
    def stake(self) -> float:
        """Payoffs to 1 of the network's answers."""
        return self.learner.stake

    def made_elsewhere(self) -> tuple[Callable[[], MoveLearner], tuple[str, ...]]:
        """Return what makes the learner in another process, and the names of what it needs there."""
        told = self.called, self.config, self.stake, self.learner.teacher
        return partial(_learner_of, *told), (self.called,)

    def deal(self) -> list[Piece]:
        """Return the next generation, cut into pieces that deal their rounds."""
        config, size = self.config, TOGETHER
        if number := config.pieces or (self.setup.on != "local" and self.crew.size):
            size = min(size, -(-config.rounds // number))
        sizes = [min(size, config.rounds - at) for at in range(0, config.rounds, size)]
        place = self.generation + self.ahead
        return [
            Piece.of((place, k), size, rng, self.decisions)
            for k, (size, rng) in enumerate(zip(sizes, self.rng.spawn(len(sizes)), strict=True))
        ]

    def noted(self, played: list[PlayedPiece]) -> dict[str, float]:
        """Count the choices, and return how far payoffs are spread."""
        self.choices += sum(int(one.of.sum()) for one in played)
        worth = [self.learner.worth(one.final, self.game.returns(one.final)) for one in played]
        return {"spread": float(np.concatenate(worth).std())}

    def evaluation_deals(self, rounds: int) -> Array:
        """Return the deals that tell how a run gets on, [rounds], the same every time."""
        return self.inputs.deal(rounds, np.random.default_rng(EVALUATION_SEED))

    def start_from(self, path: str | Path) -> None:
        """Take the weights of another network of the game, by whichever rules it learned, and its critic's.

        A critic begins anew where the file has none, as what is shipped, or one of other layers. The stake
        comes along where both have the same target, so that answers stay right.
        Raises CheckpointError if the file is missing, damaged, of another game or of other layers.
        """
        tensors, description = read_checkpoint(path)
        like, _ = described_play(path, description, self.game)
        if not self.learner.start_from(tensors):
            raise CheckpointError(
                f"checkpoint: {path} must have the layers that are trained; it has others; leave sizes and "
                "recipes out"
            )
        if like.target == self.config.target:
            self.learner.stake = float(description["stake"])

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
        setup: Setup | None = None,
        opponent: Opponent | None = None,
        called: str = "",
        start: str | Path | None = None,
        **how: Any,
    ) -> MoveTrainer:
        """Return a new trainer, or for a path the one that a checkpoint holds.

        config: None is that of the checkpoint, or the default. setup: None for no evaluation. opponent:
        returns whom the setup names. called: by which string others load the game. start: a checkpoint whose
        weights a new one has. how: threads and teacher.
        Raises CheckpointError if the file is damaged, foreign, of another game, or lacks what resuming needs,
        and for another configuration than the checkpoint's; WorkError where actors cannot be started.
        """
        how |= {} if setup is None else {"threads": setup.threads}
        if path is None:
            trainer = cls(game, config or ClimbingConfig(), **how)
            if start is not None:
                trainer.start_from(start)
        else:
            tensors, description = read_checkpoint(path)
            begun = described_config(path, description, game)
            check_description(path, description["config"], dict.fromkeys(ClimbingConfig.defaults(), object))
            trainer = cls(game, begun, **how)
            trainer.resume(path, tensors, description, trainer.inputs.layout)
            trainer.learner.stake = float(description["stake"])
        if config not in (None, trainer.config):
            raise CheckpointError(
                f"{path}: a resumed run keeps its settings; leave them out, or train elsewhere"
            )
        trainer.called = called or trainer.called
        return trainer if setup is None else trainer.set_up(setup, opponent)


def _learner_of(name: str, config: ClimbingConfig, stake: float, teacher: Agent | None) -> MoveLearner:
    """Return the learner of a game by its string, as actors play by it."""
    learner = MoveLearner(move_inputs(load_game(name_here(name), general_sum=True)), config)
    learner.stake, learner.teacher = stake, teacher
    return learner


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
