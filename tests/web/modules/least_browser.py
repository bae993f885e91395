"""Runs the page's own modules in Node, where there is one, on the least of a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gs2.web.pages import MODULES
from tests.patience import PATIENCE

BROWSER = Path(__file__).with_suffix(".mjs")
LEAST = (20, 6)
"""The version of Node from which on it can be told where modules are."""


@cache
def _version() -> tuple[int, ...]:
    if shutil.which("node") is None:
        return ()
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(map(int, re.findall(r"\d+", told)[:2]))


needs_node = pytest.mark.skipif(_version() < LEAST, reason="no Node from 20.6 on here to run the modules")


def in_page(script: str, data: object = None) -> Any:
    """Return what a script reports: it imports the page's modules, and "browser", and finds `data` there."""
    modules = {f"gs2/{name}": path.resolve().as_uri() for name, path in MODULES.items()}
    done = subprocess.run(
        ["node", "--import", BROWSER.as_uri(), "--input-type=module"],
        input=f"const data = {json.dumps(data)};\n{script}",
        env=os.environ | {"GS2_MODULES": json.dumps(modules)},
        text=True,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
