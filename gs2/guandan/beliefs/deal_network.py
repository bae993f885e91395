"""How much likelier a whole deal is, after all that was played, than card-by-card odds make it.

The belief network knows cards one by one, not that a seat which passed on a pair of nines holds no higher
pair. This network sees a whole deal beside what the belief sees, and was trained to tell the true deal from
deals drawn by the belief: its output is the logarithm of the ratio of their probabilities. It stands for the
blueprint's reach of everything that was played (`gs2.guandan.agent.deals.dealing`), at one evaluation for
each deal instead of one for each deal and move.
Source: density ratios by classification, Gutmann and Hyvärinen 2010, "Noise-contrastive estimation".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.guandan.network.inputs import FEATURE_HASH, PAST_WIDTH, STATE_WIDTH, encode_past, encode_states
from blueprint.layers.bfloat import native_half
from blueprint.layers.half_rows import FastLayer, sum_rows
from games.guandan.cards import unpack
from games.support.array_types import Array

DEALS = Path(__file__).parent / "deals.safetensors"
NAMES = ("public", "deal", "block", "out")
PUBLIC_WIDTH = STATE_WIDTH + PAST_WIDTH
MOST = 6
"""Cards of a rank that are counted; more count as so many."""
HAND_WIDTH = 2 * 54 + 15 * MOST
DEAL_WIDTH = 3 * HAND_WIDTH
"""For each of the three seats after the one that looks: cards held once and twice, ranks held so often."""


def deal_inputs(states: Array, seat: int) -> NDArray[np.uint8]:
    """Return the hidden hands of some deals as inputs, [n, DEAL_WIDTH] uint8; states: [n] STATE."""
    hands = unpack(states["hand"][:, np.arange(seat + 1, seat + 4) % 4])
    out = np.empty((*hands.shape[:2], HAND_WIDTH), np.uint8)
    for copy in range(2):
        out[..., copy:108:2] = hands > copy
    suits = [hands[..., suit:52:4] for suit in range(4)]
    ranks = np.concatenate([suits[0] + suits[1] + suits[2] + suits[3], hands[..., 52:]], 2)
    for many in range(MOST):
        out[..., 108 + many :: MOST] = ranks > many
    return out.reshape(len(states), DEAL_WIDTH)


class DealNetwork:
    """An input layer on the public part and one on the deal, a residual layer, a number.

    tensors: `NAME.weight` and `NAME.bias` of `NAMES`; `deal` has no bias.
    """

    def __init__(self, tensors: dict[str, Array]) -> None:
        """Raises ValueError if a tensor is missing or does not fit."""
        try:
            width = len(tensors["public.bias"])
            shapes = {
                "public.weight": (width, PUBLIC_WIDTH),
                "deal.weight": (width, DEAL_WIDTH),
                "block.weight": (width, width),
                "block.bias": (width,),
                "out.weight": (1, width),
                "out.bias": (1,),
            }
            for name, shape in shapes.items():
                if tensors[name].shape != shape:
                    raise ValueError(f"deal network: {name} must be {shape}; got {tensors[name].shape}")
        except KeyError as error:
            raise ValueError(f"deal network: {error} must be among the tensors; it is not") from error
        self.tensors = {name: np.asarray(array, np.float32) for name, array in tensors.items()}
        kind = torch.bfloat16 if native_half() else torch.float32
        self._public = FastLayer(self.tensors["public.weight"], self.tensors["public.bias"], False)
        self._deal, self._block = (
            torch.from_numpy(np.ascontiguousarray(self.tensors[f"{name}.weight"])).to(kind)
            for name in ("deal", "block")
        )
        self._bias = torch.from_numpy(self.tensors["block.bias"])
        self._out = torch.from_numpy(self.tensors["out.weight"][0])
        self._kind = kind

    def log_ratios(self, states: Array, seat: int) -> NDArray[np.float64]:
        """Return the log ratio of each deal, up to a constant, [n] float64.

        states: [n] STATE, deals of one infoset of `seat`.
        """
        who = np.array([seat])
        x = np.concatenate([encode_states(states[:1], who), encode_past(states[:1], who)], axis=1)
        layer, known = self._public, np.empty((1, len(self._bias)), np.float32)
        sum_rows(x, layer.rows, layer.base[None], np.zeros(1, np.int64), False, known)
        public = torch.from_numpy(known)
        with torch.inference_mode():
            deals = torch.from_numpy(deal_inputs(states, seat)).to(self._kind)
            h = (torch.nn.functional.linear(deals, self._deal).float() + public).relu_()
            h += (torch.nn.functional.linear(h.to(self._kind), self._block).float() + self._bias).relu_()
            found: NDArray[np.float64] = (h @ self._out).double().numpy()
        return found


def save_deal_network(path: str | Path, network: DealNetwork, description: dict[str, object]) -> None:
    """Write a deal network, half precision, with its description."""
    from blueprint.checkpoint import write_checkpoint

    tensors = {f"deals.{name}": array.astype(np.float16) for name, array in network.tensors.items()}
    write_checkpoint(path, tensors, {"game": "guandan", "features": FEATURE_HASH, **description})


def load_deal_network(path: str | Path | None = None) -> DealNetwork:
    """Return the deal network saved at `path`, by default the one in the package.

    Raises CheckpointError if the file is missing, damaged or made for other features.
    """
    from blueprint.checkpoint import CheckpointError, read_checkpoint

    place = DEALS if path is None else Path(path)
    tensors, _ = read_checkpoint(place, features=FEATURE_HASH, prefix="deals.")
    try:
        return DealNetwork({name.removeprefix("deals."): array for name, array in tensors.items()})
    except ValueError as error:
        raise CheckpointError(f"deals: {place} holds no deal network ({error}); train one") from error
