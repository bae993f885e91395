"""What the page's modules say, read from their sources."""

from __future__ import annotations

import re
from functools import cache

from gs2.web.pages import MODULES

WORDS = re.compile(r'"((?:[a-z]+[a-zA-Z0-9_]*\.)[^"]*)":\s*"((?:[^"\\]|\\.)*)"')


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return what all modules say: by language, by key."""
    found: dict[str, dict[str, str]] = {"en": {}, "zh": {}}
    for path in MODULES.values():
        text = path.read_text("utf-8")
        for block in re.findall(r"addWords\(\{(.*?)\n\}\);", text, re.S):
            english, _, chinese = block.partition("\n  zh: {")
            found["en"] |= dict(WORDS.findall(english))
            found["zh"] |= dict(WORDS.findall(chinese))
    return found
