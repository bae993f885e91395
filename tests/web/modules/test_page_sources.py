"""The page's files: words in both languages for all that is said, no markup, nothing from elsewhere."""

from __future__ import annotations

import re

from games.climbing.big2.combinations import PLAY_KINDS
from games.climbing.doudizhu.move_table import KIND_NAMES
from games.registry import game_spec
from gs2.web.games.offers import GAMES, offered_agents
from gs2.web.pages import MODULES, STYLES
from tests.web.modules.page_words import page_words

SAID = page_words()
OURS = {name: path.read_text("utf-8") for name, path in MODULES.items() if "vendor" not in path.parts}
FORBIDDEN = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"),
    *("http://", "https://"),
)
NAMES_ONLY = ("http://www.w3.org/2000/svg", "https://vega.github.io/schema/")
"""Addresses that name a language, and from which nothing is loaded."""


def test_modules_say_only_what_there_are_words_for() -> None:
    found = 0
    for name, text in OURS.items():
        keys = set(re.findall(r"""(?:\bsay|button|preset|check)\("([a-z]+\.[^"$]+)\"""", text))
        keys |= set(re.findall(r"""[?:] "([a-z]+\.[a-z.]+)"[\s,;)]""", text))
        assert keys <= SAID["en"].keys() & SAID["zh"].keys(), name
        found += len(keys)
    assert found > 400


def test_both_languages_say_the_same_things_with_the_same_names_in_them() -> None:
    assert SAID["en"].keys() <= SAID["zh"].keys(), "English may be what the server says"
    for key in SAID["en"].keys() - {"move.Bomb"}:  # of which a Chinese one counts the cards
        names = [set(re.findall(r"\{(\w+)", SAID[language][key])) for language in ("en", "zh")]
        assert names[0] == names[1], key


def test_every_kind_of_move_and_of_agent_and_every_option_has_its_words() -> None:
    keys = {f"move.{kind}" for kind in {*KIND_NAMES, *PLAY_KINDS} - {"deal", "pass"}}
    keys |= {f"games.agent.{agent.about}" for agent in offered_agents()} | {f"game.{game}" for game in GAMES}
    assert keys <= SAID["en"].keys()
    keys |= {f"option.{game}.{parameter.name}" for game in GAMES for parameter in game_spec(game).parameters}
    assert keys <= SAID["zh"].keys()


def test_modules_evaluate_no_text_write_no_markup_and_load_nothing_from_elsewhere() -> None:
    for name, text in OURS.items():
        code = re.sub(r"/\*.*?\*/|(?m:^\s*//[^\n]*$)", "", text, flags=re.S)
        for allowed in NAMES_ONLY:
            code = code.replace(allowed, "")
        assert not [word for word in FORBIDDEN if word in code], name
    for name, path in STYLES.items():
        assert not re.search(r"url\(|@import|https?://", path.read_text("utf-8")), name


def test_a_class_that_the_table_styles_means_the_same_on_no_other_page() -> None:
    """All styles are loaded together: in a review the row of the move played was laid out as on the felt."""
    table, other = set(), set()
    for path in STYLES.values():
        if path.parent.name == "table":
            rules = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.S)
            heads = (head.strip() for rule in re.findall(r"([^{}]+)\{", rules) for head in rule.split(","))
            table |= {
                found[1] for head in heads if (found := re.fullmatch(r"\.([\w-]+)(\.[\w-]+|:.*)?", head))
            }
    for name, path in MODULES.items():
        if path.parent.name in ("review", "explore") and "words" not in name:
            for first, second in re.findall(
                r'class: ?"([^"]*)"|class: [^,}\n]*?"([\w -]+)" : ""', OURS[name]
            ):
                other |= {*first.split(), *second.split()}
    assert len(table) > 40 and len(other) > 20
    assert not table & other
