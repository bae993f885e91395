"""Random command lines, most of them nonsense, run in this process and interrupted when they take long.

    python -m tests.commands.fuzz_lines SEED    # some, in an empty folder; prints those that end badly

An interruption may come at any step of any library and leave it as it was then: a lock of Numba's compiler
that nobody gives back, gradients that are off. So this is a process of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np
from click.testing import CliRunner

from gs2.cli import main
from tests.commands.tree import COMMANDS
from tests.patience import amount

INTERRUPT_AFTER = 2.0
"""Seconds after which a command is interrupted as by Ctrl-C, and again every second."""
HANGS_AFTER = 90
"""Interruptions that a command may ignore (kernels compile, processes start) before it counts as hanging."""
GOOD_CODES = (0, 1, 2, 130)
RULES = re.compile(
    r"must|not |no |got|needs|Missing|Invalid|did you mean|give |there is|one of|unexpected|requires|cannot"
    r"|No such|takes no|is damaged|a record is|is wanted|exists|begins|has four|choose|only"
)
"""Some word of a sentence that states a rule, or what is there instead."""

LISTED = """
NUMBERS         '' 0 -1 1e3 nan inf -inf 1e400 0x10 ½ ٣ 10_0 -- one
HUGE            9223372036854775807 9223372036854775808 100000000000000000000
TEXTS           '' 🂡 %s%n ../.. [bold]x [/x] :x: - =
GAMES           kuhn_poker kuhn_poker leduc_poker liars_dice(sides=2) goofspiel(cards=3,turns=2) kuhn_pokr
GAMES           liars_dice( liars_dice(sides=) liars_dice(sides=2 liars_dice(sides=0) liars_dice(=2) () )( :
GAMES           liars_dice(sides=100000000000000000000) liars_dice(sides=2,sides=2) leduc_poker()
GAMES           leduc_poker(ranks=NaN) goofspiel_5_random_3(cards=4) openspiel: openspiel:nope guandan
GAMES           openspiel:kuhn_poker openspiel:tic_tac_toe( nothing.py:Game garbage.bin:Game folder:x
AGENTS          random greedy first gredy blueprint@ gs2- gs2: gs2:deadline gs2:deadline=-1 gs2:nothing=1 :: @
AGENTS          gs2-fast@missing.safetensors gs2@garbage.bin garbage.bin folder missing.py:A garbage.bin:A
AGENTS          json:JSONDecoder no.module:A missing.safetensors empty.safetensors
SPECS           uniform cfr:5 cfr: cfr:-1 cfr:1e3 cfr:1000000001 cfr+:99999999999999999999999 dmc:5 dcfr:٣
SPECS           noise:0.5 noise:nan noise:2 network:0 good.npz garbage.bin empty folder missing.npz other.npz
SPECS           empty.safetensors
FILES           good.npz garbage.bin empty folder missing missing/below closed /dev/null record.jsonl new.out
FILES           neu→.out good.npz/below / . empty.safetensors grid
game            kuhn_poker kuhn_pokr liars_dice( guandan ''
older           big2 guandan kuhn_pokr ''
method          gs2+ gs2-d maxmargin gs3 0-klss -klss 99999-klss mirror-descent path gs2-d:k=1 gs2-d:k=
method          gs2-r:k=1,gadget=resolve gs2-d:k=99999999999999999999 gs2+:nothing=1 9999999999999999999-klss
methods         gs2+ gs2-d:k=1 gs2-d:k= gs2-d:k=0 gs2-d:nothing=1 : gs2-d:k=nan
modes           nested independent sideways
games           kuhn_poker kuhn_pokr liars_dice( ''
generator       all random diverse clusters nearest garbage.bin:f missing.py:f
gadget          unsafe resolve maxmargin reach-maxmargin path armour
leaf            exact value rollout continuations multi-valued play-on leaves
variant         cfr cfr+ dcfr pcfr+ cfr++
solver          cfr lp anchored mirror-descent simplex
certificate     none margin anchored shared path statistical sealed
source          follow duel garbage.bin empty folder missing
name            quick fast standard nothing
presets         fast nothing
level           2 A 11 T t joker
rules           ruling njupt paper house
url             ws://127.0.0.1:1 ws:// http://127.0.0.1:1 127.0.0.1 ws://[ ws://127.0.0.1:999999
host            127.0.0.1 localhost 256.1.1.1 ::1 nowhere.invalid 0.0.0.0
token           secret '' ünïcode
settings        rounds=4 rounds= =4 rounds=nan nothing=1 rounds=-1 rounds=1e99 passes=x =
sizes           state=16 state=0 state=-1 state=1e99 nothing=1 state
device          cpu cuda:99 tpu cuda:x
grep            K ( [ * \\ (?P<a
tried           trace=0.9 trace= nothing=1 trace=nan
variant_name    standard nothing
"""
"""Values of parameters, by the parameter's name or, in capitals, by kind; '' is the empty one."""
WORDS: dict[str, list[str]] = {}
for _name, *_values in map(str.split, LISTED.strip().splitlines()):
    WORDS.setdefault(_name, []).extend("" if value == "''" else value for value in _values)
NUMBERS, HUGE, TEXTS, GAMES, AGENTS, SPECS, FILES = (
    WORDS.pop(kind) for kind in ("NUMBERS", "HUGE", "TEXTS", "GAMES", "AGENTS", "SPECS", "FILES")
)
NUMBERS.append(" 1")
TEXTS += [" ", "x" * 3000, "\u202egs2", "a\nb", "'; rm", "\udcff"]
FILES.append("x" * 300)
INFOSETS = [
    "P0 holds K",
    "P1 holds Ks | raise",
    "P0 holds",
    "P9 holds K",
    "holds",
    "| |",
    "P0 holds K |",
    "P-1",
]
WORDS |= {"text": INFOSETS, "words": AGENTS, "against": AGENTS, "fallback": AGENTS}
WORDS |= {"spec": SPECS, "policy": SPECS, "blueprint": SPECS, "blueprints": SPECS, "agent": [*SPECS, *AGENTS]}
WORDS["source"].append('{"level": 1}')
WORDS["token"].append("a b")
TINY = (
    "--minutes 0 --rounds 1 --evaluate-minutes 0 --threads 1 --set rounds=4 --set batch=64 "
    "--network state=16 --network blocks=1 --network action=16 --network critic=16"
)
SMALL = {
    "match": "--pairs 1 --processes 1",
    "ladder": "--pairs 1 --processes 1",
    "match kuhn_poker": "--pairs 1",
    "match doudizhu": "--pairs 1",
    "ladder kuhn_poker": "--pairs 1",
    "train kuhn_poker": "-o net.safetensors --decisions 1 --set width=8 --set episodes=4",
    "train doudizhu": "-o ddz --decisions 1 --set rounds=4 --set state=16 --set action=8 --set critic=8",
    "gate": "--pairs 100 --batch 100 --processes 1",
    "exploit": "--minutes 0.001 --games 2",
    "train": TINY,
    "train guandan": f"-o run {TINY}",
    "serve": "--port 0 --grace 0",
    "play": "--server ws://127.0.0.1:1",
    "web": "--port 0 --no-open --data tables",
    "experiment refine": "--game kuhn_poker --iterations 2 --seeds 1 --workers 1",
}
"""Budgets that a line starts with; what is drawn comes after them and counts."""
BUDGETS = frozenset(
    {
        *("iterations", "rounds", "games", "seconds", "minutes", "repeats", "deals", "pairs", "playouts"),
        *("hands", "sample", "workers", "processes", "threads", "held_out", "window", "deadline", "worlds"),
        *("max_order", "limit", "limits", "seeds", "depth", "k", "room", "batch", "tables"),
    }
)
"""Parameters that say how much is done: what is drawn is small, or refused."""


@dataclass
class Drawn:
    """Draws command lines from one generator."""

    rng: np.random.Generator

    def one(self, values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def value(self, parameter: click.Parameter) -> str:
        """Return a value for a parameter: valid, at the border, or nonsense."""
        name, kind = parameter.name or "", parameter.type
        if self.chance(0.1):
            return str(self.one(TEXTS))
        if isinstance(kind, click.Choice):
            return str(self.one((*kind.choices, *kind.choices, "", "nothing", str(kind.choices[0]).upper())))
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
            low = getattr(kind, "min", None)
            border = () if low is None else (str(low), str(low - 1), str(low + 1))
            small = ("1", "2", "1", "2") if name in BUDGETS else ("1", "7", "0.5")
            return str(self.one((*small, *border, *NUMBERS, *HUGE)))
        if kind.name == "game":
            return str(self.one(GAMES))
        if name in WORDS:
            return str(self.one(WORDS[name]))
        if kind.name == "agent":
            return str(self.one(AGENTS))
        if isinstance(kind, click.Path) or kind.name in ("path", "file", "directory"):
            return str(self.one(FILES))
        return str(self.one((*TEXTS, *FILES, *NUMBERS)))

    def line(self) -> list[str]:
        """Return the words of a command line."""
        path, command = self.one(COMMANDS)
        words = [*path, *SMALL.get(" ".join(path), "").split()]
        if self.chance(0.02):
            words[0] = self.one((words[0][:-1] + "x", "", "--nothing", *TEXTS))
        after: list[str] = []
        for parameter in command.params:
            if (
                isinstance(parameter, click.Argument)
                and parameter.name in ("game", "text")
                and len(path) == 2
            ):
                continue  # it stands in front
            if isinstance(parameter, click.Argument):
                some = 1 if parameter.nargs == 1 else int(self.rng.integers(0, 4))
                if parameter.required or self.chance(0.7):
                    after += [self.value(parameter) for _ in range(some if not self.chance(0.05) else 0)]
            elif isinstance(parameter, click.Option) and self.chance(0.9 if parameter.required else 0.25):
                flag = self.one((*parameter.opts, *parameter.secondary_opts))
                for _ in range(2 if parameter.multiple and self.chance(0.3) else 1):
                    words += [flag] if parameter.is_flag or parameter.count else [flag, self.value(parameter)]
        if self.chance(0.03):
            words.append(self.one(("--nothing", "-Z", "--seed", "--help")))
        if any(value.startswith("-") for value in after) and self.chance(0.5):
            words.append("--")
        return words + after


class HangError(BaseException):
    """A command that does not end when it is interrupted."""


@contextmanager
def interrupted() -> Iterator[None]:
    """Interrupt what runs in the block when it takes long, as a person would: again and again."""
    asked = 0

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked > HANGS_AFTER:
            raise HangError
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGALRM, ask)
    signal.setitimer(signal.ITIMER_REAL, INTERRUPT_AFTER, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fill(place: Path) -> None:
    """Fill the folder in which the lines are run with files of every kind."""
    import torch._dynamo  # noqa: F401  # an import that is interrupted half way breaks all that come after it

    import experiments.commands  # noqa: F401
    import gs2.guandan.table  # noqa: F401

    os.environ["BROWSER"] = "true"  # the program that shows no page
    os.environ["XDG_DATA_HOME"] = str(place / "data")
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    (place / "garbage.bin").write_bytes(np.random.default_rng(0).bytes(5000))
    for name in ("empty", "empty.safetensors", "closed"):
        (place / name).write_bytes(b"")
    (place / "closed").chmod(0)
    (place / "folder").mkdir()
    (place / "grid").mkdir()
    (place / "grid" / "grid.json").write_text('{"name": 3}')
    for game, name in (("kuhn_poker", "good.npz"), ("leduc_poker", "other.npz")):
        done = CliRunner().invoke(main, ["blueprint", game, "--iterations", "3", "-o", name])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["guandan", "play-random", "--record", "record.jsonl"])
    assert done.exit_code == 0, done.output


def complaint(words: list[str]) -> str | None:
    """Run a command line in this process; return what is wrong with how it ended, if anything."""
    import torch

    torch.set_grad_enabled(True)  # an interruption at the wrong moment leaves it off for this process
    try:
        with interrupted():
            result = CliRunner().invoke(main, words, input="")
    except (HangError, KeyboardInterrupt) as error:
        return "hangs" if isinstance(error, HangError) else "the interruption came through"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"raises {result.exception!r}"[:500]
    if result.exit_code not in GOOD_CODES:
        return f"exit code {result.exit_code}"
    if "Traceback" in result.output:
        return f"prints a traceback: {result.output[-800:]}"
    if result.exit_code == 0 and not result.output.strip():
        return "does nothing, silently"
    if result.exit_code == 2 and not RULES.search(result.stderr):
        return f"does not say the rule: {result.stderr[-300:]!r}"
    return None


def run_lines(seed: int) -> list[str]:
    """Return what is wrong with how some lines ended: fifteen with --long."""
    draw = Drawn(np.random.default_rng(seed))
    found = []
    for _ in range(amount(15, 8)):
        words = draw.line()
        wrong = complaint(words)
        if wrong is not None:
            found.append(f"gs2 {shlex.join(words)[:400]}\n    {wrong}")
    return found


if __name__ == "__main__":
    fill(Path.cwd())
    for line in run_lines(int(sys.argv[1])):
        print(line)
