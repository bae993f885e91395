"""One's own game, parts of a search and agent by FILE.py:NAME, and by the entry points of a package."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cfr
from blueprint.protocol import UnknownAgent
from games.check import check_game
from games.game import GameError
from games.registry import load_game
from games.support.configuration import ConfigError
from gs2 import preset, refine_policy
from gs2.guandan.table.hosts import load_agent
from gs2.guandan.table.seat import AgentError
from gs2.parts import named_part
from gs2.play.agent_names import load_game_agent
from tests.commands.runner import as_json, gs2, one_line
from tests.patience import LONG

PARTS = """
from dataclasses import replace
from functools import cache
import numpy as np
import cfr
from cfr.values import node_values
from games import Ragged
from games.infosets.payoff_forms import FormBuilder
from games.research.kuhn_poker import KuhnPoker
from gs2.search.gadget.build import build_gadget


class Mine(KuhnPoker):
    def __init__(self):
        super().__init__()
        self.name = "my_poker"


class Halved(KuhnPoker):
    def returns(self, states):
        return super().returns(states) / 2 + 1


class Namesake(KuhnPoker):
    def __init__(self):
        super().__init__(cards=5)
        self.name = "kuhn_poker"


ready = Mine()


def needs(argument):
    return Mine()


def first(values, weights, k, rng):
    return np.arange(min(k, len(values)))


def repeats(values, weights, k, rng):
    return np.zeros(min(k, len(values)), np.int64)


def two(values, weights):
    return np.arange(2)


def lower(forest, root_of, entry, floor):
    return build_gadget("resolve", forest, root_of, replace(entry, alternative=entry.alternative - 0.1))


class Decided(KuhnPoker):
    # All cards are dealt, and that is all: nobody decides anything.

    payoff_range = (0.0, 0.0)

    def player(self, states):
        return np.where(states["node"] < 2, -1, -2).astype(np.int8)

    def actions(self, states):
        found, dealing = super().actions(states), states["node"] < 2
        return Ragged.from_counts(np.where(dealing, found.counts, 0), found.values[dealing[found.rows]])

    def returns(self, states):
        return np.zeros((len(states), 2))

    def payoff_forms(self, states):
        return FormBuilder(self.private_states()).build(len(states))


@cache
def worth():
    tree = cfr.grow(KuhnPoker())
    values = node_values(tree, cfr.solve(tree, target=1e-7).policy)
    return {state.tobytes(): value for state, value in zip(tree.states, values)}


def oracle(game, states):
    return np.array([worth()[state.tobytes()] for state in states])


def even(game, states):
    return np.zeros((len(states), 2))


def winning_chance(game, states):
    return oracle(game, states) / 4 + 0.5


def in_cents(game, states):
    return 100 * oracle(game, states)


def breaks(game, states):
    raise KeyError("nothing")


class Agent:
    def act(self, observation):
        return 0


number = 3
"""


CHECKED: set[str] = set()
"""The classes of PARTS whose games have kept the contract."""


def checked_once(game: Any, rng: np.random.Generator, **how: Any) -> None:
    if type(game).__name__ not in CHECKED or LONG in os.environ:
        check_game(game, rng, **how)
        CHECKED.add(type(game).__name__)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts_forgotten: None) -> Path:
    """Stand in a folder with parts of one's own, which are forgotten afterwards.

    A game that was checked when it was loaded is not checked again.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("games.check.check_game", checked_once)
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    return tmp_path


def test_every_command_that_takes_a_game_takes_ones_own(place: Path) -> None:
    name, ready = "parts.py:Mine", "parts.py:ready"  # a class, and a game
    assert as_json("games", name)["game"] == "my_poker"
    assert "P0 holds" in gs2("infosets", ready).stdout
    made = gs2("blueprint", name, "--iterations", "50", "-o", "mine.npz", "--json")
    assert json.loads(made.stdout)["game"] == "my_poker"
    measured = as_json("exploitability", name, "mine.npz")
    assert measured["exploitability"] == json.loads(made.stdout)["exploitability"]
    assert gs2("knowledge", ready, "--infoset", "P0 holds K").exit_code == 0
    solved = as_json("solve", name, "--blueprint", "mine.npz")
    assert solved["game"] == "my_poker"
    idle = gs2("solve", "parts.py:Decided")
    assert idle.exit_code == 2, idle.output
    assert "at least one player must have a decision in a game to solve" in idle.stderr


