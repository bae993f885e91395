"""Recorded plays come out as they were: a refactor leaves a game as it is.

An intended change makes them again: python -m tests.playthrough --regenerate tests/playthroughs/*.txt
"""

from __future__ import annotations

from pathlib import Path

import pytest

from games import GameError, game_specs
from tests.playthrough import command_of, main, transcript

FILES = sorted((Path(__file__).parent.parent / "playthroughs").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_recorded_plays_come_out_the_same(file: Path) -> None:
    recorded = file.read_text()
    game, seed = command_of(recorded)
    if game.startswith("openspiel:"):
        pytest.importorskip("pyspiel")
    assert transcript(game, seed) == recorded


def test_every_game_has_a_recorded_play() -> None:
    played = {command_of(file.read_text())[0].partition("(")[0] for file in FILES}
    in_its_own_words = {"guandan"}  # its table's transcripts; here each of 150 states would be 6 kB
    of_tests = {"my_poker", "registered_poker"}
    assert {spec.name for spec in game_specs()} - in_its_own_words <= played | of_tests


def test_the_command_prints_a_play_and_makes_transcripts_again_in_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = transcript("kuhn_poker(cards=4)", 5)
    assert main(["kuhn_poker(cards=4)", "--seed", "5"]) == 0
    assert capsys.readouterr().out == wanted
    file = tmp_path / "kuhn.txt"
    file.write_text(wanted.splitlines()[0] + "\nsomething old\n")
    assert main(["--regenerate", str(file)]) == 0
    assert file.read_text() == wanted


def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["kuhn"])
    assert "did you mean kuhn_poker" in capsys.readouterr().err
    with pytest.raises(GameError, match="must start with"):
        command_of("nothing of the kind")
