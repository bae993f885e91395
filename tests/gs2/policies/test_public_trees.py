"""`gs2 blueprint --form public` and the commands that take what it writes, as a person types them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from cfr.public.policies.policy_file import open_public_policy
from gs2.cli import main
from gs2.policies import policy_spec as policy_specs
from gs2.policies.policy_spec import computed_policy
from tests.cfr.public.setting import both
from tests.commands.runner import as_json, gs2, refused
from tests.patience import PATIENCE

GAME = "liars_dice(sides=4)"
LARGE = "liars_dice(dice=2,sides=3)"
AT = ("solve", LARGE, "--infoset", "P0 holds 1 2 | 1x2 2x2")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a policy and its run, for all tests of this module."""
    path = str(tmp_path_factory.mktemp("policy") / "a.policy")
    made = as_json("blueprint", GAME, "--form", "public", "--iterations", "30", "-o", path, "--threads", "1")
    assert made["form"] == "public" and made["precision"] == 64 and made["file"] == path
    return path


def test_both_forms_come_to_the_same(policy: str) -> None:
    listed = as_json("blueprint", GAME, "--iterations", "30")
    public = as_json("exploitability", GAME, policy)
    assert listed["form"] == "listed" and public["note"] == "dcfr, 30 iterations"
    assert abs(listed["exploitability"] - public["exploitability"]) < 1e-7  # the file has float32
    said = " ".join(gs2("exploitability", GAME, policy).stdout.split())
    assert "exploitability (NashConv / 2)" in said and "on the public tree" in said


def test_responders_answer_a_policy_on_a_public_tree(policy: str, tmp_path: Path) -> None:
    new = str(tmp_path / "new.npz")
    words = ("exploit", GAME, policy, "--minutes", "0.01", "--seed", "3")
    found = as_json(*words, "--games", "20", "-o", new)
    assert [bound["games"] for bound in found["bounds"]] == [20, 20] and Path(found["file"]).exists()


def test_a_run_goes_on_where_it_stopped(policy: str, tmp_path: Path) -> None:
    path, whole = str(tmp_path / "a.policy"), str(tmp_path / "b.policy")
    for suffix in ("", ".run"):
        shutil.copy(policy + suffix, path + suffix)
    again = gs2("blueprint", GAME, "--iterations", "50", "-o", path)
    assert "iteration 30" in again.stderr
    assert "on the public tree, 50 iterations" in again.stdout and "a.policy.run" in again.stdout
    as_json("blueprint", GAME, "--form", "public", "--iterations", "50", "-o", whole)
    for suffix in ("", ".run"):
        assert Path(whole + suffix).read_bytes() == Path(path + suffix).read_bytes()
    on = ("-o", path, "--iterations", "60")
    for says, words in (
        ("variant must be this run's, cfr+; got dcfr", (GAME, "--variant", "cfr+")),
        ("dtype must be this run's, 'float32'", (GAME, "--precision", "32")),
        ("game must be this run's", ("kuhn_poker",)),
    ):
        assert says in refused("blueprint", *words, *on)
    Path(path + ".run").unlink()
    assert "holds no run to resume" in refused("blueprint", GAME, *on)
    assert as_json("blueprint", GAME, "--form", "public", "--fresh", "-o", path, "--iterations", "3")


def test_a_run_goes_on_in_the_form_of_its_output_whatever_lies_beside_it(tmp_path: Path) -> None:
    path = str(tmp_path / "k.gs2")
    begin, listed = ("blueprint", "kuhn_poker", "-o", path), ("--form", "listed")
    as_json(*begin, "--form", "public", "--iterations", "5")
    beside = Path(path + ".run")
    stale = beside.read_bytes()
    assert "its run is on the public" in refused(*begin, *listed, "--iterations", "9")
    whole = as_json(*begin, *listed, "--fresh", "--iterations", "200")
    assert not beside.exists()
    for left in (False, True):  # as it was left by versions that did not delete it
        if left:
            beside.write_bytes(stale)
        again = gs2(*begin, "--iterations", "6")
        assert again.exit_code == 0 and "k.gs2 at iteration 200" in " ".join(again.stderr.split())
        assert as_json("exploitability", "kuhn_poker", path)["exploitability"] == whole["exploitability"]
    held = Path(path).read_bytes()
    said = refused(*begin, "--form", "public", "--iterations", "6")
    assert "k.gs2: it must be a policy on a public tree for k.gs2.run to go on" in said
    assert Path(path).read_bytes() == held and beside.read_bytes() == stale
    Path(path).unlink()  # what an interrupted run leaves: no policy yet
    assert "its run is on the public" in refused(*begin, *listed, "--iterations", "9")
    assert as_json(*begin, "--iterations", "6")["iterations"] == 6
    assert as_json(*begin, "--form", "public", "--fresh", "--iterations", "3")["iterations"] == 3


