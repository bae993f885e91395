"""The gate of any game: the better agent passes early, a gate goes on from its file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.networks import shipped_file
from games import load_game
from gs2.play.arena import Meeting, MeetingError, gate, play_match
from gs2.web.games.offers import NETWORKED
from tests.commands.runner import gs2, ran, refused
from tests.patience import amount

FEW = ("--pairs", "100", "--batch", "100", "--processes", "1")


def test_the_better_agent_passes_early_the_worse_does_not_and_equal_ones_stay_undecided(
    tmp_path: Path,
) -> None:
    def verdict(a: str, b: str) -> tuple[str, int]:
        meeting = Meeting("leduc_poker", a, b, pairs=400)
        found = gate(meeting, batch=100, output=tmp_path / f"{a}-{b}.jsonl".replace(":", "_"))
        assert found.low <= found.net <= found.high
        return found.verdict, found.pairs

    pairs = (("cfr:50", "uniform"), ("uniform", "cfr:50"), ("cfr:9", "cfr:9"))
    better, worse, same = (verdict(*pair) for pair in pairs)
    assert better[0] == "better" and worse[0] == "worse" and max(better[1], worse[1]) < 400
    assert same == ("undecided", 400)


def test_a_gate_that_was_stopped_goes_on_to_the_same(tmp_path: Path) -> None:
    meeting, looks = Meeting("kuhn_poker", "cfr:30", "cfr:29", pairs=300, seed=3), []
    decide = partial(gate, meeting, batch=150)
    part = decide(output=tmp_path / "a.jsonl", progress=looks.append, stop=lambda: len(looks) == 1)
    assert part.verdict == "stopped" and part.pairs == 150 and [look.pairs for look in looks] == [150]
    whole = decide(output=tmp_path / "a.jsonl")
    assert whole == decide(output=tmp_path / "b.jsonl")
    played = play_match(meeting)
    assert whole.pairs == 300 and whole.net == pytest.approx(played.net)


def test_a_gate_that_could_decide_nothing_is_refused(tmp_path: Path) -> None:
    for batch in (0, 11):
        with pytest.raises(MeetingError, match="batch must be in"):
            gate(Meeting("kuhn_poker", "uniform", "uniform", pairs=10), batch=batch, output=tmp_path / "x")
    target = tmp_path / "x.safetensors"
    for words in (("--pairs", "1"), ("--batch", "99")):
        said = refused("gate", SHIPPED, "--against", "random", *words, "--export", target)
        assert "must be at least 100" in said and not target.exists()


CANDIDATES = {"guandan": (str(SHIPPED), "random"), "big2": (str(shipped_file("big2")), "uniform")}


@pytest.mark.parametrize("game", CANDIDATES)
def test_a_gate_goes_on_for_the_same_network_under_another_name(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    network, against = CANDIDATES[game]
    first, second = Path("a.safetensors"), Path("b.safetensors")
    first.write_bytes(Path(network).read_bytes())
    how = ("--against", against, *FEW, "--json")
    found = [ran("gate", first, *how)]
    [deals] = Path("runs").iterdir()
    kept = deals.read_bytes()
    assert b'"a.safetensors"' in kept.splitlines()[0]
    first.rename(second)
    ways = [(name, *more) for name in (second, second.absolute()) for more in ((), ("-o", deals))]
    found += [ran("gate", *way, *how) for way in ways[:: amount(1, 3)]]
    assert len({result.stdout for result in found}) == 1 and deals.read_bytes() == kept
    assert list(Path("runs").iterdir()) == [deals]
    assert "it holds results with seed 0" in refused("gate", second, *how, "--seed", "1", "-o", deals)


@pytest.mark.parametrize("game", CANDIDATES)
@pytest.mark.some(1)
def test_what_is_exported_is_what_was_gated_though_the_file_is_replaced_meanwhile(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    network, against = CANDIDATES[game]
    candidate, target = tmp_path / "last.safetensors", tmp_path / "shipped.safetensors"
    candidate.write_bytes(Path(network).read_bytes())
    tensors, description = read_checkpoint(candidate)
    looked = []

    def replaced(values: np.ndarray, *rest: object, **how: object) -> tuple[str, float, float]:
        """Train on during the first look, which leaves it open."""
        looked.append(len(values))
        other = {name: value + 1 for name, value in tensors.items()}
        write_checkpoint(candidate, other, description)
        return "better" if len(looked) > 1 else "undecided", 0.1, 0.2

    monkeypatch.setattr("gs2.play.arena.verdict_at_a_look", replaced)
    ran("gate", candidate, "--against", against, *FEW, "--pairs", "200", "--export", target)
    assert looked == [100, 200]
    halves = read_checkpoint(target)[0]
    assert halves and all(np.array_equal(halves[name], tensors[name].astype(np.float16)) for name in halves)


def test_what_cannot_be_gated_is_said_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    big2 = str(shipped_file("big2"))
    for words, told in (
        ((str(SHIPPED), "--game", "leduc_poker", "--against", "uniform"), "leduc_poker"),
        ((big2, "--against", "nobody"), "is called 'nobody'"),
        ((big2, "--game", "doudizhu"), "was trained on 'big2', not on 'doudizhu'"),
        ((big2, "--game", "leduc_poker"), "leduc_poker"),
    ):
        result = gs2("gate", *words)
        assert result.exit_code != 0 and told in result.output and not (tmp_path / "runs").exists()
        assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("name", [*NETWORKED, "big2(players=2)"])
def test_the_shipped_networks_are_small_meant_for_their_game_and_beat_its_rule_agent(name: str) -> None:
    path, family = shipped_file(name), name.partition("(")[0]
    assert path is not None and path.stat().st_size <= 8_000_000
    assert read_checkpoint(path, prefix="-")[1]["game"] == load_game(name).name
    assert shipped_file(f"{family}(ranks=4)") == shipped_file(family)
    assert shipped_file("big2(players=2,bombs=quads)") == shipped_file("big2(players=2)")
    assert shipped_file("big2(players=2,cards=10)") == shipped_file("big2") != shipped_file("big2(players=2)")
    assert shipped_file("guandan(moves=full)") == SHIPPED and shipped_file("leduc_poker") is None
    rule = {"doudizhu": "gs2.play.shedding:SHEDDING", "big2": "gs2.play.big2_shedding:BIG2_SHEDDING"}[family]
    result = play_match(Meeting(name, "network", rule, pairs=amount(150, 80), seed=7))
    assert result.interval()[0] > 0
