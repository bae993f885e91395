"""Responders to GuanDan agents: who is trained against whom, runs that go on, bounds from fresh deals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.protocol import UnknownAgent
from games.registry import load_game
from games.support.configuration import ConfigError
from games.support.work.where import where_of
from gs2.guandan import best_responder
from gs2.guandan.agent_families import check_agent
from gs2.guandan.best_responder import RESPONDER, model_of, searching_responder
from gs2.play.exploit import ExploitConfig, ExploitReport, HuntManner, exploit_game

TINY = RESPONDER.replace(rounds=8, batch=64)


def hunted(agent: str, config: ExploitConfig, folder: Path) -> ExploitReport:
    return exploit_game(load_game("guandan"), agent, config, HuntManner(folder, on=where_of(1)))


@pytest.mark.parametrize(
    ("agent", "model"),
    [
        ("strong", "strong"),
        ("blueprint", "blueprint"),
        ("gs2", "blueprint"),
        ("gs2-fast:worlds=4", "blueprint"),
        (str(SHIPPED), str(SHIPPED)),
        (f"gs2-fast:worlds=4@{SHIPPED}", str(SHIPPED)),
    ],
)
def test_a_searching_agent_is_trained_against_by_its_network(agent: str, model: str) -> None:
    assert model_of(agent) == model
    check_agent(searching_responder(model))
    assert searching_responder(model).endswith(f"@{model}") == (model == str(SHIPPED))


def test_a_run_goes_on_and_belongs_to_one_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_responder, "RESPONDER", TINY)
    config = ExploitConfig(method="trained", minutes=1e-6, games=2)
    first = hunted("greedy", config, tmp_path)
    (bound,) = first.bounds
    assert first.notes["complete"] and first.model == "greedy" and bound.games == 2
    assert bound.mean.low <= bound.mean.value <= bound.mean.high
    assert bound.notes["generation"] == 1 and bound.notes["decisions"] > 0
    trained = read_checkpoint(tmp_path / "last.safetensors")[1]
    assert trained["train"]["strangers"] == "greedy" and trained["train"]["strangers_share"] == 1.0
    again = hunted("greedy", config.replace(games=3), tmp_path)
    assert again.bounds[0].notes["decisions"] == bound.notes["decisions"], "the minutes were used up"
    assert again.bounds[0].games == 3
    more = hunted("greedy", config.replace(minutes=bound.seconds / 60 + 0.001), tmp_path)
    assert more.bounds[0].notes["generation"] == 2
    json.dumps(more.to_json())
    with pytest.raises(ConfigError, match="against strong"):
        hunted("strong", config, tmp_path)
    with pytest.raises(UnknownAgent):
        hunted("nobody", config, tmp_path)


def test_search_that_knows_the_agent_is_measured_against_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = "gs2-fast:method=rollout,worlds=2,endgame=0"
    monkeypatch.setattr(best_responder, "searching_responder", lambda model: quick)
    config = ExploitConfig(method="lbr", games=2)
    report = hunted("greedy", config, tmp_path)
    assert report.notes["knows"] is False and report.bounds[0].notes["responder"] == quick
    assert len(list(tmp_path.glob("deals-*.jsonl"))) == 1
