"""Pages hold together, are true and plain: links lead somewhere, what is named exists, sentences are direct.

Fenced blocks are run by `test_documented_commands`; here are the words between backticks around them. Plain
means, for pages, the web page, help and messages: no `told`, no clause with a question word as an opener.
"""

from __future__ import annotations

import ast
import importlib
import posixpath
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from games.registry import game_specs
from gs2.cli import main
from tests.patience import PATIENCE, amount
from tests.studies.test_studies import archived_studies
from tests.web.modules.page_words import page_words

ROOT = Path(__file__).parents[2]
PACKAGES = ("games", "cfr", "blueprint", "gs2", "experiments", "studies", "tests", "docs", "examples")
PAGES = (
    *("README.md", "CONTRIBUTING.md", "TRAINING.md", "studies/README.md"),
    *("blueprint/MODEL_CARD.md", "gs2/guandan/beliefs/BELIEFS.md"),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "experiments" / "results").glob("*.md")),
)
ARCHIVED = archived_studies()
NAME = re.compile(r"(?<![\w/.-])[A-Za-z]\w*(?![\w/-])")
FROM_ELSEWHERE = {
    *("LOWEST", "GLIBC_TUNABLES", "S_top", "RAY_worker_niceness"),
    *("dark_hex", "board_size", "bettingAbstraction", "maxRaises", "numBoardCards"),
}
"""Names of the environment, of a paper, and of OpenSpiel's games."""
BUILT = {"--state", "--blocks", "--turns", "--learner", "--first", "--recipes", "--deals", "--strict"}
"""Options that a command makes from a list of names, or that archived studies or other programs have."""
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)]*))?\)")
MOST_LINES = 150
NOT_KEPT = {"games/match.jsonl", "docs/measurements/learning_curve"}
ENTRY_POINTS = {"gs2.games", "gs2.generators", "gs2.agents"}
COINED = re.compile(
    r"\b(slot|block|forest|summary|plans|close|fallback_k|entry|cover|group|considered|kept|drop|bundle|box"
    r"|chooser|world|companions|stands|strangers|focus|anchor|temperature)\b"
)
"""Words of ours that a researcher would not know, or would take for something else."""

OURS = "games|cfr|blueprint|gs2|experiments|studies"
ELSEWHERE = re.compile(r"""<(?:link|script|img|iframe)[^>]*(?:src|href)="(?:https?:)?//""")
"""What a page loads from the network."""
MADE_BY_A_READER = re.compile(r"[A-Z]+(-quick)?\.|(mine|seats|bot|llm)\.py|runs/|last\.|.*\.state\.")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_link_of_a_page_leads_somewhere() -> None:
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    for page, text in texts.items():
        for link, anchor in LINK.findall(text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) if link else page
            assert (ROOT / target).exists(), f"{page} links to {link}"
            if anchor and target.endswith(".md"):
                there = anchors(texts.get(target) or (ROOT / target).read_text(encoding="utf-8"))
                assert anchor in there, f"{page}: {link}#{anchor}"


def test_the_front_page_can_be_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_files_modules_and_names_that_a_page_spells_out_are_there() -> None:
    for page in PAGES:
        text = re.sub(r"\]\([^)]*\)", "]", (ROOT / page).read_text(encoding="utf-8"))
        named = set(re.findall(rf"\b((?:{OURS}|tests|examples|docs)/[\w./-]*\w/?)", text))
        assert len(named) > 10 or page not in ("docs/concepts/index.md", "CONTRIBUTING.md")
        for path in named - NOT_KEPT:
            assert (ROOT / path).exists(), f"{page} names {path}"
        for name in set(re.findall(rf"`((?:{OURS})(?:\.\w+)+)[`(]", text)) - ENTRY_POINTS:
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
    used = set(COINED.findall(code))
    assert 10 < len(used) < 25
    assert not {word for word in used if not re.search(rf"\b{word}", ours)}


def test_the_reference_has_every_public_name_once() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.rst")]
    listed = Counter(re.findall(r"^\.\. auto\w+:: (\S+)$", "\n".join(pages), re.M))
    for package in PACKAGES[:4]:
        stub = (ROOT / package / "__init__.pyi").read_text(encoding="utf-8")
        for home, name in re.findall(r"^from \.(\S+) import (\w+) as", stub, re.M):
            assert listed[f"{package}.{name}"] + listed[f"{package}.{home}.{name}"] == 1, name
    assert pages and "gs2.solve_infoset" in (ROOT / "docs/reference/search.rst").read_text(encoding="utf-8")


