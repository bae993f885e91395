"""A Q-network for games of any size, and the blueprint that it is: Q(I, a) = V(I) + A(I, a).

    blueprint = load_game_network("liars5.safetensors", game)
    blueprint.policy(game, states, player, actions)

Inference does without torch, so that agents start at once and take little memory; training is torch
(`blueprint.research.game_training`).
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, check_description, read_checkpoint, tensors_behind
from blueprint.network_blueprint import NetworkBlueprint
from blueprint.research.infoset_features import KINDS, ActionColumns, InfosetFeatures
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError, Configuration, integer, one_of, real
from games.support.kernel import kernel

KIND = "game"
AT_ONCE = 256
"""Infosets that go through the network together: 8,192 take 1.07 times as long each (our measurement)."""
PREFIX = "network."


@attrs.frozen(slots=False)
class GameNetworkConfig(Configuration):
    """The network and its training. The temperature is measured (docs/measurements/large_games.md).

    features: what the network sees of an infoset (`blueprint.research.infoset_features`).
    width, blocks: of the tower, one input layer and residual layers.
    episodes: games of a generation, played in lockstep. replay: generations that decisions are learned from.
    passes: times each decision is learned from. batch: decisions a gradient step.
    learning_rate: of Adam; it falls linearly to a tenth over the run.
    epsilon: probability of a uniformly random action in self-play.
    temperature: of the softmax over Q, in self-play and of the policy, as a share of what is at stake: the
        standard deviation of payoffs in random play.
    smoothing: of the weights that play in the end, an exponential mean over gradient steps; 0 for the last.
    seed: of the parameters.
    learner: dmc, or a policy learned by mmd or ppo (`blueprint.research.policy_learning`; `LEARNERS`). Theirs
        alone: critic: of all hands, or of what its player sees (own). critic_rate: its learning rate. trace:
        how far returns count, 1 for payoffs alone. price, last_price: of a nat away from uniform play, in
        stakes, at the start and the end. step: of mmd.
    """

    label: ClassVar[str] = "GameNetworkConfig"

    features: str = attrs.field(default="auto", validator=one_of(("auto", *KINDS)))
    width: int = attrs.field(default=192, validator=integer(1, 8192))
    blocks: int = attrs.field(default=2, validator=integer(0, 64))
    episodes: int = attrs.field(default=1024, validator=integer(1, 1 << 20))
    replay: int = attrs.field(default=8, validator=integer(1, 1024))
    passes: float = attrs.field(default=1.0, validator=real(0.01, 64))
    batch: int = attrs.field(default=1024, validator=integer(1, 1 << 20))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, 1))
    epsilon: float = attrs.field(default=0.05, validator=real(0, 1))
    temperature: float = attrs.field(default=0.15, validator=real(1e-6, 10))
    smoothing: float = attrs.field(default=0.999, validator=real(0, 1, below=True))
    seed: int = attrs.field(default=0, validator=integer(0, 1 << 62))
    learner: str = attrs.field(default="dmc", validator=one_of(("dmc", "mmd", "ppo")))
    critic: str = attrs.field(default="hands", validator=one_of(("hands", "own")))
    critic_rate: float = attrs.field(default=2e-3, validator=real(0, 1))
    trace: float = attrs.field(default=0.9, validator=real(0, 1))
    price: float = attrs.field(default=0.2, validator=real(1e-6, 10))
    last_price: float = attrs.field(default=0.05, validator=real(1e-6, 10))
    step: float = attrs.field(default=1.0, validator=real(1e-3, 1e3))


LEARNERS: dict[str, dict[str, Any]] = {
    "dmc": {},
    "mmd": {
        "learner": "mmd",
        "batch": 512,
        "learning_rate": 2e-3,
        "epsilon": 0.03,
        "smoothing": 0.9996,
        "replay": 1,
        "step": 0.3,
    },
    "ppo": {
        "learner": "ppo",
        "batch": 512,
        "learning_rate": 5e-4,
        "epsilon": 0.0,
        "smoothing": 0.9996,
        "replay": 4,
        "critic": "own",
    },
}
"""Fields of each learner beside the defaults, measured in docs/measurements/research_networks.md."""
UNREAD = {
    "dmc": ("critic", "critic_rate", "trace", "price", "last_price", "step"),
    "mmd": ("temperature",),
    "ppo": ("temperature", "step"),
}
"""Fields that a learner does not read."""


def learner_config(learner: str, changes: dict[str, Any]) -> GameNetworkConfig:
    """Return the configuration of a learner with some fields changed.

    Raises ConfigError for a change of a field that the learner does not read.
    """
    if unread := [name for name in UNREAD[learner] if name in changes]:
        raise ConfigError(
            f"learner: {learner} must read what is changed; drop {', '.join(unread)}, or name another learner"
        )
    return GameNetworkConfig(**{**LEARNERS[learner], **changes})


class NetworkLayout:
    """What goes into the network of a game, and what comes out.

    features, columns: of the game. stake: payoffs to 1 of the network's answers.
    """

    def __init__(self, game: Game, kind: str, columns: ActionColumns, stake: float) -> None:
        """Take how infosets are described, the columns of actions, and what is at stake."""
        self.game, self.columns, self.stake = game, columns, stake
        self.features = InfosetFeatures(game, kind)

    @classmethod
    def of(cls, game: Game, config: GameNetworkConfig) -> NetworkLayout:
        """Return the layout that training a game begins with."""
        rng = np.random.default_rng([config.seed, 0xAC7])
        return cls(game, config.features, *ActionColumns.sampled(game, rng))

    def shapes(self, config: GameNetworkConfig) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array of weights, by name."""
        width = config.width
        found: dict[str, tuple[int, ...]] = {
            "input.weight": (width, self.features.width),
            "input.bias": (width,),
        }
        for k in range(config.blocks):
            found |= {f"blocks.{k}.weight": (width, width), f"blocks.{k}.bias": (width,)}
        found |= {"value.weight": (1, width), "value.bias": (1,)}
        for head in ("advantage",) if config.learner == "dmc" else ("advantage", "policy"):
            found |= {f"{head}.weight": (self.columns.count, width), f"{head}.bias": (self.columns.count,)}
        return found


