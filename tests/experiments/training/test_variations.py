"""Ways to train a network further at equal processor time: from one checkpoint, on one ladder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from experiments.training.equal_time.variations import AVERAGE, read_variation, variations
from games.support.configuration import ConfigError

TINY = ("--rounds", "2", "--turn", "0.01")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    trainer = Trainer(
        NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16),
        TrainConfig(rounds=4, batch=64, trace=0.9, epsilon=0.25),
        threads=1,
    )
    for _ in range(2):
        trainer.run_generation()
    trainer.save(tmp_path / "start.safetensors")
    return tmp_path / "start.safetensors"


def ran(*words: str | Path) -> Result:
    return CliRunner().invoke(variations, [str(word) for word in words])


@pytest.mark.long
def test_ways_go_on_from_one_checkpoint_with_their_changes_and_end_on_a_ladder(start, tmp_path):
    before = start.read_bytes()
    words = (start, "-o", tmp_path / "x", *TINY, "--try", "plain", "--try", "short:trace=0.5,epsilon=0.125")
    words = (*words, "--beside", "rule=greedy", "--set", "learning_rate=0.002")
    done = ran(*words, "--minutes", "0.01")
    assert done.exit_code == 0, done.output + str(done.exception)
    rows = [json.loads(line) for line in (tmp_path / "x" / "turns.jsonl").read_text().splitlines()]
    _, of_start = read_checkpoint(start, prefix="-")
    assert [row["recipe"] for row in rows] == ["plain", "plain", "short", "short"]
    for first, last in (rows[:2], rows[2:]):
        assert first["decisions"] == of_start["decisions"] < last["decisions"]
        # what has not learned yet is the start itself
        assert first["start"]["net_interval"] == [0.0, 0.0] and last["processor_seconds"] >= 0.6
    for name, changes in (("plain", {}), ("short", {"trace": 0.5, "epsilon": 0.125})):
        file = next(row["file"] for row in rows[::-1] if row["recipe"] == name)
        _, saved = read_checkpoint(tmp_path / "x" / name / file, prefix="-")
        wanted = of_start["train"] | {"learning_rate": 0.002, "average": AVERAGE} | changes
        assert saved["train"] == wanted
    table = (tmp_path / "x" / "variations.md").read_text()
    assert table.strip() in done.output
    assert all(f"| `{name}` |" in table for name in ("start", "plain", "short", "rule"))
    assert (tmp_path / "x" / "ladder.svg").stat().st_size and (tmp_path / "x" / "curves.svg").stat().st_size
    more = ran(*words, "--minutes", "0.02")
    assert more.exit_code == 0, more.output + str(more.exception)
    assert len((tmp_path / "x" / "turns.jsonl").read_text().splitlines()) == 6
    other = ran(*words, "--minutes", "0.02", "--set", "trace=0.8")
    assert other.exit_code == 2 and "plain was begun with trace=0.9" in " ".join(other.output.split())
    assert start.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--try", ":trace=1"), "NAME[@FILE][:FIELD=VALUE,...]"),
        (("--try", "a/b"), "NAME[@FILE][:FIELD=VALUE,...]"),
        (("--try", "start"), "'start' is what all begin with"),
        (("--try", "a", "--try", "a:trace=1"), "two ways called 'a'"),
        (("--try", "a:tracee=1"), "there is no field 'tracee'"),
        (("--try", "a:trace=2"), "trace"),
        (("--try", "a", "--set", "average=3"), "average"),
        (("--try", "a", "--beside", "a=greedy"), "there is a 'a' already"),
        (("--try", "a", "--beside", "greedy"), "an agent is NAME=AGENT"),
        (("--try", "a@nowhere.safetensors"), "nowhere.safetensors"),
    ],
)
def test_words_that_name_no_way_are_refused_before_anything_is_made(words, said, start, tmp_path):
    done = ran(start, "-o", tmp_path / "x", *TINY, *words)
    assert done.exit_code == 2 and said in " ".join(done.output.split()), done.output
    assert not (tmp_path / "x").exists()


def test_a_way_may_begin_with_a_file_of_its_own(tmp_path):
    way = read_variation("past@runs/a:b.safetensors:trace=0.5", tmp_path)
    assert way.file == Path("runs/a:b.safetensors") and way.changes == {"trace": 0.5}
    assert read_variation("plain", tmp_path).file == tmp_path
    with pytest.raises(ConfigError, match="there is no field"):
        read_variation("plain:past=1", tmp_path)
