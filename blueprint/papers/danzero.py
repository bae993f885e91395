"""DanZero's network, for comparison: 567 inputs, five hidden layers of 512 with tanh, one action value.

It is trained by the same self-play, on the same deals and by the same optimiser as our own network, towards
the plain Monte-Carlo return in levels, and saved in the same format under a name of its own for its inputs.
Sources: Lu et al. 2023 (DanZero), Zhao et al. 2023 (DanZero+, section IV); its inputs, soft spots included,
are in `games.guandan.views.features`. Where we differ: rounds are trained one by one, so returns
are not shifted by the whole game's result; Adam replaces RMSProp; the first layer's part of the position is
computed once per decision and shared by its actions, which changes its cost (by about a fifth) and not its
function.

Other systems built on it add parts, each off by default and without weight at first: DanZero+ a branch for
the value, PDHQN a personality head and a recogniser of types, ODMC an opponent model. The models of the
others learn from what training knows and play does not: the hands, and who played by which rule. The network
sees their answers as inputs, and no gradient goes back through these: they stay predictions.
Sources: Luo & Tan 2024 (ODMC), section 4.2, labels from the oracle's view and from minimum combination; the
paper on personality-guided deep Monte Carlo (PDHQN, 2025), sections 3.3 and 3.5, equation 2. What play tells
of the other seats' types is ours: that paper leaves it to future work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.guandan.network.inputs import OUTCOMES, PAST_WIDTH, encode_past, hidden_hands
from blueprint.guandan.network.q_network import TorchNetwork, held_nats
from blueprint.guandan.rules.min_combination import min_combinations
from blueprint.guandan.train_config import NetworkConfig
from blueprint.guandan.training.dmc import Samples
from blueprint.papers.fields import PERSONALITIES
from blueprint.protocol import Decisions
from blueprint.row_layout import rows_hash
from games.guandan.cards import NUM_CARDS
from games.guandan.rounds.state import ACTS_SEEN
from games.guandan.views.features import ACTION_WIDTH, SLICES, STATE_WIDTH, action_features, state_features
from games.support.array_types import Array

DANZERO_HASH = rows_hash("danzero", 1, [[name, part.start, part.stop] for name, part in SLICES.items()])
"""Names the layout of the inputs; a checkpoint trained on another one is refused."""
DANZERO_PAST_HASH = rows_hash(DANZERO_HASH, PAST_WIDTH)
"""The same with what the others did in the round behind it, which the models of the others see."""
MOST_MOVES = 20
"""Classes of the fewest moves that play out a hand: 0 to 18, and more (as in ODMC's Table 2)."""
_LEFT = slice(SLICES["next_left"].start, SLICES["previous_left"].stop)
COUNTED = 4
"""One decision in so many teaches the fewest moves: the search costs 15 microseconds for three hands."""


class PersonalityHead(nn.Module):
    """Logits, [m, 4], of whose move this would be, from the shared layers' output: two layers with ReLU."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        half = max(1, width // 2)
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, half)
        self.label = nn.Linear(half, len(PERSONALITIES))

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits of actions whose shared features are z, [m, inputs]."""
        found: Tensor = self.label(F.relu(self.second(F.relu(self.first(z)))))
        return found


class OpponentModel(nn.Module):
    """Who holds the hidden cards, and in how few moves each of the three others could play out its hand.

    Its inputs are the position's, and what the others did in the round. ODMC has five layers of 1,024 and 512
    and reads the past by an LSTM.
    """

    answers = 3 * (NUM_CARDS + MOST_MOVES)

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(inputs, width) for inputs in (STATE_WIDTH + PAST_WIDTH, width, width)
        )
        self.cards = nn.Linear(width, 3 * NUM_CARDS)
        self.moves = nn.Linear(width, 3 * MOST_MOVES)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return log odds [n, 3, 54] that the next, the opposite and the previous seat hold each card, and
        logits [n, 3, MOST_MOVES] of their fewest moves.
        """
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.cards(x).view(-1, 3, NUM_CARDS), self.moves(x).view(-1, 3, MOST_MOVES)

    @torch.no_grad()
    def seen(self, x: Tensor) -> Tensor:
        """Return what the network sees of it, [n, answers]: expected copies, then shares of fewest moves."""
        odds, moves = self(x)
        unseen = x[:, SLICES["unseen"]]
        held = odds.float().softmax(1).to(x.dtype) * unseen[:, None]
        return torch.cat([held.flatten(1), moves.float().softmax(2).to(x.dtype).flatten(1)], 1)


class TypeRecogniser(nn.Module):
    """Which type each of the three others plays like, from what it was seen to do in the round.

    One small network for every seat: what it passed on, led and followed with (`acts` of STATE), and how many
    cards it holds.
    """

    answers = 3 * len(PERSONALITIES)

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.seat = nn.Linear(ACTS_SEEN + (_LEFT.stop - _LEFT.start) // 3, width)
        self.told = nn.Linear(width, len(PERSONALITIES))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits, [n, 3, 4], of the types of the next, the opposite and the previous seat."""
        acts = x[:, STATE_WIDTH : STATE_WIDTH + PAST_WIDTH].reshape(len(x), 3, ACTS_SEEN)
        left = x[:, _LEFT].reshape(len(x), 3, -1)
        found: Tensor = self.told(F.relu(self.seat(torch.cat([acts, left], 2))))
        return found

    @torch.no_grad()
    def seen(self, x: Tensor) -> Tensor:
        """Return what the network sees of it, [n, answers]: the shares of the types."""
        found: Tensor = self(x).float().softmax(2).to(x.dtype).flatten(1)
        return found


