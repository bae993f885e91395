"""Agents compared over a pool, deal by deal, from files of matches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from gs2.cli import main
from studies.agent.pool import over_pool, pool, read_cells

GAINS = {"strong": (1.0, 3.0), "mincomb": (2.0, 0.0), "old.safetensors": (-1.0, 1.0), "blueprint": (9.0, 9.0)}
"""Of one agent in two deals; the other gains half a level less everywhere."""


def written(folder: Path, gains: Mapping[str, tuple[float, float]] = GAINS) -> list[str]:
    """Return files of matches of two agents against some opponents: two deals, the last one first."""
    files = []
    for opponent, own in gains.items():
        for agent, less in (("gs2", 0.0), ("rollout", 0.5)):
            header = {"format": "gs2-games-1", "a": agent, "b": opponent, "seed": 7, "whole": False}
            rows = [{"pair": k, "payoffs": [own[k] - less - 1, own[k] - less + 1]} for k in (1, 0)]
            path = folder / f"{agent}-{opponent}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)))
            files.append(str(path))
    return files


def run(*words: str) -> Result:
    return CliRunner().invoke(pool, words)


def test_means_are_over_opponents_and_differences_deal_by_deal(tmp_path: Path) -> None:
    shown = run(*written(tmp_path))
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert any(line.startswith("gs2 over the pool: +1.000 [") and line.endswith("2 deals") for line in lines)
    assert "gs2 at worst: +0.000 against old" in lines and "rollout at worst: -0.500 against old" in lines
    assert "gs2 minus rollout over the pool: +0.500 [+0.500, +0.500]  2 deals" in lines
    assert "gs2 minus rollout against blueprint: +0.500 [+0.500, +0.500]  2 deals" in lines


def test_agents_are_compared_in_the_deals_that_all_of_them_met() -> None:
    draw = np.random.default_rng(3)
    cells = {
        (agent, opponent): {(0, int(k)): float(draw.normal()) for k in draw.permutation(20)[:15]}
        for agent in ("a", "b")
        for opponent in ("x", "y")
    }
    met = sorted(set.intersection(*map(set, cells.values())))
    found = over_pool(cells, ("a", "b"), ["x", "y"])
    assert len(met) > 1 and found.shape == (2, len(met))
    for row, agent in zip(found, ("a", "b"), strict=True):
        each = [(cells[agent, "x"][deal] + cells[agent, "y"][deal]) / 2 for deal in met]
        np.testing.assert_allclose(row, each)


def test_files_of_real_matches_are_read_and_others_refused(tmp_path: Path) -> None:
    files = []
    for agent in ("greedy", "random"):
        files.append(str(tmp_path / f"{agent}.jsonl"))
        words = ["match", agent, "mincomb", "--pairs", "4", "--processes", "1", "-o", files[-1]]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    assert {pair: len(deals) for pair, deals in read_cells(tuple(map(Path, files))).items()} == {
        ("greedy", "mincomb"): 4,
        ("random", "mincomb"): 4,
    }
    assert "greedy minus random over the pool: +" in run(*files).output
    assert "must be met once" in run(files[0], files[0]).output
    whole = tmp_path / "whole.jsonl"
    whole.write_text('{"format": "gs2-games-1", "a": "a", "b": "b", "seed": 0, "whole": true}\n')
    for wrong in (whole.read_text(), "", '{"pair": 0, "payoffs": [1, 1]}\n', '{"format": "other"}\n'):
        whole.write_text(wrong)
        assert "must hold single rounds" in run(str(whole)).output


def test_matches_are_read_alike_from_one_packed_file(tmp_path: Path) -> None:
    files = written(tmp_path)
    packed = tmp_path / "all.jsonl.gz"
    packed.write_bytes(gzip.compress(b"".join(Path(name).read_bytes() for name in files)))
    assert run(str(packed)).output == run(*files).output


@pytest.mark.parametrize("left_out", ["gs2-strong.jsonl", "rollout-mincomb.jsonl"])
def test_every_agent_meets_the_whole_pool(tmp_path: Path, left_out: str) -> None:
    files = [name for name in written(tmp_path) if not name.endswith(left_out)]
    agent, opponent = left_out.removesuffix(".jsonl").split("-")
    assert f"missing: {agent} against {opponent}" in run(*files).output
