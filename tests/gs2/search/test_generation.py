"""Generation functions against brute force and their own contract; the printed programme: `test_plain`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.support.contract import ContractError
from gs2.search.config.stages import WEIGHTED_GENERATORS
from gs2.search.generation import (
    GENERATORS,
    GenerationError,
    check_generator,
    cluster_histories,
    diverse_histories,
    diverse_subset,
    generate,
    strata_bounds,
)
from tests.patience import amount
from tests.reference.diverse import diverse_subset_by_brute_force, gap_cost

ROUNDING = 1e-12


@given(
    st.lists(st.floats(-10, 10, allow_nan=False).map(lambda x: round(x, 1)), min_size=3, max_size=10),
    st.integers(2, 8),
)
@settings(max_examples=amount(150), deadline=None)
def test_the_diverse_subset_costs_as_little_as_the_best_of_all_subsets(values, k):
    values = np.array(values)
    k = min(k, len(values) - 1)
    chosen = diverse_subset(values, k)
    assert len(set(chosen.tolist())) == k
    assert gap_cost(values, chosen) == pytest.approx(
        diverse_subset_by_brute_force(values, k), rel=ROUNDING, abs=ROUNDING
    )


def test_both_extremes_are_kept_one_choice_falls_in_the_middle_and_no_weight_is_chosen_last():
    values = np.array([3.0, -1.0, 7.0, 2.9, 3.2])
    assert set(values[diverse_subset(values, 2)]) == {-1.0, 7.0}
    assert values[diverse_subset(values, 1)].tolist() == [3.0]
    assert sorted(diverse_subset(values, 9).tolist()) == [0, 1, 2, 3, 4]
    for wrong, k in ((values, 0), (values[:0], 1), (values[:, None], 1), (values * np.nan, 1)):
        with pytest.raises(GenerationError):
            diverse_subset(wrong, k)
    values, weights = np.array([-5.0, 0.0, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, 1.0, 1.0, 0.0])
    two, four = (diverse_histories(values, weights, k, np.random.default_rng(0)) for k in (2, 4))
    assert values[two].tolist() == [0.0, 2.0] and len(four) == 4


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_keeps_the_contract(name):
    check_generator(lambda *given: generate(name, *given)[0], np.random.default_rng(5))


def changes_what_it_is_given(values, weights, k, rng):
    values[:] = 0
    return np.arange(min(k, len(values)))


@pytest.mark.parametrize(
    "broken",
    [
        lambda values, weights, k, rng: None,
        lambda values, weights, k, rng: np.zeros(k, np.int64),
        lambda values, weights, k, rng: np.arange(k) / 2,
        lambda values, weights, k, rng: np.arange(min(k, len(values))) - 1,
        lambda values, weights, k, rng: np.arange(len(values) + 1),
        lambda values, weights, k, rng: np.arange(0),
        lambda values, weights, k, rng: np.sort(np.random.default_rng().permutation(len(values))[:k]),
        changes_what_it_is_given,
    ],
)
def test_the_contract_check_refuses_what_chooses_no_histories(broken):
    with pytest.raises(ContractError, match="got"):
        check_generator(broken, np.random.default_rng(0))


def test_clusters_keep_one_history_of_each_clump_of_vectors():
    rng = np.random.default_rng(2)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    values = np.concatenate([c + 0.1 * rng.normal(size=(6, 2)) for c in centres])
    chosen = cluster_histories(values, np.ones(18), 3, rng)
    assert (chosen // 6).tolist() == [0, 1, 2]


def test_bad_input_names_the_rule_and_the_value():
    with pytest.raises(GenerationError, match="at least 1; got 0"):
        generate("diverse", np.array([1.0, 2.0]), np.ones(2), 0, np.random.default_rng(0))
    with pytest.raises(GenerationError, match="clusters"):
        diverse_histories(np.zeros((4, 2)), np.ones(4), 2, np.random.default_rng(0))
    with pytest.raises(GenerationError, match="one of all, random"):
        generate("nearest", np.zeros(3), np.ones(3), 2, np.random.default_rng(0))
    with pytest.raises(GenerationError, match="use the generator 'belief'"):
        generate("strata", np.zeros((3, 2)), np.ones(3), 2, np.random.default_rng(0))


def drawn_cases(n: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return values with ties, weights with zeros and a dominant one, and numbers of histories to keep."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(n):
        m = int(rng.integers(2, 9))
        values = np.round(rng.normal(size=m), int(rng.integers(0, 3)))
        weights = rng.random(m) ** int(rng.integers(1, 6)) * (rng.random(m) < 0.85)
        weights[int(rng.integers(m))] += 0.1
        found.append((values, weights, int(rng.integers(1, m + 1))))
    return found


@pytest.mark.parametrize("name", WEIGHTED_GENERATORS)
def test_weighted_samples_carry_the_reach_of_all_without_bias(name):
    draws = amount(1500, 600)
    for values, weights, k in drawn_cases(amount(12, 4)):
        rng = np.random.default_rng(3)
        carried = np.zeros((draws, len(values)))
        for row in carried:
            rows, row_carried = generate(name, values, weights, k, rng)
            row[rows] = row_carried
            assert len(rows) == min(k, len(values))
            assert row.sum() == pytest.approx(weights.sum())
        # Five standard errors, and what so many draws may never meet.
        error = 5 * carried.std(axis=0) / np.sqrt(draws) + 5 * weights.sum() / draws
        assert np.all(np.abs(carried.mean(axis=0) - weights) <= error)
        whole = generate(name, values, weights, len(values), rng)[1]
        assert np.array_equal(whole, weights)


def test_strata_have_the_least_variance_of_all_consecutive_ones():
    rng = np.random.default_rng(0)
    for _ in range(20):
        m = int(rng.integers(3, 9))
        values, weights = np.sort(rng.normal(size=m).round(1)), rng.random(m) + 0.01
        k = int(rng.integers(1, m + 1))

        def variance(bounds, values=values, weights=weights):
            parts = [slice(start, end) for start, end in itertools.pairwise(bounds)]
            means = [np.average(values[part], weights=weights[part]) for part in parts]
            return sum(
                weights[part].sum() * (weights[part] @ (values[part] - mean) ** 2)
                for part, mean in zip(parts, means, strict=True)
            )

        least = min(variance((0, *cuts, m)) for cuts in itertools.combinations(range(1, m), k - 1))
        assert variance(strata_bounds(values, weights, k)) == pytest.approx(least, rel=1e-9, abs=ROUNDING)
