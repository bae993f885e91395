"""The page's files for games: words in both languages, modules that are there, nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from games.climbing.big2.combinations import PLAY_KINDS
from games.climbing.doudizhu.move_table import KIND_NAMES
from games.registry import game_spec
from gs2.web.games.offers import GAMES, offered_agents
from gs2.web.pages import MODULES, STATIC, STYLES
from tests.web.modules.page_words import page_words

FILES = sorted((STATIC / "games").glob("*.js"))
SAID = page_words()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_says_only_what_there_are_words_for(path: Path) -> None:
    text = path.read_text("utf-8")
    keys = set(re.findall(r"""(?:say|button)\("([a-z]+\.[^"$]+)\"""", text))
    keys |= set(re.findall(r"""[?:] "((?:games|table|why|hint)\.[a-z.]+)\"""", text))
    assert keys <= SAID["en"].keys(), keys - SAID["en"].keys()
    assert keys <= SAID["zh"].keys(), keys - SAID["zh"].keys()


def test_both_languages_say_the_same_things_with_the_same_names_in_them() -> None:
    mine = [key for key in SAID["en"] if re.match(r"games\.(?!word)|climb\.", key)]
    assert len(mine) > 80
    for key in mine:
        names = [set(re.findall(r"\{(\w+)\}", SAID[language][key])) for language in ("en", "zh")]
        assert names[0] == names[1], key


def test_every_kind_of_move_and_of_agent_and_every_option_has_its_words() -> None:
    for kind in {*KIND_NAMES, *PLAY_KINDS} - {"deal"}:
        for language in ("en", "zh"):
            assert f"climb.{kind}" in SAID[language], kind
    for agent in offered_agents():
        assert f"games.agent.{agent.about}" in SAID["en"] and f"games.agent.{agent.about}" in SAID["zh"]
    for game in GAMES:
        assert f"game.{game}" in SAID["en"] and f"game.{game}" in SAID["zh"]
        for parameter in game_spec(game).parameters:
            assert f"option.{game}.{parameter.name}" in SAID["zh"], (game, parameter.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_modules_import_what_is_there_and_load_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    names = re.findall(r'(?:from|import) "gs2/([^"]+)"', text)
    assert set(names) <= MODULES.keys()
    for name in names:
        source = MODULES[name].read_text("utf-8")
        exported = set(re.findall(r"export (?:async )?(?:function|class|const) (\w+)", source))
        wanted = re.search(rf'import \{{([^}}]*)\}} from "gs2/{re.escape(name)}"', text)
        if wanted:
            assert {one.strip() for one in wanted[1].split(",") if one.strip()} <= exported, name
    assert not re.search(r"https?://|innerHTML|eval\(|document\.write", text)
    assert not re.search(r"url\(|@import|https?://", STYLES["games.css"].read_text("utf-8"))


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here to read the modules with")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_modules_are_well_formed(path: Path) -> None:
    done = subprocess.run(
        ["node", "--input-type=module", "--check"],
        input=path.read_text("utf-8"),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, json.dumps(done.stderr)
