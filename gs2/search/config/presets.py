"""Methods of the literature by name: each is a configuration, none is code of its own."""

from __future__ import annotations

from typing import Any

from games.support.configuration import ConfigError
from games.support.counts import count_in
from games.support.near import near
from gs2.search.config.search import SearchConfig

DEFAULT_K = 3
"""Histories kept by the GS2 presets by default; the paper keeps 10 of 1,000 at its largest game."""

_CLOSURE = SearchConfig.of(order=None, freeze="none", scope="block")
_GS2 = SearchConfig.of(order=1, generator="random", k=DEFAULT_K)
_PLUS = _GS2.replace(
    name="gs2+",
    generator="diverse",
    rest="summary",
    whole=10_000_000,
    fallback_k=5,
    freeze="none",
    scope="block",
    certificate="anchored",
    mode="sequential",
)
_ROLLOUT = SearchConfig.of(
    name="rollout",
    source="sampled",
    samples=32,
    companions=0,
    slip=0.05,
    opponent="none",
    branches=3,
    gap=0.3,
    depth=1,
    leaf="rollout",
    rollouts=1,
    gadget="unsafe",
    solver="anchored",
    iterations=100,
    temperature=0.0,
    doubt=0.15,
)

_DRAWN: dict[str, Any] = {
    "companions": 0,
    "branches": 6,
    "depth": 1,
    "leaf": "rollout",
    "rollouts": 1,
}
"""A few actions, played out from histories that are drawn: where nothing can be listed."""
PRESETS: dict[str, SearchConfig] = {
    config.name: config
    for config in (
        _CLOSURE.replace(name="unsafe", gadget="unsafe"),
        _CLOSURE.replace(name="resolve", gadget="resolve"),
        _CLOSURE.replace(name="maxmargin", gadget="maxmargin"),
        _CLOSURE.replace(name="reach-maxmargin", gadget="reach-maxmargin"),
        _CLOSURE.replace(
            name="path", gadget="path", entry_floor=0.05, entry_prior="mixed", mode="sequential"
        ),
        SearchConfig.of(name="1-klss"),
        SearchConfig.of(name="2-klss", order=2),
        SearchConfig.of(name="3-klss", order=3),
        SearchConfig.of(name="kluss", freeze="none"),
        _GS2.replace(name="gs2-r"),
        _GS2.replace(name="gs2-d", generator="diverse"),
        _GS2.replace(name="gs2-clusters", generator="clusters"),
        SearchConfig.of(name="mirror-descent", solver="mirror-descent"),
        SearchConfig.of(
            name="gs2-s",
            **_DRAWN,
            beyond="blueprint",
            generator="strata",
            k=16,
            solver="mirror-descent",
            step=0.8,
            unit="deviation",
            caution=16.0,
            extragradient=True,
            robust=True,
            mode="independent",
        ),
        SearchConfig.of(
            name="gs2",
            source="sampled",
            **_DRAWN,
            belief=0.5,
            playing="greedy",
            gadget="unsafe",
            solver="anchored",
            iterations=100,
            temperature=0.0,
            doubt=4.0,
        ),
        _ROLLOUT,
        _PLUS,
        _PLUS.replace(
            name="gs2+path",
            gadget="path",
            entry_floor=0.05,
            entry_prior="mixed",
            certificate="path",
            fallback_k=0,
        ),
    )
}
"""Configurations by name; `gs2 solve --methods` says what each is for."""

PRESET_NOTES: dict[str, str] = {
    "unsafe": "common-knowledge subgame; the opponent's blueprint is taken as given",
    "resolve": "common-knowledge subgame; the opponent may take its alternative value (CFR-D)",
    "maxmargin": "common-knowledge subgame; the least margin over opponent infosets is maximised",
    "reach-maxmargin": "maxmargin, with the opponent's earlier gifts added to its alternative values",
    "path": "common-knowledge subgame; the opponent plays its whole path again (exact exploitability)",
    "1-klss": "the infoset and its neighbours; our play outside the infoset frozen",
    "2-klss": "order-2 knowledge and its neighbours, frozen outside",
    "3-klss": "order-3 knowledge and its neighbours, frozen outside",
    "kluss": "as 1-klss, with our play outside the infoset solved too",
    "gs2-r": "k random histories of the infoset, completed to opponent infosets",
    "gs2-d": "k histories of evenly spread alternative values, completed to opponent infosets",
    "gs2-clusters": "k histories, one for each cluster of alternative values",
    "mirror-descent": "one step on the blueprint's action values, without a subgame",
    "gs2-s": "one step from k histories that represent strata of all, against three answers; no subgame",
    "gs2": "actions compared by rollouts from drawn histories; only gains that luck cannot explain count",
    "rollout": "as gs2, over the few best actions of a deterministic blueprint, such as a greedy network",
    "gs2+": "the whole closure, or a summary of it, or gs2-d, as time allows; mixed in as far as certified",
    "gs2+path": "gs2+ against the opponent's whole path; needs values off the path, as `path` does",
}


def preset(name: str, **changes: object) -> SearchConfig:
    """Return the configuration called `name`, with some fields changed.

    `J-klss` is known for every order J >= 1. Raises ConfigError with near names if there is none.
    """
    wanted = name.strip().lower()
    if wanted not in PRESETS and wanted.endswith("-klss") and wanted[:-5].isdecimal():
        found = SearchConfig.of(name=wanted, order=count_in(wanted[:-5], "order", ConfigError))
    elif wanted in PRESETS:
        found = PRESETS[wanted]
    else:
        hint = near(wanted, PRESETS, f"one of {', '.join(PRESETS)}", most=2, cutoff=0.4)
        raise ConfigError(f"method: no preset is called {name!r}; {hint}")
    return found.replace(**changes) if changes else found
