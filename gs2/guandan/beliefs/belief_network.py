"""A learned belief over hidden cards, and deals steered by it.

A small network sees what one seat sees (the blueprint's state features, and what the others led, followed
with and passed on) and says, card by card, which of the three others is likely to hold it. A uniform deal is
then stirred by Metropolis swaps of two hidden cards between two hands, so that deals come out as likely as
the product of their cards' odds: the numbers of cards left, the cards known from tribute and the highest
cards it showed stay respected at every swap.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.guandan.network.inputs import FEATURE_HASH, PAST_WIDTH, STATE_WIDTH, encode_past, encode_states
from blueprint.layers.half_rows import FastLayer, sum_rows
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


@runtime_checkable
class Beliefs(Protocol):
    """Who holds a hidden card."""

    def log_odds(self, states: Array, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return log odds, [n, 3, 54], that the next, the opposite and the previous seat hold each card.

        states: [n] STATE; seats: [n] who looks. Only differences between the three count.
        """
        ...


class BeliefNetwork:
    """Two hidden layers from the features of what a seat sees to 3 x 54 log odds.

    Its inputs are the state features alone, or these and what the others did (`encode_past`).
    """

    def __init__(self, layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None:
        shape = [weight.shape for weight, _ in layers]
        widths = (STATE_WIDTH, STATE_WIDTH + PAST_WIDTH)
        if len(layers) < 1 or shape[0][1] not in widths or shape[-1][0] != 162:
            raise ValueError(f"beliefs: layers lead from {widths[0]} or {widths[1]} to 162 odds; got {shape}")
        for before, after in itertools.pairwise(shape):
            if after[1] != before[0]:
                raise ValueError(f"beliefs: each layer takes what the one before gives; got {shape}")
        self.layers = layers
        self._layers = [FastLayer(weight, bias, False) for weight, bias in layers]

    @property
    def remembers(self) -> bool:
        """Return whether the past is among the inputs."""
        return bool(self.layers[0][0].shape[1] > STATE_WIDTH)

    def log_odds(self, states: Array, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return log odds, [n, 3, 54] float32."""
        x = encode_states(states, seats)
        if self.remembers:
            x = np.concatenate([x, encode_past(states, seats)], axis=1)
        first = self._layers[0]
        with torch.inference_mode():
            if len(x) > FEW:
                h = first(torch.from_numpy(x).float())
            else:
                known = np.empty((len(x), len(first.base)), np.float32)
                sum_rows(x, first.rows, first.base[None], np.zeros(len(x), np.int64), False, known)
                h = torch.from_numpy(known)
            for layer in self._layers[1:]:
                h = layer(h.relu_())
        odds: NDArray[np.float32] = h.numpy()
        return odds.reshape(-1, 3, 54)


def save_beliefs(path: str | Path, network: BeliefNetwork, description: dict[str, object]) -> None:
    """Write a belief network, half precision, with its description."""
    from blueprint.checkpoint import write_checkpoint

    tensors = {}
    for i, (weight, bias) in enumerate(network.layers):
        tensors[f"beliefs.{i}.weight"] = weight.astype(np.float16)
        tensors[f"beliefs.{i}.bias"] = bias.astype(np.float32)
    write_checkpoint(path, tensors, {"game": "guandan", "features": FEATURE_HASH, **description})


def load_beliefs(path: str | Path | None = None) -> BeliefNetwork:
    """Return the belief network saved at `path`, by default the one in the package.

    Raises CheckpointError if the file is missing, damaged or made for other features.
    """
    from blueprint.checkpoint import CheckpointError, read_checkpoint

    tensors, _ = read_checkpoint(DEFAULT if path is None else path, features=FEATURE_HASH, prefix="beliefs.")
    count = len(tensors) // 2
    try:
        layers = [
            (tensors[f"beliefs.{i}.weight"].astype(np.float32), tensors[f"beliefs.{i}.bias"])
            for i in range(count)
        ]
        return BeliefNetwork(layers)
    except (KeyError, ValueError, IndexError) as error:
        raise CheckpointError(f"beliefs: {path} holds no belief network ({error}); train one") from error


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
