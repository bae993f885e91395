"""Rules of the sources: checkers raise errors of their own where Python leaves `assert` out; none forks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("games", "cfr", "blueprint", "gs2", "experiments")


def _sources(words: str) -> list[tuple[Path, ast.Module]]:
    """Return the syntax tree of each file in which words of this pattern stand."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
    return [(path, ast.parse(text)) for path, text in texts if re.search(words, text, re.M)]


def test_an_assert_only_tells_a_type_checker_what_is_known() -> None:
    narrowing = ("is not None", "isinstance(")
    for path, tree in _sources(r"\bassert\b[ (]"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                said = ast.unparse(node.test)
                assert any(word in said for word in narrowing), f"{path.name}:{node.lineno}: assert {said}"


def test_no_process_with_threads_is_forked() -> None:
    for path, tree in _sources(r"fork(pty)?\(|get_context|ProcessPoolExecutor|\.(Pool|Process)\b"):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            words = {keyword.arg for keyword in node.keywords}
            at = f"{path.relative_to(ROOT)}:{node.lineno}"
            assert not called.endswith(("os.fork", "os.forkpty")), at
            if called.endswith("get_context"):
                assert [ast.unparse(a) for a in node.args] == ["'spawn'"], at
            if called.endswith("ProcessPoolExecutor"):
                assert "mp_context" in words, f"{at}: without mp_context Linux may fork"
            if called.endswith((".Pool", ".Process")):
                assert not called.startswith(("multiprocessing.", "mp.")), f"{at}: take a spawn context's"
