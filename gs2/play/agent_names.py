"""Agents of any game by name: `uniform`, `network`, a file, `cfr:100`, `network:300000`, or search.

    load_game_agent(game, "liars5.safetensors")             a blueprint plays
    load_game_agent(game, "liars5.safetensors+gs2+:k=5")    search refines it at every decision

A search is BASE+PRESET[:FIELD=VALUE,…]; see `gs2.search.config.presets` and `gs2.play.search_agent`.
Everything that takes an agent of a game reads its name here.
"""

from __future__ import annotations

import hashlib
import inspect
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.protocol import Blueprint, GameAgent
from games.game import Game
from games.support.counts import count_in
from games.support.near import near
from games.support.own import is_own, own_object
from gs2.play.game_agents import UniformAgent
from gs2.play.network_names import UnknownGameAgent, load_named_network, named_network
from gs2.play.search_agent import SearchAgent, named_search, search_names

__all__ = [
    "agent_identity",
    "load_game_agent",
    "load_game_blueprint",
    "load_searched",
    "parts_of",
]

KNOWN = ("uniform", "network", "network:DECISIONS", "cfr:ITERATIONS", "noise:EPSILON", "dmc:GAMES")


def parts_of(text: str) -> tuple[str, str | None]:
    """Return the base of an agent's name, and the words of its search; None where it does not search.

    A name is split at the first `+` behind which a preset of search stands, so that `cfr+:100` is a base and
    `cfr+:100+gs2+` a search. A file of that very name is a base.
    """
    text = text.strip()
    if Path(text).is_file():
        return text, None
    at = text.find("+")
    while at > 0:
        base, words = text[:at].strip(), text[at + 1 :].strip()
        if words.partition(":")[0].strip().lower() in search_names():
            return base, words
        at = text.find("+", at + 1)
    return text, None


def load_game_agent(game: Game, text: str, *, seed: int = 0) -> GameAgent:
    """Return the agent of a game that a name stands for.

    text: `uniform`; `network`, the one that comes with the package (GuanDan, DouDiZhu, Big2); the file of a
        network (`gs2 train GAME`), also with a way to play (`gs2.play.network_names`), or of a policy
        (`gs2 blueprint`); `network:N`, one after N decisions of training; on games small enough for a tree
        also `cfr:100` or another CFR variant, `noise:0.25` and `dmc:20000`; one's own as FILE.py:NAME or
        MODULE:NAME, an agent or what makes one when called without arguments; or BASE+PRESET[:FIELD=VALUE,…],
        search over any of these; one of one's own without values is valued by playing on.
    seed: of what is trained, and of the search.
    Raises UnknownGameAgent for a name that says none of these, ConfigError for fields that no search has,
    TooLarge for a tree that does not fit, and the error of a file that cannot be read.
    """
    base, words = parts_of(text)
    if words is not None:
        config = named_search(words)
        return SearchAgent(game, load_searched(game, base, seed=seed), config, name=text.strip(), seed=seed)
    if base.lower() == "uniform":
        return UniformAgent()
    network = named_network(game.name, base)
    if network is not None:
        return load_named_network(network, game)
    if _is_own_agent(base):
        return _own_agent(base)
    return load_game_blueprint(game, base, seed=seed)


def load_game_blueprint(game: Game, text: str, *, seed: int = 0) -> Blueprint:
    """Return the blueprint that a name stands for: as `load_game_agent`, with values and without search.

    Raises UnknownGameAgent, among others, where the name is of an agent without values.
    """
    text = text.strip()
    network = named_network(game.name, text)
    if network is not None:
        agent = load_named_network(network, game)
        if not isinstance(agent, Blueprint):
            raise UnknownGameAgent(f"blueprint {text!r} must have values; in a persona's style it has none")
        return agent
    word, colon, amount = text.partition(":")
    if word.strip().lower() == "network" and colon:
        from blueprint.research.named_network import trained_network

        decisions = count_in(amount, "network: decisions", UnknownGameAgent)
        return trained_network(game, decisions, np.random.default_rng(seed))
    if Path(text).is_file():
        from cfr.public.policies.policy_file import is_public_policy, open_public_policy

        if is_public_policy(text):
            return open_public_policy(text, game)
    if _is_own_agent(text):
        found = _own_agent(text)
        if not isinstance(found, Blueprint):
            raise UnknownGameAgent(
                f"blueprint {text!r} must have q, policy and value; it lacks some; see blueprint/protocol.py"
            )
        return found
    return _on_a_tree(game, text, seed)


