"""What a tree takes is known before it is grown, and what does not fit is refused with what would."""

from __future__ import annotations

import logging
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from cfr.tree import FlatTree, TreeBudget, TreeRules, grow, memory
from cfr.tree.memory import (
    GROWTH_SECONDS,
    LOOK_AFTER,
    TooLarge,
    bytes_per_history,
    free_memory,
    in_bytes,
    memory_limit,
    seconds_per_history,
    words_of_bytes,
    words_of_seconds,
)
from games import load_game
from games.support.array_types import Array
from games.support.kernel.lazy import LazyKernel
from gs2.search.context import SearchContext
from tests.commands.runner import as_json, gs2
from tests.games.random_games import RandomGame

MIDDLE = ["liars_dice(sides=6)", "goofspiel_5_random_3", "leduc_poker(ranks=8)"]


@pytest.mark.parametrize("keep_states", [True, False])
@pytest.mark.parametrize("name", MIDDLE)
@pytest.mark.some(3)
def test_growing_takes_what_was_foretold(name: str, keep_states: bool) -> None:
    game = load_game(name)
    tracemalloc.start()
    try:
        tree = grow(game, keep_states=keep_states)
        peak = tracemalloc.get_traced_memory()[1] / tree.n_nodes
    finally:
        tracemalloc.stop()
    told = bytes_per_history(game, keep_states=keep_states)
    assert 0.8 * told <= peak <= told


@pytest.mark.parametrize("name", MIDDLE)
@pytest.mark.some(2)
def test_solving_takes_no_more_than_was_foretold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(tree: FlatTree) -> None:
        solver = Solver(sequence_form(tree))
        solver.run(2)
        solver.evaluate()

    monkeypatch.setattr(LazyKernel, "patience", 0.0)
    solve(grow(load_game(name), keep_states=False))  # compiled code is not the tree's
    tree = grow(load_game(name), keep_states=False)
    arrays = [getattr(tree, field) for field in tree.__dataclass_fields__]
    kept = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    tracemalloc.start()
    try:
        solve(tree)
        peak = (kept + tracemalloc.get_traced_memory()[1]) / tree.n_nodes
    finally:
        tracemalloc.stop()
    assert 0.6 * memory.CFR_BYTES <= peak <= memory.CFR_BYTES


def test_a_tree_that_does_not_fit_is_refused_before_it_is_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("liars_dice(dice=2,sides=6)")
    stepped = 0
    step = game.step

    def counted(states: np.ndarray, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        nonlocal stepped
        stepped += len(rows)
        return step(states, rows, actions)

    monkeypatch.setattr(game, "step", counted)
    with pytest.raises(
        TooLarge, match=r"must fit into 4 GB .* about \d.*e\+10 .* TB; .* would fit;"
    ) as caught:
        grow(game, budget=TreeBudget(memory=2**32))
    assert "liars_dice(dice=2,sides=3)" in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, MemoryError)
    assert stepped < 5_000_000  # of 43 thousand million


def test_a_small_tree_is_grown_without_a_look_at_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> float:
        raise AssertionError("small trees are grown thousands of times a second")

    monkeypatch.setattr("cfr.tree.memory.memory_limit", never)
    monkeypatch.setattr("cfr.tree.memory.estimate_size", never)
    assert grow(load_game("leduc_poker")).n_nodes < LOOK_AFTER


def test_a_tree_that_outgrows_its_estimate_is_stopped_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    small = memory.estimate_size(load_game("kuhn_poker"))
    monkeypatch.setattr(memory, "estimate_size", lambda *_, **__: small)
    monkeypatch.setattr(memory, "LOOK_AFTER", 1000)
    with pytest.raises(TooLarge, match=r"must fit into 19.1 MB of memory; it has at least [\d,]+ histories"):
        grow(load_game("liars_dice(sides=6)"), budget=TreeBudget(memory=2e7))


def test_trees_with_limits_are_watched_level_by_level() -> None:
    game = load_game("leduc_poker")
    leaf = lambda game, states: np.zeros((len(states), 2))  # noqa: E731
    rules = TreeRules(depth_limit=4, leaf=leaf)
    whole = grow(game, rules=rules)
    with pytest.raises(TooLarge, match="at least"):
        grow(game, rules=rules, budget=TreeBudget(memory=100.0 * whole.n_nodes))


