"""Parts of one's own: generation functions and gadgets by name, beside those that come with gs2.

A registered name works wherever a configuration takes one, in this process: `SearchConfig(generator="mine")`,
`preset("gs2-d", generator="mine")`, `refine_policy`. Leaf values are passed to a search as they are.
"""

from __future__ import annotations

import numpy as np

from gs2.config import GADGET_NAMES, GENERATOR_NAMES, ConfigError
from gs2.gadget import OWN_GADGETS, GadgetBuilder
from gs2.generation import GENERATORS, Generator, check_generator

__all__ = ["register_gadget", "register_generator"]


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
