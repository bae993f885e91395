"""The client's files: other projects' are what their sources say, ours know what Python knows."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from experiments.refinement.report import SCRIPTS
from gs2.search.config.presets import PRESETS
from gs2.search.config.stages import GADGET_NAMES
from gs2.web.pages import MODULES, STATIC, standalone_page

VENDOR = STATIC / "vendor"
MOST_BYTES = 1_200_000


def test_files_of_other_projects_are_what_the_list_of_sources_says() -> None:
    sources = json.loads((VENDOR / "SOURCES.json").read_text())["files"]
    assert {row["file"] for row in sources} == {path.name for path in VENDOR.glob("*.js")}
    assert {f"vendor/{row['file']}" for row in sources} == set(SCRIPTS)
    for row in sources:
        data = (VENDOR / row["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == row["sha256"] and len(data) == row["bytes"]
        assert row["license"] == "BSD-3-Clause"
        assert "Redistribution" in (VENDOR / row["license_file"]).read_text()
        assert row["version"] in row["tarball"] and row["tarball_integrity"].startswith("sha512-")
        assert b"</script" not in data.lower(), "it stands inside a page"
    assert sum(row["bytes"] for row in sources) <= MOST_BYTES


@pytest.mark.parametrize("entry", ["explore.js", "rows.js", "review.js"])
def test_a_page_carries_every_module_that_it_imports_and_no_other(entry: str) -> None:
    found = re.search(r'"importmap">(.*?)</script>', standalone_page("", entry, {}))
    assert found is not None
    imports = {f"gs2/{entry}"}
    carried = json.loads(found[1])["imports"]
    for address in carried.values():
        code = base64.b64decode(address.removeprefix("data:text/javascript;base64,")).decode()
        imports |= set(re.findall(r'"(gs2/[\w-]+\.js)"', code))
    assert carried.keys() == imports


def test_the_form_offers_what_python_knows() -> None:
    code = MODULES["explore-form.js"].read_text()

    def listed(name: str) -> list[str]:
        found = re.search(rf"{name} = (?:new Set\()?(\[[^\]]*\])", code)
        assert found is not None
        return json.loads(found[1])

    assert set(listed("METHODS")) == set(PRESETS)
    assert set(listed("GADGETS")) <= set(GADGET_NAMES)
    assert set(listed("WITH_K")) == {n for n, c in PRESETS.items() if c.generation.generator != "all"}


def test_what_a_page_shows_cannot_end_the_script_that_carries_it() -> None:
    evil = "</script><script>alert(1)</script><!-- \u2028 ]]>"
    page = standalone_page(evil, "explore.js", {"game": evil, evil: [evil]})
    assert "alert(1)</script>" not in page and "<script>alert" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None and json.loads(data[1]) == {"game": evil, evil: [evil]}
