"""A head that says whose style a move is in.

Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), section 3.3.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.choosing.personality import PERSONALITIES

__all__ = ["PersonalityHead"]


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
