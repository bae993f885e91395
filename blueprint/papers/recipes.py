"""Recipes: the systems of the source papers as configurations of shared parts, by name.

    recipe = named_recipe("pdhqn")
    train("runs/pdhqn", network=recipe.network_config(), config=recipe.train_config())

A recipe is data: fields of the network and of training, how its agent plays, where the paper says so and what
it claims. Self-play, learner, checkpoints, gate and ladder are the same for all. What a paper asks for and
these parts do otherwise is in `differs`. The name is kept in the checkpoint (`TrainConfig.recipe`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from games.support.configuration import ConfigError, Configuration, text
from games.support.near import near


@attrs.frozen(slots=False)
class Recipe(Configuration):
    """One system. Fields of dictionaries are those of the configurations that they change.

    name: by which it is asked for. system: what it is. source: where it is described, by section.
    network: of NetworkConfig. train: of TrainConfig. play: of NetworkPlay, how the paper's agent plays.
    climbing: of ClimbingConfig, for DouDiZhu and Big2.
    claim: what the paper reports. differs: what is done otherwise here, and why.
    """

    label: ClassVar[str] = "Recipe"

    name: str = attrs.field(validator=text)
    system: str = attrs.field(validator=text)
    source: str = attrs.field(validator=text)
    network: dict[str, Any]
    train: dict[str, Any]
    play: dict[str, Any]
    climbing: dict[str, Any]
    claim: str = attrs.field(validator=text)
    differs: str = attrs.field(validator=text)

    def network_config(self, **changes: Any) -> NetworkConfig:
        """Return the recipe's network; changes: sizes, which a recipe leaves open.

        Raises ConfigError where a part would come or go, and for a value out of range.
        """
        own = NetworkConfig(**self.network)
        for name, value in changes.items():
            there = getattr(own, name, None)
            if name in PARTS and (value != there if name == "kind" else bool(value) != bool(there)):
                raise ConfigError(
                    f"recipe {self.name}: its network's parts stay, {name}={there}; got {name}={value}; "
                    "change sizes alone, or train with --preset and --network without a recipe"
                )
        return own.replace(**changes)

    def train_config(self, **changes: Any) -> TrainConfig:
        """Return the recipe's training; raise ConfigError for a value out of range."""
        return TrainConfig(**{**self.train, "recipe": self.name, **changes})

    def climbing_config(self, **changes: Any) -> ClimbingConfig:
        """Return the recipe's network and training for DouDiZhu and Big2; raise ConfigError as above."""
        return ClimbingConfig(**{**self.climbing, "recipe": self.name, **changes})

    def told(self) -> dict[str, str]:
        """Return the recipe in words, by what they are about."""
        return {
            "source": self.source,
            "network": _words(self.network) or "the default",
            "training": _words(self.train) or "the default",
            "plays": _words(self.play) or "its best move",
            "doudizhu, big2": _words(self.climbing) or "the default",
            "claim": self.claim,
            "differs": self.differs,
        }


def _words(fields: dict[str, Any]) -> str:
    words = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in fields.items()}
    return ", ".join(f"{name}={value}" for name, value in words.items())


PARTS = ("kind", "critic", "past", "hands", "stakes", "branch", "personality", "opponent")
"""Fields of NetworkConfig that make a recipe what it is: a part is there or not, in whatever size."""
_DANZERO: dict[str, Any] = {
    "kind": "danzero",
    "state": 512,
    "blocks": 5,
    "action": 1,
    "action_blocks": 0,
    "critic": 0,
}
_DMC: dict[str, Any] = {
    "critic": False,
    "epsilon": 0.01,
    "temperature": 0.0,
    "average": 0.0,
    "halving": 1e15,
    "learning_rate": 0.001,
}
"""Deep Monte Carlo as the papers have it: plain returns, a random move in a hundred, a constant rate."""
_PLAIN: dict[str, Any] = {"critic": 0, "average": 0.0, "temperature": 0.0, "epsilon": 0.01, "halving": 1e15}
"""The same for DouDiZhu and Big2 (DouZero)."""
ENTROPY = 0.05 / 0.06
"""What a nat of entropy is worth to DanZero+ (its table of parameters), in levels over the temperature."""
_COMMON = "A round's reward alone, without the whole game's; batches of 4,096, Adam, no clip of Q."

