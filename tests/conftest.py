"""Options of the test suite."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import pytest
from hypothesis import settings

from games.support.compiling import VARIABLE
from gs2.commands import progress
from tests.forked import ENVIRONMENT, FOLDER
from tests.patience import HURRY, LIMIT, LONG

# Torch is not imported yet. Its threads would wait for each other in loops, which costs processes beside them
# more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Numba makes a message for each type that it tries; in colours, that was a fifth of compiling.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
os.environ[VARIABLE] = ""  # a command that finds it set does not say that it compiles: stderr is compared
progress.FIRST = progress.EVERY
# A shell that runs the tests in the background ignores Ctrl-C for them, and for the commands that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --long, which runs the tests that take minutes."""
    parser.addoption("--long", action="store_true", help="run the long tests too")


def pytest_configure(config: pytest.Config) -> None:
    """Tell the tests, before they are imported, whether they try all that they can."""
    if config.getoption("--long"):
        os.environ[LONG] = "1"
    settings.register_profile("here", deadline=None, suppress_health_check=HURRY)
    settings.load_profile("here")
    gc.set_threshold(100_000, 50, 50)
    if FOLDER not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="gs2-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ[FOLDER] = folder.name
    ENVIRONMENT.update(os.environ)


COLLECTED: pytest.StashKey[IO[bytes]] = pytest.StashKey()
"""A file that the process which starts the others holds locked until the first has collected."""


def _collected() -> IO[bytes]:
    return open(os.path.join(os.environ[FOLDER], "collected"), "ab")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Hold back all processes but the first, which compiles to bytecode what each of them imports."""
    if getattr(session.config.option, "numprocesses", None):
        session.config.stash[COLLECTED] = file = _collected()
        fcntl.flock(file, fcntl.LOCK_EX)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Wait for the first process."""
    if getattr(session.config, "workerinput", {}).get("workerid", "gw0") != "gw0":
        with _collected() as file:
            fcntl.flock(file, fcntl.LOCK_SH)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Let the other processes collect."""
    if COLLECTED in node.config.stash:
        node.config.stash[COLLECTED].close()


pytest_testnodedown = pytest_xdist_node_collection_finished


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of what the garbage collector walks."""
    gc.freeze()


OUTSIDE = frozenset({"chromium", "people", "server", "own_server", "cluster"})
"""Fixtures that are programs of their own: a browser, a server of pages, a Ray cluster."""
SERVERS = ("tests/gs2/guandan/table/", "tests/web/")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a test of a browser, a server or a cluster once more if it fails.

    A repeat is listed at the end (`-rR`), with its reason: it is a fault to mend, not a way to pass. No other
    test can be repeated: to ask each time whether it is cost a tenth of all. What hangs is ended, with the
    stacks of its threads. Long tests, and cases beyond those that a test wants, are skipped unless all are
    asked for.
    """
    _pages_together(items)
    for item in items:
        outside = OUTSIDE.intersection(getattr(item, "fixturenames", ()))
        if outside or item.nodeid.startswith(SERVERS) or "test_ray" in item.nodeid:
            item.add_marker(pytest.mark.flaky(reruns=1))
    if config.getoption("--long"):
        return
    for item in items:
        item.add_marker(pytest.mark.timeout(LIMIT))
    skip = pytest.mark.skip(reason="takes minutes; run with --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)
    for cases in _cases(items):
        wanted = cases[0].get_closest_marker("some").args[0]
        kept = {round(k * (len(cases) - 1) / max(wanted - 1, 1)) for k in range(wanted)}
        for k, item in enumerate(cases):
            if k not in kept:
                item.add_marker(skip)


def _pages_together(items: list[pytest.Item]) -> None:
    """Put the tests of pages where the last of three processes begins.

    It starts their server and browser, and what others take over from it later needs none.
    """
    pages = [item for item in items if item.nodeid.startswith("tests/web/")]
    rest = [item for item in items if not item.nodeid.startswith("tests/web/")]
    at = min(len(rest), 2 * len(items) // 3)
    items[:] = rest[:at] + pages + rest[at:]


def _cases(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the cases of each test that is marked to run some of them, in order, long ones left out."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("some") and "long" not in item.keywords:
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    return list(cases.values())


REASON_LINES = 8
"""Lines of a reason that are shown: below the first, Playwright says what it waited for."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why each repeated test failed: one that passes then leaves no other trace of it."""
    repeated = terminalreporter.stats.get("rerun", [])
    if repeated:
        terminalreporter.section("reasons of repeats")
    for report in repeated:
        where, *lines = _reason(report)
        terminalreporter.line(f"{report.nodeid} ({report.when}): {where}")
        for line in lines:
            terminalreporter.line(f"    {line}")


def _reason(report: pytest.TestReport) -> list[str]:
    """Return the file and line where a test failed, and the first lines of what was said there."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return ["", *report.longreprtext.splitlines()[-REASON_LINES:]]
    return [f"{crash.path}:{crash.lineno}", *crash.message.splitlines()[:REASON_LINES]]


@pytest.fixture
def parts_forgotten() -> Iterator[None]:
    """Forget the generators, gadgets and leaf values that a test registers."""
    from gs2.parts import PARTS

    before = {field: (dict(parts), list(names)) for field, (parts, names) in PARTS.items()}
    yield
    for field, (parts, names) in PARTS.items():
        parts.clear()
        parts.update(before[field][0])
        names[:] = before[field][1]
