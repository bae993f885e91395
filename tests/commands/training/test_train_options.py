"""`gs2 train GAME -o OUTPUT`: one shape for every game, and the options of each."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Self

import click
import numpy as np
import pytest

from blueprint.checkpoint import read_checkpoint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.learning.run import RunPlace
from blueprint.research.game_network import GameNetworkConfig
from blueprint.research.game_training import GameTrainer
from games import load_game
from gs2.commands.guandan.train_guandan import GUANDAN
from gs2.commands.training.learners import COLUMNS, MOVES, GameLearner
from gs2.commands.training.train import train
from tests.commands.runner import TINY, as_json, gs2, ran, refused

GAMES = {GUANDAN: "guandan", MOVES: "big2", COLUMNS: "kuhn_poker"}
"""A game for each learner."""
OPTIONS = {
    "minutes": ("--minutes", "0"),
    "decisions": ("--decisions", "1"),
    "measure": ("--measure", "2"),
    "processor_minutes": ("--processor-minutes", "1"),
    "resume": ("--resume",),
    "learner": ("--learner", "mmd"),
    "recipe": ("--recipe", "danzero"),
    "start_from": ("--start-from", "network"),
    "settings": ("--set", "batch=8"),
    "sizes": ("--network", "state=8"),
    "seed": ("--seed", "0"),
    "threads": ("--threads", "1"),
    "checkpoint_minutes": ("--checkpoint-minutes", "0"),
    "preset": ("--preset", "danzero"),
    "device": ("--device", "cpu"),
    "on": ("--on", "local"),
    "actors": ("--actors", "3"),
    "anneal": ("--anneal",),
    "evaluate_minutes": ("--evaluate-minutes", "0"),
    "against": ("--against", "greedy"),
    "rounds": ("--rounds", "2"),
    "tensorboard": ("--tensorboard",),
    "as_json": ("--json",),
}
"""Words that give each option; defaults count as given."""
SMALL = {
    "guandan": ("--minutes", "0", *TINY),
    "big2": ("--minutes", "0", "--set", "rounds=4", "--set", "state=8", "--network", "action=8"),
    "kuhn_poker": ("--minutes", "0", "--set", "episodes=8", "--network", "width=8"),
}


def test_every_option_is_one_of_some_learner() -> None:
    known = {option.name for option in train.params} - {"game", "output", "older"}
    assert known == set(OPTIONS) == set.union(*(learner.options for learner in GAMES))


@pytest.mark.parametrize("learner", GAMES)
def test_an_option_that_a_learner_does_not_take_is_refused_by_name(
    learner: GameLearner, tmp_path: Path
) -> None:
    output = tmp_path / "x.safetensors" if learner is COLUMNS else tmp_path / "x"
    game, mine, others = GAMES[learner], sorted(learner.options), sorted(set(OPTIONS) - learner.options)
    assert others
    tried = [(one, one) for one in others] + [*combinations(others, 2)]
    tried += [(one, mine[k % len(mine)]) for k, one in enumerate(others)]
    for pair in tried:
        words = [word for name in dict.fromkeys(pair) for word in OPTIONS[name]]
        told = refused("train", game, "-o", str(output), *words)
        flags = [OPTIONS[name][0] for name in pair if name in others]
        assert any(f"{flag} is for " in told and f"train {game} without {flag}" in told for flag in flags)
        assert ("Big2" in told) == ("Big2 and games with moves_are_inputs only" in told)
        assert not list(tmp_path.iterdir())


def test_the_help_names_every_option_and_the_games_of_those_that_are_not_of_all() -> None:
    told = " ".join(gs2("train", "--help").output.split())
    assert "[OPTIONS] [GAME]" in told and "--game " not in told
    context = click.Context(train)
    for option in train.params:
        record = option.get_help_record(context)
        if record is None or option.name not in OPTIONS:
            continue
        takers = {learner for learner in GAMES if option.name in learner.options}
        named = {
            frozenset({GUANDAN}): "GuanDan",
            frozenset({GUANDAN, MOVES}): "(GuanDan, DouDiZhu, Big2)",
            frozenset({MOVES}): "(DouDiZhu, Big2)",
            frozenset({GUANDAN, COLUMNS}): "(not DouDiZhu, Big2)",
            frozenset({COLUMNS}): "(not GuanDan, DouDiZhu, Big2)",
        }
        assert option.opts[0] in told
        if option.name != "on":  # the description says it
            assert named.get(frozenset(takers), "") in record[1], option.name


@pytest.mark.parametrize("words", [("--seed", "3"), ("--set", "seed=3"), ("--seed", "3", "--set", "seed=3")])
@pytest.mark.parametrize(
    ("game", "field"), [("guandan", "train"), ("big2", "config"), ("kuhn_poker", "config")]
)
@pytest.mark.some(3)
def test_a_seed_is_given_by_either_option_and_kept(
    words: tuple[str, ...], game: str, field: str, tmp_path: Path
) -> None:
    output = tmp_path / ("x.safetensors" if game == "kuhn_poker" else game)
    begin = ("train", game, "-o", output)
    assert "--seed 3 and --set seed=5" in refused(*begin, "--seed", "3", "--set", "seed=5")
    ran(*begin, *SMALL[game], *words)
    file = output if game == "kuhn_poker" else output / "last.safetensors"
    assert read_checkpoint(file, prefix="-")[1][field]["seed"] == 3
    again = (*begin, "--minutes", "0", "--resume", "--seed")
    assert "keeps its seed, 3; got seed=4" in refused(*again, "4")
    ran(*again, "3")


@pytest.mark.parametrize(("game", "field"), [("guandan", "train"), ("big2", "config")])
def test_moves_are_learned_by_the_learner_that_is_named(game: str, field: str, tmp_path: Path) -> None:
    begin = ("train", game, "-o", tmp_path / game)
    told = refused(*begin, "--learner", "mmd")
    assert f"--learner must be dmc or ppo for {game}; got mmd" in told
    assert "--recipe danzero+ says how it learns" in refused(
        *begin, "--learner", "ppo", "--recipe", "danzero+"
    )
    ran(*begin, *SMALL[game], "--learner", "ppo", "--set", "policy_top=5")
    kept = read_checkpoint(tmp_path / game / "last.safetensors", prefix="-")[1][field]
    assert (kept["policy"], kept["policy_top"], kept["policy_price"]) == (1.0, 5, 1.0)
    assert kept["recipe"] == "" and kept["seed"] == 0


def test_opponents_keep_the_commas_of_their_settings_and_brackets(tmp_path: Path) -> None:
    words = ("train", "guandan", "-o", tmp_path / "x", "--evaluate-minutes", "1", "--against")
    told = refused(*words, "greedy, blueprint:objective=levels,tribute=value,none(a,b=c).safetensors")
    assert "none(a,b=c).safetensors" in told
    assert "names are separated by commas, none empty" in refused(*words, "greedy,,strong")


@pytest.mark.parametrize("game", ["guandan", "big2"])
def test_opponents_that_no_evaluation_would_meet_are_refused(game: str, tmp_path: Path) -> None:
    words = ("train", game, "-o", tmp_path / "x", *SMALL[game], "--against", "nobody,uniform")
    assert "got --evaluate-minutes 0; leave one out" in refused(*words, "--evaluate-minutes", "0")
    told = refused(*words[:-2], "--rounds", "9", *(("--evaluate-minutes", "0") if game == "guandan" else ()))
    assert "--rounds needs evaluations; got " in told
    assert not list(tmp_path.iterdir())


def test_threads_beside_a_cluster_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("games.support.work.where.installed", lambda place: place)
    words = ("train", "big2", "-o", tmp_path / "x", *SMALL["big2"], "--on", "ray", "--threads", "2")
    assert "--threads 2 play here; with --on ray give --actors instead" in refused(*words)
    assert not list(tmp_path.iterdir())


def test_a_network_of_other_rules_is_where_a_training_begins(tmp_path: Path) -> None:
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    ran("train", "big2(players=3,cards=5)", "-o", old, *SMALL["big2"], "--set", "epsilon=0.5")
    words = ("train", "big2(players=2,cards=5)", "-o", new, "--start-from", old, "--minutes", "0")
    told = as_json(*words, "--set", "learning_rate=0", "--set", "rounds=5")
    assert told["game"] == "big2(players=2,cards=5)" and told["generation"] == 1
    (before, at_first), (after, now) = (read_checkpoint(path, prefix="network.") for path in (old, new))
    assert before.keys() == after.keys() and all(np.array_equal(before[k], after[k]) for k in before)
    assert now["stake"] == at_first["stake"] != 1.0
    assert now["config"] == at_first["config"] | {"learning_rate": 0.0, "rounds": 5}
    again = as_json(*words, "--resume")  # goes on from its own
    assert again["generation"] == 2
    for more, why in ((("--network", "state=16"), "must have the layers"), (("--recipe", "pdhqn"), "layers")):
        assert why in refused(*words[:3], tmp_path / "x.safetensors", *words[4:], *more)
    assert "big2" in refused("train", "doudizhu", "-o", tmp_path / "x.safetensors", *words[4:])
    assert not (tmp_path / "x.safetensors").exists()


@pytest.mark.parametrize(("learner", "game"), GAMES.items())
def test_a_training_goes_on_for_the_minutes_of_each_call(
    learner: GameLearner, game: str, tmp_path: Path
) -> None:
    words = ("train", game, "-o", tmp_path / ("x.safetensors" if learner is COLUMNS else game))
    before = as_json(*words, *SMALL[game])
    assert "a run already exists here; pass --resume to continue it" in refused(*words)
    bounds = [("--minutes", "0"), ("--minutes", "0.000001"), ("--processor-minutes", "0.000001")]
    for bound in bounds:  # however long it was before
        after = as_json(*words, "--resume", *bound)
        number = "generation" if "generation" in after else "generations"
        assert after[number] == before[number] + 1 and after["decisions"] > before["decisions"]
        before = after


@pytest.mark.parametrize(
    ("words", "said"), [(("run",), "Missing option '-o'"), (("--game", "big2"), "--game")]
)
def test_an_output_is_named_by_its_option_and_a_game_by_itself(words: tuple[str, ...], said: str) -> None:
    assert said in refused("train", *words)


@pytest.mark.parametrize("option", ["--set", "--network"])
def test_every_field_of_a_games_training_can_be_set(option: str, tmp_path: Path) -> None:
    fields = ClimbingConfig(personas=0.5, personality=8).to_json()
    del fields["recipe"]
    settings = [word for name, value in fields.items() for word in (option, f"{name}={value}")]
    words = ("big2", "-o", str(tmp_path / "run"), *settings, option, "rounds=4", option, "state=8")
    ran("train", *words, "--minutes", "0")
    told = refused("train", "big2", "-o", str(tmp_path / "other"), option, "tribute=0.5")
    assert f"Invalid value for '{option}': there is no field 'tribute' to set" in told


class Scalars:
    """What TensorBoard would have been given, by folder."""

    kept: ClassVar[dict[str, list[tuple[str, float, int]]]] = {}

    def __init__(self, folder: str) -> None:
        self.rows = self.kept.setdefault(folder, [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.rows.append(("closed", 0.0, 0))

    def add_scalar(self, name: str, value: float, decisions: int) -> None:
        self.rows.append((name, value, decisions))


@pytest.mark.parametrize(
    ("learner", "number"), [("guandan", "hours"), ("big2", "value"), ("kuhn_poker", "v_loss")]
)
def test_tensorboard_gets_the_rows_of_any_training(
    learner: str, number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Scalars))
    monkeypatch.setattr(Scalars, "kept", {})
    research = learner == "kuhn_poker"
    output = tmp_path / ("x.safetensors" if research else "x.2")
    more = ("--measure", "2") if research else ()
    ran("train", learner, "-o", str(output), *SMALL[learner], *more, "--tensorboard")
    ((folder, rows),) = Scalars.kept.items()
    assert Path(folder) == (tmp_path / "x.tensorboard" if research else output / "tensorboard")
    assert rows.pop() == ("closed", 0.0, 0)
    named = {name: (value, decisions) for name, value, decisions in rows}
    assert named[number][1] == named["decisions"][0] == named["decisions"][1] > 0
    if research:
        curve = read_checkpoint(output, prefix="-")[1]["curve"]
        told = [[decisions, value] for name, value, decisions in rows if name == "exploitability"]
        assert told == curve and curve


def test_a_training_that_is_refused_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Scalars))
    monkeypatch.setattr(Scalars, "kept", {})
    words = ("--recipe", "odmc", "--set", "personas=0.5", "--threads", "1", "--tensorboard")
    assert "personality head" in refused("train", "guandan", "-o", str(tmp_path / "x"), *words)
    assert not list(tmp_path.iterdir()) and not Scalars.kept


def test_a_training_that_was_interrupted_at_once_has_a_result(tmp_path: Path) -> None:
    trainer = GameTrainer(load_game("kuhn_poker"), GameNetworkConfig())
    found = COLUMNS.result(trainer, RunPlace.with_state(tmp_path / "x.safetensors"), {})
    assert found["bytes"] == found["decisions"] == 0 and found["q_loss"] is None


def test_a_complete_training_tells_where_it_stands(tmp_path: Path) -> None:
    words = ("train", "kuhn_poker", "-o", tmp_path / "x.safetensors", "--decisions", "1", "--measure", "1")
    found = as_json(*words)
    again = as_json(*words, "--resume")
    assert again == {**found, "q_loss": None, "v_loss": None} and len(found["curve"]) == 1
