#!/usr/bin/env python3
"""Golden values of crates/base/stats/src/change_points.rs, by the definition of Matteson and James (2014).

The statistic of a split is written out pair by pair, and checked against SciPy's energy distance, which
divides the sums within the parts by n² instead of n (n − 1). p-values of short series are exact, over all
orders of the values; of long series they are of 100,000 random orders.
"""
import itertools
import json
import pathlib

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20261124)


def statistic(x, at):
    a, b = x[:at], x[at:]
    n, m = len(a), len(b)
    between = np.abs(a[:, None] - b[None]).mean()
    within = [np.abs(p[:, None] - p[None]).sum() / (len(p) * (len(p) - 1)) for p in (a, b)]
    by_scipy = stats.energy_distance(a, b) ** 2
    biased = 2 * between - within[0] * (n - 1) / n - within[1] * (m - 1) / m
    assert np.isclose(by_scipy, biased), (by_scipy, biased)
    return n * m / (n + m) * (2 * between - sum(within))


def best(x, least):
    """All splits of many orders at once: rows are orders. The best statistic of each."""
    n = x.shape[1]
    d = np.abs(x[:, :, None] - x[:, None, :])
    found = np.full(len(x), -np.inf)
    for at in range(least, n - least + 1):
        m = n - at
        between = d[:, :at, at:].mean(axis=(1, 2))
        first = d[:, :at, :at].sum(axis=(1, 2)) / (at * (at - 1))
        second = d[:, at:, at:].sum(axis=(1, 2)) / (m * (m - 1))
        found = np.maximum(found, at * m / n * (2 * between - first - second))
    return found


def split(x, least):
    """Every statistic, the best place, and the p-value of the best split of the ranks."""
    x = np.asarray(x, dtype=float)
    places = range(least, len(x) - least + 1)
    ranks = stats.rankdata(x)
    of_ranks = [statistic(ranks, at) for at in places]
    if len(x) <= 8:
        orders = np.array(list(itertools.permutations(ranks)))
    else:
        orders = np.array([rng.permutation(ranks) for _ in range(100_000)])
    seen = max(of_ranks)
    rows = np.concatenate([best(part, least) for part in np.array_split(orders, 100)])
    return {"values": x.tolist(), "least": least,
            "statistics": [statistic(x, at) for at in places],
            "at": int(places[int(np.argmax([statistic(x, at) for at in places]))]),
            "rank_at": int(places[int(np.argmax(of_ranks))]), "rank_statistic": seen,
            "p": float(np.mean(rows >= seen * (1 - 1e-9)))}


step = np.concatenate([rng.normal(10, 1, 8), rng.normal(13, 1, 6)]).round(3)
golden = {
    "versions": {"scipy": scipy.__version__, "numpy": np.__version__},
    "splits": [
        split(rng.normal(10, 1, 8).round(3), 3),
        split([1, 2, 3, 4, 11, 12, 13, 14], 3),
        split([5, 5, 6, 5, 9, 9, 8, 9], 2),
        split(step, 3),
        split(rng.lognormal(3, 0.2, 16).round(3), 3),
        # One spike at the end.
        split(np.append(rng.normal(10, 1, 15), 500).round(3), 3),
    ],
}
path = pathlib.Path(__file__).parents[2] / "testdata/golden/change_points.json"
path.write_text(json.dumps(golden, indent=1) + "\n")
