"""What the page's modules say, read from their sources."""

from __future__ import annotations

import json
import re
from functools import cache

from gs2.web.pages import MODULES

TEXT = r'"(?:[^"\\]|\\.)*"'
WORDS = re.compile(rf'"((?:[a-z]+[a-zA-Z0-9_]*\.)[^"]*)": (\[(?:null|{TEXT}), {TEXT}\])')


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return what all modules say: by language, by key; English lacks what the server says."""
    found: dict[str, dict[str, str]] = {"en": {}, "zh": {}}
    for path in MODULES.values():
        for key, texts in WORDS.findall(path.read_text("utf-8")):
            assert key not in found["zh"], f"{key}: a text has one place"
            english, found["zh"][key] = json.loads(texts)
            if english is not None:
                found["en"][key] = english
    return found
