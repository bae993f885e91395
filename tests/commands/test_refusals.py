"""Command lines that cannot be: refused with the rule and the next step, also by modules run alone."""

from __future__ import annotations

import ast
import errno
import os
import shlex
from pathlib import Path

import pytest

from tests.commands.runner import gs2, one_line, refused
from tests.forked import run_module

IN_ONE_LINE = [
    ("games 'liars_dice(sides=0)'", "sides must be an integer in"),
    ("games 'liars_dice(colour=3)'", "no parameter is called"),
    ("solve --infoset 'P1 holds Xs | raise'", "did you mean"),
    ("solve --infoset ''", 'no infoset is called ""'),
    ("solve --method gs2-d:k=0", "k must be an integer of at least 1; got 0"),
    ("solve --method gs2-d:kk=2", "method gs2-d: there is no field 'kk' to set; did you mean k"),
    ("solve --method ''", "no preset is called ''"),
    ("solve --blueprint ''", "blueprint must be uniform, noise:EPSILON"),
    ("solve --blueprint nothing.npz", "no such file"),
    ("solve --blueprint cfr:0", "at least 1"),
    ("solve --gadget armour", "gadget must be one of"),
    ("exploitability leduc_poker noise:2", "in [0, 1]"),
    ("exploitability 'goofspiel(cards=13,turns=13)' uniform", "gs2 exploit bounds an agent's from below"),
    ("exploitability 'leduc_poker(ranks=13,suits=4)' none.gs2 --memory 1K", "no such file"),
    ("blueprint leduc_poker --variant foo", "variant must be one of"),
    ("blueprint leduc_poker -o no/such/folder/x.npz", "folder must exist"),
    ("infosets leduc_poker --grep '('", "regular expression"),
    ("knowledge kuhn_poker --infoset 'P0 holds Z'", "did you mean"),
    ("experiment refine --preset nothing", "preset must be one of"),
    ("experiment refine --mode sideways", "mode must be one of independent, nested"),
    ("games --replay x.jsonl", "none does; check the path"),
    ("match kuhn_poker uniform unifrm", "did you mean uniform"),
    ("match greedy none.safetensors", "does not exist"),
    ("ladder greedy random --plot no/folder/x.svg", "must exist"),
    ("play --with nobody-of-that-name", "nobody-of-that-name"),
    ("play --rules house", "house"),
]
REFUSED = [
    ("serve --host 203.0.113.1 --token x --agents greedy,1:human", "got human; people sit down by gs2 play"),
    ("serve --host 203.0.113.1 --token x --fallback human", "got human; people sit down by gs2 play"),
    ("match --game kuhn_pokr uniform uniform", "did you mean kuhn_poker"),
    ("match 'liars_dice(dice=5)' cfr:10 uniform", "must fit into"),
    ("match 'liars_dice(dice=5)' uniform+gs2+ uniform", "train a network (gs2 train GAME)"),
    ("ladder --game kuhn_poker uniform unifrm", "did you mean uniform"),
    ("ladder 'goofspiel(returns=total_points)' uniform dmc:5", "payoffs of all seats must sum to zero"),
    ("match 'goofspiel(returns=total_points)' uniform uniform", "gs2 exploitability measures a policy there"),
    ("games --round 1", "--round chooses among recorded rounds"),
    ("games kuhn_poker --size --replay x.jsonl", "give one of them"),
    ("match gredy random", "did you mean greedy"),
    ("match greedy", "match takes a game and 2 agents"),
    ("match guandan greedy random strong", "got 3 agents of guandan"),
    ("match --game guandan", "Missing argument"),
    ("match greedy random --level 11", "level"),
    ("match greedy random --level 4 --whole", "--level needs single rounds"),
    ("match greedy random --rules njupt", "--rules needs whole games: add --whole"),
    ("match greedy random --whole --rules no", "rules are one of"),
    ("match greedy random --tribute nan", "nan"),
    ("match kuhn_poker uniform uniform --level 4", "level must be left out"),
    ("match 'guandan(moves=canonical)' random greedy", "guandan must be guandan(moves=full), as its matches"),
    ("ladder 'guandan(moves=canonical)' random greedy", "got guandan(moves=canonical); write guandan"),
    ("ladder uniform cfr:5 --pairs 5", "no agent of guandan is called 'cfr:5'"),
    ("ladder leduc_poker", "two or more different agents; got none"),
    ("ladder greedy", "two or more"),
    ("ladder greedy greedy", "different"),
    ("ladder greedy random --plot picture.gif", ".svg"),
    *((f"blueprint kuhn_poker --seconds {bad}", "--seconds") for bad in ("nan", "-inf", "1e400")),
    *((f"solve --seed {bad}", "--seed") for bad in ("-1", "100000000000000000000", "nan")),
    ("exploit 'guandan(moves=canonical)' greedy", "must be guandan(moves=full), as its matches go"),
    ("exploit kuhn_poker nobody", "nobody"),
    ("exploit kuhn_poker cfr:10 --minutes 0", "minutes"),
    ("exploit kuhn_poker cfr:10 --games 1", "games"),
    ("exploit kuhn_poker cfr:10 --method lbr -o x.npz", "--output needs a responder that is"),
    ("exploit kuhn_poker cfr:10 --method lbr --minutes 1", "--minutes needs a responder that"),
    ("exploit kuhn_poker cfr:10 --method magic", "magic"),
    ("exploit chess cfr:10", "chess"),
    ("exploit guandan nobody", "nobody"),
    ("exploit guandan blueprint --exact", "--exact"),
    ("train", "Missing option '-o' / '--output'; name the output: gs2 train GAME -o OUTPUT"),
    ("train leduc_poker", "Missing option '-o'"),
    ("train leduc_pokr -o x.safetensors", "did you mean leduc_poker"),
    ("train leduc_poker -o run", "--output must name a .safetensors file for leduc_poker; got 'run'"),
    ("train guandan -o x.safetensors", "--output must name a directory for guandan; got"),
    ("train -o x.safetensors", "--output must name a directory for guandan; got 'x.safetensors'"),
    ("train 'guandan(moves=canonical)' -o run", "takes GuanDan with moves=full"),
    ("train 'goofspiel(returns=total_points)' -o x.safetensors", "payoffs must sum to zero"),
    ("train 'big2(ranks=99)' -o run", "ranks must be"),
    ("train big2 -o run --preset ours", "--preset is for GuanDan only; train big2 without --preset"),
    ("train run -o x", 'no game is called "run"'),
    ("train kuhn_poker -o x.safetensors --set widht=3", "did you mean width"),
    ("train doudizhu -o x --set width=3", "no field 'width'"),
    ("train doudizhu -o x --set state=0", "state must be"),
    ("train doudizhu -o x --set recipe=odmc", "got --set recipe=odmc; use --recipe"),
    ("train doudizhu -o missing/x.safetensors", "folder must exist"),
    ("train doudizhu -o x --minutes -1", "--minutes"),
    ("train -o x --minutes inf", "--minutes"),
    ("train -o x --minutes 0 --set speed=3", "there is no field 'speed' to set; did you mean seed"),
    ("train -o x --minutes 0 --set speed", "each must be FIELD=VALUE; got 'speed'"),
    ("train -o x --minutes 0 --set rounds=many", "rounds must be of type int"),
    ("train -o x --minutes 0 --set rounds=1.5", "rounds must be of type int"),
    ("train -o x --minutes 0 --set critic=maybe", "critic must be of type bool"),
    ("train -o x --minutes 0 --network width=3", "the fields are kind, state"),
    ("train -o x --minutes 0 --device tpu", "device must be cpu, cuda"),
    ("train -o x --minutes -1", "Invalid value for '--minutes'"),
    ("train -o x --minutes 0 --actors 2", "--actors 2 needs --on ray"),
    ("train -o x --minutes 0 --on ray:nowhere", "must be HOST:PORT; got 'ray:nowhere'"),
    ("train -o x --minutes 0 --on slurm", "--on must be local, ray"),
    ("train -o x --minutes 0 --on ray --actors 0", "in the range 1 to 4,096"),
    ("train -o x --minutes 0 --recipe pdhq", "no recipe is called 'pdhq'; did you mean pdhqn"),
    ("train -o x --recipe pdhqn --preset ours", "got --preset ours as well; leave one of them out"),
    ("train -o x --recipe pdhqn --network kind=ours", "parts stay, kind=danzero; got kind=ours"),
    ("train -o x --recipe danzero --network opponent=4", "opponent=0; got opponent=4; change sizes alone"),
    ("train -o x --minutes 0 --set recipe=mine", "got --set recipe=mine; use --recipe"),
    ("train -o x --recipe odmc --set recipe=mine", "got --set recipe=mine; use --recipe"),
    ("train -o x --recipe odmc --set personas=0.5", "need each other"),
    *((f"web --no-open --game-agent {name}+rollout", name) for name in ("nobody", "/etc/passwd.safetensors")),
    *((f"web --no-open {where}", "token") for where in ("--host 0.0.0.0", "--host ::", "--token ' '")),
    *((f"{command} ''", "must have a name") for command in ("serve --record", "play --record", "web --data")),
    ("play --room 1", "--room is of a server"),
    ("play --token x", "--token is of a server"),
    ("play --dialect njupt", "--dialect is of a server"),
    (
        "play --server ws://127.0.0.1:1 --dialect njupt --agent first --seat 2",
        "left out for njupt, which seats in order",
    ),
    ("play --server ws://127.0.0.1:1 --dialect njupt --agent first --room 2", "in order; got room 2"),
    ("serve --games 2 --rules zz", "--games 2 is for --dialect njupt"),
    ("guandan play-random --match --rounds 2", "--rounds is for a part of a match; leave out it or --match"),
    ("blueprint kuhn_poker -o p.safetensors", "would be read as a network; got p.safetensors; end it with"),
    ("solve kuhn_poker -o p.safetensors", "would be read as a network; got p.safetensors; end it with"),
    ("play --workers 2", "--workers is of a server"),
    ("play --user me", "--user is of a server"),
    ("play --server ws://x --seed 1", "--seed needs a table of your own"),
    ("play --server ws://x --with first", "--with needs a table of your own"),
    ("play --with first,first", "one name, or three"),
    ("play --with human", "only one person can play at a terminal"),
    ("play --agent first --agent first", "are given once"),
    ("play --seat 0 --seat 1", "are given once"),
]