_BOOK = (
    Recipe(
        name="danzero",
        system="DanZero: Deep Monte Carlo on 567 inputs, five layers of 512 with tanh",
        source="Lu et al. 2023; Zhao et al. 2024 (DanZero+), IV-A to IV-C and VIII",
        network=_DANZERO,
        train=_DMC,
        play={},
        climbing=_PLAIN,
        claim="wins 82.6 to 100 % of games against eight rule-based programs after 30 days",
        differs=_COMMON,
    ),
    Recipe(
        name="danzero+",
        system="DanZero+: PPO over the best two moves of the DMC network",
        source="Zhao et al. 2024 (DanZero+), IV-D, IV-E, V-D and VIII",
        network={**_DANZERO, "branch": True},
        train={
            **_DMC,
            "critic": True,
            "temperature": 0.06,
            "cooling": 1e15,
            "trace": 0.95,
            "policy": 1.0,
            "policy_top": 2,
            "policy_clip": 0.2,
            "policy_price": ENTROPY,
            "policy_from": 2e7,
            "policy_rate": 0.1,
        },
        play={},
        climbing={"average": 0.0, "halving": 1e15, "policy": 1.0, "policy_top": 2, "policy_price": ENTROPY},
        claim="wins 55.1 % of games against its DMC network (two candidates; 42.3 % with three)",
        differs="one network for both steps, whose values over a temperature are the logits and name the "
        "candidates; the squared loss of the values stays beside; no discount. Tribute is by rule, and by "
        "value with tribute_by_value=true. " + _COMMON,
    ),
    Recipe(
        name="sdmc",
        system="SDMC: Deep Monte Carlo that an expert guides at first, soft choice among near-best moves",
        source="Ge et al. 2024 as described in OpenGuanDan (2026), sections 5 and 6",
        network={"critic": 0},
        train={
            **_DMC,
            "learning_rate": 7e-4,
            "epsilon": 0.0,
            "temperature": 0.06,
            "cooling": 1e15,
            "near": 0.15,
            "guide": 2e6,
            "guide_share": 0.5,
        },
        play={"temperature": 0.06, "near": 0.15},
        climbing={**_PLAIN, "temperature": 0.03, "epsilon": 0.0, "guide": 2e6, "guide_share": 0.5},
        claim="wins 57.6 % of games against DanZero (50.0 % of rounds)",
        differs="the paper gives no network, share of the expert, margin nor temperature: these are ours, "
        "and the expert is the strong rule-based agent.",
    ),
    Recipe(
        name="pdhqn",
        system="PDHQN: a Q head and a personality head; rule-based personalities in the play",
        source="Multi-personalities guided deep Monte Carlo (2025), 3.1 to 3.6, tables 1, 5 and 6",
        network={**_DANZERO, "personality": 1024},
        train={
            **_DMC,
            "learning_rate": 0.00025,
            "fresh": 2.0,
            "epsilon": 0.0,
            "temperature": 1.0,
            "cooling": 1e15,
            "personas": 0.25,
        },
        play={},
        climbing={
            **_PLAIN,
            "learning_rate": 0.00025,
            "epsilon": 0.0,
            "temperature": 0.5,
            "cooling": 1e15,
            "personality": 256,
            "personas": 0.25,
            "recognise": 0.2,
        },
        claim="59.5 % of games against DanZero after 400 of its iterations; its moves are of the type of the "
        "rule's in 60 to 77 %",
        differs="a personality holds for a seat's whole round, so that it can be recognised, and what is "
        "recognised of the others is an input; values are counted from the worst move before they are "
        "blended; one optimiser, the head's rate twice that of Q. Of DouDiZhu and Big2 the personalities are "
        "GuanDan's tables by types alike, and the others are recognised from what the tower sees. " + _COMMON,
    ),
    Recipe(
        name="odmc",
        system="ODMC: DanZero's network that sees a model of the others' cards, moves pruned in play",
        source="Luo & Tan 2024 (ODMC), 4.1 to 4.3, tables 2 to 11",
        network={**_DANZERO, "opponent": 512},
        train={**_DMC, "prune": 2, "hands": 1.0},
        play={"prune": 2},
        climbing={**_PLAIN, "hands": 20.0, "hands_fed": True, "prune": 2},
        claim="on DouDiZhu +0.07 points a game over DouZero and +0.35 over its own retraining, on Big2 +0.14 "
        "over BigZero and +0.48; on both a quarter of the time to pass simple programs",
        differs="the paper's games are DouDiZhu and Big2; three layers for the opponent model's five, and "
        "bits of what was played instead of an LSTM; pruning does not widen with the tricks. " + _COMMON,
    ),
    Recipe(
        name="ours",
        system="gs2: a tower a decision and a head a move, a critic of all four hands, lambda-returns",
        source="this project, TRAINING.md",
        network={},
        train={},
        play={},
        climbing={},
        claim="no paper",
        differs="nothing: these are the defaults.",
    ),
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _BOOK}
"""Every recipe by its name."""


def named_recipe(name: str) -> Recipe:
    """Return the recipe of a name; raise ConfigError with near matches if there is none."""
    if name not in RECIPES:
        hint = near(name.lower(), RECIPES, f"one of {', '.join(RECIPES)}")
        raise ConfigError(f"recipe: no recipe is called {name!r}; {hint}; --recipe help lists them")
    return RECIPES[name]
