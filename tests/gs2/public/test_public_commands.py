"""`gs2 blueprint --form public` and the commands that take what it writes, as a person types them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cfr.public.policies.policy_file import open_public_policy
from gs2.cli import main
from gs2.policies import policy_spec as policy_specs
from gs2.public.computed_policy import computed_policy
from tests.cfr.public.setting import both
from tests.patience import PATIENCE

GAME = "liars_dice(sides=4)"
LARGE = "liars_dice(dice=2,sides=3)"


def gs2(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def told(*words: str) -> dict:
    result = gs2(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict = json.loads(result.stdout)
    return found


def refusal(*words: str) -> str:
    """Return the error of a refused command: exit code 2 and no traceback."""
    result = gs2(*words)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = str(tmp_path / "a.policy")
    made = told("blueprint", GAME, "--form", "public", "--iterations", "30", "-o", path, "--threads", "1")
    assert made["form"] == "public" and made["precision"] == 64 and made["file"] == path
    return path


def test_both_forms_come_to_the_same(policy: str) -> None:
    listed = told("blueprint", GAME, "--iterations", "30")
    public = told("exploitability", GAME, policy)
    assert listed["form"] == "listed" and public["note"] == "dcfr, 30 iterations"
    assert abs(listed["exploitability"] - public["exploitability"]) < 1e-7  # the file has float32
    assert told("exploit", GAME, policy)["exploitability"] == public["exploitability"]
    for words in (("exploitability", GAME, policy), ("exploit", GAME, policy)):
        said = gs2(*words).stdout
        assert "exploitability (NashConv / 2)" in said and "on the public tree" in said


@pytest.mark.parametrize(
    "option", (("--games", "20"), ("--minutes", "0.01"), ("--seed", "0"), ("-o", "new.npz"))
)
def test_options_of_a_responder_are_refused_or_make_one(
    policy: str, option: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "--output" if option[0] == "-o" else option[0]
    assert f"{name} is for a responder" in " ".join(refusal("exploit", GAME, policy, *option).split())
    assert not (tmp_path / "new.npz").exists()


def test_a_responder_of_a_public_policy_reads_its_options(policy: str, tmp_path: Path) -> None:
    words = ("exploit", GAME, policy, "--method", "both", "--minutes", "0.01", "--seed", "3")
    found = told(*words, "--games", "20", "-o", str(tmp_path / "new.safetensors"))
    assert [bound["games"] for bound in found["bounds"]] == [20, 20] and Path(found["file"]).exists()


def test_a_run_goes_on_where_it_stopped(policy: str, tmp_path: Path) -> None:
    again = gs2("blueprint", GAME, "--iterations", "50", "-o", policy)
    assert "iteration 30" in again.stderr
    assert "on the public tree, 50 iterations" in again.stdout and "a.policy.run" in again.stdout
    whole = str(tmp_path / "b.policy")
    told("blueprint", GAME, "--form", "public", "--iterations", "50", "-o", whole)
    assert Path(whole).read_bytes() == Path(policy).read_bytes()
    assert Path(whole + ".run").read_bytes() == Path(policy + ".run").read_bytes()
    assert "variant must be this run's, cfr+; got dcfr" in refusal(
        *("blueprint", GAME, "--variant", "cfr+", "-o", policy, "--iterations", "60")
    )
    assert "dtype must be this run's, 'float32'" in refusal(
        *("blueprint", GAME, "--precision", "32", "-o", policy, "--iterations", "60")
    )
    assert "game must be this run's" in refusal("blueprint", "kuhn_poker", "-o", policy, "--iterations", "60")
    Path(policy + ".run").unlink()
    assert "holds no run to resume" in refusal("blueprint", GAME, "-o", policy, "--iterations", "60")
    assert told("blueprint", GAME, "--form", "public", "--fresh", "-o", policy, "--iterations", "3")


def test_a_run_goes_on_in_the_form_of_its_output_whatever_lies_beside_it(tmp_path: Path) -> None:
    path = str(tmp_path / "k.gs2")
    begin, listed = ("blueprint", "kuhn_poker", "-o", path), ("--form", "listed")
    told(*begin, "--form", "public", "--iterations", "5")
    beside = Path(path + ".run")
    stale = beside.read_bytes()
    assert "its run is on the public" in refusal(*begin, *listed, "--iterations", "9")
    whole = told(*begin, *listed, "--fresh", "--iterations", "200")
    assert not beside.exists()
    for left in (False, True):  # as it was left by versions that did not delete it
        if left:
            beside.write_bytes(stale)
        again = gs2(*begin, "--iterations", "6")
        assert again.exit_code == 0 and "k.gs2 at iteration 200" in " ".join(again.stderr.split())
        assert told("exploitability", "kuhn_poker", path)["exploitability"] == whole["exploitability"]
    held = Path(path).read_bytes()
    said = " ".join(refusal(*begin, "--form", "public", "--iterations", "6").split())
    assert "k.gs2: it must be a policy on a public tree for k.gs2.run to go on" in said
    assert Path(path).read_bytes() == held and beside.read_bytes() == stale
    Path(path).unlink()  # what an interrupted run leaves: no policy yet
    assert "its run is on the public" in refusal(*begin, *listed, "--iterations", "9")
    assert told(*begin, "--iterations", "6")["iterations"] == 6
    assert told(*begin, "--form", "public", "--fresh", "--iterations", "3")["iterations"] == 3


def test_sixteen_bits_are_half_the_file(policy: str, tmp_path: Path) -> None:
    short = str(tmp_path / "b.policy")
    told("blueprint", GAME, "--form", "public", "--iterations", "30", "-o", short, "--bits", "16")
    read = open_public_policy(short, both(GAME).game)
    assert read.bits == 16
    fewer = Path(policy).stat().st_size - Path(short).stat().st_size
    assert abs(fewer - 2 * both(GAME).tree.n_slots) < 64


def test_a_run_in_16_bits_is_resumed_in_16_bits(policy: str, tmp_path: Path) -> None:
    short, whole = str(tmp_path / "b.policy"), str(tmp_path / "c.policy")
    words = "blueprint", GAME, "--form", "public", "--precision", "16"
    made = told(*words, "--iterations", "40", "-o", whole)
    assert made["precision"] == 16 and made["exploitability"] < 0.1
    told(*words, "--iterations", "25", "-o", short)
    assert told("blueprint", GAME, "--iterations", "40", "-o", short)["precision"] == 16
    assert Path(whole).read_bytes() == Path(short).read_bytes()
    assert Path(whole + ".run").stat().st_size < Path(policy + ".run").stat().st_size


def test_the_public_tree_is_taken_where_the_listed_one_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a.policy")
    monkeypatch.setenv("GS2_MEMORY", "4M")
    made = told("blueprint", LARGE, "--iterations", "20", "-o", path)
    assert made["form"] == "public" and made["exploitability"] < 0.1
    assert "tree must fit into 4 MB" in refusal("blueprint", LARGE, "--form", "listed")
    words = ("solve", LARGE, "--infoset", "P0 holds 1 2 | 1x2 2x2", "--blueprint", path)
    said = gs2(*words).stdout
    assert "P0 holds 1 2 | 1x2 2x2" in said and "liar" in said and "by maxmargin gadget" in said
    assert "Public tree: every pair" in said
    shown = told(*words)
    assert shown["histories_considered"] == 36 and len(shown["actions"]) == 8
    assert all(row["margin"] >= -1e-9 for row in shown["opponents"]) and shown["gap"] >= -1e-9
    assert abs(sum(row["blueprint"] for row in shown["actions"]) - 1) < 1e-9
    drawn = told(*words, "--source", "sampled", "--samples", "4", "--iterations", "5", "--method", "unsafe")
    for ours, theirs in zip(shown["actions"], drawn["actions"], strict=True):
        assert ours["action"] == theirs["action"] and abs(ours["blueprint"] - theirs["blueprint"]) < 1e-9
    size = gs2("games", LARGE, "--size").stdout
    assert "public form" in size and "its public tree does: gs2 blueprint" in size


@pytest.mark.parametrize("name", ["uniform", "cfr:20", "pcfr+:7"])
@pytest.mark.some(2)
def test_a_named_strategy_is_measured_on_the_public_tree_where_the_listed_one_does_not_fit(name: str) -> None:
    listed = told("exploitability", LARGE, name)
    public = told("exploitability", LARGE, name, "--memory", "4M")
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
    told("blueprint", LARGE, "--variant", "cfr", "--iterations", "20", "-o", path)
    words = ("solve", LARGE, "--infoset", "P0 holds 1 2 | 1x2 2x2", "--iterations", "30")
    stored, named = (told(*words, "--blueprint", spec) for spec in (path, "cfr:20"))
    for ours, theirs in zip(named["actions"], stored["actions"], strict=True):
        assert ours["action"] == theirs["action"]
        assert abs(ours["blueprint"] - theirs["blueprint"]) < 1e-6  # the file has float32
    assert named["histories_considered"] == 36 and "opponents" in named
    assert "Public tree: every pair" in gs2(*words, "--blueprint", "cfr:20").stdout
    assert "is not listed" in refusal(*words, "--blueprint", "dmc:20")


def test_a_policy_plays_and_is_refined(policy: str) -> None:
    played = told("match", GAME, policy, "uniform", "--pairs", "40")
    assert played["net"] > 0
    solved = told("solve", GAME, "--infoset", "P0 holds 2", "--blueprint", policy, "--iterations", "20")
    values = {row["action"]: row["blueprint"] for row in solved["actions"]}
    ours = open_public_policy(policy, both(GAME).game).infoset("P0 holds 2")
    assert list(values.values()) == pytest.approx(ours.tolist(), abs=1e-9)
    met = told("match", GAME, policy + "+gs2+:iterations=5", policy, "--pairs", "2")
    assert met["pairs"] == 2


def test_sizes_name_the_public_form_of_factored_games_alone() -> None:
    public = told("games", GAME, "--size")["public"]
    assert public["nodes"]["mean"] == len(both(GAME).tree) and public["private"] == [4, 4]
    assert "public" not in told("games", "goofspiel(cards=3)", "--size")
    assert "private states" in gs2("games", GAME, "--size").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("blueprint goofspiel(cards=3) --form public", "this one has none; use --form listed"),
        ("blueprint kuhn_poker --precision 32", "need the public form; add --form public"),
        ("blueprint kuhn_poker --threads 2", "need the public form; add --form public"),
        ("blueprint kuhn_poker --form public -o {}/a.json", "a JSON policy needs the listed form"),
        ("blueprint kuhn_poker --form pubic", "'pubic' is not one of"),
        ("exploitability kuhn_poker {policy}", "must belong to kuhn_poker; it is for liars_dice"),
        ("match kuhn_poker {policy} uniform --pairs 2", "must belong to kuhn_poker"),
        ("solve kuhn_poker --blueprint {policy}", "must belong to kuhn_poker"),
    ],
)
def test_what_does_not_fit_is_refused(policy: str, tmp_path: Path, words: str, says: str) -> None:
    text = words.replace("{policy}", policy).replace("{}", str(tmp_path))
    assert says in refusal(*text.split())


@pytest.mark.parametrize("words", ["exploitability {} cfr:3", "blueprint {} --form public"])
def test_a_command_without_memory_advises_options_that_it_has(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("GS2_MEMORY", "1M")
    said = refusal(*words.replace("{}", "leduc_poker(ranks=13,suits=4)").split())
    assert "CFR on its public tree must fit into 1 MB" in said
    own = re.sub("`[^`]*`", "", said)  # advice in backquotes names another command
    command = main.get_command(click.Context(main), words.split()[0])
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
    deadline = time.monotonic() + 120
    while how == "SIGKILL" and not state.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(6 if how == "SIGINT" else 0)
    process.send_signal(getattr(signal, how))
    process.wait(PATIENCE)
    assert state.exists() and path.exists() == (how == "SIGINT")
    again = CliRunner().invoke(main, [*words[3:], "--seconds", "1", "--json"])
    assert again.exit_code == 0, again.output
    assert "resuming" in again.stderr and json.loads(again.stdout)["iterations"] > 100
