"""Pages: the one the server shows, and files that show one thing without any server.

A client's module names another as `gs2/NAME.js`. An import map says what that is: on the server the file's
address, in a standalone page a data: URL with the module itself. So both run the same modules, unbuilt.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
"""Folder of the client's files."""

_STANDALONE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{styles}
<script type="importmap">{imports}</script>
</head>
<body class="standalone">
<main id="root"></main>
<script type="application/json" id="data">{data}</script>
{scripts}
<script type="module">
import {{ start }} from "gs2/{entry}";
start(document.getElementById("root"), JSON.parse(document.getElementById("data").textContent));
</script>
</body>
</html>
"""

_INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gs2</title>
<link rel="icon" href="/static/icon.svg">
{styles}
<script type="importmap">{imports}</script>
<script type="module" src="/static/main.js"></script>
</head>
<body>
<main id="root"></main>
<noscript>gs2 needs JavaScript.</noscript>
</body>
</html>
"""


VENDOR = "vendor"
"""Folder of other people's scripts, which no module imports."""


def _files(pattern: str) -> dict[str, Path]:
    """Return the client's files by name: a name is enough to find one, in whatever folder it lies."""
    paths = [path for path in sorted(STATIC.rglob(pattern)) if VENDOR not in path.relative_to(STATIC).parts]
    found = {path.name: path for path in paths}
    if len(found) < len(paths):
        raise ValueError(f"two of the client's files have one name: {[path.name for path in paths]}")
    return found


MODULES = _files("*.js")
"""The client's modules by name."""
STYLES = _files("*.css")
"""The client's style sheets by name."""


def _address(path: Path) -> str:
    return f"/static/{path.relative_to(STATIC).as_posix()}"


def _import_map(addresses: Iterable[tuple[str, str]]) -> str:
    return json.dumps({"imports": {f"gs2/{name}": address for name, address in addresses}})


def _needed(entry: str) -> list[str]:
    """Return a module and those that it imports, at whatever remove."""
    names = [entry]
    for name in names:
        imported = re.findall(r'(?:from|import) "gs2/([\w.-]+)"', MODULES[name].read_text("utf-8"))
        names += [one for one in imported if one not in names]
    return names


def _in_script(text: str) -> str:
    """Return JSON text that cannot end the <script> it stands in."""
    return (
        text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        .replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )  # fmt: skip


def standalone_page(
    title: str, entry: str, data: Any, *, styles: Sequence[str] = (), scripts: Sequence[str] = ()
) -> str:
    """Return one HTML file that shows `data` and needs no network.

    entry: module whose `start(root, data)` shows it. styles: style sheets besides the base. scripts: classic
        scripts to run before, by their path in the static folder. All are files of this package; `data` may
        be anybody's, as JSON.
    """
    encoded = {name: base64.b64encode(MODULES[name].read_bytes()).decode() for name in _needed(entry)}
    sheets = "\n".join(f"<style>{STYLES[name].read_text('utf-8')}</style>" for name in ("base.css", *styles))
    return _STANDALONE.format(
        title=html.escape(title),
        styles=sheets,
        imports=_import_map((name, f"data:text/javascript;base64,{code}") for name, code in encoded.items()),
        data=_in_script(json.dumps(data, ensure_ascii=False, allow_nan=False)),
        scripts="\n".join(f"<script>{(STATIC / name).read_text('utf-8')}</script>" for name in scripts),
        entry=entry,
    )


def review_page(review: dict[str, Any]) -> str:
    """Return a review as one HTML file. review: as `gs2 review --json` prints it."""
    return standalone_page(
        f"{review['name']} – gs2 review", "review.js", review, styles=["cards.css", "review.css"]
    )


@cache
def index_page() -> str:
    """Return the server's page."""
    sheets = "\n".join(
        f'<link rel="stylesheet" href="{_address(STYLES[name])}">'
        for name in sorted(STYLES, key=lambda name: (name != "base.css", name))
    )
    return _INDEX.format(styles=sheets, imports=_served_imports())


def _served_imports() -> str:
    return _import_map((name, _address(path)) for name, path in MODULES.items())


@cache
def csp() -> str:
    """Return the content security policy of the server's page: nothing from elsewhere, nothing inline."""
    digest = base64.b64encode(hashlib.sha256(_served_imports().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