@pytest.mark.parametrize(("words", "says"), IN_ONE_LINE)
def test_bad_input_is_one_line_with_the_rule(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in one_line(*shlex.split(words))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "says"), REFUSED)
def test_what_cannot_be_is_refused_with_the_next_step(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refused(*shlex.split(words))
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_the_machines_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = gs2("blueprint", "kuhn_poker", "-o", tmp_path / "p")
    assert done.exit_code == 1 and "p: no space left on device; the disk is full" in done.stderr


ROOT = Path(__file__).parents[2]


def alone() -> list[str]:
    """Return the modules of experiments and studies that run by themselves."""
    found = []
    for path in sorted([*(ROOT / "experiments").rglob("*.py"), *(ROOT / "studies").rglob("*.py")]):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
                assert ast.unparse(node.body[-1]).startswith("run_alone("), f"{path}: no boundary"
    return found


def test_every_module_that_runs_by_itself_has_the_boundary() -> None:
    assert len(alone()) >= 5


@pytest.mark.parametrize(
    ("module", "words", "says"),
    [
        ("studies.steps_by_depth", ("--game", "no_such_game"), "no_such_game"),
        ("studies.steps_by_depth", ("--game", "kuhn_poker", "--blueprint", "what:3"), "what:3"),
        ("studies.steps_by_depth", ("-o", "/proc/none/x"), "/proc/none"),
    ],
)
@pytest.mark.some(1)
def test_what_is_refused_is_one_line(module: str, words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = run_module(module, "-o", str(tmp_path), *words)
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("gs2: ") and says in line


def test_its_help_names_the_module() -> None:
    done = run_module("studies.steps_by_depth", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: python -m studies.steps_by_depth")
