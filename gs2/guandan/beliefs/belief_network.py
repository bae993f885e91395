"""Learned beliefs over hidden cards: who holds each of them, and how likely a whole deal is beside that.

A small network sees what one seat sees (the blueprint's state features, and what the others led, followed
with and passed on) and says, card by card, which of the three others is likely to hold it. A uniform deal is
then stirred by Metropolis swaps of two hidden cards between two hands, so that deals come out as likely as
the product of their cards' odds: the numbers of cards left, the cards known from tribute and the highest
cards it showed stay respected at every swap.

That network knows cards one by one, not that a seat which passed on a pair of nines holds no higher pair.
Another sees a whole deal beside what the belief sees, and was trained to tell the true deal from deals drawn
by the belief: its output is the logarithm of the ratio of their probabilities. It stands for the blueprint's
reach of everything that was played (`gs2.guandan.agent.deals.dealing`), at one evaluation for each deal
instead of one for each deal and move.
Source: density ratios by classification, Gutmann and Hyvärinen 2010, "Noise-contrastive estimation".
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan.network.inputs import FEATURE_HASH, PAST_WIDTH, STATE_WIDTH, encode_past, encode_states
from blueprint.layers.bfloat import native_half
from blueprint.layers.half_rows import FastLayer, sum_rows
from games.guandan.cards import unpack
from games.guandan.combos import ORDER
from games.guandan.rounds.belief import give_copies, held_copies
from games.guandan.rounds.state import CAP, HAND, KNOWN, LEVEL, PLAYED
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel
from games.support.splitmix import STEP, below, mix_hash

FEW = 8
"""States up to which sums over the set inputs beat a matrix product."""
SWEEPS = 4
"""Swaps proposed per hidden card."""
DEFAULT = Path(__file__).parent / "beliefs.safetensors"
DEALS = DEFAULT.with_name("deals.safetensors")
PUBLIC_WIDTH = STATE_WIDTH + PAST_WIDTH


def public_inputs(states: Array, seats: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return what each seat sees and what the others did as inputs, [n, PUBLIC_WIDTH] uint8."""
    return np.concatenate([encode_states(states, seats), encode_past(states, seats)], axis=1)


def _summed(layer: FastLayer, x: NDArray[np.uint8]) -> torch.Tensor:
    """Return a layer of some inputs, [n, width]: a sum over those that are set."""
    known = np.empty((len(x), len(layer.base)), np.float32)
    sum_rows(x, layer.rows, layer.base[None], np.zeros(len(x), np.int64), False, known)
    return torch.from_numpy(known)


