"""A server for all tests of a process, and a Chromium."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.web.serving import Server

NEEDED = "GS2_NEED_BROWSER"
"""Set where a missing Chromium is a failure, as in CI."""
DEAF = "The AudioContext encountered an error from the audio device"
"""What a browser says when its own process for sounds does not answer in time: no page can help it."""
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no window of its own to draw, and does with three quarters of the processor time."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that many tests share."""
    running = Server(tmp_path_factory.mktemp("web")).start()
    yield running
    assert running.end(signal.SIGINT) == 130, "Ctrl-C ends it in words"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium: `GS2_CHROMIUM`, the system's, or Playwright's own.

    Playwright keeps an event loop running while it is open, under which tests of the same process that begin
    one of their own fail; so it is closed after each module, whatever comes next.
    """
    api = pytest.importorskip("playwright.sync_api")
    found = os.environ.get("GS2_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        # Parts of the browser's own window, which nobody sees here, are pages that are drawn as well.
        flags += ["--disable-extensions", "--disable-features=InitialWebUI,WebUIReloadButton,SidePanel"]
        try:
            browser = playwright.chromium.launch(executable_path=found, args=flags)
        except api.Error as error:
            if os.environ.get(NEEDED):
                raise
            pytest.skip(f"no Chromium here: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def people(chromium: Any, server: Server) -> Iterator[Callable[..., Any]]:
    """Opens pages of people with a browser each; an error on any of their consoles fails the test.

    A test sets `expected` to a pattern of the errors that it brings about, before it does.
    """
    contexts, errors = [], []

    def visit(path: str = "/", width: int = 1440, height: int = 900, **options: Any) -> Any:
        options = {"locale": "en-GB", "reduced_motion": "reduce", **options}
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)  # the first agents of a kind are loaded, beside other tests
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto(server.url + path if path.startswith("/") else path)
        return page

    visit.expected = re.compile("(?!)")  # type: ignore[attr-defined]  # errors that a test brings about
    yield visit
    for context in contexts:
        context.close()
    expected = visit.expected  # type: ignore[attr-defined]
    unexpected = [error for error in errors if not expected.search(error) and not error.startswith(DEAF)]
    assert not unexpected, unexpected
