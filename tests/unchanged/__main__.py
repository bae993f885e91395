"""Whether results are what they were: decisions, matches, a training step and stored rows, recorded once.

    python -m tests.unchanged check            everything again, beside what was recorded (minutes)
    python -m tests.unchanged check --quick    the quick part alone, which the tests run too
    python -m tests.unchanged check decisions rows     some parts: decisions, matches, training, rows
    python -m tests.unchanged record --root DIR        record, from the checkout DIR

The first thing that differs is named with its place: the round, the seat and both moves; the cell and both
values. On a machine of the kind recorded on, everything agrees to the bit. On another the sums of the network
and of the solvers round otherwise: there `check` says so, and wants 99.5 % of each group's decisions and the
leading digits of each value. The stored rows come from a processor for which OpenBLAS has AVX-512 kernels;
with `OPENBLAS_CORETYPE=SkylakeX` another one with AVX-512 computes them to the last digit too.

Playthroughs and transcripts have tests of their own (`tests/games/test_playthroughs.py`,
`tests/gs2/guandan/table/wire/test_documented_messages.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.unchanged.checkout import use_checkout


def main() -> int:
    """Return the exit status: 0 if nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.unchanged", description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("record", "check"))
    parser.add_argument("parts", nargs="*", help="decisions, matches, training, rows (default: all)")
    parser.add_argument("--root", type=Path, default=Path("."), help="the checkout whose code runs")
    parser.add_argument("--quick", action="store_true", help="check the quick part alone")
    chosen = parser.parse_args()
    use_checkout(chosen.root)
    from tests.unchanged.compare import PARTS, check, read_recorded, record
    from tests.unchanged.machine import machine, same_machine

    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"parts must be among {', '.join(PARTS)}; got {', '.join(sorted(unknown))}")
    parts = tuple(chosen.parts) or PARTS

    def tell(what: str) -> None:
        print(f"… {what}", file=sys.stderr, flush=True)

    if chosen.command == "record":
        record(chosen.root, parts, tell)
        return 0
    expected, _ = read_recorded()
    here = machine()
    print(f"recorded at commit {expected['commit']} on {expected['machine']['cpu']}")
    if not same_machine(expected["machine"], here):
        apart = {k: (v, here.get(k)) for k, v in expected["machine"].items() if here.get(k) != v}
        words = "; ".join(f"{name} {there} → {now}" for name, (there, now) in apart.items())
        print(f"this machine is another, so rounding may differ: {words}")
    counted: Counter[tuple[str, str]] = Counter()
    for finding in check(parts, quick=chosen.quick, tell=tell):
        counted[finding.part, finding.status] += 1
        print(f"{finding.status:12} {finding.part:9} {finding.name}  {finding.text}", flush=True)
    for (part, status), number in sorted(counted.items()):
        print(f"{part}: {number} {status}")
    return int(any(status == "differs" for _, status in counted))


if __name__ == "__main__":
    sys.exit(main())
