"""Parts of one's own: generation functions and gadgets by name, beside those that come with gs2.

A registered name works wherever a configuration takes one, in this process:
`preset("gs2-d", generator="mine")`, `SearchConfig.of(generator="mine")`, `refine_policy`. Leaf values are
passed to a search as they are.
"""

from __future__ import annotations

import numpy as np

from games.support.configuration import ConfigError
from games.support.own import entry_point, is_own, own_object
from gs2.search.config.stages import GADGET_NAMES, GENERATOR_NAMES
from gs2.search.gadget.build import OWN_GADGETS, GadgetBuilder
from gs2.search.generation import GENERATORS, Generator, check_generator

__all__ = ["named_part", "register_gadget", "register_generator"]


def named_part(field: str, name: str) -> str:
    """Return the name by which configurations call a part that a person names.

    field: "generator" or "gadget". name: one that is known; FILE.py:NAME or MODULE:NAME
    (`games.support.own`); or, of generators, one that an installed package offers by the entry point group
    `gs2.generators`. A new part is registered under the name as it stands.
    Raises ConfigError if it cannot be loaded, ContractError if a generator breaks its contract.
    """
    taken = GENERATOR_NAMES if field == "generator" else GADGET_NAMES
    if name in taken:
        return name
    part = own_object(name, field, ConfigError) if is_own(name) else None
    if part is None and field == "generator":
        part = entry_point("gs2.generators", name, ConfigError)
    if part is None:
        return name  # the configuration says what there is
    if not callable(part):
        raise ConfigError(f"{field} {name!r} must be a function; got {type(part).__name__}; name another")
    if field == "gadget":
        register_gadget(name, part)
        return name
    try:
        register_generator(name, part)
    except ValueError:
        raise
    except Exception as error:
        raise ConfigError(
            f"generator {name!r} must answer as Generator in gs2.search.generation; got {error!r}; mend it"
        ) from error
    return name


def register_generator(name: str, chooser: Generator) -> None:
    """Let configurations call a generation function `name`.

    Raises ConfigError for a name that is taken, ContractError if `check_generator` finds a broken rule.
    """
    _free("generator", name, GENERATOR_NAMES)
    check_generator(chooser, np.random.default_rng(0))
    GENERATORS[name] = chooser
    GENERATOR_NAMES.append(name)


def register_gadget(name: str, build: GadgetBuilder) -> None:
    """Let configurations call a gadget `name`; hold what it builds against `check_gadget` in your tests.

    Its roots come in the order of the opponent's infosets. Raises ConfigError for a name that is taken.
    """
    _free("gadget", name, GADGET_NAMES)
    OWN_GADGETS[name] = build
    GADGET_NAMES.append(name)


def _free(field: str, name: str, taken: list[str]) -> None:
    if not name or name in taken:
        raise ConfigError(f"{field}: a new name must differ from {', '.join(taken)}; got {name!r}")
