"""Clusters of alike rows: few, the same again, and alike for equal features."""

from __future__ import annotations

import numpy as np
import pytest

from gs2.search.subgame.buckets import cluster_rows


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_few_deterministic_and_alike_for_equal_features(seed) -> None:
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(40, 3)), 1)
    features[::4] = features[0]
    k = int(rng.integers(1, 9))
    found = cluster_rows(features, k, seed=seed)
    assert np.array_equal(found, cluster_rows(features * 7 + 3, k, seed=seed))
    assert len(np.unique(found)) <= k
    assert len(np.unique(found[::4])) == 1
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1))
    first = np.unique(found, return_index=True)[1]
    assert np.all(np.diff(first) > 0)
    far = np.where(np.arange(40) < 20, 0.0, 100.0) + rng.normal(size=40)
    two = cluster_rows(far, 2, seed=seed)
    assert np.array_equal(two, (np.arange(40) >= 20).astype(int))


def test_features_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        cluster_rows(np.array([1.0, np.nan]), 2)
    with pytest.raises(ValueError, match="k must be"):
        cluster_rows(np.ones(3), 0)
    assert len(cluster_rows(np.zeros((0, 2)), 3)) == 0