class BeliefNetwork:
    """Two hidden layers from the features of what a seat sees to 3 x 54 log odds.

    Its inputs are the state features alone, or these and what the others did (`encode_past`).
    tensors: N.weight and N.bias of each layer.
    """

    kind, called, shipped = "beliefs", "belief network", DEFAULT

    def __init__(self, tensors: dict[str, Array]) -> None:
        """Raises KeyError if a tensor is missing, ValueError if one does not fit."""
        layers = [(tensors[f"{i}.weight"], tensors[f"{i}.bias"]) for i in range(len(tensors) // 2)]
        shape = [weight.shape for weight, _ in layers]
        widths = (STATE_WIDTH, PUBLIC_WIDTH)
        if len(layers) < 1 or shape[0][1] not in widths or shape[-1][0] != 162:
            raise ValueError(f"beliefs: layers lead from {widths[0]} or {widths[1]} to 162 odds; got {shape}")
        for before, after in itertools.pairwise(shape):
            if after[1] != before[0]:
                raise ValueError(f"beliefs: each layer takes what the one before gives; got {shape}")
        self.tensors = tensors
        self._layers = [FastLayer(weight, bias, False) for weight, bias in layers]

    @property
    def remembers(self) -> bool:
        """Return whether the past is among the inputs."""
        return bool(self.tensors["0.weight"].shape[1] > STATE_WIDTH)

    def log_odds(self, states: Array, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return log odds, [n, 3, 54], that the next, the opposite and the previous seat hold each card.

        states: [n] STATE; seats: [n] who looks. Only differences between the three count.
        """
        x = public_inputs(states, seats) if self.remembers else encode_states(states, seats)
        first = self._layers[0]
        with torch.inference_mode():
            h = first(torch.from_numpy(x).float()) if len(x) > FEW else _summed(first, x)
            for layer in self._layers[1:]:
                h = layer(h.relu_())
        odds: NDArray[np.float32] = h.numpy()
        return odds.reshape(-1, 3, 54)


@kernel(nogil=True)
def _steer(
    words: Ints,
    bytes_: Bytes,
    me: Int,
    odds: NDArray[np.float64],
    seeds: NDArray[np.uint64],
    sweeps: Int,
) -> None:
    """Stir the hidden hands of every state in place; odds: [k, 3, 54] after `me`, each of as many states."""
    each = len(words) // max(1, len(odds))
    cards = np.empty(108, np.int64)
    owner = np.empty(108, np.int64)
    scale = 1.0 / 4294967296.0
    for i in range(len(words)):
        level = np.int64(bytes_[i, LEVEL])
        n = 0
        for j in range(3):
            s = (me + 1 + j) & 3
            for card in range(54):
                free = held_copies(words, i, HAND + 2 * s, card)
                if free:
                    known = held_copies(words, i, KNOWN + 2 * s, card)
                    gone = held_copies(words, i, PLAYED + 2 * s, card)
                    if known > gone:
                        free -= known - gone
                    for _ in range(free):
                        cards[n] = card
                        owner[n] = j
                        n += 1
        if n < 2:
            continue
        rng = seeds[i]
        for t in range(sweeps * n):
            rng += STEP
            x = mix_hash(rng, np.uint64(0))
            a = t % n
            b = below(x, n)
            ja, jb, ca, cb = owner[a], owner[b], cards[a], cards[b]
            if ja == jb or ca == cb:
                continue
            ra = ca // 4 if ca < 52 else ca - 39
            rb = cb // 4 if cb < 52 else cb - 39
            if ca != 4 * level and ORDER[level, ra] > bytes_[i, CAP + ((me + 1 + jb) & 3)]:
                continue
            if cb != 4 * level and ORDER[level, rb] > bytes_[i, CAP + ((me + 1 + ja) & 3)]:
                continue
            k = i // each
            gain = odds[k, jb, ca] + odds[k, ja, cb] - odds[k, ja, ca] - odds[k, jb, cb]
            u = np.float64(x & np.uint64(0xFFFFFFFF)) * scale
            if gain >= 0 or u < np.exp(gain):
                owner[a], owner[b] = jb, ja
        for j in range(3):
            s = (me + 1 + j) & 3
            for card in range(54):
                known = held_copies(words, i, KNOWN + 2 * s, card)
                gone = held_copies(words, i, PLAYED + 2 * s, card)
                held = held_copies(words, i, HAND + 2 * s, card)
                keep = min(held, max(0, known - gone))
                give_copies(words, i, s, card, keep - held)
        for t in range(n):
            s = (me + 1 + owner[t]) & 3
            give_copies(words, i, s, cards[t], 1)


def steer(
    states: Array,
    seat: int,
    odds: NDArray[np.floating],
    rng: np.random.Generator,
    *,
    sweeps: int = SWEEPS,
) -> Array:
    """Return deals stirred towards a belief, [n] STATE; `states` is unchanged.

    states: [n] STATE, deals that agree with what `seat` knows. odds: [3, 54] log odds by seats after `seat`;
        zeros give uniform deals; or [k, 3, 54], where the states are equally many deals of each of k
        positions, in order.
    sweeps: swaps proposed per hidden card.
    Raises ValueError if the odds do not divide among the states.
    """
    known = np.asarray(odds, np.float64).reshape(-1, 3, 54)
    out = np.array(states, copy=True, ndmin=1)
    seeds = rng.integers(0, 2**64, len(out), np.uint64)
    if len(out) and (len(known) == 0 or len(out) % len(known)):
        raise ValueError(
            f"steer: each position's odds are of equally many deals; got {len(known)} for {len(out)} deals"
        )
    _steer(*views(out), seat, known, seeds, sweeps)
    return out


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

    tensors: NAME.weight and NAME.bias of `public`, `deal`, `block` and `out`; `deal` has no bias.
    """

    kind, called, shipped = "deals", "deal network", DEALS

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
        public = _summed(self._public, public_inputs(states[:1], np.array([seat])))
        with torch.inference_mode():
            deals = torch.from_numpy(deal_inputs(states, seat)).to(self._kind)
            h = (torch.nn.functional.linear(deals, self._deal).float() + public).relu_()
            h += (torch.nn.functional.linear(h.to(self._kind), self._block).float() + self._bias).relu_()
            found: NDArray[np.float64] = (h @ self._out).double().numpy()
        return found


Network = TypeVar("Network", BeliefNetwork, DealNetwork)


def save_network(path: str | Path, network: Network, description: dict[str, object]) -> None:
    """Write a network with its description, weights in half precision."""
    named: dict[str, Array] = {
        f"{network.kind}.{name}": array.astype(np.float16 if name.endswith("weight") else np.float32)
        for name, array in network.tensors.items()
    }
    write_checkpoint(path, named, {"game": "guandan", "features": FEATURE_HASH, **description})


def load_network(made: type[Network], path: str | Path | None = None) -> Network:
    """Return the network of a kind saved at `path`, by default the one in the package.

    Raises CheckpointError if the file is missing, damaged or made for other features.
    """
    path = made.shipped if path is None else path
    tensors, _ = read_checkpoint(path, features=FEATURE_HASH, prefix=f"{made.kind}.")
    own = {name.partition(".")[2]: array.astype(np.float32) for name, array in tensors.items()}
    try:
        return made(own)
    except (KeyError, ValueError, IndexError) as error:
        raise CheckpointError(f"{made.kind}: {path} holds no {made.called} ({error}); train one") from error
