"""Networks and other blueprints of any game by name: a file, the shipped network, and how it plays.

network                                     the one that comes with the package
ddz.safetensors                             a checkpoint
network:temperature=0.05@ddz.safetensors    the same, played otherwise (see `MovePlay`); DouDiZhu, Big2
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blueprint.checkpoint import GAMES_WITH_NETWORKS, GUANDAN, read_checkpoint, shipped_file
from blueprint.protocol import Blueprint, GameAgent
from cfr.policies.policy import load_policy
from cfr.public.policies.policy_file import is_public_policy, open_public_policy
from games.game import Game
from games.support.configuration import ConfigError
from games.support.spec import field_types, read_settings, split_spec
from gs2.policies.policy_spec import PolicySpecError
from gs2.search.refine.policy_only import KeyedPlay, PolicyOnly, UniformPlay

__all__ = ["NamedNetwork", "UnknownGameAgent", "blueprint_named", "load_named_network", "named_network"]

NETWORK = "network"
SUFFIX = ".safetensors"


class UnknownGameAgent(ValueError):
    """A name that no agent of the game has."""


@dataclass(frozen=True)
class NamedNetwork:
    """What a name says. path: of the checkpoint. settings: FIELD=VALUE of how it plays."""

    path: Path
    settings: tuple[str, ...] = ()


def named_network(game: str, text: str) -> NamedNetwork | None:
    """Return the network that a name stands for; None where it stands for something else.

    game: the game's string. Raises UnknownGameAgent for the shipped network of a game that has none, and for
    a file behind @ that is none.
    """
    text = text.strip()
    if text.endswith(SUFFIX) and Path(text).is_file():
        return NamedNetwork(Path(text))
    told, at, file = text.partition("@")
    name, settings = split_spec(told)
    if name.lower() != NETWORK or (settings and not at and not any("=" in one for one in settings)):
        return None  # `network:DECISIONS` among others
    if at and not Path(file).is_file():
        raise UnknownGameAgent(f"network: behind @ there must be a checkpoint; {file!r} is no file")
    path = Path(file) if at else shipped_file(game)
    if path is None:
        raise UnknownGameAgent(
            f"network: {game} must be a game with a shipped network, one of "
            f"{', '.join((*GAMES_WITH_NETWORKS, GUANDAN))}; train one with gs2 train and give its file, or "
            "say network:DECISIONS"
        )
    return NamedNetwork(path, settings)


def load_named_network(found: NamedNetwork, game: Game) -> GameAgent | Blueprint:
    """Return the agent, a blueprint unless it plays in somebody's style.

    Raises CheckpointError if the file is damaged or of another game, ConfigError for settings that it has
    not.
    """
    if not found.settings:
        from blueprint.research.named_network import load_network

        return load_network(found.path, game)
    from blueprint.climbing.move_config import CLIMBING
    from blueprint.climbing.move_play import MovePlay, move_agent

    changes = read_settings(found.settings, field_types(MovePlay), label=NETWORK)
    kind = read_checkpoint(found.path, prefix="-")[1].get("kind")
    if kind != CLIMBING:
        raise ConfigError(
            f"network: {found.settings[0]} is for networks of {' and '.join(GAMES_WITH_NETWORKS)}; "
            f"{found.path} is of another kind; leave the settings out"
        )
    return move_agent(found.path, game, MovePlay(**changes))


def blueprint_named(spec: str, game: Game) -> Blueprint:
    """Return the blueprint that a text names, without growing the game's tree.

    spec: a network's checkpoint (.safetensors), a policy file of `gs2 blueprint`, or uniform.
    Raises PolicySpecError for a strategy that is computed on the whole tree, or read onto it as JSON is,
    CheckpointError or PolicyError for a file that is damaged or another game's.
    """
    if spec.strip().lower() == "uniform":
        return PolicyOnly(UniformPlay())
    if spec.endswith(".safetensors") and Path(spec).is_file():
        from blueprint.research.named_network import load_network

        return load_network(spec, game)
    if is_public_policy(spec):
        return open_public_policy(spec, game)
    if Path(spec).is_file() and not spec.endswith(".json"):
        return PolicyOnly(KeyedPlay(load_policy(spec, game.name), spec))
    if Path(spec).is_file():
        raise PolicySpecError(
            f"blueprint as JSON names infosets in words, which only the whole tree of {game.name} can read, "
            f"and that is not listed; got {spec!r}; pass a policy file (.npz) or a network, or say uniform"
        )
    raise PolicySpecError(
        f"blueprint must be a file of `gs2 train` or `gs2 blueprint`, or uniform, where {game.name} is not "
        f"listed; got {spec!r}; make one with `gs2 train '{game.name}' -o FILE.safetensors --minutes 8` and "
        "pass --blueprint FILE.safetensors"
    )
