"""The grid of a refinement experiment: which cells there are, by name, and the presets of the paper."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from experiments.refinement.methods import MixtureError, method_config, split_draws, split_passes
from games.registry import RESEARCH_GAMES
from games.support.spec import split_spec
from gs2.policies.policy_spec import TRAINED
from gs2.search.config.presets import preset
from gs2.search.config.stages import MODE_NAMES
from gs2.search.pipeline import plays_out

BLUEPRINTS = ("cfr:10", "cfr:100", "cfr:1000", "noise:0.25", "dmc:100000")
"""Blueprints of the experiment: plain CFR, a near-equilibrium with noise, and Monte-Carlo returns."""


class GridError(ValueError):
    """A grid that cannot be run: the rule, the value received and the next step."""


@dataclass(frozen=True)
class Cell:
    """One run: refine both players' strategies of one game by one method, splice, measure exactly.

    method: a preset, with changed fields after a colon, such as `gs2-d:k=5`; `draws=5` among them is the
        mixture of five draws.
    mode: independent, nested or sequential (`gs2.search.refine`).
    limit: seconds for each infoset, or None; iterations: most CFR iterations for each, or None for the
        preset's own.
    sample: infosets of each player that are searched, drawn at random; None for all.
    seed: of everything random in the run, the sample included.
    """

    game: str
    blueprint: str
    method: str
    mode: str = "nested"
    limit: float | None = None
    iterations: int | None = None
    sample: int | None = None
    seed: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """Return what tells this cell from others, as text."""
        return tuple("" if value is None else str(value) for value in asdict(self).values())


WHOLE = preset("gs2+").subgame.whole
"""Nodes up to which closures count as generated whole, in every game here."""


def is_random(method: str) -> bool:
    """Return whether a method draws random numbers, so that seeds matter.

    One does that draws its histories, one whose generator chooses among them, since a diverse one draws where
    alternative values tie, and one that plays games out, at a depth limit or for a statistical certificate.
    GS2+ generates closures whole, unless it is told to stop at smaller ones.
    """
    if len(passes := split_passes(split_draws(method)[0])) > 1:
        return any(is_random(one) for one in passes)
    config = method_config(passes[0])
    whole = config.subgame.rest == "summary" and config.subgame.whole >= WHOLE
    chooses = config.generation.generator != "all" and not whole
    return config.histories.source == "sampled" or plays_out(config) or chooses


def differs_by_seed(blueprint: str) -> bool:
    """Return whether every seed has a blueprint of its own: what play teaches is learnt anew for each."""
    word, colon, _ = blueprint.partition(":")
    return bool(colon) and word.strip().lower() in TRAINED


@cache
def mode_of(method: str, mode: str) -> str | None:
    """Return the mode that a method runs in where a grid asks for one; None where it cannot.

    A method whose searches add up one after another alone is nested in that way, and never independent; one
    whose searches each start from the blueprint is always so.
    """
    if len(passes := split_passes(split_draws(method)[0])) > 1:
        found = {mode_of(one, mode) for one in passes}
        return found.pop() if len(found) == 1 else None
    config = method_config(passes[0])
    if mode == "independent" and (config.mode == "sequential" or config.safety.certificate == "shared"):
        return None
    return mode if config.mode == "nested" else config.mode


@dataclass(frozen=True)
class Grid:
    """Cells as a product; deterministic methods on whole games run with one seed.

    A method of a preset (`GRIDS`) that cannot run in one of the modes has no cells there.
    limits: seconds for each infoset. iterations: limits by iterations, beside those by time.
    seeds: number of them; mixtures of draws share them out, and have one at least. samples, few_seeds: for
        games named here, infosets searched per player, and fewer seeds.
    """

    name: str
    games: tuple[str, ...] = RESEARCH_GAMES
    blueprints: tuple[str, ...] = ("cfr:100",)
    methods: tuple[str, ...] = ("gs2-r", "gs2-d", "1-klss")
    modes: tuple[str, ...] = ("nested",)
    limits: tuple[float, ...] = ()
    iterations: tuple[int, ...] = ()
    samples: dict[str, int] = field(default_factory=dict)
    seeds: int = 10
    few_seeds: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise GridError(f"grid: seeds must be at least 1; got {self.seeds}")
        for limit in self.limits:
            if not limit > 0:
                raise GridError(f"grid: a limit must be a positive number of seconds; got {limit}")
        for mode in self.modes:
            if mode not in MODE_NAMES:
                raise GridError(f"grid: a mode must be one of {', '.join(MODE_NAMES)}; got {mode!r}")
        for method in self.methods:
            try:
                name = split_draws(method)[0]
            except MixtureError as error:
                raise GridError(str(error)) from None
            for one in split_passes(name):
                preset(split_spec(one)[0])

    def cells(self) -> Iterator[Cell]:
        """Yield each cell once, small games and the first seed of everything first, short limits first."""
        yield from dict.fromkeys(self._product())

    def _product(self) -> Iterator[Cell]:
        limits: list[tuple[float | None, int | None]] = [(limit, None) for limit in sorted(self.limits)]
        limits += [(None, n) for n in self.iterations]
        for game in self.games:
            sample = self.samples.get(game)
            seeds = self.few_seeds.get(game, self.seeds)
            for seed in range(seeds):
                for mode, blueprint, (limit, iterations), method in itertools.product(
                    self.modes, self.blueprints, limits or [(None, None)], self.methods
                ):
                    how = mode_of(method, mode)
                    if seed >= max(1, seeds // (split_draws(method)[1] or 1)):
                        continue
                    drawn = is_random(method) or differs_by_seed(blueprint)
                    if how is not None and (seed == 0 or sample is not None or drawn):
                        yield Cell(game, blueprint, method, how, limit, iterations, sample, seed)

    def check_modes(self) -> None:
        """Raise GridError for a method that has no cell in one of the modes; a preset's may have some."""
        known = GRIDS.get(self.name)
        ours = known is None or known.methods != self.methods
        for mode in self.modes:
            left_out = [method for method in self.methods if mode_of(method, mode) is None]
            if left_out and (ours or len(left_out) == len(self.methods)):
                passes = split_passes(split_draws(left_out[0])[0])
                alone = [one for one in passes if mode_of(one, "nested") == "sequential"]
                needs = f"{' and '.join(alone)} must be sequential" if alone else "its certificate is shared"
                other = "choose another mode" if mode == "independent" else "pass --mode sequential"
                raise GridError(
                    f"grid: {left_out[0]} cannot run in the mode {mode}, since {needs}; {other}, or leave "
                    "the method out"
                )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


