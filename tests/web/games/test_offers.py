"""Agents of the command line as the page offers them: of which game, and called how."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blueprint.networks import shipped_file
from blueprint.protocol import UnknownAgent
from games.registry import load_game
from gs2.web.games.offers import NETWORKED, AgentOffer, offered_agents

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


def test_a_network_with_a_way_to_play_also_plays_after_an_auction(tmp_path: Path) -> None:
    path = checkpoint("doudizhu", tmp_path / "n.safetensors")
    (one,) = offered(f"network:temperature=0.05@{path}")
    assert one.played_as(load_game("doudizhu(landlord=bid)", general_sum=True)) == "doudizhu"
    assert one.played_as(load_game("doudizhu(ranks=7)", general_sum=True)) is None
    assert one.played_as(load_game("leduc_poker", general_sum=True)) is None


def test_a_shipped_network_that_plays_otherwise_is_offered_where_there_is_one() -> None:
    found = offered("network:temperature=0.05")
    assert [(one.games, one.exactly) for one in found] == [((game,), game) for game in NETWORKED]
    assert {one.label for one in found} == {"network:temperature=0.05"}
    (trained,) = offered("network:300")  # a network that is trained is of any game
    assert "leduc_poker" in trained.games and trained.exactly is None


def test_a_file_behind_an_at_must_be_there() -> None:
    with pytest.raises(UnknownAgent, match="is no file"):
        offered_agents(["network:temperature=0.05@none.safetensors"])
