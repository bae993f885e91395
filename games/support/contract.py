"""What a part of somebody's own breaks: one error for every checker, whatever it checks.

`check_game`, `check_blueprint`, `check_gadget`, `check_generator` and `check_leaf_value` raise it, or a
subclass, with the rule that is broken, the value received and where to read on. None of them uses `assert`,
so that they say the same under `python -O`.
"""

from __future__ import annotations


class ContractError(ValueError):
    """A part that breaks its contract: the rule, the value received and the next step."""


def require(holds: object, rule: str, received: object, where: str) -> None:
    """Return None if `holds`; else raise an error: the rule, the value received and where to read on."""
    if not holds:
        raise ContractError(f"{rule}; got {received}; see {where}")