class ValueBranch(nn.Module):
    """Logits of how the round ends for the player's side, [n, 7], from the position's first layer."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(inputs, inputs), nn.Linear(inputs, max(1, inputs // 2))])
        self.result = nn.Linear(max(1, inputs // 2), classes)

    def forward(self, h: Tensor) -> Tensor:
        """Return the logits at positions whose first layer sums to h, [n, inputs]."""
        z = h.tanh()
        for layer in self.layers:
            z = layer(z).tanh()
        found: Tensor = self.result(z)
        return found


class DanZeroNetwork(nn.Module):
    """Q(I, a) as one multilayer perceptron over the position and the action's cards."""

    grown = ("personality.", "recogniser.", "opponent.", "answers")
    """What the names of parameters start with that learn at a rate of their own (`TrainConfig.fresh`)."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.state
        self.position = nn.Linear(STATE_WIDTH, width)
        self.action = nn.Linear(ACTION_WIDTH, width, bias=False)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(max(config.blocks, 1) - 1))
        self.value = nn.Linear(width, 1)
        self.branch = ValueBranch(width, len(OUTCOMES)) if config.branch else None
        self.personality = PersonalityHead(width, config.personality) if config.personality else None
        self.recogniser = TypeRecogniser() if config.personality else None
        self.opponent = OpponentModel(config.opponent) if config.opponent else None
        self.models = [model for model in (self.recogniser, self.opponent) if model is not None]
        answers = sum(model.answers for model in self.models)
        self.answers = nn.Parameter(torch.zeros(answers, width)) if answers else None
        self.heeds = True
        """Whether the answers of the models count; they are left out to see what they are worth."""

    @property
    def features(self) -> str:
        """Name of the inputs."""
        return DANZERO_PAST_HASH if self.models else DANZERO_HASH

    @property
    def has_value(self) -> bool:
        """Whether there is a value of the position, V(I)."""
        return self.branch is not None

    def encode(self, decisions: Decisions) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return the inputs of positions, [n, 513 or more] int8, and of actions, [m, 54] int8."""
        x = self.encode_seen(decisions.states, decisions.seats, decisions.rows)
        return x, action_features(decisions.actions)

    def encode_seen(
        self, states: Array, seats: Array, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.int8]:
        """Return the inputs of `states`, [n, 513 or more]; the arguments are those of `encode_states`."""
        found = np.ascontiguousarray(states if rows is None else np.ascontiguousarray(states)[rows])
        x = state_features(found, seats)
        if self.models:
            x = np.concatenate([x, encode_past(states, seats, rows).astype(np.int8)], 1)
        return x

    def states(self, x: Tensor) -> Tensor:
        """Return the position's part of the first layer, [n, width]."""
        found: Tensor = self.position(x[:, :STATE_WIDTH])
        if self.answers is not None and self.heeds:
            found = found + torch.cat([model.seen(x) for model in self.models], 1) @ self.answers.to(x.dtype)
        return found

    def outcomes(self, h: Tensor) -> Tensor:
        """Return the logits of the outcomes, [n, 7], from the position's part of the first layer.

        No gradient goes back into that layer: what values moves learns as without this branch.
        """
        assert self.branch is not None
        found: Tensor = self.branch(h.detach())
        return found

    def advantages(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the values, [m], of actions [m, 54] at positions `h[rows]`."""
        return self._valued(self._shared(h, actions, rows))

    def personalities(self, h: Tensor, actions: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the action values, [m], and logits, [m, 4], of whose moves these would be."""
        assert self.personality is not None
        z = self._shared(h, actions, rows)
        return self._valued(z), self.personality(z)

    @property
    def _sharing(self) -> int:
        """Number of hidden layers after the first that both heads share, or all of them."""
        return len(self.hidden) - 2 if self.personality is not None else len(self.hidden)

    def _shared(self, h: Tensor, actions: Tensor, rows: Tensor | None) -> Tensor:
        z: Tensor = (self.action(actions) + (h if rows is None else h.index_select(0, rows))).tanh()
        for layer in self.hidden[: self._sharing]:
            z = layer(z).tanh()
        return z

    def _valued(self, z: Tensor) -> Tensor:
        for layer in self.hidden[self._sharing :]:
            z = layer(z).tanh()
        found: Tensor = self.value(z).squeeze(-1)
        return found

    def missed(self, x: Tensor, labels: Tensor | None, samples: Samples) -> dict[str, Tensor]:
        """Return the losses of the models of the others and of the personality head, in nats, by name.

        x: the network's inputs. labels: [n, 4] logits of whose moves were played, from the personality head.
        """
        found: dict[str, Tensor] = {}
        batch = samples.states
        seats = batch["player"].astype(np.int64)
        if self.opponent is not None:
            odds, moves = self.opponent(x)
            found["hands"] = held_nats(odds.float(), hidden_hands(batch, seats)).mean()
            some = slice(None, None, COUNTED)
            counted = torch.from_numpy(hidden_moves(batch[some], seats[some])).to(x.device)
            found["moves"] = F.cross_entropy(moves[some].float().flatten(0, 1), counted.flatten())
        if self.recogniser is not None and samples.types is not None and labels is not None:
            types = torch.from_numpy(samples.types.astype(np.int64)).to(x.device)
            told = self.recogniser(x).float()
            found["types"] = F.cross_entropy(told.flatten(0, 1), types[:, 1:].flatten())
            one_hot = F.one_hot(types[:, 0], len(PERSONALITIES)).float()
            found["personality"] = F.binary_cross_entropy_with_logits(labels.float(), one_hot)
        return found


def hidden_moves(states: Array, seats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how few moves the three seats after each of `seats` could play out, [n, 3], 0..19 or more."""
    rows = np.arange(len(states))
    hands = np.stack([states["hand"][rows, (seats + j) % 4] for j in (1, 2, 3)], 1)
    levels = np.repeat(states["level"].astype(np.int64), 3)
    found = min_combinations(hands.reshape(-1, 2), levels).astype(np.int64).reshape(-1, 3)
    return np.minimum(found, MOST_MOVES - 1)


class DanZeroPlay(TorchNetwork):
    """A snapshot of a network that may have models of the others, and a personality head.

    heeds: whether it listens to its models of the others, where it has any.
    """

    def __init__(self, network: nn.Module, *, heeds: bool = True, **options: Any) -> None:
        super().__init__(network, **options)
        self.network.heeds = heeds
        self.has_personalities = self.network.personality is not None
        self.has_models = bool(self.network.models)

    def personalities(self, decisions: Decisions) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the score of each action, [m], and the probability that each personality takes it, [m, 4].

        Raises ValueError without a personality head (`has_personalities` says so).
        """
        if not self.has_personalities:
            raise ValueError(f"{self.name}: there is no personality head; train one by the recipe pdhqn")

        def both(h: Tensor, actions: Tensor, rows: Tensor) -> Tensor:
            scores, logits = self.network.personalities(h, actions, rows)
            return torch.cat([scores[:, None], logits], 1)

        found = self.each(decisions, both)
        return found[:, 0], 1 / (1 + np.exp(-found[:, 1:].astype(np.float64)))
