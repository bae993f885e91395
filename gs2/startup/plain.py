"""Output on terminals that know few characters: what they cannot show is spelled with those they can."""

from __future__ import annotations

import codecs
import sys

SPELLED = {
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "→": "->",
    "←": "<-",
    "×": "x",
    "±": "+/-",
    "µ": "u",
    "≥": ">=",
    "≤": "<=",
    "λ": "lambda",
    "·": ".",
    "•": "*",
    "’": "'",
    "“": '"',
    "”": '"',
    **dict.fromkeys("─━═╌╍┄┅╴╶╸╺", "-"),
    **dict.fromkeys("│┃║", "|"),
}
"""Characters of our own words; of anything else a question mark is left."""
HANDLER = "gs2.spell"


def spell(text: str) -> str:
    """Return the text in ASCII, other characters spelled out or replaced by a question mark."""
    return "".join(c if c.isascii() else SPELLED.get(c, "?") for c in text)


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return spell(error.object[error.start : error.end]), error.end


codecs.register_error(HANDLER, _spelled)


def spell_on_every_terminal() -> None:
    """Let stdout and stderr print anything; what their encoding lacks is spelled."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) != HANDLER:
            reconfigure(errors=HANDLER)
