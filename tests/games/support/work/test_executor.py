"""Pieces of work here and in processes of this machine; and the words of --on."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from games.support.interruption import Interruption
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, on_one_core, results
from games.support.work.gs2_build import build_differences, this_build
from games.support.work.where import Place, WorkError, installed, where_from, where_of
from gs2.cli import main
from tests.games.support.work import pieces
from tests.patience import PATIENCE


@pytest.mark.parametrize("count", [1, 2])
def test_every_piece_is_done_once_in_order_if_asked_until_it_is_stopped_or_fails(count: int) -> None:
    before = set(multiprocessing.active_children())
    taken: list[int] = []

    def endless() -> Iterator[tuple[int, int]]:
        while True:
            taken.append(len(taken))
            yield len(taken), 1

    with executor_at(where_of(count), Task(pieces.factor, (3,), pieces.refuses_seven)) as executor:
        assert executor.size == count
        found = list(results(executor, ((k, k) for k in range(8, 28))))
        assert sorted(found) == [(k, 3 * k) for k in range(8, 28)]
        assert pieces.in_order(executor, range(8, 28)) == [3 * k for k in range(8, 28)]
        # No more pieces are taken on than keep the processes busy; those that were handed out are kept.
        kept: list[int] = []
        for key, _ in results(executor, endless(), stop=lambda: len(kept) >= 5):
            kept.append(key)
        assert 5 <= len(kept) <= len(taken) <= len(kept) + 4 * count and executor.waiting == 0
        # The executor goes on, and is done with a piece's error once it was told, in its own words.
        assert pieces.in_order(executor, [4, 2]) == [12, 6]
        with pytest.raises(ValueError, match="seven is not served"):
            list(results(executor, ((k, k) for k in range(12))))
        assert executor.waiting == 0
        work = results(executor, endless())
        next(work)
        work.close()
        assert executor.waiting == 0
    assert set(multiprocessing.active_children()) == before


def test_a_piece_that_is_interrupted_within_its_own_pieces_is_dropped_whole() -> None:
    with Interruption() as asked, executor_at(where_of(1), Task(pieces.factor, (1,), pieces.in_parts)) as one:
        assert list(results(one, ((k, k) for k in range(5)), stop=asked)) == [(0, [0, 1, 2]), (1, [0, 1, 2])]
    assert asked.stop


def test_a_key_belongs_to_one_piece_at_a_time_and_a_process_that_dies_is_told() -> None:
    with executor_at(where_of(2), Task(pieces.factor, (1,), pieces.always_dies)) as executor:
        executor.submit("k", 1)
        with pytest.raises(WorkError, match="its own key; got 'k' twice"):
            executor.submit("k", 2)
        with pytest.raises(WorkerLost, match="ended without an answer"):
            list(results(executor, ((k, k) for k in range(4))))


def test_processes_end_with_the_one_that_started_them() -> None:
    code = (
        "import os, signal\n"
        "from games.support.work.engines import executor_at\n"
        "from games.support.work.executor import Task\n"
        "from games.support.work.where import where_of\n"
        "from tests.games.support.work import pieces\n"
        "with executor_at(where_of(2), Task(pieces.factor, (1,), pieces.times)) as executor:\n"
        "    print(pieces.in_order(executor, range(4)), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # ends only when the last process has let go of the pipe
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "[0, 1, 2, 3]\n"


def test_places_are_named_and_name_themselves() -> None:
    for words in ("local", "ray", "ray:10.0.0.5:6379", "ray://head.lab:10001", "ray:[::1]:6379"):
        assert str(where_from(words)) == words
    assert where_from(" ray://h:1 ") == Place("ray", "h:1", client=True)
    assert where_of(3).count == 3 and where_of(None).count is None
    assert where_of(where_from("ray").with_count(7)).count == 7


@given(st.text(st.sampled_from("ray:/local.[]019 x"), max_size=20))
def test_words_either_name_a_place_or_are_refused_with_those_that_do(words: str) -> None:
    try:
        place = where_from(words)
    except WorkError as error:
        assert "ray://HOST:PORT" in str(error) and repr(words) in str(error)
    else:
        assert where_from(str(place)) == place


@pytest.mark.parametrize("words", ["ray:", "ray://", "ray:host", "ray:h:65536", "slurm"])
def test_commands_refuse_a_place_that_is_none(words: str) -> None:
    found = CliRunner().invoke(main, ["match", "greedy", "strong", "--on", words])
    assert found.exit_code == 2 and "ray://HOST:PORT" in found.output and "Traceback" not in found.output


def test_commands_say_what_to_install_without_ray_and_what_has_no_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if find_spec("ray"):
        found = CliRunner().invoke(main, ["exploit", "kuhn_poker", "uniform", "--on", "ray"])
        assert found.exit_code == 2 and "remembers its choices" in found.output
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(WorkError, match=r"needs Ray, which is not installed here.*pip install 'gs2\[ray\]'"):
        installed(where_from("ray"))
    for command in (
        "match greedy strong",
        "match kuhn_poker uniform uniform",
        "ladder greedy strong",
        "gate pyproject.toml",
        "experiment refine",
        "exploit guandan strong",
        "review a.jsonl b.jsonl",
    ):
        found = CliRunner().invoke(main, [*command.split(), "--on", "ray"])
        assert found.exit_code == 2 and "pip install 'gs2[ray]'" in " ".join(found.output.split()), command


def test_nothing_of_ray_is_loaded_where_it_is_not_asked_for() -> None:
    code = (
        "import sys, gs2.guandan.contest, gs2.play.arena, gs2.commands.common\n"
        "from games.support.work.engines import executor_at; print('ray' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"


def test_builds_differ_by_name_where_they_do() -> None:
    here = this_build()
    assert build_differences(here, this_build()) == []
    assert here["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}" and here["gs2"] != "not installed"
    there = {**here, "gs2": "0.0.9", "numba": "not installed"}
    assert build_differences(here, there) == [
        f"gs2 is 0.0.9 there and {here['gs2']} here",
        f"numba is not installed there and {here['numba']} here",
    ]
    assert build_differences(here, {"gs2": "not installed", "python": here["python"]})[0] == (
        f"gs2 is not installed there and {here['gs2']} here"
    )


def test_a_machine_without_gs2_says_so() -> None:
    """The question is asked by value, so that a machine can answer that has no module of ours."""
    ray = pytest.importorskip("ray")
    from games.support.work import gs2_build
    from games.support.work.ray_cluster import Cluster

    ray.cloudpickle.register_pickle_by_value(gs2_build)
    question = ray.cloudpickle.dumps(Cluster(None, where_from("ray"), this_build()).refusal())
    code = (
        "import importlib.metadata, pickle, sys\n"
        "class Bare:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('games', 'gs2'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Bare())\n"
        "def missing(name): raise importlib.metadata.PackageNotFoundError(name)\n"
        "importlib.metadata.distribution = missing\n"
        "print(pickle.load(sys.stdin.buffer)())"
    )
    done = subprocess.run([sys.executable, "-c", code], input=question, capture_output=True, check=True)
    assert f"gs2 is not installed there and {this_build()['gs2']} here" in done.stdout.decode()


def test_a_piece_of_work_has_one_thread_of_torch_and_of_numpy_and_gives_the_others_back() -> None:
    import torch

    def threads() -> set[int]:
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return {torch.get_num_threads(), *pools}

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with threadpool_limits(3, user_api="blas"):
            with pytest.raises(KeyError), on_one_core():
                assert threads() == {1}
                raise KeyError
            assert threads() == {3}
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("2", "2")])
def test_a_command_multiplies_in_one_thread_unless_told_otherwise(given: str | None, threads: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    code = (
        "import gs2.cli, numpy, threadpoolctl\n"
        "pools = threadpoolctl.threadpool_info()\n"
        "print({pool['num_threads'] for pool in pools if pool['user_api'] == 'blas'})"
    )
    asked = [sys.executable, "-c", code]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in (f"{{{threads}}}", "set()")  # NumPy may be built upon another library