FAMILY = ("unsafe", "resolve", "maxmargin", "reach-maxmargin", "1-klss", "kluss", "mirror-descent", "gs2+")
SIDES = ("liars_dice(sides=4)", "liars_dice(sides=5)")
"""Liar's Dice small enough for many seeds, beside the research games with six and seven sides."""
STRENGTHS = ("cfr:100", "uniform", "cfr:10", "cfr:2", "dmc:100000")
"""Blueprints from play at random to nearly an equilibrium: how much a method helps depends on them."""
SAME_K = "gs2+:whole=0,k=3"
"""GS2+ made to keep k histories in full, however small the closure, to set beside GS2-R and GS2-D."""
GENERATED = (*(f"{name}:k={k}" for k in (2, 3, 5, 10) for name in ("gs2-r", "gs2-d")), SAME_K)
STRATA = (
    *(f"gs2-s:{few}{draws}".rstrip(":,") for few in ("", "k=3,") for draws in ("draws=5", "")),
    *(f"gs2-s:k=3,generator={name},draws=5" for name in ("belief", "random", "diverse")),
)
"""One step from weighted histories: the preset and the same with three, by single draws and by their mixture,
and other generators inside it."""
ABLATION = (
    "gs2+",
    *(f"gs2+:whole=0,k={k}" for k in (3, 2, 5)),
    "gs2+:whole=0,generator=random",
    *(f"gs2+:whole=0,plans={n}" for n in (4, 1)),
    "gs2+:whole=0,certificate=none",
    "gs2+:whole=0,certificate=margin",
    "gs2+:certificate=none",
    "gs2+:scope=infoset",
    "gs2+:gadget=unsafe",
    "gs2+:gadget=resolve,entry_floor=0.05,entry_prior=mixed",
    "gs2+:entry_floor=0.05",
    "gs2+:alternative=profile",
    "gs2+:warm_start=0.3",
    "gs2+path",
)
"""GS2+ with one part taken away or changed (`ABLATIONS_GS2.md`)."""
TEMPERATURES = (0.005, 0.02, 0.1)
_ONE_BY_ONE = "maxmargin:scope=infoset"
_CHOICES = "leaf=multi-valued,rollouts=0,policies="
_FOUR = "blueprint+greedy+uniform+last"
ALONG_THE_FAMILY = (
    _ONE_BY_ONE,
    *(
        f"{_ONE_BY_ONE},depth={depth}{leaf}"
        for depth in (1, 2, 3)
        for leaf in (
            "",
            f",{_CHOICES}blueprint+greedy",
            f",{_CHOICES}{_FOUR}",
            f",{_CHOICES}{_FOUR},choosers=everyone",
            *(f",{_CHOICES}{_FOUR},solver=anchored,temperature={t}" for t in TEMPERATURES),
        )
    ),
    *(f"{_ONE_BY_ONE},solver=anchored,temperature={t}" for t in TEMPERATURES),
    "gs2-d:k=3",
    *(f"gs2-d:k=3,solver=anchored,temperature={t}" for t in TEMPERATURES),
)
"""Depth by continuations by temperature, with a search of its own at every infoset (`FAMILY.md`)."""
WARM = tuple(
    f"{name}{',' if ':' in name else ':'}warm_start=1"
    for name in (
        "unsafe",
        "resolve",
        "maxmargin",
        "1-klss",
        "gs2-r:k=3",
        "gs2-d:k=3",
        "gs2-r:k=5",
        "gs2-d:k=5",
    )
)
"""Methods whose CFR starts from the blueprint, to set beside the same from uniform play."""
TIGHT = (0.001, 0.01, 0.1)
"""Limits in seconds for each infoset where the order of the methods matters; the paper has 3, 4 and 5."""
LARGE = ("liars_dice_7", "goofspiel_12_ascending_3")
"""The two largest games: a method takes minutes there, so they get fewer seeds and blueprints."""

