"""Which fields of a search are read with which others: what `SearchConfig` refuses, and lets go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["BY_RESPONSE", "DETAILS", "DRAWN", "ROLLED_OUT", "needs_listing", "unread_fields"]

OF_A_SUBGAME = (
    "order",
    "generator",
    "close",
    "freeze",
    "rest",
    "gadget",
    "entry_floor",
    "alternative",
    "opponent",
    "branches",
    "depth",
    "anchor",
    "certificate",
    "scope",
)
"""Fields that say which subgame is solved and what of it is kept."""
OF_A_STEP = ("step", "unit", "caution", "magnet", "extragradient", "robust")
OF_AN_ANCHOR = ("temperature", "opponent_temperature", "doubt")
"""Fields of the solvers mirror-descent and anchored alone."""
DETAILS = frozenset(
    {
        *("k", "whole", "plans", "fallback_k", "entry_floor", "entry_prior", "leaf", "continuations"),
        *("policies", "choosers", "rollouts", "variant", "gamma", "iterations", "target", "warm_start"),
        *("confidence", "trials", "against", "tolerance", "shrink", "gap", "branches", "beyond", "playing"),
        *("samples", "companions", "belief", "slip", "explore"),
        *OF_A_STEP,
        *OF_AN_ANCHOR,
    }
)
"""Fields that only refine what another field chooses."""
ROLLED_OUT = ("rollout", "multi-valued")
"""Leaves that may play games out."""
LEAF_DETAILS = {
    "continuations": ("continuations",),
    "rollouts": ROLLED_OUT,
    "playing": ("rollout",),
    "policies": ("multi-valued",),
    "choosers": ("multi-valued",),
}
"""Fields that some leaves read, and which these are."""


DRAWN = (
    "samples",
    "companions",
    "belief",
    "slip",
    "explore",
    "branches",
    "gap",
    "beyond",
    "playing",
    "doubt",
)
"""Fields that only a source reads that draws histories."""
NOT_SAMPLED = {"gadget": ("path", "reach-maxmargin"), "certificate": ("path", "shared")}
"""Choices that ask for values of the game outside a sample."""
LISTED_LEAVES = ("exact", "continuations", "multi-valued", "play-on")
"""Leaf values that need a game that is listed."""
BY_RESPONSE = ("margin", "anchored", "shared", "path")
"""Certificates that hold the opponent's best response down at all histories that there are."""


def needs_listing(values: Mapping[str, Any]) -> str:
    """Return which choice needs more of the game than a sample of histories, in words; nothing if none does.

    values: the fields of all stages, by name.
    """
    for name, choices in NOT_SAMPLED.items():
        if values[name] in choices:
            return f"{name} = {values[name]} needs a game that can be listed"
    if values["depth"] is not None and values["leaf"] in LISTED_LEAVES:
        return f"leaf = {values['leaf']} needs a game that can be listed"
    if values["order"] is not None and values["order"] > 1:
        return f"order = {values['order']} needs a game that can be listed"
    return ""


def unread_fields(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that a search never reads, each with what it would need.

    values: the fields of all stages, by name.
    """
    found: dict[str, str] = {}

    def read(names: Iterable[str], when: object, needs: str) -> None:
        """Note that some fields are read only when something holds; the last need that is not met counts."""
        if not when:
            found.update(dict.fromkeys(names, needs))

    solver, depth, leaf, rest = (values[name] for name in ("solver", "depth", "leaf", "rest"))
    steps, chooses = solver == "mirror-descent", values["generator"] != "all"
    drawn, whole = values["source"] != "enumerated", needs_listing(values)
    choice = "a generator that chooses, as random or diverse do (it is all)"
    judge = f"(it is {values['certificate']})"
    noisy = not steps or drawn or chooses
    read(["caution"], noisy, "a generator that chooses (it is all, which leaves no noise)")
    still = {"alternative": chooses, "branches": drawn, "depth": drawn, "generator": True}
    of_a_subgame = [name for name in OF_A_SUBGAME if not still.get(name, False)]
    read(of_a_subgame, not steps, "a subgame, solver = cfr, lp or anchored (it is mirror-descent)")
    read(OF_A_STEP, steps, f"solver = mirror-descent (it is {solver})")
    answers = values["extragradient"] or "robust" in found
    read(["robust"], answers, "extragradient = true (it is false)")
    read(["variant", "gamma", "warm_start"], solver == "cfr", f"solver = cfr (it is {solver})")
    iterates = solver in ("cfr", "anchored")
    read(["iterations", "target"], iterates, f"solver = cfr or anchored (it is {solver})")
    read(OF_AN_ANCHOR, solver == "anchored", f"solver = anchored (it is {solver})")
    tried = not steps and values["certificate"] == "statistical"
    read(["confidence", "trials", "against", "tolerance"], tried, f"certificate = statistical {judge}")
    read(["k"], chooses, choice)
    summary = ("whole", "plans", "fallback_k")
    read(summary, chooses, choice)
    read(summary, rest == "summary", f"rest = summary, which solves closures (it is {rest})")
    asked = values["gadget"] != "unsafe"
    read(["entry_floor"], asked, "a gadget at which the opponent may stay out (it is unsafe)")
    forced = values["entry_floor"] != 0
    read(["entry_prior"], forced, "an entry_floor above 0 (it is 0, and nobody is forced to enter)")
    read(
        ["gap", "beyond"],
        values["branches"] is not None,
        "branches (they are None, and every action is kept)",
    )
    read(["leaf"], depth is not None, "a depth (it is None, to the end of the game)")
    for name, leaves in LEAF_DETAILS.items():
        needs = f"a depth and leaf = {' or '.join(leaves)} (they are {depth} and {leaf})"
        read([name], depth is not None and leaf in leaves, needs)
    draws = f"a source that draws histories ({whole or 'it is enumerated'})"
    read(DRAWN, drawn and not whole, draws)
    responds = values["certificate"] in BY_RESPONSE
    read(["shrink"], responds, f"a certificate by best response, {', '.join(BY_RESPONSE)} {judge}")
    once = values["scope"] != "both"
    read(["freeze"], once, "a scope of one search (it is both, which makes one of each kind)")
    return found
