"""Networks of climbing games under rules that they were not trained by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_inputs import move_inputs
from blueprint.networks import shipped_file
from games.parameters import Bool, OneOf, Parameter
from games.registry import game_spec, load_game
from gs2.play.arena import Meeting, play_match

RULES = {"big2": "gs2.play.big2_shedding:BIG2_SHEDDING", "doudizhu": "gs2.play.shedding:SHEDDING"}


def values_of(parameter: Parameter) -> tuple[object, ...]:
    """Return what a rule may be, in words; nothing of a number."""
    if isinstance(parameter, OneOf):
        return parameter.choices
    return ("true", "false") if isinstance(parameter, Bool) else ()


def shipped(game: str) -> Path:
    path = shipped_file(game)
    assert path is not None
    return path


@pytest.mark.parametrize("family", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_the_shipped_network_plays_by_any_rules(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = [
        f"{one.name}={rng.choice(np.array(values))}"
        for one in game_spec(family).parameters
        if (values := values_of(one)) and one.name != "landlord"
    ]
    if family == "big2" and seed % 2:
        told.append("players=2")  # which has a network of its own
    game = load_game(f"{family}({','.join(told)})", general_sum=True)
    result = play_match(Meeting(game.name, "network", RULES[family], pairs=60, seed=seed))
    assert result.net > 0, game.name


def test_what_losers_pay_changes_nothing_that_is_seen() -> None:
    usual, pairs = load_game("big2"), load_game("big2(settling=pairs)")
    one, other = (load_climbing_blueprint(shipped("big2"), game) for game in (usual, pairs))
    states = move_inputs(usual).deal(8, np.random.default_rng(3))
    for k in range(len(states)):
        row = states[k : k + 1]
        seat = int(usual.player(row)[0])
        before, after = (
            blueprint.q(game, row, seat, game.actions(row))
            for blueprint, game in ((one, usual), (other, pairs))
        )
        assert np.array_equal(before, after)


def test_what_was_learned_by_other_inputs_is_refused_under_any_rules(tmp_path: Path) -> None:
    tensors, description = read_checkpoint(shipped("big2"))
    path = tmp_path / "n.safetensors"
    write_checkpoint(path, tensors, description | {"game": "big2(stays_out=true)"})
    for name in ("big2", "big2(stays_out=true)", "big2(straights=ladder)"):
        with pytest.raises(CheckpointError, match="was trained on features"):
            load_climbing_blueprint(path, load_game(name))
    for told, words in (("big2(players=9)", "must name its game"), ("doudizhu", "not on 'big2'")):
        write_checkpoint(path, tensors, description | {"game": told})
        with pytest.raises(CheckpointError, match=words):
            load_climbing_blueprint(path, load_game("big2"))
