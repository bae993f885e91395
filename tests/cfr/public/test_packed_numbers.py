"""Numbers in 16 bits lose little, keep their mean, and solve games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cfr.engine.simd import LANES, Packed, address, store, take, unpacked, zeros_packed
from cfr.public.policies.public_policy import PublicPolicy, evaluate_policy
from cfr.public.public_solver import PublicSolver, solver_bytes
from cfr.variants import VARIANTS, variant
from games.support.kernel import kernel
from tests.cfr.public.setting import both
from tests.patience import amount
from tests.reference.packed_numbers import slow_pack

STEP = 2.0**-14
"""What a number loses at most, of the largest of the eight."""


@kernel
def copy_into(numbers: Any, given: Any, out: Any) -> None:
    source, target, back = address(given), address(numbers), address(out)
    for k in range(0, len(given), 8):
        store(target, k, take(source, k))
        store(back, k, take(target, k))


def packed(given: NDArray[np.float32], tick: int = 1) -> tuple[Packed, NDArray[np.float32]]:
    """Return numbers packed by the kernels in a round, and what the kernels make of them again."""
    numbers, back = zeros_packed(len(given), np.array([tick], np.int32)), np.empty_like(given)
    copy_into(numbers, given, back)
    return numbers, back


def some_numbers(seed: int, n: int = 64) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    spread = np.repeat(10.0 ** rng.uniform(-36, 30, n // LANES), LANES)
    numbers = rng.normal(size=n) * spread * 10.0 ** rng.uniform(-6, 0, n) * (rng.random(n) < 0.8)
    return numbers.astype(np.float32)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.some(7)
def test_numbers_are_packed_as_one_by_one(seed: int) -> None:
    given = some_numbers(seed)
    (whole, exponents, tick), back = packed(given, 3 * seed + 1)
    for k in range(0, len(given), LANES):
        wanted, exponent = slow_pack(given[k : k + LANES], k, 3 * seed + 1)
        assert whole[k : k + LANES].tolist() == wanted and exponents[k // LANES] == exponent
    assert np.array_equal(unpacked((whole, exponents, tick), slice(0, len(given))), back)
    largest = np.repeat(np.abs(given).reshape(-1, LANES).max(1), LANES)
    assert (np.abs(back - given) <= STEP * largest + 2.0**-126).all()
    again, same = packed(back, 5)  # what fits is not rounded again
    assert np.array_equal(again[0], whole) and np.array_equal(same, back)


def test_a_sum_of_small_parts_keeps_its_mean() -> None:
    """Each part is a tenth of a step: rounded to the nearest, none would ever count."""
    parts, n = 2000, 512
    total = np.ones(n, np.float32)
    small = np.float32(0.1 * 2.0**-14)
    for t in range(parts):
        total[1::LANES] += small
        total[0::LANES] = 1.9
        _, total = packed(total, t)
    gained = float(total[1::LANES].mean()) - 1.0
    error = float(total[1::LANES].std()) / np.sqrt(n / LANES)
    assert abs(gained - parts * float(small)) < 5 * error


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.some(4)
def test_solvers_in_16_and_32_bits_do_what_those_in_64_do(name: str, alternating: bool) -> None:
    kind = variant(name, alternating=alternating)
    single = [np.float32] if alternating or amount(1, 0) else []  # held regrets are a kernel of their own
    for game in ("leduc_poker", "liars_dice(sides=4)", "random 3"):
        tree = both(game).tree
        dtypes = (np.float64, np.int16, *single)
        solvers = [PublicSolver(tree, kind, dtype=dtype, threads=1) for dtype in dtypes]
        for n, bound in ((1, 1e-3), (6, 3e-2), (amount(93, 13), 3e-2)):
            for solver in solvers:
                solver.run(n)
            found = [solver.exploitability() for solver in solvers]
            assert np.ptp(found) < bound * tree.payoff_scale, (game, n)
            assert n > 1 or abs(found[0] - found[-1]) < 1e-5 * tree.payoff_scale or not single, game
        read = evaluate_policy(PublicPolicy.of(solvers[1])).exploitability
        assert read == pytest.approx(solvers[1].exploitability(), abs=1e-4 * tree.payoff_scale)


def test_what_is_kept_takes_little_more_than_half() -> None:
    tree = both("liars_dice(dice=2,sides=2)").tree
    rest = tree.nbytes + 2 * 4 * len(tree)
    solver = PublicSolver(tree, dtype=np.int16, threads=1)
    held = sum(part.nbytes for side in solver.sides for k in (0, 2) for part in side[k][:2])
    taken = {d: solver_bytes(tree, "dcfr", d) - rest for d in (np.float32, np.int16)}
    payoffs = sum(array.nbytes for paid in solver.sweeper.payoffs for array in paid[:6])
    assert taken[np.int16] == held + payoffs
    assert (taken[np.int16] - payoffs) / (taken[np.float32] - payoffs) == 17 / 32
