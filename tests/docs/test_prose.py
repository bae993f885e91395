"""Running text is true and plain: what pages speak of exists, and sentences are direct.

Fenced blocks are run by `test_documented_commands`; here are the words between backticks around them. Plain
means, for pages, the web page, help and messages: no `told`, no clause with a question word as an opener.
"""

from __future__ import annotations

import ast
import posixpath
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from gs2.cli import main
from tests.web.modules.page_words import page_words

ROOT = Path(__file__).parents[2]
PACKAGES = ("games", "cfr", "blueprint", "gs2", "experiments", "studies", "tests", "docs", "examples")
PAGES = (
    *("README.md", "CONTRIBUTING.md", "TRAINING.md", "studies/README.md"),
    *("blueprint/MODEL_CARD.md", "gs2/guandan/beliefs/BELIEFS.md"),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "experiments" / "results").glob("*.md")),
)
NAME = re.compile(r"(?<![\w/.-])[A-Za-z]\w*(?![\w/-])")
FROM_ELSEWHERE = {
    *("LOWEST", "GLIBC_TUNABLES", "S_top"),
    *("dark_hex", "board_size", "bettingAbstraction", "maxRaises", "numBoardCards"),
}
"""Names of the environment, of a paper, and of OpenSpiel's games."""
BUILT = {"--state", "--blocks"}
"""Options that a command makes from a list of names."""
MADE_BY_A_READER = re.compile(r"[A-Z]+(-quick)?\.|(mine|seats|bot|llm)\.py|runs/|last\.|.*\.state\.")


def _spans(page: str) -> set[str]:
    """Return what stands between backticks in the running text of a page."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    return {" ".join(span.split()) for part in text.split("\n\n") for span in re.findall(r"`([^`]+)`", part)}


@cache
def _files() -> tuple[str, ...]:
    inside = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    return tuple(
        "/" + path.relative_to(ROOT).as_posix()
        for path in (*ROOT.glob("*"), *inside)
        if path.is_file() and "__pycache__" not in path.parts
    )


@cache
def _source() -> str:
    """Return all code, tests left out: they speak of options and names that must not be there."""
    ours = ("/tests/docs/", "/experiments/results/", "/docs/")
    return " ".join(
        (ROOT / path[1:]).read_text(encoding="utf-8")
        for path in _files()
        if path.endswith((".py", ".pyi", ".js", ".toml"))
        and not path.startswith(ours)
        and not posixpath.basename(path).startswith("test_")
    )


@cache
def _words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _source()))


@cache
def _options() -> frozenset[str]:
    return frozenset(re.findall(r"--[a-z][a-z-]*", _source())) | BUILT


def _named(span: str) -> Iterator[str]:
    """Yield the names that could only be those of code: in two parts by case or line, called, or set."""
    for found in NAME.finditer(span):
        word, after = found[0], span[found.end() : found.end() + 1]
        if "_" in word or re.search(r"[a-z][A-Z]", word) or after in ("=", "("):
            yield word


@pytest.mark.parametrize("page", PAGES)
def test_the_options_that_a_page_speaks_of_are_there(page: str) -> None:
    for span in _spans(page):
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span):
            assert option in _options(), f"{page}: {span}"


@pytest.mark.parametrize("page", PAGES)
def test_the_names_that_a_page_speaks_of_stand_in_the_code(page: str) -> None:
    for span in _spans(page):
        gone = {name for name in _named(span) if name not in _words()} - FROM_ELSEWHERE
        assert not gone, f"{page}: {span}"


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_calls_by_the_end_of_their_path_are_there(page: str) -> None:
    for span in _spans(page):
        if re.fullmatch(r"[\w./-]+\.(py|md|ipynb|cff)", span) and not MADE_BY_A_READER.match(span):
            assert any(path.endswith("/" + span) for path in _files()), f"{page}: {span}"


def test_the_checks_find_what_is_gone() -> None:
    assert set(_named("GoneClass, gone_name, gone(3), gone=3, plain words")) == {
        *("GoneClass", "gone_name", "gone"),
    }
    assert "--no-such-option" not in _options()
    assert "--blocks" in _options() and "--warm-start" in _options()
    assert len(_spans("docs/concepts/index.md")) > 50


def test_every_page_is_in_the_navigation_and_every_entry_of_it_is_a_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    entries = set(re.findall(r": (\S+\.md)$", nav, re.M))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= entries, pages - entries
    made = {
        entry for entry in entries if entry == "index.md" or entry.startswith(("reference/", "repository/"))
    }
    assert entries - made <= pages, entries - made - pages


def test_every_page_is_linked_from_another_one() -> None:
    linked = set()
    for page in PAGES:
        for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
            if target != page:
                linked.add(target)
    lost = {page for page in PAGES if page.startswith(("docs/", "experiments/"))} - linked
    assert not lost, lost


def test_every_command_has_a_place_in_the_documents() -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES if page.startswith("docs/"))
    context = click.Context(main)
    for name in main.list_commands(context):
        assert f"gs2 {name}" in text, name
        command = main.get_command(context, name)
        if isinstance(command, click.Group):
            for part in command.list_commands(click.Context(command)):
                assert re.search(rf"\b{name} {part}\b", text), f"gs2 {name} {part}"


OPENERS = ("Who", "What", "Where", "Whoever", "Whatever", "Wherever", "Whose", "How")
CLAUSE = re.compile(rf"(?:^|[.!?;:] +|\*\* +)(?:{'|'.join(OPENERS)})\b(?! to\b)[^?.!]*(?:[.!;]|$)")
FORBIDDEN = re.compile(r"\btold\b|\bone's own\b|\bas well as it can\b", re.I)
FRAGMENT = re.compile(r"(?:Of|That|Over|At|Between|Its) ")
"""How a help text begins that leaves out what the option is."""


def _fault(text: str) -> str | None:
    """Return the part of a text that a colleague would not say, or None."""
    found = FORBIDDEN.search(text) or CLAUSE.search(" ".join(text.split()))
    return found[0] if found else None


def _nodes(part: object) -> list[ast.AST]:
    return [inner for inner in part if isinstance(inner, ast.AST)] if isinstance(part, list) else []


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of the strings of a module that have a blank; of docstrings, only the commands'.

    Parts of an f-string that are filled in are {}.
    """
    silent = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in silent:
            continue
        body = getattr(node, "body", None)
        command = any("command" in ast.unparse(made) for made in getattr(node, "decorator_list", ()))
        if isinstance(body, list) and not command:
            silent |= {id(line.value) for line in body if isinstance(line, ast.Expr)}
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            for name in node._fields:
                part = () if name == "ctx" else getattr(node, name)
                waiting += [part] if isinstance(part, ast.AST) else _nodes(part)
            continue
        if " " in text.strip():
            yield node.lineno, text


