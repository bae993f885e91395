"""Fused layers in bfloat16 give what torch's own give, and so do their gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from blueprint.layers.fused import joined, rectified, residual

SCALE = torch.linspace(0.25, 1.0, 24)
CASES: list[tuple[str, Callable[[Tensor, Tensor, nn.Linear], Tensor], int]] = [
    ("rectified", lambda x, context, layer: rectified(x, layer), 40),
    ("scaled", lambda x, context, layer: rectified(x, layer, SCALE), 40),
    ("joined", lambda x, context, layer: joined(x, layer, context), 40),
    ("residual", lambda x, context, layer: residual(x, layer), 24),
]


def _run(function: Callable, width: int, dtype: torch.dtype) -> list[Tensor]:
    """Return a layer's output and the gradients of its inputs and parameters, in single precision."""
    torch.manual_seed(3)
    layer = nn.Linear(24, width)
    x = torch.randn(50, 24).bfloat16().to(dtype).requires_grad_()
    context = torch.randn(50, width).bfloat16().to(dtype).requires_grad_()
    weight = torch.randn(50, width).to(dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        out = function(x, context, layer)
    (out * weight).sum().backward()
    found = [out.detach(), layer.weight.grad, layer.bias.grad, x.grad, context.grad]
    return [f.float() for f in found if f is not None]


@pytest.mark.parametrize(("name", "function", "width"), CASES, ids=[case[0] for case in CASES])
def test_fused_layers_and_their_gradients_are_those_of_torch(
    name: str, function: Callable, width: int
) -> None:
    exact, fused = _run(function, width, torch.float32), _run(function, width, torch.bfloat16)
    assert len(exact) == len(fused) == (5 if name == "joined" else 4)
    for one, other in zip(exact, fused, strict=True):
        # a sum near zero may fall on the other side of the ReLU
        close = (one - other).abs() <= 0.03 * one.abs().max()
        assert close.float().mean() > (0.97 if name == "scaled" else 0.98), name


def test_a_scale_is_that_of_the_inputs() -> None:
    layer, x = nn.Linear(24, 40), torch.randint(0, 8, (50, 24))
    assert torch.allclose(torch.relu(layer(x * SCALE)), rectified(x.float(), layer, SCALE), atol=1e-5)
