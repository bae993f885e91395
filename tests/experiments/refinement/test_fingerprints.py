"""Rows of one folder are of one grid, and of the same files and trees throughout."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfr.policies.policy import save_policy, tabular_policy, uniform_policy
from cfr.solver import solve
from cfr.tree import grow
from experiments.commands import refine
from experiments.refinement.grid import Grid, GridError
from experiments.refinement.rows import GRID, ROWS, read_grid, read_rows
from experiments.refinement.run import run_grid
from games.registry import load_game

MINE = """
import numpy as np
def first(values, weights, k, rng):
    return np.arange(min(k, len(values)))
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a generator of one's own and a saved policy, in which this test stands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    game = load_game("kuhn_poker")
    tree = grow(game)
    save_policy("policy.npz", tabular_policy(game.name, tree, solve(tree, iterations=10).policy))
    return tmp_path


def own_grid(folder: Path) -> Grid:
    """Return a grid that names both files, the generator by a path of its own: names are taken but once."""
    method = f"gs2-d:generator={folder / 'mine.py'}:first,k=1"
    return Grid("own", ("kuhn_poker",), ("policy.npz",), (method, "maxmargin"), iterations=(5,), seeds=1)


def uniform(path: str) -> None:
    """Write another policy in a file's place."""
    game = load_game("kuhn_poker")
    tree = grow(game)
    os.remove(path)
    save_policy(path, tabular_policy(game.name, tree, uniform_policy(tree)))


@pytest.mark.parametrize("changed", ["mine.py", "policy.npz"])
def test_a_folder_whose_files_have_changed_since_is_refused_and_kept(files: Path, changed: str) -> None:
    grid, run = own_grid(files), files / "run"
    run_grid(grid, run)
    run_grid(grid, run)
    before = (run / ROWS).read_bytes(), (run / GRID).read_bytes()
    held = (files / changed).read_bytes()
    if changed == "mine.py":
        (files / changed).write_text(MINE + "# another\n")
    else:
        uniform(changed)
    with pytest.raises(GridError, match=rf"{changed} must be as it was when its rows were made"):
        run_grid(grid, run)
    assert before == ((run / ROWS).read_bytes(), (run / GRID).read_bytes())
    (files / changed).write_bytes(held)
    run_grid(grid, run)


def test_another_tree_of_a_game_is_refused_before_its_row_joins_the_others(tmp_path: Path) -> None:
    grid = Grid("own", ("kuhn_poker",), methods=("maxmargin", "unsafe"), iterations=(5,), seeds=1)
    asked = iter([False, True])
    run_grid(grid, tmp_path, stop=lambda: next(asked))
    told = json.loads((tmp_path / GRID).read_text())
    assert told["made_of"]["trees"] == {"kuhn_poker": grow(load_game("kuhn_poker")).digest}
    told["made_of"]["trees"]["kuhn_poker"] = "0" * 32
    (tmp_path / GRID).write_text(json.dumps(told))
    with pytest.raises(GridError, match="the tree of kuhn_poker must be as it was"):
        run_grid(grid, tmp_path)
    assert len(read_rows(tmp_path / ROWS)) == 1


def test_a_grid_from_before_is_read_and_told_of(files: Path) -> None:
    grid, run = own_grid(files), files / "run"
    run_grid(grid, run)
    told = json.loads((run / GRID).read_text())
    del told["made_of"]
    (run / GRID).write_text(json.dumps(told))
    assert read_grid(run) == told
    with pytest.warns(UserWarning, match="does not say what policy.npz, .*mine.py held when its rows were"):
        run_grid(grid, run)
    uniform("policy.npz")
    with pytest.raises(GridError, match=r"policy\.npz must be as it was"):
        run_grid(grid, run)


def test_a_grid_is_the_same_with_fingerprints_beside_it(tmp_path: Path) -> None:
    grid = Grid("own", ("kuhn_poker",), methods=("maxmargin",), iterations=(5,), seeds=1)
    run_grid(grid, tmp_path)
    assert read_grid(tmp_path) == json.loads(json.dumps(grid.to_json()))
    with pytest.raises(GridError, match="its blueprints are"):
        run_grid(replace(grid, blueprints=("cfr:7",)), tmp_path)


def test_a_run_says_what_it_has_done_and_that_it_is_done(tmp_path: Path) -> None:
    tree, file = grow(load_game("kuhn_poker")), tmp_path / "files[a]" / "p.npz"
    file.parent.mkdir()
    save_policy(file, tabular_policy("kuhn_poker", tree))
    words = ["--game", "kuhn_poker", "--method", "maxmargin", "--iterations", "5", "--workers", "1"]
    words += ["--blueprint", str(file)]
    first, again = (
        CliRunner().invoke(refine, [*words, "-o", str(tmp_path / "run")], catch_exceptions=False)
        for _ in range(2)
    )
    assert "nothing left to run" not in first.output and str(file) in first.output
    assert "nothing left to run" in again.output
