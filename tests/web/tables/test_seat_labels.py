"""What agents of the command line are called, and what is told of them when they fail: no folder is named."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gs2.web.house import House
from gs2.web.tables.seat_labels import seat_labels, without_folders
from gs2.web.tables.table import Refused

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
        house = House(tmp_path / "tables", agents=[f"{file}:Broken"])
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
