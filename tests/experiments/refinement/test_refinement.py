"""The refinement experiment: every cell once, resumable, reported."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cfr import grow, save_policy, tabular_policy, uniform_policy
from experiments.commands import refine
from experiments.refinement.grid import GRIDS, Cell, Grid, GridError
from experiments.refinement.methods import method_config
from experiments.refinement.report import (
    BLUEPRINT,
    cell_tables,
    compare,
    comparison_table,
    family_table,
    overview_tables,
    place_in_family,
    pooled_rows,
    rows_picture,
    strength_table,
    warm_table,
    write_report,
)
from experiments.refinement.rows import ROWS, Row, read_rows, summarise_cells
from experiments.refinement.run import run_cell, run_grid
from games import load_game
from tests.patience import amount

GRID = Grid(
    "test", games=("kuhn_poker",), methods=("maxmargin", "gs2-r:k=1", "1-klss"), iterations=(20,), seeds=3
)


def test_a_grid_holds_each_cell_once_and_random_methods_with_every_seed() -> None:
    cells = list(GRID.cells())
    assert len({cell.key for cell in cells}) == len(cells) == 5
    assert sum(cell.method == "gs2-r:k=1" for cell in cells) == 3
    # gs2+path is sequential in both modes; and options may be given twice
    modes = replace(GRID, methods=("gs2+path", "1-klss"), modes=("nested", "sequential"), seeds=1)
    assert [cell.mode for cell in modes.cells()] == ["sequential", "nested", "sequential"]
    assert list(replace(GRID, games=GRID.games * 2, iterations=(20, 20)).cells()) == cells


@pytest.mark.parametrize(
    ("method", "random"),
    [
        ("1-klss:source=sampled,samples=2,companions=2", True),
        ("gs2+:source=sampled,samples=2,companions=2", True),
        ("maxmargin:generator=random,k=3", True),
        ("1-klss:generator=random,k=3", True),
        ("gs2+:whole=0,k=3", True),
        ("gs2+:whole=0>gs2+path", True),
        ("maxmargin:depth=1,leaf=rollout", True),
        ("maxmargin:depth=1,leaf=multi-valued,rollouts=2", True),
        ("maxmargin:depth=1,leaf=multi-valued,rollouts=0", False),
        ("maxmargin:depth=1,leaf=value", False),
        ("gs2+:certificate=statistical", True),
        ("gs2-r:generator=all", False),
        ("gs2+>gs2+path", False),
    ],
)
def test_a_method_has_every_seed_where_it_draws(method: str, random: bool) -> None:
    grid = Grid("test", games=("kuhn_poker",), methods=(method,), seeds=5)
    assert len(list(grid.cells())) == (5 if random else 1)


@pytest.mark.parametrize(
    ("blueprint", "learned"), [("DMC:9", 5), ("network:9", 5), ("dmc.gs2", 1), ("uniform", 1)]
)
def test_a_blueprint_is_learned_anew_for_every_seed_by_its_name_not_its_file(
    blueprint: str, learned: int
) -> None:
    grid = Grid("test", games=("kuhn_poker",), blueprints=(blueprint,), methods=("maxmargin",), seeds=5)
    assert len(list(grid.cells())) == learned


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (["--method", "maxmargin>gs2+"], "maxmargin>gs2+ cannot run in the mode nested"),
        (["--method", "gs2+", "--mode", "independent"], "gs2+ cannot run in the mode independent"),
        (["--preset", "path", "--mode", "independent"], "gs2+ cannot run in the mode independent"),
    ],
)
def test_a_method_that_would_not_run_is_refused(chosen: list[str], says: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = CliRunner().invoke(refine, ["--game", "kuhn_poker", *chosen, "-o", str(folder)])
    assert isinstance(found.exception, GridError) and says in str(found.exception)
    assert not folder.exists()


def test_presets_leave_out_what_cannot_run_and_modes_may_be_chosen_so_that_it_can() -> None:
    GRIDS["independent"].check_modes()
    assert not any(cell.method == "gs2+" for cell in GRIDS["independent"].cells())
    grid = Grid("test", games=("kuhn_poker",), methods=("maxmargin>gs2+",), modes=("sequential",))
    grid.check_modes()
    assert [cell.mode for cell in grid.cells()] == ["sequential"]


def test_the_family_stands_in_one_table_by_depth_continuations_and_temperature() -> None:
    places = [place_in_family(method) for method in GRIDS["family"].methods]
    assert None not in places
    assert len(set(places)) == len(places)
    assert place_in_family("gs2+>gs2+path") is None
    assert place_in_family("maxmargin:depth=1,leaf=value") is None
    assert place_in_family("mirror-descent") is None
    leaf = "leaf=multi-valued,rollouts=0,policies=blueprint+last"
    methods = (
        "maxmargin",
        f"maxmargin:depth=1,{leaf}",
        f"maxmargin:depth=1,{leaf},choosers=everyone",
        "maxmargin:depth=2,solver=anchored,temperature=0.1",
    )
    grid = Grid(
        "test", games=("kuhn_poker",), blueprints=("cfr:2",), methods=methods, iterations=(20,), seeds=1
    )
    rows = [run_cell(cell) for cell in grid.cells()]
    found = family_table(summarise_cells(rows))
    heads = next(line for line in found.splitlines() if line.startswith("| method"))
    assert heads == "| method | depth | 1 | 2 | 2, everyone | 1, τ 0.1 |"
    ratio = rows[1].exploitability / rows[1].blueprint_exploitability
    assert f"| maxmargin | 1 |  | {ratio:.3f} |" in found
    assert family_table(summarise_cells(rows[:1])) == ""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of the whole grid."""
    folder = tmp_path_factory.mktemp("ran")
    run_grid(GRID, folder)
    return folder


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write reports as where matplotlib is not installed: most tests read their text alone."""
    monkeypatch.setattr("experiments.refinement.report.find_spec", lambda name: None)


def test_a_run_cut_short_goes_on_and_comes_to_the_same_a_row_for_every_cell(
    ran: Path, tmp_path: Path
) -> None:
    asked = iter([False, False, True])
    run_grid(GRID, tmp_path, stop=lambda: next(asked))
    rows = tmp_path / ROWS
    assert len(read_rows(rows)) == 2
    rows.write_bytes(rows.read_bytes() + "é.py:kuhn_poker".encode()[:1])  # killed while writing
    run_grid(GRID, tmp_path)
    cut, whole = (
        [(row.method, row.seed, row.exploitability) for row in read_rows(folder / ROWS)]
        for folder in (tmp_path, ran)
    )
    assert cut == whole and {row[:2] for row in whole} == {(cell.method, cell.seed) for cell in GRID.cells()}


def test_a_folder_of_another_grid_is_refused(tmp_path: Path) -> None:
    run_grid(GRID, tmp_path, stop=lambda: True)
    with pytest.raises(GridError, match=r"its seeds are \d, got 7; choose a new folder"):
        run_grid(replace(GRID, seeds=7), tmp_path)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"games": ("kuhn_pokr",)}, "did you mean kuhn_poker"),
        ({"games": ("big2",)}, "needs two players"),
        ({"methods": ("gs2-d:k=0",)}, "k must be an integer of at least 1"),
        ({"blueprints": ("cfr:x",)}, "iterations must be an integer of at least 1; got 'x'"),
    ],
)
def test_a_grid_that_cannot_run_leaves_no_folder_behind(wrong: dict, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        run_grid(replace(GRID, **wrong), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_sampled_infosets_are_searched() -> None:
    row = run_cell(Cell("kuhn_poker", "cfr:10", "maxmargin", "independent", None, 20, 2, 0))
    assert row.searches + row.skipped == 4


def test_methods_carry_changed_fields() -> None:
    config = method_config("gs2-d:k=7,entry_floor=0.05,order=none", iterations=9)
    assert (
        config.generation.k,
        config.gadget.entry_floor,
        config.histories.order,
        config.solve.iterations,
    ) == (7, 0.05, None, 9)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cell_that_its_limit_did_not_cut_is_not_run_again_with_a_longer_one(
    tmp_path: Path, workers: int
) -> None:
    grid = Grid("test", games=("kuhn_poker",), methods=("maxmargin",), limits=(5.0, 1e-7, 6.0))
    run_grid(grid, tmp_path, workers=1)
    short, long, longer = read_rows(tmp_path / ROWS)
    assert (short.limit, long.limit, longer.limit) == (1e-7, 5.0, 6.0)
    assert short.late == short.searches > 0 and short.ran_at == 1e-7
    assert long.late == 0 and long.exploitability < short.exploitability
    assert longer == replace(long, limit=6.0) and longer.ran_at == 5.0
    (tmp_path / ROWS).write_bytes((tmp_path / ROWS).read_bytes().rsplit(b"\n", 2)[0] + b"\n")
    run_grid(grid, tmp_path, workers=workers)
    assert read_rows(tmp_path / ROWS)[2] == longer


def made_row(cell: Cell, before: float, after: float) -> Row:
    fields = dict.fromkeys(Row.__annotations__, 1.0) | asdict(cell) | {"iterations": 1.0}
    fields |= {"cap": cell.iterations, "ran_at": cell.limit, "late": 0, "commit": ""}
    return Row(**fields | {"blueprint_exploitability": before, "exploitability": after})


def test_methods_are_compared_in_the_cells_that_both_have() -> None:
    def row(game: str, method: str, exploitability: float) -> Row:
        return made_row(Cell(game, "cfr:10", method, iterations=20), 0.5, exploitability)

    rows = [row("a", "gs2+", 0.25), row("b", "gs2+", 0.5), row("c", "gs2+", 0.6), row("a", "1-klss", 0.0)]
    found = compare(rows, "gs2+", BLUEPRINT)
    assert found is not None
    assert (found.cells, found.below, found.level, found.above) == (3, 1, 1, 1)
    assert (found.median, found.worst) == (1.0, 1.2)
    beside = compare(rows, "gs2+", "1-klss")
    assert beside is not None and (beside.cells, beside.above) == (1, 1)
    assert compare(rows, "gs2+", "unsafe") is None
    assert "| gs2+ | blueprint | 3 | 1 | 1 | 1 | 1 | 1.2 |" in comparison_table(rows)


def test_every_row_of_several_modes_limits_and_samples_stands_in_the_tables() -> None:
    worth = {"nested": 0.5, "sequential": 0.25, "independent": 0.75}
    measured = [(mode, n, 300) for mode in worth for n in (None, 9)] + [("nested", None, 100)]
    rows = [
        made_row(Cell(game, "cfr:10", method, mode, sample=n, iterations=most), 1.0, part)
        for mode, n, most in measured
        for method, share in (("maxmargin", 1.0), ("maxmargin:depth=1", 0.5))
        for game in ("a", "b")
        for part in [share * worth[mode] * (1 if n is None else 0.9) * most / 300]
    ]
    summaries = summarise_cells(rows)
    family, over, cells = family_table(summaries), overview_tables(summaries), cell_tables(summaries)
    assert family.count("blueprint's, by decisions") == 2 * over.count("Exploitability") == 14
    for row in rows:
        assert f" {row.ratio:.3f} |" in family and f" {row.ratio:.3f} |" in over
        assert f" {row.exploitability:.4f} (" in cells
    assert "a, blueprint cfr:10, sequential, 300 iter., 9 random infosets a player: " in family
    assert "### a, blueprint cfr:10 (exploitability 1.0000), sequential, all infosets" in cells
    rows.append(made_row(replace(rows[0].cell, seed=1), 1.0, 0.5))
    assert " | 1 or 2 | " in cell_tables(summarise_cells(rows))
    rows[0:0] = [made_row(Cell("c", "cfr:10", "gs2+path", "sequential", iterations=300), 1.0, 0.5)]
    assert ", nested, all infosets" in cell_tables(summarise_cells(rows[:1]))


def test_a_blueprint_that_is_an_equilibrium_has_finite_ratios() -> None:
    worth = {"unsafe": (0.0, 0.0), "maxmargin": (-1e-17, 2e-17), "gs2-d:k=3": (0.0, 0.5)}
    rows = [
        made_row(Cell("a", "uniform", method, limit=0.01), before, after)
        for method, (before, after) in worth.items()
    ]
    ratios = [summary.ratio for summary in summarise_cells(rows)]
    assert ratios[:2] == [1.0, 1.0] and 1e6 < ratios[2] < np.inf
    rows.append(made_row(Cell("a", "uniform", "gs2-d:k=3,warm_start=1", limit=0.01), 0.0, 0.0))
    assert "→ 1.0" in warm_table(rows)


STRENGTHS = {"uniform": 2.0, "cfr:2": 1.0, "cfr:10": 0.5}


def test_level_methods_with_other_seeds_come_out_level_though_every_seed_has_its_own_blueprint() -> None:
    def trained(method: str, seed: int) -> Row:
        before = 1.0 + 0.3 * seed**2
        return made_row(Cell("a", "dmc:9", method, iterations=300, seed=seed), before, 0.5 * before)

    seeds = {"gs2-d:k=3": 3, "gs2-r:k=3": 10, "gs2-r:k=3,draws=5": 2}
    rows = [trained(method, seed) for method, n in seeds.items() for seed in range(n)]
    for first in seeds:
        for second in seeds.keys() - {first}:
            found = compare(rows, first, second)
            assert found is not None and (found.cells, found.level) == (1, 1)
    assert compare([rows[0], trained("gs2-r:k=3", 1)], "gs2-d:k=3", "gs2-r:k=3") is None
    rows += [
        made_row(Cell("a", name, "gs2-d:k=3", iterations=300), worth, worth)
        for name, worth in STRENGTHS.items()
    ]
    lines = [line.split(" | ") for line in strength_table(rows).splitlines() if "dmc:9" in line]
    assert [line[1] for line in lines] == ["dmc:9, 10 seeds", "dmc:9, 3 seeds", "dmc:9, 2 seeds"]
    for line, n in zip(lines, (10, 3, 2), strict=True):
        assert line[2] == f"{np.mean([1.0 + 0.3 * seed**2 for seed in range(n)]):.4f}"
        assert [bool(cell.strip()) for cell in line[3:6]] == [n <= 3, True, n <= 2]


def test_warm_and_cold_are_means_over_the_seeds_that_both_have() -> None:
    def timed(method: str, seed: int, ratio: float) -> Row:
        return made_row(Cell("a", "cfr:100", method, limit=0.01, seed=seed), 0.5, 0.5 * ratio)

    rows = [timed("gs2-r:k=3", seed, 2.0 + 4 * seed) for seed in range(5)]
    assert warm_table(rows) == ""
    rows += [timed("gs2-r:k=3,warm_start=1", seed, 0.25) for seed in (0, 1)]
    rows.append(timed("1-klss:warm_start=1", 0, 0.25))
    lines = [line for line in warm_table(rows).splitlines() if line.startswith("| a")]
    assert lines == ["| a | cfr:100 | gs2-r:k=3 | 4.0 → 0.25 | 2 |"]


NAMES = {
    "Goofspiel 10": "goofspiel_10_ascending_3",
    "Goofspiel 12": "goofspiel_12_ascending_3",
    "Goofspiel 5": "goofspiel_5_random_3",
    "Liar's Dice 6": "liars_dice_6",
    "Leduc": "leduc_poker",
}


def test_the_page_shows_of_warm_starts_what_the_rows_say() -> None:
    folders = sorted(Path("experiments/results/rows").glob("*"))
    rows = pooled_rows([one for one in folders if one.name.startswith(("warm-", "limits-"))])[1]
    told = {line for line in warm_table(rows).splitlines() if line.startswith("| ")}
    page = Path("docs/measurements/subgame_solving.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith("| ") and line.count("→") == 3]
    assert len(shown) > 10
    for line in shown:
        named, _, figures = line[2:].partition(" | ")
        game, _, method = named.partition(", ")
        assert f"| {NAMES[game]} | cfr:100 | {method.strip('`')} | {figures}" in told


def test_the_page_says_of_long_limits_what_the_rows_say() -> None:
    folders = sorted(Path("experiments/results/rows").glob("limits-*"))
    page = " ".join(Path("docs/measurements/subgame_solving.md").read_text().split())
    found = {
        (row.game, row.method): row.ratio
        for row in summarise_cells(pooled_rows(folders)[1])
        if row.limit == 5.0 and row.mode != "independent"
    }
    whole = [
        found[game, method]
        for game in ("leduc_poker", "liars_dice_6", "liars_dice_7", "goofspiel_5_random_3")
        for method in ("maxmargin", "reach-maxmargin", "gs2+")
    ]
    assert f"`gs2+` end at {min(whole):.2f} to {max(whole):.2f} on Leduc" in page
    game = "goofspiel_5_random_3"
    chosen = [f"{found[game, f'gs2-d:k={k}'] / found[game, f'gs2-r:k={k}']:.2f}" for k in (2, 3, 5)]
    assert f"| Goofspiel 5 | {' | '.join(chosen)} | |" in page


def test_the_report_sets_blueprints_of_rising_strength_beside_each_other(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    grid = Grid(
        "strength",
        games=("kuhn_poker",),
        blueprints=("cfr:20", "uniform", "cfr:2"),
        methods=("gs2-d:k=3", "gs2-r:k=3,draws=5", "gs2-r:k=3", "gs2+"),
        iterations=(300,),
        seeds=amount(5, 1),
    )
    run_grid(grid, tmp_path / "run")
    rows = read_rows(tmp_path / "run" / ROWS)
    lines = [line for line in strength_table(rows).splitlines() if "kuhn_poker" in line]
    assert [line.split(" | ")[1] for line in lines] == ["uniform", "cfr:2", "cfr:20"]
    strongest = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    plus = next(row for row in rows if (row.method, row.blueprint) == ("gs2+", "cfr:20"))
    assert strongest[7] == f"{plus.exploitability / plus.blueprint_exploitability:.3g}"
    assert strongest[8] == ""  # gs2+path was not measured
    assert strength_table([row for row in rows if row.blueprint != "uniform"]) == ""
    files = write_report([tmp_path / "run"], tmp_path / "R.md")
    assert tmp_path / "strength.png" in files and (tmp_path / "strength.png").stat().st_size > 0
    assert "strength.png" in files[0].read_text()


def test_the_report_shows_every_method_and_the_ratios_of_several_games_in_one_plot(
    ran: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    reasons: list[str] = []
    files = write_report([ran], tmp_path / "R1.md", reasons.append)
    assert all(method in files[0].read_text() for method in GRID.methods)
    assert len(summarise_cells(read_rows(ran / ROWS))) == 3
    assert not any(file.name.endswith("-game.png") for file in files)
    assert any("several games" in reason for reason in reasons)
    grid = replace(GRID, games=("kuhn_poker", "kuhn_poker(cards=4)"), methods=("unsafe", "gs2+"), seeds=1)
    run_grid(grid, tmp_path / "two")
    files = write_report([tmp_path / "two"], tmp_path / "R.md")
    (plot,) = (file for file in files if file.name.endswith("-game.png"))
    assert plot.stat().st_size > 0 and plot.name in files[0].read_text()


def test_a_report_names_pictures_of_blueprints_in_files_and_reads_every_k(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    tree = grow(load_game("kuhn_poker"))
    files = [tmp_path / folder / "p.npz" for folder in ("a/" + "c/" * 60, "b/" + "c/" * 60)]
    for file in files:
        file.parent.mkdir(parents=True)
        save_policy(file, tabular_policy("kuhn_poker", tree, uniform_policy(tree)))
    passes = "gs2+:whole=0,k=2>gs2+path"
    grid = replace(GRID, methods=("gs2-d:k=1", "gs2-d:k=1e1", "resolve:k=none", passes), seeds=1)
    grid = replace(grid, blueprints=tuple(map(str, files)), modes=("sequential",))
    run_grid(grid, tmp_path / "run")
    written = write_report([tmp_path / "run"], tmp_path / "R.md")
    pictures = [file.name for file in written if file.name.endswith("-k.png")]
    assert len(set(pictures)) == 2 and all(f"]({name})" in written[0].read_text() for name in pictures)
    cells = rows_picture(*pooled_rows([tmp_path / "run"]))["rows"]
    told = {(cell["base"], cell["k"]) for cell in cells}
    assert told == {("gs2-d", 1), ("gs2-d", 10), ("resolve", None), (passes, None)}


def test_what_two_folders_share_counts_once(tmp_path: Path, no_plots: None) -> None:
    def report(*grids: Grid) -> str:
        for grid in grids:
            run_grid(grid, tmp_path / f"{grid.name} {grid.seeds}")
        folders = [tmp_path / f"{grid.name} {grid.seeds}" for grid in grids]
        return write_report(folders, tmp_path / "R.md")[0].read_text()

    cells = [replace(GRID, name=name, methods=("gs2+",)) for name in ("one", "other")]
    assert "| gs2+ | blueprint | 1 |" in report(*cells)
    more = replace(GRID, methods=("gs2-r:k=1",))
    both = report(replace(more, seeds=1), more)
    assert "3 rows" in both and both == report(more)