def test_a_game_without_a_root_is_watched_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subgames of GuanDan are grown from sampled histories."""
    from games.guandan.rounds.round import GuanDan, deal

    monkeypatch.setattr(memory, "LOOK_AFTER", 50)
    with pytest.raises(TooLarge, match="it has"):
        grow(GuanDan(), deal(3, np.random.default_rng(0)), budget=TreeBudget(memory=1e6))


def test_a_tree_that_takes_much_memory_or_time_is_announced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    game = load_game("leduc_poker")
    monkeypatch.setattr(memory, "LOOK_AFTER", 1000)
    for name, value, says in (
        ("ANNOUNCED", 2**30, ""),
        ("ANNOUNCED", 2**20, "histories, about"),
        ("seconds_per_history", lambda *args, **options: 1e3, "days to grow"),
    ):
        caplog.clear()
        with monkeypatch.context() as only, caplog.at_level(logging.WARNING, "gs2"):
            only.setattr(memory, name, value)
            grow(game, budget=TreeBudget(memory=2**30))
        assert (says in caplog.text and "may be taken" in caplog.text) if says else not caplog.text


def test_a_search_asks_for_more_than_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("leduc_poker")
    monkeypatch.setattr(memory, "LOOK_AFTER", 1000)
    monkeypatch.setenv("GS2_MEMORY", "3500K")
    assert grow(game).n_nodes > memory.LOOK_AFTER
    with pytest.raises(TooLarge, match="histories of 420 bytes"):
        SearchContext(game)


def test_sizes_are_read_and_written() -> None:
    for text, size in (("4G", 2**32), ("1.5 GB", 1.5 * 2**30), ("500m", 500 * 2**20), ("2GiB", 2**31)):
        assert in_bytes(text) == size
    assert (in_bytes("7"), in_bytes("12k"), in_bytes("unlimited")) == (7, 12288, float("inf"))
    for text in ("", "much", "-1G", "0", "nan", "4 X", "1e9"):
        with pytest.raises(ValueError, match="memory must be a size such as"):
            in_bytes(text)
    words = ["12 bytes", "2 KB", "3 MB", "4.4 GB", "1,023 MB", "20,000 TB", "2.0e+05 TB"]
    sizes = 12, 2048, 3 * 2**20, 4.4 * 2**30, 1023.4 * 2**20, 2e4 * 2**40, 2e5 * 2**40
    assert [words_of_bytes(n) for n in sizes] == words


def test_the_limit_is_two_thirds_of_what_is_free_unless_something_else_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GS2_MEMORY", raising=False)
    monkeypatch.setattr(memory, "free_memory", lambda: 3e9)
    assert memory_limit() == pytest.approx(2e9)
    monkeypatch.setenv("GS2_MEMORY", "5G")
    assert memory_limit() == 5 * 2**30
    monkeypatch.setenv("GS2_MEMORY", "lots")
    with pytest.raises(ValueError, match="got 'lots'"):
        memory_limit()


def test_a_cgroup_narrows_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for folder, most, used in ((tmp_path / "a", 1_000_000, 400_000), (inner, "max", 1)):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 100000\n")
    monkeypatch.setattr(memory, "_cgroups", lambda: [inner, tmp_path / "a"])
    assert free_memory() == 700_000
    monkeypatch.setattr(memory, "_cgroups", lambda: [tmp_path / "nowhere"])
    assert free_memory() > 700_000


def test_the_commands_refuse_in_one_line_and_let_one_allow_more() -> None:
    for words in (
        ("blueprint", "liars_dice(dice=2)", "--iterations", "1", "--form", "listed"),
        ("exploitability", "liars_dice(dice=2)", "uniform"),
        ("solve", "liars_dice(dice=2)", "--infoset", "P0 holds 1 1", "--source", "enumerated"),
        ("knowledge", "liars_dice(dice=2)", "--infoset", "P0 holds 1 1"),
    ):
        result = gs2(*words, "--memory", "200M")
        assert result.exit_code == 2 and result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1
        # what a public tree computes by itself names no larger limit that would do
        steps = "by an estimate; allow more with --memory or GS2_MEMORY; gs2 exploit bounds an agent's"
        says = steps if words[0] == "exploitability" else "would fit"
        assert "must fit into 200 MB" in result.stderr and says in result.stderr
    public = gs2("blueprint", "liars_dice(dice=2)", "--iterations", "1", "--memory", "200M")
    assert public.exit_code == 2 and "public tree" in public.stderr
    assert "does not fit" in gs2("games", "liars_dice", "--memory", "10M").stdout
    assert gs2("games", "liars_dice", "--memory", "unlimited").exit_code == 0
    assert "memory must be a size" in gs2("games", "liars_dice", "--memory", "big").stderr


def test_games_size_prints_an_estimate() -> None:
    words = ["games", "liars_dice(dice=2)", "--size"]
    shown = gs2(*words)
    assert shown.exit_code == 0, shown.output
    for said in ("histories", "infosets", "bytes a history", "does not fit", "may be taken", "from a sample"):
        assert said in shown.stdout
    row = as_json(*words)
    assert row["histories"]["low"] < 1296 * 2**25 < row["histories"]["high"]
    assert row["fits"] == {"tree_memory": False, "cfr_memory": False, "search_memory": False}
    assert row["tree_memory"]["mean"] == row["tree_memory"]["bytes_per_history"] * row["histories"]["mean"]
    counted = as_json("games", "leduc_poker", "--size")
    assert counted["histories"] == {"mean": 9457, "low": 9457, "high": 9457, "exact": True}
    assert "more than" in gs2("games", "guandan", "--size").stdout
    assert gs2("games", "--size").exit_code == 2


def test_the_time_that_a_game_takes_for_each_history_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    class Slow(RandomGame):
        """A random game that thinks for two seconds about each state in which it is asked who acts."""

        def player(self, states: Array) -> Array:
            clock.now += 2.0 * len(states)
            return super().player(states)

    monkeypatch.setattr("cfr.tree.memory.time", clock)
    told = seconds_per_history(Slow(1, public=True), np.random.default_rng(0), plays=20)
    assert told == pytest.approx(2.0 + GROWTH_SECONDS)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0000273, "27 µs"),
        (0.0031, "3.1 ms"),
        (0.25, "250 ms"),
        (99.7, "100 s"),
        (1.0, "1 s"),
        (99.0, "99 s"),
        (150.0, "2.5 min"),
        (9000.0, "2.5 h"),
        (5 * 86400.0, "5 days"),
        (800 * 86400.0, "2.2 years"),
        (1e18, "3e+10 years"),
    ],
)
def test_times_are_said_in_words(seconds: float, words: str) -> None:
    assert words_of_seconds(seconds) == words