def test_every_registered_game_has_a_page() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "games").glob("*.md")]
    shown = sorted(name for page in pages for name in re.findall(r"```\{game\} (\w+)", page))
    assert shown == sorted(spec.name for spec in game_specs())


@pytest.mark.skipif(find_spec("sphinx") is None, reason="needs gs2[docs]")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_site_is_built_without_a_warning(tmp_path: Path, whole: bool) -> None:
    """Not whole: docs/ and the README alone, read and linked; no docstrings, which take most of the time."""
    made = tmp_path / "site"
    changes = (
        *("include_patterns=README.md,docs/**", "exclude_patterns=docs/reference"),
        *("extensions=myst_parser,sphinx.ext.autodoc", "suppress_warnings=toc,myst.xref_missing"),
    )
    quick = ("-b", "dummy", *(part for change in changes for part in ("-D", change)))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(made)]
    command[4:4] = () if whole else quick
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    if whole:
        page = (made / "docs" / "reference" / "search.html").read_text(encoding="utf-8")
        assert "solve_infoset" in page and (made / "index.html").is_file()
        assert not [
            path for path in made.rglob("*.html") if ELSEWHERE.search(path.read_text(encoding="utf-8"))
        ]


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


def test_the_options_names_and_files_that_a_page_speaks_of_are_there() -> None:
    for page in PAGES:
        for span in _spans(page):
            if ARCHIVED.intersection(span.split()):
                continue
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span):
                assert option in _options(), f"{page}: {span}"
            if re.fullmatch(r"[\w./-]+\.(py|md|ipynb|cff)", span):
                there = any(path.endswith("/" + span) for path in _files())
                assert there or MADE_BY_A_READER.match(span), f"{page}: {span}"
            else:
                gone = {name for name in _named(span) if name not in _words()} - FROM_ELSEWHERE
                assert not gone, f"{page}: {span}"


def test_the_checks_find_what_is_gone() -> None:
    assert set(_named("GoneClass, gone_name, gone(3), gone=3, plain words")) == {
        *("GoneClass", "gone_name", "gone"),
    }
    assert "--no-such-option" not in _options()
    assert "--blocks" in _options() and "--warm-start" in _options()
    assert len(_spans("docs/concepts/index.md")) > 50


def test_every_page_is_in_the_contents_and_every_entry_of_them_is_a_page() -> None:
    contents = (ROOT / "docs" / "contents.txt").read_text(encoding="utf-8")
    entries = {f"{name}" for name in re.findall(r"^(?:.* <)?/([\w./-]+)>?$", contents, re.M)}
    pages = {path.relative_to(ROOT) for kind in ("md", "rst") for path in (ROOT / "docs").rglob(f"*.{kind}")}
    assert {path.with_suffix("").as_posix() for path in pages} <= entries
    for entry in entries:
        assert any((ROOT / f"{entry}.{kind}").is_file() for kind in ("md", "rst", "ipynb")), entry


def test_every_page_is_linked_from_another_one() -> None:
    linked = set()
    for page in PAGES:
        for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
            if target != page:
                linked.add(target)
    lost = {page for page in PAGES if page.startswith(("docs/", "experiments/"))} - linked
    assert not lost, lost


def test_a_page_that_shows_an_archived_study_says_so() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        shown = ARCHIVED.intersection(re.findall(r"python -m ([\w.]*\w)", text))
        assert not shown or page == "studies/README.md" or "studies/README.md#archived" in text, (page, shown)


def test_every_command_has_a_place_in_the_documents() -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES if page.startswith("docs/"))
    context = click.Context(main)
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`gs2 ([a-z]+)", commands)) == set(main.list_commands(context))
    for name in main.list_commands(context):
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


def test_messages_and_help_are_plain() -> None:
    ours = ("/games/", "/cfr/", "/blueprint/", "/gs2/", "/experiments/", "/studies/")
    faults = [
        f"{path}:{line}: {fault!r} in {text[:80]!r}"
        for path in _files()
        if path.startswith(ours) and path.endswith(".py")
        for line, text in _strings(ast.parse((ROOT / path[1:]).read_text(encoding="utf-8")))
        if (fault := _fault(text))
    ]
    assert not faults, "\n".join(faults)


def test_pages_are_plain() -> None:
    faults = [
        f"{page}: {fault!r} in {text[:100]!r}"
        for page in PAGES
        if page.startswith(("README", "docs/"))
        for text in _sentences(page)
        if (fault := _fault(text))
    ]
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


@pytest.mark.parametrize("seed", range(amount(20)))
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
