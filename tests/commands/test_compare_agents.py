"""`gs2 match` and `gs2 ladder`, as a person types them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gs2.commands.compare_agents import verdict
from gs2.play import ladder
from tests.commands.runner import as_json, gs2, ran, refused, started
from tests.patience import PATIENCE

ONE = ("--processes", "1")


@pytest.mark.parametrize(
    ("words", "unit"),
    [(("greedy", "random", *ONE), "levels a round"), (("kuhn_poker", "cfr:50", "uniform"), "payoff a game")],
    ids=str,
)
def test_a_match_says_who_is_stronger_and_by_how_much_and_goes_on_from_its_output(
    words: tuple[str, ...], unit: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.jsonl"
    command = ("match", *words, "-o", str(file))
    result = ran(*command, "--pairs", "300")
    stronger = "cfr:50" if "cfr:50" in words else "greedy"
    for said in (unit, "games won", "a second", "of memory at most", f"{stronger} is the stronger one"):
        assert said in result.stdout
    assert "300 pairs of games on the same chance" in result.stdout
    assert len(file.read_text().splitlines()) == 301
    found = as_json(*command, "--pairs", "304")
    assert (found["pairs"], found["complete"]) == (304, True) and sum(found["decisions"]) < 1000
    assert found["low"] <= found["net"] <= found["high"] and found["low"] > 0
    assert found["won"]["low"] <= found["won"]["mean"] <= found["won"]["high"]
    if unit == "levels a round":
        told = ("game", "whole", "level", "tribute")
        assert [found[name] for name in told] == ["guandan(moves=full)", False, None, 0.5]
        assert "+3 / +2 / +1" in result.stdout
    assert "it holds results with" in refused(*command, "--seed", "1")


@pytest.mark.parametrize("words", [("--pairs", "1"), ("--whole", "--pairs", "1")])
def test_on_a_few_deals_it_stays_open_who_is_stronger(words: tuple[str, ...]) -> None:
    result = ran("match", "greedy", "random", *words, *ONE)
    said = f"No winner yet: a verdict takes 100, and there are {words[-1]}. Raise --pairs."
    assert said in result.stdout
    assert ("whole games won less lost" in result.stdout) == ("--whole" in words)


def test_a_verdict_names_the_stronger_one_or_says_why_it_is_open() -> None:
    rng = np.random.default_rng(0)
    for low, high in np.sort(rng.normal(0, 0.1, (200, 2))).tolist():
        count = int(rng.integers(1, 300))
        said = verdict(("a", "b"), count, (low, high))
        if count < 100:
            assert said == f"No winner yet: a verdict takes 100, and there are {count}. Raise --pairs."
        elif low <= 0 <= high:
            assert said == "No winner yet: the interval contains 0. Raise --pairs to narrow it."
        else:
            assert said == f"{'a' if low > 0 else 'b'} is the stronger one."


def test_a_ladder_of_whole_games_has_what_their_match_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "rate", partial(ladder.rate, resamples=10))
    words = ("strong", "random", "--whole", "--pairs", "2", "--json", *ONE)
    rated, met = (json.loads(gs2(command, *words).stdout) for command in ("ladder", "match"))
    assert rated["unit"] == "whole games won less lost" and (rated["whole"], rated["rules"]) == (
        True,
        "ruling",
    )
    assert rated["net"][0][1] == met["net"] == 1
    assert "--rules needs whole games" in refused("ladder", "strong", "random", "--rules", "njupt")


def test_a_ladder_prints_no_zero_below_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def almost_even(*given: Any, **named: Any) -> ladder.Ladder:
        found = rate(*given, resamples=10, **named)
        for share, shown in ((-1e-17, found.points), (-0.3, found.elo)):
            for rating in shown:
                vars(rating).update(mean=share, low=share, high=share)
        found.net[~np.isnan(found.net)] = -1e-17
        return found

    rate = ladder.rate
    monkeypatch.setattr(ladder, "rate", almost_even)
    words = ("ladder", "kuhn_poker", "uniform", "cfr:1", "--pairs", "2", *ONE)
    told = ran(*words).stdout
    assert "+0.000" in told and "-0" not in told and "−0" not in told
    for by in ladder.ORDERS:
        drawn = tmp_path / f"{by}.svg"
        ran(*words, "--by", by, "--plot", str(drawn))
        assert not re.search(r"-0(\.0*)?\s*-->", drawn.read_text())


@pytest.mark.parametrize("name", ["GAME", "Mine", "made"])
def test_a_users_own_game_may_come_first_in_a_ladder_and_is_no_agent_of_a_match(
    name: str, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    loads = "from games.research.kuhn_poker import KuhnPoker as Mine"
    own.write_text(f"{loads}\nGAME = Mine()\ndef made():\n    return Mine()\n")
    words = ("uniform", "cfr:9", "--pairs", "2", *ONE)
    found = as_json("ladder", f"{own}:{name}", *words)
    assert (found["game"], found["net"]) == (f"{own}:{name}", as_json("ladder", "kuhn_poker", *words)["net"])
    assert f"got 1 agents of {own}:{name}: uniform" in refused("match", f"{own}:{name}", "uniform")


def test_an_interrupted_match_keeps_its_deals_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    process = started("match", "greedy", "random", "--pairs", "100000", "-o", path, *ONE)
    while process.poll() is None and (not path.exists() or len(path.read_bytes().splitlines()) < 2):
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "interrupted" in err and "levels a round" in out
    done = len(path.read_bytes().splitlines()) - 1
    result = as_json("match", "greedy", "random", "--pairs", str(done), "-o", str(path), *ONE)
    assert result["pairs"] == done and result["complete"]
    assert os.path.getsize(path) > 0
