"""Agents of every game but those of its own families, by the grammar of `blueprint.agent_name`.

    load_game_agent(game, "liars5.safetensors")
    load_game_agent(game, "network:temperature=0.05@ddz.safetensors")
    load_game_agent(game, "cfr:100+gs2+:k=5")

For presets of search see `gs2.search.config.presets` and `gs2.play.search_agent`.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable
from copy import copy
from pathlib import Path

import numpy as np

from blueprint.agent_name import NETWORK, SUFFIX, AgentName, NamedAgent, made_agent, parse_name, source_of
from blueprint.checkpoint import read_checkpoint
from blueprint.networks import SHIPPED_GAMES, shipped_file
from blueprint.protocol import Agent, AgentFault, Blueprint, UnknownAgent, agent_of
from cfr.policies.policy import load_policy
from cfr.private_moves.form import list_private_moves
from cfr.private_moves.solver import is_private_run
from cfr.public.policies.policy_file import is_public_policy, open_public_policy
from cfr.tree import TreeBudget, grow
from cfr.tree.memory import TooLarge
from games.game import Game
from games.support.configuration import ConfigError
from games.support.counts import count_in
from games.support.near import near
from games.support.spec import field_types, read_settings, split_spec
from gs2.play.search_agent import SearchAgent, named_search, search_names
from gs2.policies.policy_spec import (
    PolicySpecError,
    is_computed_privately,
    is_policy_spec,
    policy_from_spec,
    private_policy,
)
from gs2.policies.tabulate import tabulate
from gs2.search.config.search import check_listed
from gs2.search.refine.policy_only import AgentPlay, KeyedPlay, PolicyOnly, UniformPlay
from gs2.wings import own_part

FILES = (".safetensors", ".npz", ".json")
"""How names of files of networks and policies end."""
KNOWN = ("uniform", "network", "network:DECISIONS", "cfr:ITERATIONS", "noise:EPSILON", "dmc:GAMES")


def parse_agent(text: str) -> AgentName:
    """Return the name of an agent of any game taken apart (`parse_name`)."""
    return parse_name(text, search_names(), is_policy_spec)


def load_game_agent(game: Game, text: str, *, seed: int = 0) -> Agent:
    """Return the agent of a game that a name stands for.

    text: `uniform`; `network`, the one that comes with the package (`shipped_file`), or another @FILE, also
        with a way to play (`MovePlay`); the file of a network (`gs2 train GAME`) or of a policy
        (`gs2 blueprint`); `network:N`, one after N decisions of training; on games small enough for a tree
        `cfr:100` or another CFR variant, `noise:0.25` and `dmc:20000`; a user's own, an agent or what makes
        one when called without arguments; or search over any of these. One without values is valued by
        playing on. A game's own names (`gs2.wings`) stand for agents too.
    seed: of what is trained, and of the search.
    Raises UnknownAgent for a name that says none of these, ConfigError for fields that no search has,
    TooLarge for a tree that does not fit, and the error of a file that cannot be read.
    """
    name = parse_agent(text)
    if name.search is not None:
        config = named_search(name.search)
        base = load_searched(game, name.text, seed=seed)
        agent = SearchAgent(game, base, config, name=text.strip(), seed=seed)
        if agent.listed:
            check_listed(split_spec(name.search)[1], game.name)
        return agent
    if name.text.lower() == "uniform":
        return agent_of(PolicyOnly(UniformPlay()))
    own = own_part(game.name, "agents")
    if own is not None and not name.own and network_file(game.name, name) is None:
        named: NamedAgent = own(text)
        return named.load(np.random.default_rng(seed))
    return agent_of(_played(game, name, seed))


def load_game_blueprint(game: Game, text: str, *, seed: int = 0) -> Blueprint:
    """Return the blueprint that a name stands for: as `load_game_agent`, with values and without search.

    Raises UnknownAgent, among others, where the name is of an agent without values.
    """
    name = parse_agent(text)
    found = _played(game, name, seed)
    if not isinstance(found, Blueprint):
        raise UnknownAgent(
            f"blueprint {name.text!r} must have values (q, policy and value); it lacks some, as does a "
            "network in a persona's style; see blueprint/protocol.py"
        )
    return found


def _played(game: Game, name: AgentName, seed: int) -> Agent | Blueprint:
    """Return what a name without search stands for."""
    path = network_file(game.name, name)
    if path is not None:
        return _network_agent(game, path, name.settings)
    if name.own:
        return _made_agent(name.text)
    if name.name.lower() == NETWORK and name.settings:
        from blueprint.networks import trained_network

        decisions = count_in(",".join(name.settings), "network: decisions", UnknownAgent)
        return trained_network(game, decisions, np.random.default_rng(seed))
    if name.file is not None and name.file.is_file() and is_public_policy(name.file):
        return open_public_policy(name.file, game)
    if is_private_run(name.text):
        return _on_private_moves(game, name.text)
    try:
        return _on_a_tree(game, name, seed)
    except TooLarge:
        if not is_computed_privately(game, name.text):
            raise
        return _on_private_moves(game, name.text)


def load_searched(game: Game, base: str, *, seed: int = 0) -> Blueprint:
    """Return the blueprint of a search, by the name of an agent as of `load_game_agent`.

    A user's own agent that only plays is valued by playing on.
    """
    name = parse_agent(base)
    if name.own:
        found = _made_agent(name.text)
        return found if isinstance(found, Blueprint) else PolicyOnly(AgentPlay(found))
    if base.lower() == "uniform" and game.num_players > 2:
        return blueprint_named(base, game)
    blueprint = load_game_blueprint(game, base, seed=seed)
    path = network_file(game.name, name)
    if path is not None:
        return with_quick_copy(blueprint, path)
    return blueprint


def with_quick_copy(blueprint: Blueprint, path: str | Path) -> Blueprint:
    """Return the blueprint of a checkpoint with a copy in bfloat16 as `quick`, where the processor has that.

    Of any blueprint but a climbing game's network, and on other processors, itself.
    """
    from blueprint.climbing.climbing_blueprint import ClimbingBlueprint
    from blueprint.layers.bfloat import native_half
    from blueprint.layers.fast_moves import fast_moves

    if not isinstance(blueprint, ClimbingBlueprint) or not native_half():
        return blueprint
    tensors, _ = read_checkpoint(Path(path), prefix="network.")
    found, quick = copy(blueprint), copy(blueprint)
    quick.network = fast_moves(blueprint.network.inputs, tensors, half=True, name=blueprint.name)
    found.quick = quick  # type: ignore[attr-defined]
    return found


def blueprint_named(spec: str, game: Game, tell: Callable[[str], None] = lambda words: None) -> Blueprint:
    """Return the blueprint that a text names, without growing the game's tree.

    spec: a network's checkpoint (.safetensors), a policy file of `gs2 blueprint`, or uniform; in a game of
        private moves also what `private_policy` computes. tell: hears of the progress.
    Raises PolicySpecError for a strategy that is computed on the whole tree, or read onto it as JSON is,
    CheckpointError or PolicyError for a file that is damaged or another game's.
    """
    if spec.strip().lower() == "uniform":
        return PolicyOnly(UniformPlay())
    if Path(spec).is_file() and (spec.endswith(SUFFIX) or is_public_policy(spec)):
        return load_game_blueprint(game, spec)
    if is_computed_privately(game, spec) or is_private_run(spec):
        return _on_private_moves(game, spec, tell)
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


def agent_identity(text: str, game: str = "", *, named: bool = True) -> str:
    """Return what tells the agent of today from one of that name tomorrow, by its name and its files.

    game: the game's string, on which the shipped network depends. named: whether the name counts; without it
    a file is told by what it holds, wherever it lies.
    """
    name = parse_agent(text)
    told: list[bytes | memoryview] = [text.strip().encode() if named else b""]
    base = name.text.partition(":")[0] if name.own else name.text
    where = network_file(game, name) or Path(base)
    if where.is_file():
        told.append(_contents(where))
    elif name.own:
        source = source_of(name.text)
        told.append(b"" if source is None else source.read_bytes())
    digest = hashlib.sha256()
    for part in told:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def _contents(path: Path) -> bytes | memoryview:
    """Return what a file holds, which may be large, without reading it as a whole."""
    with open(path, "rb") as file:
        empty = path.stat().st_size == 0
        return b"" if empty else memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def network_file(game: str, name: AgentName) -> Path | None:
    """Return the checkpoint of the network that a name stands for; None where it stands for something else.

    game: the game's string. Raises UnknownAgent for the shipped network of a game that has none, and for a
    file behind @ that does not exist.
    """
    if name.file is not None and name.name == name.text:
        return name.file if name.file.suffix == SUFFIX and name.file.is_file() else None
    configured = not name.settings or any("=" in one for one in name.settings)
    if name.name.lower() != NETWORK or not (configured or name.file):
        return None  # `network:DECISIONS` among others
    if name.file is not None and not name.file.is_file():
        raise UnknownAgent(f"network: behind @ there must be a checkpoint; {str(name.file)!r} is no file")
    path = name.file or shipped_file(game)
    if path is None:
        raise UnknownAgent(
            f"network: {game} must be a game with a shipped network, one of {', '.join(SHIPPED_GAMES)}; "
            "train one with gs2 train and give its file, or say network:DECISIONS"
        )
    return path


def _network_agent(game: Game, path: Path, settings: tuple[str, ...]) -> Agent | Blueprint:
    """Return a network as an agent: a blueprint, unless it plays in a persona's style.

    Raises CheckpointError if the file is damaged or of another game, ConfigError for settings that it has
    not.
    """
    if not settings:
        from blueprint.networks import load_network

        return load_network(path, game)
    from blueprint.climbing.climbing_blueprint import MovePlay, move_agent
    from blueprint.climbing.move_config import CLIMBING

    changes = read_settings(settings, field_types(MovePlay), label=NETWORK)
    if read_checkpoint(path, prefix="-")[1].get("kind") != CLIMBING:
        raise ConfigError(
            f"network: {settings[0]} must be of a network with moves as inputs; {path} is of another kind; "
            "leave the settings out"
        )
    return move_agent(path, game, MovePlay(**changes))


def _on_a_tree(game: Game, name: AgentName, seed: int) -> Blueprint:
    """Return a strategy that is computed on, or read onto, the whole tree of a small game."""
    text = name.text
    base, plus, words = text.rpartition("+")
    searches = ":" in base and is_policy_spec(base)  # cfr+:100 has a + of its own
    if not is_policy_spec(text) or searches:
        wanted = words.partition(":")[0]
        if text.endswith(FILES):
            raise UnknownAgent(f"{text}: no such file; check the path")
        hint = near(wanted, search_names(), "") if plus and base else near(text, KNOWN, "")
        if hint:
            raise UnknownAgent(
                f"no agent of {game.name} is called {text!r}; {hint} gs2 match --help names them all"
            )
        raise UnknownAgent(
            f"no agent of {game.name} is called {text!r}; an agent is one of {', '.join(KNOWN)}, a file of a "
            "network or policy, FILE.py:NAME, or one of these with +PRESET for search, PRESET one of "
            f"{', '.join(search_names())}"
        )
    try:
        tree = grow(game, budget=TreeBudget(history_bytes=0.0))
        probs = policy_from_spec(text, game, tree, seed=seed)
    except PolicySpecError as error:
        raise UnknownAgent(str(error)) from error
    return tabulate(game, tree, probs, text)


def _on_private_moves(game: Game, spec: str, tell: Callable[[str], None] = lambda words: None) -> Blueprint:
    """Return a strategy that is computed on, or was stored for, the private moves of a game."""
    form = list_private_moves(game)
    return PolicyOnly(KeyedPlay(form.keyed(private_policy(spec, form, tell)), spec))


def _made_agent(text: str) -> Agent | Blueprint:
    """Return a user's own agent or blueprint; raise UnknownAgent where it is none."""
    found: Agent | Blueprint = made_agent(text)
    try:
        agent_of(found)
    except AgentFault as error:
        raise UnknownAgent(f"agent {text!r}: {error}") from error
    return found
