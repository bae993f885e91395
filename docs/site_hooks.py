"""Builds the site: the README as its first page, links into the repository, notebooks, and the reference.

Pages link to each other and to files of the repository by relative paths, so that they read well without the
site. The documents, pictures and programs that they link to outside docs/ become part of the site, under
`repository/`; links to other files and to folders become plain text. A notebook becomes a page of text, code,
and what the code printed and drew when it was saved; nothing is run. The reference lists what each package
exports, so that it cannot fall behind.
"""

from __future__ import annotations

import ast
import base64
import json
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(?<!`)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")
SHOWN = {".md", ".png", ".svg", ".py", ".ipynb"}
PACKAGES = {"games": "games", "cfr": "cfr", "gs2": "gs2", "blueprint": "blueprint"}
SEARCH = (
    *("config.stages", "config.search", "config.presets", "explain", "result", "refine.whole"),
    *("strategy", "context", "pipeline", "histories.knowledge_report"),
    *("histories.enumerated", "generation", "subgame.forest"),
    *("subgame.leaf", "gadget.build", "gadget.path", "gadget.check", "safety"),
)
"""Modules of gs2.search in the order in which a search meets them, configuration first."""


def _exports(module: str) -> list[str]:
    """Return the public names of a module, sorted, without importing it."""
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return sorted(ast.literal_eval(node.value))
    return []


def _homes(package: str) -> dict[str, str]:
    """Return the module that defines each name that a package exports, from the package's stub."""
    homes: dict[str, str] = {}
    for node in ast.parse((ROOT / package / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes.update({name.name: f"{package}.{node.module}" for name in node.names})
    return homes


def _reference() -> dict[str, str]:
    """Return the pages of the reference by their place in the site."""
    pages = {}
    for title, package in PACKAGES.items():
        homes = _homes(package)
        parts = [f"::: {homes[name]}.{name}" for name in sorted(homes)]
        pages[f"reference/{title}.md"] = f"# `{title}`\n\n" + "\n\n".join(parts) + "\n"
    parts = []
    for module in SEARCH:
        name = f"gs2.search.{module}"
        members = "\n".join(f"        - {member}" for member in _exports(name))
        options = f"    options:\n      heading_level: 2\n      members:\n{members}\n"
        parts.append(f"::: {name}\n{options}")
    pages["reference/search.md"] = "# `gs2.search`\n\n" + "\n".join(parts)
    return pages


def _site(path: str) -> str:
    """Return where a file of the repository stands in the site."""
    if path == "README.md":
        return "index.md"
    path = path.removesuffix(".ipynb") + ".md" if path.endswith(".ipynb") else path
    return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"


def _repository(uri: str) -> str:
    """Return the file of the repository that a page of the site shows."""
    if uri == "index.md":
        return "README.md"
    path = uri.removeprefix("repository/") if uri.startswith("repository/") else f"docs/{uri}"
    notebook = path.removesuffix(".md") + ".ipynb"
    return notebook if (ROOT / notebook).is_file() else path


def _text(path: str) -> str:
    """Return a document of the repository as Markdown."""
    return _notebook(path)[0] if path.endswith(".ipynb") else (ROOT / path).read_text(encoding="utf-8")


def _notebook(path: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by the names under which the text shows them."""
    parts, pictures = [], {}
    for cell in json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                name = f"{Path(path).stem}-{len(pictures)}.png"
                pictures[name] = base64.b64decode("".join(output["data"]["image/png"]))
                parts.append(f"![What the code above draws]({name})")
    return "\n\n".join(parts) + "\n", pictures


def _target(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def on_files(files: Any, config: Any) -> Any:
    """Add the README, the reference, and every document or picture that a page links to."""
    from mkdocs.structure.files import File

    for uri, text in _reference().items():
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    waiting = ["README.md", *(_repository(f.src_uri) for f in files if f.src_uri.endswith(".md"))]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        if not page.endswith((".md", ".ipynb")) or not (ROOT / page).is_file():
            continue
        for found in LINK.finditer(_text(page)):
            target = _target(page, found[2])
            if target in seen or Path(target).suffix not in SHOWN or not (ROOT / target).is_file():
                continue
            seen.add(target)
            waiting.append(target)
            if target.endswith(".ipynb"):
                text, pictures = _notebook(target)
                files.append(File.generated(config, _site(target), content=text))
                for name, picture in pictures.items():
                    files.append(
                        File.generated(config, f"{posixpath.dirname(_site(target))}/{name}", content=picture)
                    )
            elif not target.startswith("docs/"):
                files.append(File.generated(config, _site(target), abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page's text with its links turned to where their targets stand in the site."""
    uri = page.file.src_uri
    if uri.startswith("reference/"):
        return markdown
    here = _repository(uri)

    def turned(found: re.Match[str]) -> str:
        words, link, anchor = found[1], found[2], found[3] or ""
        target = _target(here, link)
        if Path(target).suffix in SHOWN or target.startswith("docs/reference/"):
            return f"[{words}]({posixpath.relpath(_site(target), posixpath.dirname(uri) or '.')}{anchor})"
        if (ROOT / target).exists():
            return f"{words} (`{target}`)" if target not in words else words
        return found[0]

    return LINK.sub(turned, markdown)
