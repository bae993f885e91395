"""The notebooks in examples/: run from top to bottom, and compared with what they show.

    python -m tests.docs.notebooks --write    run them and keep what they print and draw

Notebooks are kept with their outputs, so that they can be read without running them.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


def executed(path: Path) -> Any:
    """Return a notebook (nbformat's NotebookNode) after a run in a fresh kernel, without times and counters.

    Raises nbclient.exceptions.CellExecutionError if a cell raises.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=PATIENCE,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                output.pop("execution_count", None)
                output.get("metadata", {}).clear()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def same_but_for_rounding(one: str, other: str, tolerance: float, counts: bool = False) -> bool:
    """Return whether two texts have the same words, and numbers no further apart than the tolerance.

    counts: whole numbers count outcomes that rounding may tip; they may differ by their square root.
    """
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    for words in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
        a, b = (float(word.replace(",", "")) for word in words)
        counted = counts and a.is_integer() and b.is_integer() and "." not in "".join(words)
        if abs(a - b) > (max(abs(a), abs(b)) ** 0.5 if counted else tolerance):
            return False
    return True


def main() -> None:
    """Run every notebook and keep what it prints and draws."""
    import nbformat

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", required=True, help="keep what they print and draw")
    parser.parse_args()
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(f"{path.name}: written; look at it")


if __name__ == "__main__":
    main()