def test_a_file_may_import_what_lies_beside_it_and_a_module_may_lie_here(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = place / "folder"
    folder.mkdir()
    (folder / "gs2_own_helper_beside.py").write_text(PARTS)
    (folder / "games.py").write_text("raise RuntimeError('it stands in for our package')\n")
    (folder / "main_part.py").write_text("import games\nfrom gs2_own_helper_beside import Mine\n")
    assert load_game("folder/main_part.py:Mine").name == "my_poker"
    (place / "gs2_own_module_here.py").write_text(PARTS)
    assert load_game("gs2_own_module_here:Mine").name == "my_poker"


@pytest.mark.long
def test_a_game_of_ones_own_stands_in_front_of_a_match_and_in_what_training_says_to_try(place: Path) -> None:
    few, two = ("--pairs", "40", "--json"), ("--processes", "2")
    done = gs2("match", "parts.py:Mine", "uniform", "cfr:5", *few)
    assert json.loads(done.stdout)["game"] == "parts.py:Mine", done.output
    # a game that is called as one of ours is not taken for it, here or in other processes
    names = ("parts.py:Namesake", "kuhn_poker(cards=5)", "kuhn_poker")
    own = [*two, *few]
    found = [
        json.loads(gs2("match", name, "uniform", "cfr:5", *words).stdout)
        for name, words in zip(names, (own, few, few), strict=True)
    ]
    assert [row["game"] for row in found] == list(names)
    assert found[0]["by_team"] == found[1]["by_team"] != found[2]["by_team"]
    made = gs2("train", "parts.py:Mine", "-o", "mine.safetensors", "--decisions", "100")
    assert "try: gs2 match --game 'parts.py:Mine' mine.safetensors uniform" in made.stdout, made.output
    assert "100%  " in made.stderr


def test_a_gate_asks_where_a_game_of_ones_own_lies(place: Path) -> None:
    assert gs2("train", "parts.py:Mine", "-o", "m.safetensors", "--decisions", "1").exit_code == 0
    words = ("gate", "m.safetensors", "--against", "uniform", "--pairs", "100", "--processes", "1")
    asked = gs2(*words)
    assert asked.exit_code == 2 and "--game must say where my_poker lies" in asked.stderr
    assert gs2(*words, "--game", "parts.py:Mine", "--json").exit_code in (0, 1)


def test_a_generator_and_a_gadget_of_ones_own_are_used(place: Path) -> None:
    words = ("solve", "kuhn_poker", "--json", "--method")
    solved = json.loads(gs2(*words, "gs2-d", "-k", "1", "--generator", "parts.py:first").stdout)
    assert solved["config"]["generator"] == "parts.py:first" and solved["histories_generated"] == 1
    gadget = json.loads(gs2(*words, "resolve", "--gadget", "parts.py:lower").stdout)
    assert gadget["actions"] != json.loads(gs2(*words, "resolve").stdout)["actions"]


LIMITED = ("experiment", "refine", "--game", "parts.py:Mine", "--seeds", "1", "--workers", "1", "-o", "out")


def test_the_exploitability_of_a_depth_limited_search_with_ones_own_leaf_is_one_command(place: Path) -> None:
    """An equilibrium's exact value loses nothing where a search ends at once; calling all hands even does."""
    words: list[str] = []
    for leaf in ("parts.py:oracle", "parts.py:even", "exact"):
        words += ["--method", f"maxmargin:depth=1,leaf={leaf}"]
    done = gs2(*LIMITED, *words, "--iterations", "1000", "--blueprint", "dcfr:2000")
    assert done.exit_code == 0, done.output
    with open("out/rows.csv", newline="") as file:
        found = list(csv.DictReader(file))
    rows = [float(row["exploitability"]) for row in found]
    assert rows[0] < 2e-3 and rows[2] < 2e-3 < 0.02 < rows[1]
    assert found[0]["game"] == "parts.py:Mine"


@pytest.mark.long
def test_a_leaf_of_ones_own_is_asked_by_every_search(place: Path) -> None:
    same = ("solve", "kuhn_poker", "--infoset", "P0 holds K", "--method", "maxmargin", "--depth", "1")
    for source in ((), ("--source", "sampled")):
        own = gs2(*same, "--blueprint", "dcfr:5000", "--leaf", "parts.py:oracle", *source, "--json")
        assert json.loads(own.stdout)["config"]["leaf"] == "parts.py:oracle", own.output
    config = preset("maxmargin", depth=1, leaf="parts.py:oracle", iterations=50)
    game = load_game("parts.py:Mine")
    policy = cfr.uniform_policy(cfr.grow(game))
    made = refine_policy(game, policy, 0, config).policy
    assert made.tolist() != policy.tolist()


@pytest.mark.parametrize(
    ("leaf", "says"),
    [
        ("winning_chance", "leaf: values must sum to zero over the two teams; got a sum of 1"),
        ("in_cents", "leaf: values must lie in the payoff range [-2.0, 2.0]; got [-200, 200]"),
        ("breaks", "must answer as LeafEvaluator"),
        ("missing", "parts.py must define missing"),
    ],
)
@pytest.mark.some(2)
def test_a_leaf_on_another_scale_is_refused_before_the_work(leaf: str, says: str, place: Path) -> None:
    words = ("--method", "maxmargin", "--depth", "1", "--leaf", f"parts.py:{leaf}")
    assert says in one_line("solve", "kuhn_poker", *words)
    method = ("--method", f"gs2+:depth=1,leaf=parts.py:{leaf}", "--blueprint", "uniform")
    assert says in one_line(*LIMITED, *method) and not (place / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("solve", "kuhn_poker", "--leaf", "parts.py:oracle"), "leaf needs a depth"),
        (("games", "missing.py:Mine"), "file 'missing.py' does not exist"),
        (("games", "parts.py:Yours"), "parts.py must define Yours"),
        (("games", "broken.py:Mine"), "No module named 'nothing_of_this_name'"),
        (("games", "parts.py:needs"), "cannot be made without arguments"),
        (("games", "parts.py:number"), "must have all of games.Game"),
        (("games", "parts.py:Halved"), "must sum to zero"),
        (("games", "no.module:Mine"), "No module named 'no'"),
        (("solve", "--method", "gs2-d", "--generator", "parts.py:repeats"), "are distinct; got [0 0]"),
        (("solve", "--method", "gs2-d", "--generator", "parts.py:two"), "must answer as Generator"),
        (("solve", "--method", "gs2-d", "--generator", "parts.py:number"), "must be a function; got int"),
        (("solve", "--generator", "parts.py"), "generator must be one of all, random"),
    ],
)
@pytest.mark.some(5)
def test_what_cannot_be_loaded_is_one_line(words: tuple[str, ...], says: str, place: Path) -> None:
    assert says in one_line(*words)


