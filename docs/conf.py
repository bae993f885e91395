"""Builds the site: `sphinx-build -W -c docs . build/site`.

The repository is the source: links between its documents, pictures and programs are the links of the site.
The README is the first page. A notebook becomes a page of text, code, and the saved output; nothing is run.
The page of a game shows its registration, and the reference shows docstrings.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

project = author = html_title = "gs2"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "README"
include_patterns = [
    *("*.md", "docs/**", "examples/*.ipynb", "experiments/results/*.md", "studies/README.md"),
    *("blueprint/MODEL_CARD.md", "gs2/guandan/beliefs/BELIEFS.md"),
]
exclude_patterns = ["build"]
smartquotes = False
default_role = "py:obj"
myst_heading_anchors = 4
python_maximum_signature_line_length = 90
autodoc_default_options = {"members": True, "special-members": "__call__"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
html_theme = "furo"
html_logo = html_favicon = "pictures/logo.svg"
html_static_path, html_css_files = ["pictures/site.css"], ["site.css"]
html_show_sphinx = html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6b52", "color-brand-content": "#1f6b52"},
    "dark_css_variables": {"color-brand-primary": "#6fcfa8", "color-brand-content": "#6fcfa8"},
}


class NotebookParser(MystParser):
    """Reads a notebook as Markdown."""

    supported: ClassVar = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Fill the document with the notebook's cells and their saved output."""
        parts = []
        for cell in json.loads(inputstring)["cells"]:
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            for output in cell.get("outputs", []):
                if output["output_type"] == "stream":
                    parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
                elif "image/png" in output.get("data", {}):
                    picture = "".join("".join(output["data"]["image/png"]).split())
                    parts.append(f"![What the code above draws](data:image/png;base64,{picture})")
        super().parse("\n\n".join(parts) + "\n", document)


class GameDirective(SphinxDirective):
    """What the registration of a game says: rules, parameters, sizes, and a recorded play."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the game whose registered name is the argument."""
        return self.parse_text_to_nodes("\n".join(_game(self.arguments[0])))


def _game(name: str) -> Iterator[str]:
    """Yield the lines of a game's page, in Markdown."""
    import games

    spec = games.game_spec(name)
    game = spec.make()
    low, high = game.payoff_range
    module = inspect.getmodule(spec.make)
    yield f"`{name}`: {spec.summary}.\n"
    if module and module.__name__.startswith("games.research"):  # those of others speak of the implementation
        yield (module.__doc__ or "").partition("\n\n")[2]
    yield "| seats | teams | payoffs |\n| --- | --- | --- |"
    yield f"| {game.num_players} | {' '.join(map(str, game.teams))} | {low:g} to {high:g} |\n"
    yield "**Parameters.** Give them in parentheses, as in "
    yield f"`{name}({','.join(f'{p.name}={p.format(p.default)}' for p in spec.parameters[:2])})`.\n"
    yield "| parameter | default | meaning |\n| --- | --- | --- |"
    for p in spec.parameters:
        yield f"| `{p.name}` | `{p.format(p.default)}` | {p.doc}; {p.rule} |"
    sizes = json.loads((files("games.research") / "research_games.json").read_text(encoding="utf-8"))
    rows = {text: row for text, row in sizes.items() if games.PRESETS.get(text, text).startswith(name)}
    if rows:
        yield "\n**Sizes.** Exploitability is that of uniform play, value that of the game to player 0.\n"
        yield "| game | histories | terminals | infosets | value | exploitability |\n" + "| --- " * 6 + "|"
    for text, row in rows.items():
        infosets = " + ".join(f"{n:,}" for n in row["infosets"])
        value = f"{row['value']:.6f}" if "value" in row else ""
        counts = f"{row['histories']:,} | {row['terminals']:,} | {infosets}"
        yield f"| `{text}` | {counts} | {value} | {row['uniform_exploitability']:.4f} |"
    if not rows:
        yield f"\n**Size.** `gs2 games {name} --size` estimates it from a sample."
    play = ROOT / "tests" / "playthroughs" / f"{name}.txt"
    if play.is_file():
        yield "\n**A play**, each move drawn at random; every player's view stands below the state.\n"
        lines = play.read_text(encoding="utf-8").splitlines()[2:MOST_LINES]
        yield "\n".join(["```text", *lines, "```"])


MOST_LINES = 38
"""Lines of a recorded play that a game's page shows."""
ITEM = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*): (.+)")
PARAGRAPHS = ("Raises ", "Source: ")


def _as_rst(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText: `name: meaning` to a list, what is indented to code.

    Of a module's docstring the first paragraph stays.
    """
    made: list[str] = []
    state = "text"
    for line in lines[: lines.index("")] if what == "module" and "" in lines else lines:
        line = re.sub(r"(?<!`)(`[^`]+`)(?=\w)", r"\1\ ", line)
        found = ITEM.fullmatch(line)
        if found:
            made += [*([] if state == "item" else [""]), f"- **{found[1]}**: {found[2]}"]
            state = "item"
        elif state == "item" and line and not line.startswith(PARAGRAPHS):
            made.append("  " + line.strip())
        else:
            new = "code" if line.startswith("    ") or (state == "code" and not line) else "text"
            if new == "code" and state != "code":
                made += ["", "::", ""]
            elif line.startswith(PARAGRAPHS):
                made.append("")
            made.append(line)
            state = new
    lines[:] = made


def _short_types(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Return a signature with arrays by their short name, `NDArray[float64]`."""
    array = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([^\]]*)\]\]")
    short, back = (text and array.sub(r"NDArray[\1]", text) for text in (signature, returned))
    return short, back


def _add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the contents of the site to its first page."""
    if name == root_doc:
        source[0] += Path(app.confdir, "contents.txt").read_text(encoding="utf-8")


def _unlink_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Replace links to folders of the repository, which have no page, by their words."""
    for node in list(doctree.findall(pending_xref)):
        if Path(doctree["source"]).parent.joinpath(node["reftarget"]).is_dir():
            node.replace_self(node.children)


def _add_index(app: Sphinx, error: Exception | None) -> None:
    """Show the first page under the name that servers look for."""
    if error is None and app.builder.name == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Register the parts above."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.add_directive("game", GameDirective)
    app.connect("autodoc-process-docstring", _as_rst)
    app.connect("autodoc-process-signature", _short_types)
    app.connect("source-read", _add_contents)
    app.connect("doctree-read", _unlink_folders)
    app.connect("build-finished", _add_index)
