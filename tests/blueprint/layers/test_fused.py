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
        assert close.float().mean() > 0.98, name


def test_a_scale_is_that_of_the_inputs() -> None:
    torch.manual_seed(1)
    whole = torch.randint(0, 8, (50, 24))
    weights = torch.randn(50, 40)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(2)
        layer = nn.Linear(24, 40)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            x = whole.to(dtype).requires_grad_()
            out = rectified(x, layer, SCALE)
        (out.float() * weights).sum().backward()
        assert layer.weight.grad is not None
        assert x.grad is not None
        found.append((out.detach().float(), layer.weight.grad, x.grad.float()))
    plain = nn.Linear(24, 40)
    plain.load_state_dict(layer.state_dict())
    assert torch.allclose(torch.relu(plain(whole * SCALE)), found[0][0], atol=1e-5)
    for one, other in zip(*found, strict=True):
        assert ((one - other).abs() <= 0.03 * one.abs().max()).float().mean() > 0.97
