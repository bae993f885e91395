"""The trunk of a network whose inputs are bits of a position: an input layer and residual layers."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from blueprint.layers.fused import rectified, residual

__all__ = ["Tower"]


class Tower(nn.Module):
    """An input layer and residual layers, all with ReLU."""

    def __init__(self, inputs: int, width: int, blocks: int) -> None:
        super().__init__()
        self.input = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(blocks))
        # inputs are sparse bits: scale the first layer to the ~1/4 of them that are set
        with torch.no_grad():
            self.input.weight.mul_(2.0)

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        """Return [n, width] from [n, inputs], which are multiplied by `scale` [inputs] if it is given."""
        h = self.first(x, scale)
        for block in self.blocks:
            h = residual(h, cast(nn.Linear, block))
        return h

    def first(self, x: Tensor, scale: Tensor | None) -> Tensor:
        """Return what the input layer makes of x, [n, width]."""
        return rectified(x, self.input, scale)
