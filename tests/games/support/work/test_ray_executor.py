"""Work on a cluster of a few nodes gives what it gives here, whatever becomes of the nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, results
from games.support.work.ray_cluster import Cluster, connected
from games.support.work.where import Place, WorkError, where_from
from gs2.cli import main
from gs2.play.arena import Meeting, play_match
from tests.games.support.work import pieces
from tests.games.support.work.small_cluster import NODE, small_cluster
from tests.patience import amount

# not imported here: each process that collects tests would
pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")

AGENT = """
import time
import numpy as np

class Slow:
    name = "slow"

    def __call__(self, decisions):
        time.sleep(0.03)
        sizes = np.diff(decisions.offsets)
        return np.repeat(1 / sizes, sizes)
"""


NODES = amount(4, 2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with small_cluster(NODES) as made:
        yield made


@pytest.fixture(scope="module")
def place(cluster: Any) -> Iterator[Place]:
    """The cluster, to which this process stays connected from test to test."""
    found = where_from(f"ray:{cluster.address}")
    with connected(found):
        yield found


def run(*words: object) -> str:
    found = CliRunner().invoke(main, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_cluster_that_does_not_answer_is_told_at_once() -> None:
    with pytest.raises(WorkError, match=r"a cluster must answer at 127\.0\.0\.1:1 .*ray start --head"):
        executor_at(where_from("ray:127.0.0.1:1"), Task(pieces.factor, (1,), pieces.times))


def test_pieces_come_back_in_order_and_their_errors_too(place: Place) -> None:
    with executor_at(place, Task(pieces.factor, (3,), pieces.times)) as executor:
        assert executor.size == NODES
        assert pieces.in_order(executor, range(30)) == [3 * k for k in range(30)]
    with (
        executor_at(place, Task(pieces.factor, (3,), pieces.refuses_seven)) as executor,
        pytest.raises(ValueError, match="seven is not served") as caught,
    ):
        pieces.in_order(executor, range(12))
    assert "refuses_seven" in "".join(caught.value.__notes__)


def test_files_of_names_and_the_environment_come_along(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GS2_MEMORY", "123M")
    Path("note.txt").write_text("carried")
    with executor_at(place, Task(pieces.factor, (1,), pieces.reads)) as executor:

        def seen(piece: str) -> list[str]:
            return [found for _, found in results(executor, [(0, piece)], names=("see:note.txt",))]

        assert seen("see:note.txt") == ["carried"]
        Path("note.txt").write_text("carried again")
        assert seen("see:note.txt") == ["carried again"]
        with pytest.raises(WorkError, match=r"'see:other\.txt' was not sent"):
            seen("see:other.txt")
    with executor_at(place, Task(pieces.factor, (1,), pieces.remembers)) as executor:
        assert pieces.in_order(executor, ["GS2_MEMORY"]) == ["123M"]


def test_a_piece_whose_process_dies_is_done_again_but_not_for_ever(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = str(tmp_path / "died")
    with executor_at(place, Task(str, (mark,), pieces.dies_once)) as executor:
        assert sorted(results(executor, ((k, k) for k in range(8)))) == [(k, k) for k in range(8)]
        assert executor.lost >= 1
    monkeypatch.setattr("games.support.work.ray_executor.TRIES", 2)
    with (
        executor_at(place, Task(pieces.factor, (1,), pieces.always_dies)) as executor,
        pytest.raises(WorkerLost, match="2 times"),
    ):
        pieces.in_order(executor, [1])


def test_another_cluster_and_another_gs2_are_refused_by_name(place: Place) -> None:
    with pytest.raises(WorkError, match=r"connected to the cluster at 127\.0\.0\.1:\d+ already"):
        executor_at(where_from("ray:127.0.0.1:1"), Task(pieces.factor, (1,), pieces.times))
    with connected(place) as cluster:
        other = Cluster(cluster.ray, place, {**cluster.build, "gs2": "9.9.9"})
        with pytest.raises(WorkError, match=r"gs2 is \S+ there and 9\.9\.9 here; install the same version"):
            other.check_nodes()


@pytest.mark.long
def test_refinements_have_the_same_rows_as_here(place: Place, tmp_path: Path) -> None:
    refine = "experiment refine --game kuhn_poker --method gs2+ --method maxmargin --iterations 20 --seeds 1"
    found = []
    for name, where in (("here", "local"), ("there", place)):
        words = ("--blueprint", "cfr:10", "--json", "-o", tmp_path / name, "--on", where, "--workers", 1)
        rows = json.loads(run(*refine.split(), *words))["rows"]
        times = ("seconds", "median_ms", "p99_ms")
        found.append(sorted(json.dumps({k: v for k, v in row.items() if k not in times}) for row in rows))
    assert found[0] == found[1] and len(found[0]) == 2


@pytest.mark.long
def test_nodes_come_and_go_and_nothing_is_lost_or_counted_twice(
    cluster: Any, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(AGENT)
    meeting = Meeting("leduc_poker", "mine.py:Slow", "cfr:20", pairs=256 * 24)
    doomed = list(cluster.worker_nodes)[:2]
    done: list[int] = []

    def watch(result: Any) -> None:
        done.append(len(result.games.numbers))
        if len(done) == 5:
            for node in doomed:
                cluster.remove_node(node, allow_graceful=False)
        if len(done) == 9:
            cluster.add_node(**NODE)

    there = play_match(meeting, output=tmp_path / "there.jsonl", processes=place, progress=watch)
    here = play_match(meeting, output=tmp_path / "here.jsonl", processes=2)
    assert there.complete and done == sorted(set(done)) and len(done) == 24
    assert sorted(Path("there.jsonl").read_text().splitlines()) == sorted(
        Path("here.jsonl").read_text().splitlines()
    )
    assert (there.games.payoffs == here.games.payoffs).all()
