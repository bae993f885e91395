"""What systems on DanZero's network add to it: models of the others, and a branch that values.

Both models learn from what training knows and play does not: the hands, and who played by which rule. The
network sees their answers as inputs, and no gradient goes back through these: they stay predictions.
Source of the opponent model: Luo & Tan 2024 (ODMC), section 4.2. What play tells of the other seats' types is
ours: the paper on personalities (PDHQN, 2025) leaves it to future work.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.choosing.personality import PERSONALITIES
from blueprint.guandan.network.input_layout import PAST_WIDTH
from games.guandan.cards import NUM_CARDS
from games.guandan.rounds.state import ACTS_SEEN
from games.guandan.views.danzero_features import SLICES, STATE_WIDTH

__all__ = ["MOST_MOVES", "OpponentModel", "TypeRecogniser", "ValueBranch"]

MOST_MOVES = 20
"""Classes of the fewest moves that play out a hand: 0 to 18, and more (as in ODMC's Table 2)."""
_LEFT = slice(SLICES["next_left"].start, SLICES["previous_left"].stop)


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