def test_a_run_in_16_bits_is_resumed_in_16_bits_and_16_bits_are_half_the_file(
    policy: str, tmp_path: Path
) -> None:
    short, whole, half = (str(tmp_path / name) for name in ("b.policy", "c.policy", "d.policy"))
    words = "blueprint", GAME, "--form", "public", "--precision", "16"
    made = as_json(*words, "--iterations", "40", "-o", whole)
    assert made["precision"] == 16 and made["exploitability"] < 0.1
    as_json(*words, "--iterations", "25", "-o", short)
    assert as_json("blueprint", GAME, "--iterations", "40", "-o", short)["precision"] == 16
    assert Path(whole).read_bytes() == Path(short).read_bytes()
    assert Path(whole + ".run").stat().st_size < Path(policy + ".run").stat().st_size
    as_json("blueprint", GAME, "--form", "public", "--iterations", "30", "-o", half, "--bits", "16")
    assert open_public_policy(half, both(GAME).game).bits == 16
    fewer = Path(policy).stat().st_size - Path(half).stat().st_size
    assert abs(fewer - 2 * both(GAME).tree.n_slots) < 64


def test_the_public_tree_is_taken_where_the_listed_one_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a.policy")
    monkeypatch.setenv("GS2_MEMORY", "4M")
    made = as_json("blueprint", LARGE, "--iterations", "20", "-o", path)
    assert made["form"] == "public" and made["exploitability"] < 0.1
    assert "tree must fit into 4 MB" in refused("blueprint", LARGE, "--form", "listed")
    words = (*AT, "--blueprint", path)
    said = gs2(*words).stdout
    assert "P0 holds 1 2 | 1x2 2x2" in said and "liar" in said and "by maxmargin gadget" in said
    assert "Public tree: every pair" in said
    shown = as_json(*words)
    assert shown["histories_considered"] == 36 and len(shown["actions"]) == 8
    assert all(row["margin"] >= -1e-9 for row in shown["opponents"]) and shown["gap"] >= -1e-9
    assert abs(sum(row["blueprint"] for row in shown["actions"]) - 1) < 1e-9
    drawn = as_json(
        *words, "--source", "sampled", "--samples", "4", "--iterations", "5", "--method", "unsafe"
    )
    for ours, theirs in zip(shown["actions"], drawn["actions"], strict=True):
        assert ours["action"] == theirs["action"] and abs(ours["blueprint"] - theirs["blueprint"]) < 1e-9
    size = gs2("games", LARGE, "--size").stdout
    assert "public form" in size and "its public tree does: gs2 blueprint" in size


@pytest.mark.parametrize("name", ["uniform", "cfr:20", "pcfr+:7"])
@pytest.mark.some(2)
def test_a_named_strategy_is_measured_on_the_public_tree_where_the_listed_one_does_not_fit(name: str) -> None:
    listed = as_json("exploitability", LARGE, name)
    public = as_json("exploitability", LARGE, name, "--memory", "4M")
    assert "form" not in listed and public["form"] == "public"
    for figure in ("value", "exploitability", "best_response"):
        assert public[figure] == pytest.approx(listed[figure], abs=1e-9)


def test_a_noisy_equilibrium_on_the_public_tree_is_the_mixture_that_its_name_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = both(GAME).game
    monkeypatch.setattr(policy_specs, "NOISE_BASE_ITERATIONS", 20)
    base, uniform = computed_policy("dcfr:20", game), computed_policy("uniform", game)
    mixed = computed_policy("noise:0.25", game)
    for player in (0, 1):
        wanted = 0.75 * base.rows[player] + 0.25 * uniform.rows[player]
        assert mixed.rows[player] == pytest.approx(wanted, abs=1e-12)