def test_an_agent_is_loaded_the_same_way_and_a_file_named_as_a_package_of_ours_replaces_none(
    place: Path,
) -> None:
    assert load_agent("parts.py:Agent").answers([None]) == [0]  # type: ignore[list-item]
    with pytest.raises(AgentError, match="no method act"):
        load_agent("parts.py:Mine")
    with pytest.raises(AgentError, match="does not exist"):
        load_agent("missing.py:Agent")
    (place / "games.py").write_text(PARTS)
    assert load_game("games.py:Mine").name == "my_poker"
    import games

    assert games.load_game is load_game


@pytest.fixture
def package(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the path in which a package of parts is installed."""
    site = place / "site"
    info = site / "some_parts-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "some_parts.py").write_text(PARTS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-parts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[gs2.games]\ntheir_poker = some_parts:Mine\nlost = some_parts:Lost\n"
        "[gs2.generators]\nfirst = some_parts:first\n"
        "[gs2.agents]\nlazy = some_parts:Agent\n"
    )
    monkeypatch.syspath_prepend(site)
    return site


def test_an_installed_package_adds_games_generators_and_agents(package: Path) -> None:
    assert as_json("games", "their_poker")["game"] == "my_poker"
    assert named_part("generator", "first") == "first"
    solved = gs2("solve", "their_poker", "--method", "gs2-d", "-k", "1", "--generator", "first", "--json")
    assert json.loads(solved.stdout)["config"]["generator"] == "first"
    assert load_agent("lazy").answers([None]) == [0]  # type: ignore[list-item]
    with pytest.raises(UnknownAgent, match="'lazy': Agent must be an agent or a blueprint; it has act"):
        load_game_agent(load_game("kuhn_poker"), "lazy")  # found, but it plays a seat at a table
    with pytest.raises(GameError, match=r"of some-parts \(entry point gs2.games\) cannot be loaded"):
        load_game("lost")
    with pytest.raises(GameError, match="did you mean their_poker"):
        load_game("their_pokr")
    with pytest.raises(ConfigError, match="generator must be one of"):
        preset("gs2-d", generator=named_part("generator", "second"))
