#!/usr/bin/env python3
"""Golden values of crates/base/stats/src/permute.rs and student.rs, from SciPy and NumPy.

Permutation p-values are scipy.stats.permutation_test's; the step-down max-T procedure and the
pseudo-F have no counterpart there and are written out by their definitions, permutation by permutation.
"""
import itertools
import json
import pathlib

import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(20261121)


def pooled_t(a, b):
    return stats.ttest_ind(b, a).statistic


def permutations(n, second):
    for chosen in itertools.combinations(range(n), second):
        yield np.isin(np.arange(n), chosen)


def step_down(rows, seen):
    """Westfall and Young (1993), algorithm 4.1, over all permutations."""
    order = np.argsort(-seen, kind="stable")
    adjusted, greatest = np.zeros(len(seen)), 0.0
    for rank, place in enumerate(order):
        rest = order[rank:]
        share = np.mean(rows[:, rest].max(axis=1) >= seen[place] * (1 - 1e-9))
        greatest = max(greatest, share)
        adjusted[place] = greatest
    return adjusted


def grouped(first, second, statistics, shift):
    """Units in rows, statistics in columns."""
    x = rng.lognormal(0, 0.3, size=(first + second, statistics))
    x[first:, 0] += shift
    x[:, -1] = np.round(x[:, -1], 1)  # ties
    seen = np.arange(first + second) >= first
    rows = np.array([
        [abs(pooled_t(x[~d, c], x[d, c])) for c in range(statistics)]
        for d in permutations(first + second, second)
    ])
    seen_t = np.array([abs(pooled_t(x[~seen, c], x[seen, c])) for c in range(statistics)])
    alone = []
    for c in range(statistics):
        test = stats.permutation_test(
            (x[~seen, c], x[seen, c]), lambda a, b: abs(pooled_t(a, b)),
            n_resamples=np.inf, alternative="greater")
        alone.append(test.pvalue)
    return {"first": first, "units": x.tolist(), "t": seen_t.tolist(), "p": alone,
            "p_adjusted": step_down(rows, seen_t).tolist()}


def paired(pairs, shift):
    d = rng.normal(shift, 1.0, size=pairs)
    t = stats.ttest_1samp(d, 0).statistic
    test = stats.permutation_test(
        (d,), lambda x: abs(stats.ttest_1samp(x, 0).statistic), permutation_type="samples",
        n_resamples=np.inf, alternative="greater")
    return {"differences": d.tolist(), "t": t, "p": test.pvalue}


def pseudo_f(first, second):
    points = rng.normal(size=(first + second, 3))
    points[first:] += 1.0
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    n = first + second
    total = (distance ** 2).sum() / 2 / n
    within = sum((distance[np.ix_(g, g)] ** 2).sum() / 2 / len(g)
                 for g in (range(first), range(first, n)))
    return {"first": first, "distances": distance.tolist(),
            "root_f": float(np.sqrt((total - within) / (within / (n - 2))))}


def student(n, m):
    a, b = rng.lognormal(1, 0.4, n), rng.lognormal(1.2, 0.6, m)
    test = stats.ttest_ind(b, a)
    welch = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    mean = stats.t.interval(0.9, n - 1, loc=a.mean(), scale=stats.sem(a))
    return {"a": a.tolist(), "b": b.tolist(), "t": test.statistic, "p": test.pvalue,
            "welch_interval": [welch.low, welch.high], "mean_interval": list(mean)}


golden = {
    "versions": {"scipy": scipy.__version__, "numpy": np.__version__},
    "grouped": [grouped(5, 5, 6, 0.8), grouped(4, 5, 3, 0.0), grouped(3, 6, 4, 1.5)],
    "paired": [paired(10, 0.0), paired(8, 1.2)],
    "pseudo_f": [pseudo_f(5, 5), pseudo_f(3, 7)],
    "student": [student(5, 5), student(3, 9), student(2, 2)],
}
path = pathlib.Path(__file__).parents[2] / "testdata/golden/permute.json"
path.write_text(json.dumps(golden, indent=1) + "\n")
