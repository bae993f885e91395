"""Networks of every game: what each game brings to them, and their files read, shipped and made.

A checkpoint says its kind and its game. A kind says what reads it and what is kept of it for playing; a game
registers the kind of its networks, and what sees and plays it where the moves are inputs. What is registered
is imported when it is first asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.protocol import Blueprint
from games.game import Game
from games.support.array_types import Array


@dataclass(frozen=True)
class NetworkKind:
    """A kind of checkpoint.

    load: called with a file and a game, returns a Blueprint. trained: called with a game, decisions of
    self-play and a generator, returns a Blueprint; "" for a network with a column for each action. shipped:
    how names of tensors begin that an inference-only file keeps; none where there is no such file.
    """

    load: str
    trained: str = ""
    shipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class GameNetworks:
    """What a game registers.

    kind: of its networks. inputs: called with the game, and the game that a network learned or None, returns
    its `MoveInputs`; "" for rows of its own.
    by_rule: stems of other networks' files, each with a pattern of the rules, as the game's string has them,
    by which it plays better than the one of the default rules.
    """

    kind: str
    inputs: str = ""
    by_rule: Mapping[str, str] = field(default_factory=dict)


KINDS = {
    "game": NetworkKind("blueprint.research.game_network:load_game_network"),
    "climbing": NetworkKind(
        "blueprint.climbing.climbing_blueprint:load_climbing_blueprint",
        "blueprint.climbing.move_trainer:trained_climbing_network",
        ("network.",),
    ),
    # the critic lets others go on with the training
    "guandan": NetworkKind(
        "blueprint.guandan.network.neural_blueprint:load_guandan_blueprint", shipped=("network.", "critic.")
    ),
}
OF_GAMES = {
    "doudizhu": GameNetworks("climbing", "blueprint.climbing.doudizhu_inputs:DouDizhuInputs"),
    "big2": GameNetworks(
        "climbing",
        "blueprint.climbing.big2_inputs:Big2Inputs",
        {"big2-of-two": r"(?!.*cards=).*players=2\b"},  # with fewer cards it was not
    ),
    "guandan": GameNetworks("guandan", "blueprint.guandan.play.selfplay:GuanDanInputs"),
}
"""Games whose networks come with the package, by name; each plays its game by any rules, those of `by_rule`
apart."""
SHIPPED_GAMES = tuple(OF_GAMES)
FEW: dict[str, Any] = {"passes": 2.0, "learning_rate": 2e-3}
"""Training of a network that is named by its decisions: few, so each teaches twice (research_networks.md)."""
UNNAMED = "guandan"
"""The game of checkpoints that are so old that they name none."""
WEIGHTS = Path(__file__).parent / "weights"
LIMIT = 8_000_000
"""Most bytes that a shipped file may have."""
KEPT = (
    "kind",
    "game",
    "features",
    "network",
    "train",
    "config",
    "stake",
    "generation",
    "decisions",
    "rounds",
    "seconds",
    "processor_seconds",
    "machine",
    "evaluation",
)


def game_of(description: dict[str, Any]) -> str:
    """Return the game of a checkpoint by its description; the oldest name none."""
    return str(description.get("game", UNNAMED))


def kind_of(game: Game) -> str:
    """Return the kind of a game's networks."""
    own = OF_GAMES.get(game.name.partition("(")[0])
    if own is not None:
        return own.kind
    return "climbing" if getattr(game, "moves_are_inputs", False) else "game"


def shipped_file(game: str) -> Path | None:
    """Return the checkpoint that comes with the package for a game by its string, or None."""
    name, _, rules = game.partition("(")
    if name not in OF_GAMES:
        return None
    stems = (stem for stem, rule in OF_GAMES[name].by_rule.items() if re.match(rule, rules))
    return WEIGHTS / f"{next(stems, name)}.safetensors"


def load_network(path: str | Path, game: Game) -> Blueprint:
    """Return the blueprint of a checkpoint for `game`, whichever kind it is.

    Raises CheckpointError if the file is missing, damaged, another game's, or of a kind no longer read.
    """
    _, description = read_checkpoint(path, prefix="-")
    kind = str(description.get("kind", game_of(description)))
    if kind not in KINDS:
        raise CheckpointError(
            f"checkpoint: {path} must be a network of the kind {', '.join(KINDS)}; got {kind!r}; train one "
            f"with: gs2 train '{game.name}' -o FILE"
        )
    load: Callable[[str | Path, Game], Blueprint] = resolve_name(KINDS[kind].load)
    return load(path, game)


def trained_network(game: Game, decisions: int, rng: np.random.Generator) -> Blueprint:
    """Return the blueprint that so many decisions of self-play come to."""
    made = KINDS[kind_of(game)].trained
    if made:
        trained: Blueprint = resolve_name(made)(game, decisions, rng)
        return trained
    from blueprint.learning.run import RunLimits
    from blueprint.research.game_network import GameNetworkConfig
    from blueprint.research.game_training import train_game_network

    return train_game_network(game, rng, RunLimits(decisions=decisions), config=GameNetworkConfig(**FEW))


def export_checkpoint(
    source: str | Path, target: str | Path, *, notes: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the description of the inference-only checkpoint written to `target`.

    source: a checkpoint of training, of a kind with such files. What its kind ships is kept in half precision
    (11 bits, more than the 8 that inference multiplies with where the processor has such units); the
    optimiser's moments and the state of the random generator are not.
    notes: added to the description, for example results of matches.
    Raises CheckpointError if the source is damaged or foreign, holds weights that half precision cannot, or
    would not fit in `LIMIT` bytes.
    """
    halves, description = _halves(source)
    kept = {key: description[key] for key in KEPT if key in description} | {"export": "float16"}
    write_checkpoint(target, halves, kept | (notes or {}))
    return kept | (notes or {})


def check_export(source: str | Path) -> None:
    """Raise what `export_checkpoint` would raise of its source."""
    _halves(source)


def _halves(source: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return what is shipped of a checkpoint, in half precision, and its description."""
    tensors, description = read_checkpoint(source)
    kind = str(description.get("kind", game_of(description)))
    parts = KINDS[kind].shipped if kind in KINDS else ()
    if not parts:
        known = ", ".join(name for name, one in KINDS.items() if one.shipped)
        raise CheckpointError(
            f"export: {source} must be a network of {known}; got {kind!r}; others play from their own files"
        )
    halves: dict[str, Array] = {}
    for name, value in tensors.items():
        if not name.startswith(parts):
            continue
        if not np.all(np.abs(value) < np.finfo(np.float16).max):
            raise CheckpointError(f"export: {name} of {source} must be within ±65504; train with less rate")
        halves[name] = value.astype(np.float16)
    if not halves:
        raise CheckpointError(f"export: {source} must hold a network; it has no tensor {parts[0]}*")
    size = sum(value.nbytes for value in halves.values())
    if size > LIMIT:
        raise CheckpointError(
            f"export: a shipped network may have {LIMIT} bytes; got {size}; train a smaller one"
        )
    return halves, description