def load_searched(game: Game, base: str, *, seed: int = 0) -> Blueprint:
    """Return the blueprint of a search, by the name of an agent as of `load_game_agent`.

    An agent of one's own that only plays is valued by playing on.
    """
    if _is_own_agent(base):
        found = _own_agent(base)
        if not isinstance(found, Blueprint):
            from gs2.search.refine.policy_only import PolicyOnly

            return PolicyOnly(found)
    if base.lower() == "uniform" and game.num_players > 2:
        from gs2.play.network_names import blueprint_named

        return blueprint_named(base, game)
    blueprint = load_game_blueprint(game, base, seed=seed)
    network = named_network(game.name, base)
    if network is not None:
        from gs2.play.quick_blueprint import with_quick_copy

        return with_quick_copy(blueprint, network.path)
    return blueprint


def agent_identity(text: str, game: str = "", *, named: bool = True) -> str:
    """Return what tells the agent of today from one of that name tomorrow, by its name and its files.

    game: the game's string, on which the shipped network depends. named: whether the name counts; without it
    a file is told by what it holds, wherever it lies.
    """
    base = parts_of(text)[0]
    network = named_network(game, base)
    if network is not None:
        base = str(network.path)
    told: list[bytes | memoryview] = [text.strip().encode() if named else b""]
    where = base.partition(":")[0] if is_own(base) else base
    if Path(where).is_file():
        told.append(_contents(Path(where)))
    elif is_own(base):
        found = own_object(base, "agent", UnknownGameAgent)
        source = inspect.getsourcefile(found if inspect.isclass(found) or callable(found) else type(found))
        told.append(Path(source).read_bytes() if source else b"")
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


def _on_a_tree(game: Game, text: str, seed: int) -> Blueprint:
    """Return a strategy that is computed on, or read onto, the whole tree of a small game."""
    from cfr.tree import TreeBudget, grow
    from gs2.policies.policy_spec import PolicySpecError, is_policy_spec, policy_from_spec
    from gs2.policies.tabulate import tabulate

    base, plus, words = text.rpartition("+")
    searches = ":" in base and is_policy_spec(base)  # cfr+:100 has a + of its own
    if not is_policy_spec(text) or searches:
        wanted = words.partition(":")[0]
        hint = near(wanted, search_names(), "") if plus and base else near(text, KNOWN, "")
        raise UnknownGameAgent(
            f"no agent of {game.name} is called {text!r}; {hint}{' ' * bool(hint)}An agent is one of "
            f"{', '.join(KNOWN)}, a file of a network or policy, FILE.py:NAME, or one of these with +PRESET "
            f"for search, PRESET one of {', '.join(search_names())}"
        )
    try:
        tree = grow(game, budget=TreeBudget(history_bytes=0.0))
        probs = policy_from_spec(text, game, tree, seed=seed)
    except PolicySpecError as error:
        raise UnknownGameAgent(str(error)) from error
    return tabulate(game, tree, probs, text)


def _is_own_agent(text: str) -> bool:
    """Return whether a name looks like FILE.py:NAME or MODULE:NAME; `cfr:100` does not."""
    from gs2.policies.policy_spec import is_policy_spec

    return is_own(text) and not is_policy_spec(text)


def _own_agent(text: str) -> GameAgent:
    found: Any = own_object(text, "agent", UnknownGameAgent)
    if inspect.isclass(found) or not hasattr(found, "policy"):
        make: Callable[[], Any] = found
        try:
            found = make()
        except Exception as error:
            raise UnknownGameAgent(f"agent {text!r} cannot be made without arguments: {error!r}") from error
    if not isinstance(found, GameAgent):
        raise UnknownGameAgent(
            f"agent {text!r} must have a name and policy(game, states, player, actions); got "
            f"{type(found).__name__}; see blueprint/protocol.py"
        )
    return found
