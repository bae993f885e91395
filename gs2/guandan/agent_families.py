"""GuanDan's agents, in families: those that answer at once, searches, and users' own."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.agent_name import AgentName, family_of, named_object
from blueprint.checkpoint import read_checkpoint
from blueprint.guandan.chooser import Chooser
from blueprint.guandan.play.quick_agents import (
    MANY,
    QUICK,
    GuanDanAgents,
    check_file,
    digest,
    network_path,
)
from blueprint.protocol import UnknownAgent
from gs2.play.agent_names import parse_agent

if TYPE_CHECKING:
    from gs2.guandan.agent.guandan_config import GuanDanConfig

__all__ = [
    "FAMILIES",
    "GuanDanAgents",
    "check_agent",
    "deals_at_once",
    "fingerprint",
    "is_batched",
    "load_batched_agent",
]

SEARCHING = re.compile(r"gs2(-(?P<preset>.*))?|(?P<rollout>rollout(-.*)?)", re.S)
SOME = 16
"""Deals played in lockstep by an agent that may take its time."""


class _SearchingAgents:
    """`gs2`, `gs2-PRESET` and `rollout`, `rollout-fast`, `rollout-deep`: search on top of a network."""

    names: Sequence[str] = (
        "gs2",
        "gs2-fast",
        "gs2-deep",
        "gs2-paper",
        "rollout",
        "rollout-fast",
        "rollout-deep",
    )

    def takes(self, spec: AgentName) -> bool:
        return not spec.own and SEARCHING.fullmatch(spec.name) is not None

    def check(self, spec: AgentName) -> None:
        self.config(spec)
        check_file(spec)

    def load(self, spec: AgentName, rng: np.random.Generator) -> Chooser:
        from gs2.guandan.agent.agent import make_agent

        return make_agent(spec.file, self.config(spec), rng)

    def fingerprint(self, spec: AgentName) -> str:
        from gs2.guandan.agent.deals.dealing import network_files

        config = json.dumps(_as_written(spec, self.config(spec)), sort_keys=True).encode()
        network, quick, *beliefs = network_files(network_path(spec))
        beside = [path.read_bytes() for path in (*beliefs, quick) if path.is_file()]
        return digest(network.read_bytes(), config, *beside)

    def deals_at_once(self, spec: AgentName) -> int:
        """A few: the agent runs the rollouts of several decisions together, but one piece of work must end in
        minutes, and the agent remembers `REMEMBERED` seats of rounds (`gs2.guandan.agent.deals.particles`).
        """
        return max(1, min(SOME, int(4 / self._preset(spec).deadline)))

    def config(self, spec: AgentName) -> GuanDanConfig:
        """Return the configuration that a name and its settings ask for."""
        from gs2.parts import configured

        return configured(self._preset(spec), spec.settings, label=f"agent {spec.name}")

    def _preset(self, spec: AgentName) -> GuanDanConfig:
        from gs2.guandan.agent.agent_presets import PRESETS

        found = SEARCHING.fullmatch(spec.name)
        name = (found and (found["preset"] or found["rollout"])) or "standard"
        if name not in PRESETS:
            raise UnknownAgent(
                f"agent {spec.name}: the preset must be one of {', '.join(PRESETS)}; got {name!r}"
            )
        return PRESETS[name]


class _OwnAgents:
    """Anybody's agents: FILE.py:NAME, MODULE:NAME, and entry points of installed packages.

    What is named is called without arguments. It makes an agent for a seat, with
    `act(observation) -> index` (`gs2.guandan.table`), or a `Chooser`.
    """

    names: Sequence[str] = ()

    def takes(self, spec: AgentName) -> bool:
        return spec.own

    def check(self, spec: AgentName) -> None:
        self._maker(spec)

    def load(self, spec: AgentName, rng: np.random.Generator) -> Chooser:
        from gs2.guandan.table.seated import SeatedChooser

        make = self._maker(spec)
        try:
            made = make()
        except Exception as error:
            raise UnknownAgent(f"agent {spec.text!r} cannot be made: {error!r}") from error
        if callable(getattr(made, "act", None)):
            return SeatedChooser(spec.text, make, made)
        if callable(made):
            chooser: Chooser = made
            return chooser
        raise UnknownAgent(
            f"agent {spec.text!r}: it must have act(observation) -> index, or be called with Decisions; "
            f"{type(made).__name__} has no method act"
        )

    def fingerprint(self, spec: AgentName) -> str:
        made = self._maker(spec)
        try:
            source = Path(inspect.getfile(made if inspect.isclass(made) else inspect.unwrap(made)))
            return digest(spec.text.encode(), source.read_bytes())
        except (TypeError, OSError) as error:
            raise UnknownAgent(f"agent {spec.text!r} must come from a file of Python; got {error}") from error

    def deals_at_once(self, spec: AgentName) -> int:
        return SOME

    def _maker(self, spec: AgentName) -> Callable[[], Any]:
        found = named_object(spec.text)
        if not callable(found):
            raise UnknownAgent(f"agent {spec.text!r} must be a class or function; got {type(found).__name__}")
        maker: Callable[[], Any] = found
        return maker


FAMILIES: tuple[GuanDanAgents, ...] = (*QUICK, _SearchingAgents(), _OwnAgents())
"""Every family of agents; the first that takes a name has it."""


def _found(text: str) -> tuple[GuanDanAgents, AgentName]:
    spec = parse_agent(text)
    return family_of("guandan", FAMILIES, spec), spec


def check_agent(name: str) -> None:
    """Check a name and the file of its network, before anything is made; a file of one's own runs.

    Raises UnknownAgent with near matches if no agent has the name, its file does not exist or cannot be
    loaded; ConfigError for a field or value that does not exist; CheckpointError for a damaged network.
    """
    family, spec = _found(name)
    family.check(spec)
    if spec.file is not None:
        trained = str(read_checkpoint(spec.file)[1].get("game", "guandan"))
        if trained.partition("(")[0] != "guandan":
            raise UnknownAgent(f"agent {spec.text!r}: its network must play GuanDan; it plays {trained}")


def load_batched_agent(name: str, rng: np.random.Generator | None = None) -> Chooser:
    """Return the agent called `name`, which chooses for any batch of decisions.

    name: a rule agent (`random` … `strong`); `blueprint`, the shipped network's best move
        (`blueprint:objective=levels,tribute=value@PATH`, see `NetworkPlay`); the path of a checkpoint, its
        best move; `gs2`, `gs2-fast`, `gs2-deep`, which solve the subgame of a decision on top of the network,
        `rollout…`, which compare moves by rollouts alone, and `gs2-paper`, each with settings and @PATH; a
        user's own.
    rng: what an agent that draws draws from; without it, from the operating system's entropy.
    Raises UnknownAgent with near matches if there is none, ConfigError for a field or value that does not
    exist, CheckpointError if a checkpoint cannot be used.
    """
    family, spec = _found(name)
    family.check(spec)
    return family.load(spec, np.random.default_rng() if rng is None else rng)


def is_batched(name: str) -> bool:
    """Return whether the agent gains from deciding for many rounds together; a searching one does not."""
    return deals_at_once(name) == MANY


def deals_at_once(name: str) -> int:
    """Return how many deals the agent should play in lockstep: hundreds if it answers at once."""
    family, spec = _found(name)
    return family.deals_at_once(spec)


def fingerprint(name: str) -> str:
    """Return what tells the agent of today from one of the same name tomorrow.

    A hash of its checkpoint, for a searching agent of its configuration and beliefs as well, and of the file
    of one's own agent; a rule agent is told by its name alone. Raises what `check_agent` raises.
    """
    family, spec = _found(name)
    family.check(spec)
    return family.fingerprint(spec)


def _as_written(spec: AgentName, config: GuanDanConfig) -> dict[str, Any]:
    """Return the configuration's fields, numbers as the name writes them.

    Result files know an agent by a hash of them, in which 60 and 60.0 differ.
    """
    fields = config.to_json()
    for setting in spec.settings:
        name, _, words = (part.strip() for part in setting.partition("="))
        with suppress(ValueError):
            written = json.loads(words)
            if written == fields[name]:
                fields[name] = written
    return fields
