"""Layers of the networks as training runs them: a ReLU over a linear layer, with what is added to it.

On a processor in bfloat16 each is a function with a gradient of its own, whose passes between the products
are fused (`bfloat`); torch's own take half of a gradient step there. Elsewhere they are torch's.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.layers.bfloat import add_positive, add_set, bits, masked, relu, relu_joined, scattered


def rectified(x: Tensor, layer: nn.Linear, scale: Tensor | None = None) -> Tensor:
    """Return relu(layer(x * scale)), [n, outputs] from [n, inputs]; scale: [inputs], one each if None."""
    if _fused(x):
        found: Tensor = _Rectified.apply(x, layer.weight, layer.bias, None, scale)  # type: ignore[no-untyped-call]  # of torch
        return found
    return F.relu(layer(x if scale is None else x * scale.to(x.dtype)), inplace=True)


def recalled(past: Tensor, weight: Tensor) -> Tensor:
    """Return past @ weight, [n, outputs], of few bits that are set among many.

    past: [n, inputs] of 0 and 1; weight: [inputs, outputs].
    """
    if _fused(past):
        found: Tensor = _Recalled.apply(past, weight)  # type: ignore[no-untyped-call]  # of torch
        return found
    return past @ weight.to(past.dtype)


def joined(x: Tensor, layer: nn.Linear, context: Tensor) -> Tensor:
    """Return relu(layer(x) + context), [n, outputs] from [n, inputs] and [n, outputs]."""
    if _fused(x) and context.dtype == torch.bfloat16:
        found: Tensor = _Rectified.apply(x, layer.weight, layer.bias, context, None)  # type: ignore[no-untyped-call]  # of torch
        return found
    return F.relu(layer(x) + context, inplace=True)


def residual(h: Tensor, layer: nn.Linear) -> Tensor:
    """Return h + relu(layer(h)), [n, width] from [n, width]."""
    if _fused(h):
        found: Tensor = _Residual.apply(h, layer.weight, layer.bias)  # type: ignore[no-untyped-call]  # of torch
        return found
    return h + F.relu(layer(h), inplace=True)


class Tower(nn.Module):
    """The trunk of a network whose inputs are bits of a position: an input layer and residual layers."""

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


class MoveHead(nn.Module):
    """A network that judges moves, whatever the game: a first layer, residual ones, and one number each."""

    def _begin_head(self, width: int, moves: int, inner: int, blocks: int) -> None:
        """Make the layers. width: of the tower's output. moves: inputs of one. inner: width of the head."""
        self.context = nn.Linear(width, inner)
        self.action = nn.Linear(moves, inner)
        self.head = nn.ModuleList(nn.Linear(inner, inner) for _ in range(blocks))
        self.advantage = nn.Linear(inner, 1)
        with torch.no_grad():
            self.advantage.weight.mul_(0.1)
            self.advantage.bias.zero_()

    def seen(self, h: Tensor) -> Tensor:
        """Return what the tower's output adds to the first layer of the moves' head."""
        found: Tensor = self.context(h)
        return found

    def advantages(self, h: Tensor, moves: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return A, [m], of moves [m, inputs] at `h[rows]`; without rows, of one for each row of h.

        h: [n, width], the tower's output.
        """
        context = self.seen(h)
        z = joined(moves, self.action, context if rows is None else context.index_select(0, rows))
        for block in self.head:
            z = residual(z, cast(nn.Linear, block))
        found: Tensor = self.advantage(z).squeeze(-1)
        return found


def _fused(x: Tensor) -> bool:
    return x.dtype == torch.bfloat16 and x.device.type == "cpu"


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, context: Tensor | None, scale: Tensor | None
    ) -> Tensor:
        x, weight = x.contiguous(), weight.detach()
        half = (weight if scale is None else weight.float() * scale).bfloat16()
        y = F.linear(x, half)
        if context is None:
            relu(bits(y), bias.detach().float().numpy())
        else:
            ones = np.ones(len(x), np.int64)
            relu_joined(bits(y), bits(context.detach().contiguous()), bias.detach().float().numpy(), ones)
        ctx.save_for_backward(x, half, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, half, y = ctx.saved_tensors
        inner, bias = _masked(gradients[0], y)
        weight = (inner.t() @ x).float()
        if ctx.scale is not None:
            weight *= ctx.scale
        back = inner @ half if ctx.needs_input_grad[0] else None
        return back, weight, bias, inner if ctx.needs_input_grad[3] else None, None


class _Recalled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, past: Tensor, weight: Tensor) -> Tensor:
        past = past.contiguous()
        out = torch.empty((len(past), weight.shape[1]), dtype=torch.bfloat16)
        add_set(bits(past), weight.detach().float().numpy(), bits(out))
        ctx.save_for_backward(past)
        ctx.shape = weight.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (past,) = ctx.saved_tensors
        weight = torch.zeros(ctx.shape)
        scattered(bits(past), bits(gradients[0].contiguous()), weight.numpy())
        return None, weight


class _Residual(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        h, weight = h.contiguous(), weight.detach().bfloat16()
        y, out = F.linear(h, weight), torch.empty_like(h)
        add_positive(bits(h.detach()), bits(y), bias.detach().float().numpy(), bits(out))
        ctx.save_for_backward(h, weight, y)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, y = ctx.saved_tensors
        inner, bias = _masked(gradients[0], y)
        return torch.addmm(gradients[0], inner, weight), (inner.t() @ h).float(), bias


def _masked(gradient: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient before a ReLU whose output is y, and its sum over rows."""
    inner = torch.empty_like(y)
    bias = np.empty(y.shape[1], np.float32)
    masked(bits(gradient.contiguous()), bits(y), bits(inner), bias)
    return inner, torch.from_numpy(bias)
