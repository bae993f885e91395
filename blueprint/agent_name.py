"""Agents by name: one grammar for the agents of every game, and what a name of one game stands for.

NAME[:FIELD=VALUE,…][@FILE]     an agent, how it plays, and its network
FILE                            a network (.safetensors) or a policy
FILE.py:NAME, MODULE:NAME       a user's own; so is an entry point of the group `gs2.agents`
BASE+PRESET[:FIELD=VALUE,…]     search over any of these, at every decision
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.protocol import Agent, UnknownAgent
from games.support.near import near
from games.support.own import entry_point, entry_points_of, is_own, own_object
from games.support.spec import split_spec

NETWORK = "network"
SUFFIX = ".safetensors"
GROUP = "gs2.agents"
"""Entry points by which installed packages offer agents."""
CONFIGURED = re.compile(r"[\w+-]+:\s*\w+\s*=", re.ASCII)
"""How a name with settings begins, which may hold the name of a user's own part themselves."""


@dataclass(frozen=True)
class AgentName:
    """An agent's name, taken apart.

    text: as written, without the search. name: what comes before settings and file; all of `text` for a file
    and for a user's own agent. settings: FIELD=VALUE, or what else follows the colon. file: the one behind @,
    or that `text` names; it need not exist. search: PRESET[:FIELD=VALUE,…], None without search. own: whether
    it is FILE.py:NAME, MODULE:NAME or an entry point.
    """

    text: str
    name: str
    settings: tuple[str, ...] = ()
    file: Path | None = None
    search: str | None = None
    own: bool = False


def parse_name(
    text: str, presets: Iterable[str] = (), is_strategy: Callable[[str], bool] = lambda text: False
) -> AgentName:
    """Return an agent's name taken apart.

    presets: of search. The name is split at the first `+` behind which one stands, so that `cfr+:100` has no
        search and `cfr+:100+gs2+` has. A file of that very name has none.
    is_strategy: whether a text names a strategy that is computed, and no user's own.
    """
    text, search = _parts_of(text.strip(), frozenset(presets))
    if Path(text).is_file() or (text.endswith(SUFFIX) and "@" not in text):
        return AgentName(text, text, file=Path(text), search=search)
    own = is_own(text) and not CONFIGURED.match(text) and not is_strategy(text)
    if own or text in entry_points_of(GROUP):
        return AgentName(text, text, search=search, own=True)
    told, at, file = text.partition("@")
    return AgentName(text, *split_spec(told), Path(file) if at else None, search)


def _parts_of(text: str, presets: frozenset[str]) -> tuple[str, str | None]:
    if Path(text).is_file():
        return text, None
    at = text.find("+")
    while at > 0:
        base, words = text[:at].strip(), text[at + 1 :].strip()
        if words.partition(":")[0].strip().lower() in presets:
            return base, words
        at = text.find("+", at + 1)
    return text, None


MANY = 512
"""Deals played in lockstep by an agent that answers at once."""


@dataclass(frozen=True)
class NamedAgent:
    """An agent that a name stands for, before it is loaded.

    load: returns a new one; one that draws draws from the generator. fingerprint: returns what changes when
    the agent does. together: how many deals it should play in lockstep.
    """

    load: Callable[[np.random.Generator], Agent]
    fingerprint: Callable[[], str]
    together: int = MANY

    @property
    def is_quick(self) -> bool:
        """Whether the agent gains from deciding for many rounds together; a searching one does not."""
        return self.together == MANY


def no_agent(game: str, name: AgentName, names: Sequence[str]) -> UnknownAgent:
    """Return the error that no agent of a game is called so, with near matches. names: of those there are."""
    text = name.text if name.search is None else f"{name.text}+{name.search}"
    names = (*names, *entry_points_of(GROUP))
    hint = near(text.lower(), names, f"there are {', '.join(names)}.")
    return UnknownAgent(
        f"no agent of {game} is called {text!r}; {hint} A .safetensors checkpoint is named by its path, "
        "an agent of your own as FILE.py:NAME"
    )


def named_object(text: str) -> Any:
    """Return what a user's own name stands for; raise UnknownAgent where it cannot be had."""
    if is_own(text):
        return own_object(text, "agent", UnknownAgent)
    return entry_point(GROUP, text, UnknownAgent)


def source_of(text: str) -> Path | None:
    """Return the file of Python that a user's own agent is written in; None where there is none."""
    found = named_object(text)
    made = inspect.unwrap(found) if inspect.isclass(found) or inspect.isroutine(found) else type(found)
    try:
        return Path(inspect.getfile(made))
    except (TypeError, OSError):
        return None


def made_agent(text: str) -> Any:
    """Return what a user's own name stands for, made if it is a class or function; it may be no agent.

    Raises UnknownAgent where it cannot be had or made.
    """
    found = named_object(text)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        return found
    try:
        return found()
    except Exception as error:
        raise UnknownAgent(f"agent {text!r} cannot be made without arguments: {error!r}") from error
