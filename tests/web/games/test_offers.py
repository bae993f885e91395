"""Agents of the command line as the page offers them: of which game, and called how, without any folder."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.networks import shipped_file
from blueprint.protocol import UnknownAgent
from games.registry import load_game
from gs2.web.games.game_tables import GameTables
from gs2.web.games.offers import NETWORKED, AgentOffer, offered_agents, seat_labels, without_folders
from gs2.web.house import House
from gs2.web.tables.table import Refused

SPELLINGS = ("{}", "network@{}", "network:temperature=0.05@{}", "network:temperature=0.05,prune=1@{}+rollout")


def offered(*names: str) -> list[AgentOffer]:
    """Return the offers of the command line's agents alone."""
    return list(offered_agents(names)[: len(offered_agents(names)) - len(offered_agents())])


def checkpoint(game: str, path: Path) -> Path:
    """Return a copy of a game's shipped network."""
    shipped = shipped_file(game)
    assert shipped is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(shipped, path)
    return path


@pytest.mark.parametrize("game", NETWORKED)
def test_a_checkpoint_is_offered_for_its_game_by_its_stem_however_it_is_to_play(
    game: str, tmp_path: Path
) -> None:
    folder = tmp_path / "al@corp.com" / "pri:vate dir" / "net@x:y z" / "a+b"
    path = checkpoint(game, folder / "mine.safetensors")
    (folder / "own.py").write_text("class Agent:\n    pass\n")
    *found, own = offered(*(spelling.format(path) for spelling in SPELLINGS), f"{folder / 'own.py'}:Agent")
    assert [one.label for one in found] == [
        "mine",
        "network@mine",
        "network:temperature=0.05@mine",
        "network:temperature=0.05,prune=1@mine+rollout",
    ]
    assert own.label == "own.py:Agent", "no folder is in what an agent is called"
    assert all(one.games == (game,) and one.exactly == game for one in found)
    assert len({one.worker for one in found}) == len(found)


def test_networks_of_one_name_are_told_apart_by_their_last_folder_alone(tmp_path: Path) -> None:
    one, two = (checkpoint("big2", tmp_path / "secret" / folder / "n.safetensors") for folder in "ab")
    labels = [offer.label for offer in offered(str(one), f"network:temperature=0.1@{two}", f"network@{one}")]
    assert labels == ["a/n", "network:temperature=0.1@b/n", "network@a/n"]


def test_a_network_with_a_way_to_play_plays_by_any_rules(tmp_path: Path) -> None:
    path = checkpoint("doudizhu", tmp_path / "n.safetensors")
    (one,) = offered(f"network:temperature=0.05@{path}")
    for rules in ("landlord=bid", "ranks=7", "landlord=bid,ranks=7"):
        assert one.plays(load_game(f"doudizhu({rules})", general_sum=True))
    assert not one.plays(load_game("leduc_poker", general_sum=True))


def test_a_shipped_network_that_plays_otherwise_is_offered_where_there_is_one() -> None:
    found = offered("network:temperature=0.05")
    assert [(one.games, one.exactly) for one in found] == [((game,), game) for game in NETWORKED]
    assert {one.label for one in found} == {"network:temperature=0.05"}
    (trained,) = offered("network:300")  # a network that is trained is of any game
    assert "leduc_poker" in trained.games and trained.exactly is None


def test_a_file_behind_an_at_must_be_there() -> None:
    with pytest.raises(UnknownAgent, match="is no file"):
        offered_agents(["network:temperature=0.05@none.safetensors"])


BROKEN = """
class Broken:
    def act(self, observation):
        raise RuntimeError("no move today")
"""


def test_agents_are_called_by_their_names_without_folders() -> None:
    given = [
        "/a/b/s.py:Bot",
        "gs2@/a/net.safetensors",
        "mine:Bot",
        "/a/c/t.py:Bot",
        "/a/d/t.py:Bot",
        "/e/d/t.py:Bot",
    ]
    assert list(seat_labels(given).values()) == [
        "s.py:Bot", "gs2@net.safetensors", "mine:Bot", "c/t.py:Bot", "d/t.py:Bot", "d/t.py:Bot (2)"
    ]  # fmt: skip
    assert seat_labels(["runs/greedy", "random"], ["greedy", "random"]) == {
        "runs/greedy": "runs/greedy",
        "random": "random",
    }


PARTS = st.text("ab@: .+-é'\"", min_size=1, max_size=6).map(lambda text: f"zz{text}qq")
"""Names of folders, which nothing else is called."""


@given(
    folders=st.lists(PARTS, min_size=1, max_size=4),
    way=st.sampled_from(["", "gs2@", "blueprint:objective=levels@"]),
)
def test_no_folder_is_in_a_label_or_in_what_is_told_of_an_agent(folders: list[str], way: str) -> None:
    for start in ("/", "./", "../", ""):
        folder = start + "/".join(folders)
        if way == "" and start == "" and "@" in folders[0]:
            continue  # only what is there tells it from a way to play
        name = f"{way}{folder}/net.safetensors"
        assert list(seat_labels([name]).values()) == [f"{way}net.safetensors"]
        other = f"/other/{way and 'x'}net.safetensors"
        assert seat_labels([name, other])[name] in (
            f"{way}net.safetensors",
            f"{way}{folders[-1]}/net.safetensors",
        )
        path = f"{folder}/net.safetensors"
        errors = (
            f"no agent {name!r}: {path!r} is no file",
            f"{path}: damaged",
            f"[Errno 2] No such file or directory: {str(Path(path).absolute())!r}",
            f'File "{Path(path).resolve()}", beside {Path(folder).absolute()}/more.json',
        )
        for error in errors:
            told = without_folders(error, name, f"{way}net.safetensors")
            assert "net.safetensors" in told and not any(part in told for part in folders), told


def test_a_folder_may_be_called_like_a_way_to_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "al@secret").mkdir()
    monkeypatch.chdir(tmp_path)
    assert seat_labels(["al@secret/net.safetensors"]) == {"al@secret/net.safetensors": "net.safetensors"}


def test_a_table_names_no_folder_of_an_agent_that_cannot_be_had_or_fails(tmp_path: Path) -> None:
    file = tmp_path / "se@cret dir" / "mine.py"
    file.parent.mkdir()
    asked = {"seats": ["mine.py:Broken"] * 4, "pace": 0}

    async def sit() -> list[str]:
        house = House(tmp_path / "tables", GameTables(own_agents=[f"{file}:Broken"]))
        (tmp_path / "tables").mkdir()
        file.write_text("def Broken():\n    raise OSError(2, 'cannot be read', __file__)\n")
        with pytest.raises(Refused) as failed:
            await house.create(asked, "Ann")
        file.write_text(BROKEN)
        made = await house.create(asked, "Ann")
        table = await house.table(str(made["id"]))
        while not table.failure:
            await asyncio.sleep(0.01)
        house.close()
        return [str(failed.value), table.failure, *(agent.label for agent in house.games.agents)]

    told = asyncio.run(sit())
    assert "mine.py" in told[0] and "no move today" in told[1] and "mine.py:Broken" in told
    for text in told:
        assert str(tmp_path) not in text and "cret dir" not in text
