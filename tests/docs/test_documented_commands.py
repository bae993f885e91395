"""Every command that the README and the documents print is run, as printed or with a smaller budget."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gs2.cli import main
from tests.forked import run_module
from tests.patience import PATIENCE
from tests.studies.test_studies import archived_studies

ROOT = Path(__file__).parents[2]
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = ("README.md", *DOCS, "TRAINING.md", "CONTRIBUTING.md", "studies/README.md")
ARCHIVED = archived_studies()
TINY = (
    "--minutes 0.002 --set rounds=4 --set batch=64 --threads 2 --rounds 2 --against greedy "
    "--network state=16 --network blocks=1 --network action=16 --network critic=16"
)
RECIPE = (
    "--minutes 0.001 --set rounds=4 --set batch=64 --threads 1 --rounds 2 --against greedy "
    "--network state=16 --network blocks=4"
)
GRID = "--game kuhn_poker --method gs2+ --seeds 1 --iterations 3 --workers 1"

LARGE = r"(--game |GAME|'?(liars_dice|goofspiel|leduc_poker|openspiel:))"
"""What the words of `gs2 train` and `gs2 match` begin with where the game is not GuanDan and small."""

SMALLER = (
    (r"gs2 train '?(doudizhu|big2).*--resume", "--minutes 0.002"),
    (r"gs2 train .*--start-from", "--minutes 0.001 --set rounds=4"),
    (
        r"gs2 train '?(doudizhu|big2)",
        "--minutes 0.001 --set rounds=8 --set state=16 --set action=8 --set critic=8",
    ),
    (rf"gs2 train {LARGE}.*--resume", "--minutes 0.002"),
    (rf"gs2 train {LARGE}", "--minutes 0.001 --set width=16 --set episodes=16"),
    (rf"gs2 match {LARGE}", "--pairs 2"),
    (r"gs2 train .*--resume", "--minutes 0.002 --threads 2 --rounds 2 --against greedy --set batch=64"),
    (r"gs2 train .*--recipe", RECIPE),
    (r"gs2 train ", TINY),
    (r"gs2 exploit guandan ", "--method trained --minutes 0.001 --games 2"),
    (r"gs2 exploit ", "--minutes 0.01 --games 20"),
    (r"gs2 gate ddz", "--pairs 100 --batch 100 --processes 1"),
    (r"gs2 gate ", "--pairs 100 --batch 100 --processes 1 --against random"),
    (r"gs2 match .*--whole", "--whole --pairs 1 --processes 1"),
    (r"gs2 match ", "--pairs 1 --processes 1"),
    (rf"gs2 ladder {LARGE}", "--pairs 2"),
    (r"gs2 ladder ", "--pairs 2 --processes 1"),
    (r"gs2 experiment refine", GRID),
    (r"gs2 bench cfr", "kuhn_poker --repeats 1 --no-openspiel"),
    (r"gs2 bench blueprint", "--seconds 0.1 --rounds 4 --threads 1"),
    (r"gs2 bench climbing", "--seconds 0.1 --rounds 32"),
    (r"gs2 bench search", "kuhn_poker --repeats 1"),
    (r"gs2 bench agent", "--rounds 1"),
    (r"gs2 bench table", "--repeats 1"),
)
"""Options added for a smaller budget; where one is given twice, the last counts."""
STANDS_FOR = {
    "GAME": "leduc_poker",
    "…": '"P0 holds Ks"',
    "NAME": "greedy",
    "A": "greedy",
    "B": "random",
    "AGENT": "greedy",
    "DEALS": "1",
    "HOST:PORT": "127.0.0.1:8181",
}
"""What a reader puts in place of these words."""
FEW = 2_000
"""Decisions that a network of a small game is trained on here."""
LONG = re.compile(
    r"gs2 (match|ladder|gate) .|gs2 play|gs2 bench ."
    r"|gs2 exploit (guandan|doudizhu|.*network:|.*\+gs2)|gs2 experiment refine .*network:"
    r"|solve guandan --(json|infoset (follow|duel))|--blueprint dice24|goofspiel\(cards=11.*dmc:"
    r"|universal_poker.*numHoleCards=2"
)
"""Commands that play or search at GuanDan or at every decision of a game, train a network first, or list a
poker game of 276 hands or the hands of two dice."""
BOUNDS = {"--minutes", "--processor-minutes", "--decisions", "--seed", "--set"}
SERVES = re.compile(r"gs2 (serve|web)\b")
"""Commands that go on until they are interrupted, each in a process with imports of its own. Other tests
start and interrupt both, so that here they run with --long."""
GUARDS = re.compile(
    r"runs/annealed|runs/grown|dice26|--device cuda|--tensorboard|strangers|focus|\bFILE\b|X\.safetensors"
    r"|--on ray"
)
"""Commands that need what this run did not make, a file of the reader's, or a device: only their words are
read."""


def _commands(text: str) -> Iterator[str]:
    """Yield the commands of a page in its order, comments and prompts left out."""
    text = re.sub(r"\\\n\s*", " ", text)
    pattern = re.compile(r"```(\w*)\n(.*?)```|^    (gs2 [^\n]*)$|`((?:gs2|python\s+-m)\s[^`]+)`", re.S | re.M)
    for fence, block, indented, inline in pattern.findall(text):
        if block:
            if fence == "python":
                continue
            for line in block.splitlines():
                for part in re.split(r"&&|\$ |(?<!\w)\|(?!\w)|;| & ", line):
                    if re.match(r"\s*(gs2|python -m) ", part):
                        yield re.sub(r"\s+#.*", "", part).strip()
        else:
            yield " ".join(re.sub(r"\s+#.*", "", indented or inline).split())


def _documented() -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for page in PAGES:
        for command in _commands((ROOT / page).read_text(encoding="utf-8")):
            if not ARCHIVED.intersection(command.split()):
                found.setdefault(command, page)
    return [(page, command) for command, page in found.items()]


DOCUMENTED = _documented()


def _find(words: list[str], command: click.Command = main) -> tuple[click.Command, list[str]]:
    """Return the command that some words name, from a group on, and the words after its name."""
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no command {words[0]!r}"
        command, words = found, words[1:]
    return command, words


def _is_spoken_of(command: str) -> bool:
    """Return whether a command is named without the words that it needs."""
    found, rest = _find(shlex.split(command)[1:])
    needed = [p for p in found.params if isinstance(p, click.Argument) and p.required]
    bare = needed or isinstance(found, click.Group) or any(p.required for p in found.params)
    return (not rest and bool(bare or found.name == "train")) or command == "gs2 train GAME"


def _words(command: str) -> list[str]:
    words = [STANDS_FOR.get(word, word) for word in shlex.split(command)]
    words = [word.replace("HOST:PORT", STANDS_FOR["HOST:PORT"]) for word in words]
    words = [re.sub(r"^network:\d+$", f"network:{FEW}", word.strip('"')) for word in words]
    if _is_spoken_of(command):
        return [*words, "--help"]
    for pattern, smaller in SMALLER:
        if re.match(pattern, command + " "):
            return words + shlex.split(smaller)
    return words


@contextmanager
def served(words: list[str], place: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Yield a server's process and its address, once it listens; what it says is in serve.log."""
    log = place / "serve.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "gs2.cli", *words[1:]],
            cwd=place,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        while not (found := re.search(r"(?:listening on|gs2 is at) ((?:ws|http)://\S+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield process, found[1]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its agents' processes too
        process.wait()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which a reader who follows the pages from the top would stand."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("docs/measurements", "runs"):
        (folder / name).mkdir(parents=True)
    (folder / "examples").mkdir()
    for file in (*ROOT.glob("examples/*.efg"), *ROOT.glob("examples/*.nfg")):
        shutil.copy(file, folder / "examples")
    weights = ROOT / "blueprint" / "weights" / "guandan.safetensors"
    for name in ("13M", "69M"):
        shutil.copy(weights, folder / f"{name}.safetensors")
    (folder / "seats.py").write_text("class Cautious:\n    def act(self, observation):\n        return 0\n")
    (folder / "mine.py").write_text(
        "import numpy as np\n"
        "from games.research.kuhn_poker import KuhnPoker as MyGame\n"
        "class Agent:\n    def act(self, observation):\n        return 0\n"
        "def highest(values, weights, k, rng):\n"
        "    worth = values if values.ndim == 1 else values.mean(axis=1)\n"
        "    return np.sort(np.argsort(-worth, kind='stable')[:k])\n"
        "def even(game, states):\n    return np.zeros((len(states), 2))\n"
    )
    (folder / "lock.json").write_text('{"P0 holds K": {"bet": 1.0}}')
    (folder / "llm.py").write_text("class Seat:\n    def act(self, observation):\n        return 0\n")
    return folder


def _run(words: list[str], folder: Path) -> Result:
    """Run a command in this process, which has its kernels already, as a reader who stands in the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(main, words[1:])


def test_the_pages_show_commands() -> None:
    assert len(DOCUMENTED) > 60
    assert ("README.md", "gs2 solve") in DOCUMENTED and ("README.md", "gs2 web") in DOCUMENTED
    assert sum(page == "docs/commands.md" for page, _ in DOCUMENTED) >= 20
    assert ("docs/commands.md", "gs2 train guandan -o runs/mine --minutes 60") in DOCUMENTED


def _shape(command: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the command of a line, with GuanDan or a climbing game that it names, and its options.

    Values are left out, and the options that bound its work.
    """
    words = shlex.split(command)
    at = next((k for k, word in enumerate(words) if not re.fullmatch(r"[a-z][a-z0-9-]*", word)), len(words))
    return tuple(words[: min(at, 3)]), frozenset(word for word in words if word.startswith("-")) - BOUNDS


def _run_here() -> Iterator[Any]:
    """Yield the commands to run; only with --long those that cost much, that are spoken of but not shown, and
    those whose options another one has too."""
    commands = [c for _, c in DOCUMENTED if c.startswith("gs2 ") and not GUARDS.search(c)]
    shapes: dict[tuple[tuple[str, ...], frozenset[str]], str] = {}
    for command in commands:
        if not (LONG.search(command) or SERVES.match(command) or _is_spoken_of(command)):
            shapes.setdefault(_shape(command), command)
    for command in commands:
        path, options = _shape(command)
        first = shapes.get((path, options)) == command
        short = first and not any(path == other and options < more for other, more in shapes)
        yield pytest.param(command, marks=[] if short else [pytest.mark.long], id=command)


@pytest.mark.parametrize("command", [*_run_here()])
def test_a_documented_command_runs(command: str, place: Path, parts_forgotten: None) -> None:
    if "--plot" in command and find_spec("matplotlib") is None:
        pytest.skip("needs gs2[plots]")
    if re.match(r"gs2 web\b", command) and find_spec("uvicorn") is None:
        pytest.skip("needs gs2[web]")
    if re.match(r"gs2 (serve|play|web)", command):
        if find_spec("websockets") is None:
            pytest.skip("needs gs2[table]")
        _serve_or_play(command, place)
        return
    if "openspiel:" in command and find_spec("pyspiel") is None:
        pytest.skip("needs gs2[openspiel]")
    words = _words(command)
    _prepare(words, place)
    done = _run(words, place)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    allowed = (0, 1) if words[1] == "gate" else (0,)
    assert done.exit_code in allowed, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), "a command says what it did"
    assert "Traceback" not in done.stderr


def _prepare(words: list[str], place: Path) -> None:
    """Make what an earlier command of the pages would have left, where it was not run.

    Commands are shared out among processes: each must find what it needs, whichever ran before it here.
    """
    earlier = {
        "liars5.safetensors": "gs2 train liars_dice(dice=5) -o liars5.safetensors --decisions 100",
        "ddz.safetensors": "gs2 train doudizhu -o ddz.safetensors --decisions 1 --set rounds=8",
        "big2.safetensors": "gs2 train big2 -o big2.safetensors --decisions 1 --set rounds=8",
        "leduc.npz": "gs2 blueprint leduc_poker --iterations 10 -o leduc.npz",
        "dice24.gs2": "gs2 blueprint liars_dice(dice=2,sides=4) --form public --iterations 5 -o dice24.gs2",
        "poker.gs2": 'gs2 blueprint "openspiel:universal_poker(numRanks=4,numSuits=2)" --form public '
        "--iterations 5 -o poker.gs2",
        "rounds.jsonl": "gs2 match --game doudizhu gs2.play.shedding:SHEDDING uniform --pairs 2 "
        "--records rounds.jsonl",
        "match.jsonl": "gs2 guandan play-random --record match.jsonl",
        "runs/mine/last.safetensors": f"gs2 train guandan -o runs/mine {TINY}",
        "runs/pdhqn/last.safetensors": f"gs2 train guandan -o runs/pdhqn --recipe pdhqn {RECIPE}",
        **{
            f"runs/{name}": f"gs2 experiment refine --preset {name} -o runs/{name} {GRID}"
            for name in ("quick", "limits", "iter")
        },
    }
    resumed = words[1] == "train" and "--resume" in words
    made = words[words.index("-o") + 1] if "-o" in words else None
    for name, command in earlier.items():
        wanted = name in words and name != made and words[1:3] != ["guandan", "play-random"]
        wanted |= resumed and name in (made, f"{made}/last.safetensors")
        if wanted and not (place / name).exists():
            done = _run(shlex.split(command.replace("--preset iter ", "--preset iterations ")), place)
            assert done.exit_code == 0, done.output
    if words[1] == "train" and "-o" in words and "--resume" not in words:
        output = place / words[words.index("-o") + 1]
        for left in output.parent.glob(f"{output.stem}.*"):
            left.unlink()
        shutil.rmtree(output, ignore_errors=True)
    if words[1:3] == ["guandan", "replay"] and words[3].startswith("games/"):
        (place / "games").mkdir(exist_ok=True)
        if not (place / "match.jsonl").exists():
            _run(["gs2", "guandan", "play-random", "--record", "match.jsonl"], place)
        shutil.copy(place / "match.jsonl", place / words[3])
    if words[1:3] == ["guandan", "play-random"]:
        (place / "match.jsonl").unlink(missing_ok=True)


def _serve_or_play(command: str, place: Path) -> None:
    words = shlex.split(command)
    if SERVES.match(command):
        more = [] if "--port" in words else ["--port", "0"]
        if words[1] == "serve":
            more += ["--grace", "0"]
        else:
            more += ["--no-open", "--data", "tables", "--host", "127.0.0.1"]
            _prepare([word for word in words if word != "-o"], place)
        with served([*words, *more], place) as (process, _):
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 130
        assert "Traceback" not in (place / "serve.log").read_text()
    elif "--server" not in words:
        done = run_module("gs2.cli", *words[1:], cwd=place, said="hint\n?\nquit\n")
        assert done.returncode == 0 and "left the table" in done.stdout, done.stderr
        assert "Traceback" not in done.stderr
    else:
        others = ",".join(["first"] * (4 - max(1, words.count("--agent"))))
        with served(["gs2", "serve", "--port", "0", "--delay", "0", "--agents", others], place) as (_, url):
            words[words.index("--server") + 1] = url
            if "--room" in words:  # joined from elsewhere in the page
                at = words.index("--room")
                del words[at : at + 2]
            done = run_module("gs2.cli", *words[1:], cwd=place, said="0\n" * 2000)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
        assert "rounds" in done.stdout


OF_ANY_GAME = re.compile(rf"gs2 match ({LARGE}|leduc_poker)")
"""Forms of `gs2 match` that a command of its own reads; tests/commands run these."""
ARGPARSE = "python -m tests."
"""How a line begins whose program is not one of click's."""


def _program(module: str) -> click.Command:
    """Return the command that a module is when it is run by itself."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, f"there is no module {module}"
    named = re.search(r"^    run_alone\((\w+)\)$", Path(spec.origin).read_text(encoding="utf-8"), re.M)
    assert named is not None, f"{module} is no program"
    found: click.Command = getattr(import_module(module), named[1])
    return found


@pytest.mark.parametrize(
    "command", [c for _, c in DOCUMENTED if not OF_ANY_GAME.match(c) and not c.startswith(ARGPARSE)]
)
def test_the_words_of_every_command_are_read(command: str) -> None:
    if command.startswith("gs2 "):
        found, rest = _find(_words(command.replace("runs/annealed/last", "69M"))[1:])
    else:
        module, *words = shlex.split(command)[2:]
        found, rest = _find(words, _program(module))
    left = found.make_parser(click.Context(found)).parse_args(rest)[1]
    assert not [word for word in left if not word.endswith(".safetensors")]


@pytest.mark.parametrize("command", [c for _, c in DOCUMENTED if c.startswith(ARGPARSE)])
def test_a_program_of_the_tests_answers(command: str) -> None:
    module, *words = shlex.split(command)[2:]
    done = run_module(module, "--help")
    assert done.returncode == 0 and "usage" in done.stdout.lower(), done.stderr
    assert all(word in done.stdout for word in words if word.startswith("--"))
