"""Parts of one's own: generation functions, gadgets and leaf values by name, beside those that come with gs2.

A registered name works wherever a configuration takes one, in this process:
`preset("gs2-d", generator="mine")`, `SearchConfig.of(leaf="mine", depth=2)`, `refine_policy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from games.game import Game
from games.infosets.two_seats import TwoSeatView, other_side
from games.support.configuration import ConfigError, StagedConfiguration
from games.support.contract import ContractError
from games.support.own import entry_point, is_own, own_object
from games.support.spec import field_types, read_settings
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GADGET_NAMES, GENERATOR_NAMES, LEAF_NAMES
from gs2.search.gadget.build import OWN_GADGETS, GadgetBuilder
from gs2.search.generation import GENERATORS, Generator, check_generator
from gs2.search.refine.policy_only import UniformPlay
from gs2.search.subgame.leaf import OWN_LEAVES, LeafEvaluator, check_leaf_value

Staged = TypeVar("Staged", bound=StagedConfiguration)
PARTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "generator": (GENERATORS, GENERATOR_NAMES),
    "gadget": (OWN_GADGETS, GADGET_NAMES),
    "leaf": (OWN_LEAVES, LEAF_NAMES),
}
"""For each field of a configuration that takes one: the parts by name, and the names that there are."""


def add_part(field: str, name: str, part: Any) -> None:
    """Let configurations call a part `name`; one that is there is replaced."""
    parts, names = PARTS[field]
    parts[name] = part
    if name not in names:
        names.append(name)


def configured(preset: Staged, settings: Iterable[str], *, label: str, **options: Any) -> Staged:
    """Return a preset with settings FIELD=VALUE; options count instead of those, parts by their own names.

    label: what errors call it. Raises ConfigError for a field or value that does not exist.
    """
    known = field_types(type(preset))  # type: ignore[arg-type]  # what attrs makes has a hash
    for field in options.keys() - known.keys():
        raise ConfigError(f"{label} has no field {field!r}; leave it out, or choose another method")
    changes = read_settings(settings, known, label=label) | options
    for field in PARTS.keys() & changes:
        if changes[field] is not None:
            changes[field] = named_part(field, changes[field])
    return preset.replace(**changes) if changes else preset


def named_part(field: str, name: str) -> str:
    """Return the name by which configurations call a part that a person names.

    field: "generator", "gadget" or "leaf". name: one that is known; FILE.py:NAME or MODULE:NAME
    (`games.support.own`); or, of generators, one that an installed package offers by the entry point group
    `gs2.generators`. A new part is registered under the name as it stands.
    Raises ConfigError if it cannot be loaded, ContractError if a generator breaks its contract.
    """
    if name in PARTS[field][1]:
        return name
    part = own_object(name, field, ConfigError) if is_own(name) else None
    if part is None and field == "generator":
        part = entry_point("gs2.generators", name, ConfigError)
    if part is None:
        return name  # the configuration says what there is
    if not callable(part):
        raise ConfigError(f"{field} {name!r} must be a function; got {type(part).__name__}; name another")
    if field != "generator":
        (register_gadget if field == "gadget" else register_leaf)(name, part)
        return name
    with _answering(f"generator {name!r}", "Generator in gs2.search.generation"):
        register_generator(name, part)
    return name


@contextmanager
def _answering(part: str, contract: str) -> Iterator[None]:
    """Say of a part that is asked for an answer which contract its errors break; some say so themselves."""
    try:
        yield
    except (ConfigError, ContractError):
        raise
    except Exception as error:
        raise ConfigError(f"{part} must answer as {contract}; got {error!r}; mend it") from error


def register_generator(name: str, choose: Generator) -> None:
    """Let configurations call a generation function `name`.

    Raises ConfigError for a name that is taken, ContractError if `check_generator` finds a broken rule.
    """
    _free("generator", name)
    check_generator(choose, np.random.default_rng(0))
    add_part("generator", name, choose)


def register_gadget(name: str, build: GadgetBuilder) -> None:
    """Let configurations call a gadget `name`; hold what it builds against `check_gadget` in your tests.

    Its roots come in the order of the opponent's infosets. Raises ConfigError for a name that is taken.
    """
    _free("gadget", name)
    add_part("gadget", name, build)


def register_leaf(name: str, leaf: LeafEvaluator) -> None:
    """Let configurations with a depth limit call a leaf value `name`.

    A search holds every answer against the contract; hold it against `check_leaf_value` in your tests, too.
    Raises ConfigError for a name that is taken.
    """
    _free("leaf", name)
    add_part("leaf", name, leaf)


def check_leaf_of(config: SearchConfig, game: Game) -> None:
    """Raise ContractError if a configuration's leaf value is one's own and breaks its contract in a game."""
    leaf = OWN_LEAVES.get(config.subgame.leaf)
    if leaf is None or config.subgame.depth is None:
        return
    if game.num_players > 2:  # a search asks it about two of the seats
        game = TwoSeatView(game, UniformPlay().policy, (0, other_side(game, 0)[0]))
    with _answering(f"leaf {config.subgame.leaf!r}", "LeafEvaluator in gs2.search.subgame.leaf"):
        check_leaf_value(leaf, game, np.random.default_rng(0))


def _free(field: str, name: str) -> None:
    taken = PARTS[field][1]
    if not name or name in taken:
        raise ConfigError(f"{field}: a new name must differ from {', '.join(taken)}; got {name!r}")