GRIDS = {
    made.name: made
    for made in (
        Grid("quick", games=("leduc_poker",), methods=(*FAMILY, *GENERATED), iterations=(300,), seeds=3),
        Grid(
            "iterations",
            methods=(*FAMILY, *GENERATED),
            iterations=(300,),
            few_seeds=dict.fromkeys(LARGE, 3),
        ),
        Grid(
            "blueprints",
            methods=(*FAMILY, "gs2-r:k=3", "gs2-d:k=3", SAME_K),
            blueprints=tuple(name for name in BLUEPRINTS if name != "cfr:100"),
            iterations=(300,),
            seeds=3,
            few_seeds=dict.fromkeys(LARGE, 1),
        ),
        Grid(
            "independent",
            games=("leduc_poker", "goofspiel_5_random_3", "goofspiel_10_ascending_3"),
            methods=(*FAMILY, *GENERATED),
            modes=("independent",),
            iterations=(300,),
        ),
        Grid(
            "limits",
            methods=(*FAMILY, *GENERATED),
            limits=(*TIGHT, 3.0, 4.0, 5.0),
            few_seeds=dict.fromkeys(LARGE, 3),
        ),
        Grid("warm", methods=WARM, limits=TIGHT, few_seeds=dict.fromkeys(LARGE, 3)),
        Grid(
            "ablation",
            games=("leduc_poker", "liars_dice(sides=4)"),
            methods=ABLATION,
            iterations=(300,),
            seeds=1,
        ),
        Grid(
            "family",
            games=("leduc_poker", *SIDES),
            blueprints=("cfr:10",),
            methods=ALONG_THE_FAMILY,
            iterations=(300,),
            seeds=1,
        ),
        Grid(
            "generation",
            games=("leduc_poker", SIDES[1], "goofspiel(cards=4,turns=3)"),
            blueprints=("uniform", "cfr:2", "cfr:10", "cfr:100"),
            methods=STRATA,
            seeds=5,
        ),
        Grid(
            "closures",
            games=("leduc_poker", "liars_dice(sides=4)"),
            blueprints=("cfr:100", "cfr:10", "noise:0.25"),
            methods=("maxmargin", "resolve", "resolve:entry_floor=0.05", "path", "gs2+", "gs2+path"),
            iterations=(300,),
            seeds=1,
        ),
        Grid(
            "strength",
            games=(*SIDES, *RESEARCH_GAMES),
            blueprints=STRENGTHS,
            methods=("gs2-d:k=3", "gs2-r:k=3,draws=5", "gs2-r:k=3", "1-klss"),
            iterations=(300,),
            seeds=5,
        ),
        Grid(
            "path",
            games=(*SIDES, *RESEARCH_GAMES),
            blueprints=STRENGTHS,
            methods=("gs2+", "gs2+path"),
            iterations=(300,),
            seeds=1,
        ),
        Grid(
            "passes",
            games=(*SIDES, *RESEARCH_GAMES),
            blueprints=STRENGTHS,
            methods=("gs2+>gs2+path",),
            iterations=(300,),
            seeds=1,
        ),
    )
}
"""Grids by name. `closures` is the table of common-knowledge subgames that the literature can be held to."""


def grid(name: str) -> Grid:
    """Return the grid called `name`; raise GridError with the names there are."""
    if name not in GRIDS:
        raise GridError(f"preset must be one of {', '.join(GRIDS)}; got {name!r}")
    return GRIDS[name]