def test_a_search_with_a_named_blueprint_is_on_the_public_tree_where_the_listed_one_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GS2_MEMORY", "4M")
    path = str(tmp_path / "a.policy")
    as_json("blueprint", LARGE, "--variant", "cfr", "--iterations", "20", "-o", path)
    words = (*AT, "--iterations", "30", "--blueprint")
    stored, named = (as_json(*words, spec) for spec in (path, "cfr:20"))
    for ours, theirs in zip(named["actions"], stored["actions"], strict=True):
        assert ours["action"] == theirs["action"]
        assert abs(ours["blueprint"] - theirs["blueprint"]) < 1e-6  # the file has float32
    assert named["histories_considered"] == 36 and "opponents" in named
    assert "Public tree: every pair" in gs2(*words, "cfr:20").stdout
    assert "is not listed" in refused(*words, "dmc:20")


def test_a_policy_plays_and_is_refined(policy: str) -> None:
    played = as_json("match", GAME, policy, "uniform", "--pairs", "40")
    assert played["net"] > 0
    solved = as_json("solve", GAME, "--infoset", "P0 holds 2", "--blueprint", policy, "--iterations", "20")
    values = {row["action"]: row["blueprint"] for row in solved["actions"]}
    ours = open_public_policy(policy, both(GAME).game).infoset("P0 holds 2")
    assert list(values.values()) == pytest.approx(ours.tolist(), abs=1e-9)
    met = as_json("match", GAME, policy + "+gs2+:iterations=5", policy, "--pairs", "2")
    assert met["pairs"] == 2


def test_sizes_name_the_public_form_of_factored_games_alone() -> None:
    public = as_json("games", GAME, "--size")["public"]
    assert public["nodes"]["mean"] == len(both(GAME).tree) and public["private"] == [4, 4]
    assert "public" not in as_json("games", "goofspiel(cards=3)", "--size")
    assert "private states" in gs2("games", GAME, "--size").stdout


def test_what_does_not_fit_is_refused(policy: str, tmp_path: Path) -> None:
    for words, says in (
        ("blueprint goofspiel(cards=3) --form public", "this one has none; use --form listed"),
        ("blueprint kuhn_poker --precision 32", "need the public form; add --form public"),
        ("blueprint kuhn_poker --threads 2", "need the public form; add --form public"),
        (f"blueprint kuhn_poker --form public -o {tmp_path}/a.json", "a JSON policy needs the listed form"),
        ("blueprint kuhn_poker --form pubic", "'pubic' is not one of"),
        (f"exploitability kuhn_poker {policy}", "must belong to kuhn_poker; it is for liars_dice"),
        (f"match kuhn_poker {policy} uniform --pairs 2", "must belong to kuhn_poker"),
        (f"solve kuhn_poker --blueprint {policy}", "must belong to kuhn_poker"),
    ):
        assert says in refused(*words.split())


def test_a_command_without_memory_advises_options_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GS2_MEMORY", "1M")
    large = "leduc_poker(ranks=13,suits=4)"
    for name, *words in (("exploitability", large, "cfr:3"), ("blueprint", large, "--form", "public")):
        said = refused(name, *words)
        assert "CFR on its public tree must fit into 1 MB" in said
        own = re.sub("`[^`]*`", "", said)  # advice in backquotes names another command
        command = main.get_command(click.Context(main), name)
        assert command is not None
        options = {word for option in command.params for word in option.opts}
        assert set(re.findall(r"--[a-z]+", own)) <= options


@pytest.mark.long
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_an_interrupted_run_loses_nothing_and_a_killed_one_little(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.policy"
    words = [sys.executable, "-m", "gs2", "blueprint", LARGE, "--form", "public", "-o", str(path)]
    process = subprocess.Popen([*words, "--seconds", "600"], stderr=subprocess.DEVNULL)
    state = Path(f"{path}.run")
    deadline = time.monotonic() + PATIENCE
    while how == "SIGKILL" and not state.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(6 if how == "SIGINT" else 0)
    process.send_signal(getattr(signal, how))
    process.wait(PATIENCE)
    assert state.exists() and path.exists() == (how == "SIGINT")
    again = gs2(*words[3:], "--seconds", "1", "--json")
    assert again.exit_code == 0, again.output
    assert "resuming" in again.stderr and json.loads(again.stdout)["iterations"] > 100