class NetworkWeights:
    """The layers of a network as arrays: V and A of infosets in stakes of the game, scores of a policy."""

    def __init__(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        """Take the arrays of `NetworkLayout.shapes`."""
        _touch_work_space()
        self.arrays = arrays
        blocks = sum(name.startswith("blocks.") and name.endswith(".weight") for name in arrays)
        names = ["input", *(f"blocks.{k}" for k in range(blocks))]
        laid_out = partial(np.ascontiguousarray, dtype=np.float32)
        self.layers = [(laid_out(arrays[f"{n}.weight"].T), laid_out(arrays[f"{n}.bias"])) for n in names]
        self.columns = len(arrays["advantage.bias"])
        self.has_policy = "policy.bias" in arrays
        names = ["value", "advantage", *(["policy"] if self.has_policy else [])]
        heads = [np.concatenate([arrays[f"{n}.{part}"] for n in names]) for part in ("weight", "bias")]
        self.head, self.bias = laid_out(heads[0].T), laid_out(heads[1])

    def answer(self, features: Array) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return V [n], A and scores [n, columns] of infosets with these features, [n, inputs].

        The policy is the softmax of scores. There are none, [n, 0], where it is that of Q / temperature.
        """
        n, (width, outputs) = len(features), self.head.shape
        found = np.empty((n, outputs), np.float32)
        room = np.empty((2, min(n, AT_ONCE), width), np.float32)
        for low in range(0, n, AT_ONCE):
            part = np.ascontiguousarray(features[low : low + AT_ONCE])
            h, more = room[:, : len(part)]
            self._forward(part, h, more, found[low : low + AT_ONCE])
        return found[:, 0], found[:, 1 : 1 + self.columns], found[:, 1 + self.columns :]

    def _forward(self, features: Array, h: Array, more: Array, out: Array) -> None:
        """Write what the heads say of infosets into out. h, more: room for layers, [n, width]."""
        _first_layer(features, *self.layers[0], h)
        for weight, bias in self.layers[1:]:
            np.matmul(h, weight, out=more)
            more += bias
            np.maximum(more, 0, out=more)
            h += more
        np.matmul(h, self.head, out=out)
        out += self.bias


@kernel(nogil=True)
def _first_layer(
    features: Array, weight: NDArray[np.float32], bias: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write the rectified first layer, [n, width]. Most features are 0, and are passed over."""
    for i in range(len(features)):
        out[i] = bias
        for j in range(features.shape[1]):
            if features[i, j] != 0:
                value = np.float32(features[i, j])
                for k in range(out.shape[1]):
                    out[i, k] += value * weight[j, k]
        for k in range(out.shape[1]):
            out[i, k] = max(out[i, k], np.float32(0))


@cache
def _touch_work_space() -> None:
    """Have a product fill OpenBLAS's work space.

    Until one has, small products took three times as long in a fresh process on a virtual machine (our
    measurement), perhaps because kernels prefetch from pages that were never touched.
    """
    np.ones((16, 320), np.float32) @ np.ones((320, 640), np.float32)


class GameNetwork(NetworkBlueprint):
    """A blueprint that plays by the softmax of a policy's scores, or of Q at a temperature in payoffs.

    layout: of its game.
    """

    def __init__(
        self, layout: NetworkLayout, weights: NetworkWeights, config: GameNetworkConfig, name: str = "network"
    ) -> None:
        """Take the network of a game."""
        temperature = 1.0 if weights.has_policy else config.temperature * layout.stake
        super().__init__(layout.game, layout.stake, name, temperature)
        self.layout, self.weights, self.config = layout, weights, config

    def answer(
        self, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return Q of actions in stakes, [m], and the scores of a policy."""
        features = self.layout.features.of(states, player, np.ones(len(states), bool))
        v, a, scores = self.weights.answer(features)
        rows, columns = actions.rows, self.layout.columns.of(actions)
        own = scores[rows, columns].astype(np.float64) if self.weights.has_policy else None
        return v[rows].astype(np.float64) + a[rows, columns], own

    def views(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return V of states at which others act, [n], in stakes."""
        features = self.layout.features.of(states, player, np.zeros(len(states), bool))
        return np.asarray(self.weights.answer(features)[0])


def network_description(layout: NetworkLayout, config: GameNetworkConfig) -> dict[str, Any]:
    """Return what a checkpoint says of its network; its arrays are those of `NetworkLayout.shapes`."""
    columns = layout.columns
    if columns.known.dtype.kind in "iu":
        known: dict[str, Any] = {"whole": columns.known.tolist()}
    else:
        known = {"bytes": [value.tobytes().hex() for value in columns.known]}
    return {
        "kind": KIND,
        "game": layout.game.name,
        "features": layout.features.kind,
        "inputs": layout.features.width,
        "stake": layout.stake,
        "actions": known,
        "config": config.to_json(),
    }


def load_game_network(path: str | Path, game: Game) -> GameNetwork:
    """Return the blueprint of a checkpoint for `game`.

    Raises CheckpointError if the file is missing, damaged, another game's, or of other features.
    """
    return read_game_network(path, game)[0]


def read_game_network(
    path: str | Path, game: Game, prefix: str = PREFIX
) -> tuple[GameNetwork, dict[str, Array], dict[str, Any]]:
    """Return the blueprint of a checkpoint, all its arrays whose names start with `prefix`, its description.

    Raises CheckpointError as `load_game_network` does.
    """
    path = Path(path)
    tensors, description = read_checkpoint(path, prefix=prefix)
    if description.get("kind") != KIND or description.get("game") != game.name:
        raise CheckpointError(
            f"checkpoint: {path} must be a network for {game.name}; it is one for "
            f"{description.get('game')!r}; train one with: gs2 train '{game.name}' -o FILE"
        )
    kinds = {"features": str, "inputs": int, "stake": float, "actions": dict, "config": dict}
    check_description(path, description, kinds)
    try:
        config = GameNetworkConfig.from_json(description["config"])
        columns = _columns(description["actions"])
        layout = NetworkLayout(game, str(description["features"]), columns, float(description["stake"]))
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"checkpoint: {path} is damaged ({error}); use an older one") from error
    if layout.features.width != description["inputs"]:
        raise CheckpointError(
            f"checkpoint: {path} was trained on {description['inputs']} features of {game.name}, which has "
            f"{layout.features.width} today; train it anew"
        )
    own = tensors_behind(path, tensors, PREFIX, layout.shapes(config))
    return GameNetwork(layout, NetworkWeights(own), config, path.stem), tensors, description


def _columns(known: dict[str, Any]) -> ActionColumns:
    if "whole" in known:
        return ActionColumns(np.array(known["whole"], np.int64))
    rows = [bytes.fromhex(text) for text in known["bytes"]]
    return ActionColumns(np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1))
