"""The documents hold together: their links lead somewhere, their examples run, the front page stays short."""

from __future__ import annotations

import importlib
import posixpath
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PACKAGES = "games|cfr|blueprint|gs2|experiments|studies"
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
RESULTS = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "experiments" / "results").glob("*.md")
)
PAGES = ("README.md", "CONTRIBUTING.md", "TRAINING.md", *DOCS, *RESULTS)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)]*))?\)")
MOST_LINES = 150
MADE_BY_A_READER = {"games/match.jsonl", "docs/measurements/learning_curve"}
ENTRY_POINTS = {"gs2.games", "gs2.generators", "gs2.agents"}
COINED = (
    *(
        "slot",
        "splice",
        "block",
        "forest",
        "summary",
        "plans",
        "whole",
        "close",
        "fallback_k",
        "late",
        "hurried",
    ),
    *(
        "settled",
        "unreached",
        "frozen",
        "cover",
        "considered",
        "kept",
        "bundle",
        "lane",
        "door",
        "unit",
        "box",
    ),
    *(
        "borrow",
        "chooser",
        "world",
        "companions",
        "strangers",
        "judge",
        "trace",
        "focus",
        "particles",
        "anchor",
    ),
)
"""Words of ours that a researcher would not know, or would take for something else."""


PLAIN_SITE = f"""
INHERIT: {ROOT / "mkdocs.yml"}
docs_dir: {ROOT / "docs"}
hooks: [{ROOT / "docs" / "site_hooks.py"}]
theme: {{name: mkdocs}}
plugins: []
"""


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link, anchor in LINK.findall(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) if link else page
        if target.startswith("docs/reference/"):  # made with the site
            continue
        assert (ROOT / target).exists(), f"{page} links to {link}"
        if anchor and target.endswith(".md"):
            assert anchor in anchors((ROOT / target).read_text(encoding="utf-8")), f"{page}: {link}#{anchor}"


def test_the_front_page_can_be_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_first_steps_in_python_run(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "start.md").read_text(encoding="utf-8"), re.S
    )
    names: dict = {}
    exec(compile(code, "start.md", "exec"), names)
    assert min(names["result"].margins) > 0
    assert "raise" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(rf"\b((?:{PACKAGES}|tests|examples|docs)/[\w./-]*\w/?)", text))
    assert len(named) > 10 or page not in ("docs/concepts/index.md", "CONTRIBUTING.md")
    for path in named - MADE_BY_A_READER:
        assert (ROOT / path).exists() or path.startswith("docs/reference/"), f"{page} names {path}"


@pytest.mark.parametrize("page", PAGES)
def test_the_modules_and_names_of_the_code_that_a_page_spells_out_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in set(re.findall(rf"`((?:{PACKAGES})(?:\.\w+)+)[`(]", text)) - ENTRY_POINTS:
        parts = name.split(".")
        found = importlib.import_module(parts[0])
        for depth, part in enumerate(parts[1:], 2):
            if not hasattr(found, part):
                importlib.import_module(".".join(parts[:depth]))
            found = getattr(found, part)


def test_the_glossary_has_every_coined_word_of_the_code() -> None:
    text = (ROOT / "docs" / "concepts" / "index.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    ours = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    code = " ".join(
        path.read_text(encoding="utf-8")
        for package in ("games", "cfr", "blueprint", "gs2")
        for path in (ROOT / package).rglob("*.py")
    )
    used = {word for word in COINED if re.search(rf"\b{word}\b", code)}
    assert len(used) > 10
    assert not {word for word in used if not re.search(rf"\b{word}", ours)}


def test_the_reference_has_every_public_name() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "site_hooks.py"))
    for package in ("games", "cfr", "gs2", "blueprint"):
        page = hooks["_reference"]()[f"reference/{package}.md"]
        for name in importlib.import_module(package).__all__:
            assert f".{name}\n" in page


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs gs2[docs]")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_site_is_built_without_a_warning(tmp_path: Path, whole: bool) -> None:
    """Whole: with its own theme, what is searched, and docstrings, which take four fifths of the time."""
    made = tmp_path / "site"
    (tmp_path / "plain.yml").write_text(PLAIN_SITE)
    config = ROOT / "mkdocs.yml" if whole else tmp_path / "plain.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(made)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (made / "reference" / "search" / "index.html").is_file()