def _sentences(page: str) -> Iterator[str]:
    """Yield the paragraphs, items and cells of a page, with code taken out."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    text = re.sub(r"`[^`]*`", "CODE", text)
    for block in re.split(r"\n\n|\n *(?:[-*]|\d+\.) |\n?\|", text):
        yield " ".join(block.split())


@pytest.mark.parametrize("package", ["games", "cfr", "blueprint", "gs2", "experiments", "studies"])
def test_messages_and_help_are_plain(package: str) -> None:
    faults = [
        f"{path}:{line}: {fault!r} in {text[:80]!r}"
        for path in _files()
        if path.startswith(f"/{package}/") and path.endswith(".py")
        for line, text in _strings(ast.parse((ROOT / path[1:]).read_text(encoding="utf-8")))
        if (fault := _fault(text))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith(("README", "docs/"))])
def test_pages_are_plain(page: str) -> None:
    faults = [f"{fault!r} in {text[:100]!r}" for text in _sentences(page) if (fault := _fault(text))]
    assert not faults, "\n".join(faults)


def test_the_web_page_is_plain() -> None:
    faults = {key: text for key, text in page_words()["en"].items() if _fault(text)}
    assert not faults, faults


def test_every_option_says_what_it_is() -> None:
    def commands(command: click.Command) -> Iterator[click.Command]:
        yield command
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                part = command.get_command(click.Context(command), name)
                assert part is not None
                yield from commands(part)

    for command in commands(main):
        assert not _fault(command.help or ""), command.name
        for option in command.params:
            said = getattr(option, "help", None) or ""
            assert not FRAGMENT.match(said) and not _fault(said), f"{command.name} {option.name}: {said}"


@pytest.mark.parametrize("seed", range(20))
def test_a_sentence_that_opens_with_a_clause_is_found_wherever_it_stands(seed: int) -> None:
    rng = random.Random(seed)
    plain = ["The file must be new; got {path}.", "See what each method solves.", "What would gs2 do?"]
    faulty = [f"{rng.choice(OPENERS)} asks, gets an answer.", "The player is told a number."]
    text = [rng.choice(plain) for _ in range(rng.randrange(1, 5))]
    assert _fault(" ".join(text)) is None
    text.insert(rng.randrange(len(text) + 1), rng.choice(faulty))
    made = " ".join(text)
    assert _fault(made)
    source = f"def refuse(path):\n    'Docstrings may: what is told.'\n    raise ValueError(f{made!r})\n"
    ((line, found),) = _strings(ast.parse(source))
    assert line == 3 and _fault(found)
