#!/usr/bin/env python3
"""Writes testdata/golden/compare.json: what SciPy, statsmodels and NetworkX say about samples that
crates/stats is then asked about. Where they say nothing (ties in exact tests, limits beyond their
tables), the answer is counted out or integrated here, by other means than the crate's.

    python -m venv venv && venv/bin/pip install -r scripts/golden/requirements.txt
    venv/bin/python scripts/golden/compare.py
"""

import itertools
import json
import pathlib
import platform

import networkx
import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

OUT = pathlib.Path(__file__).parents[2] / "testdata/golden/compare.json"


def lattice(n, step, modulo, shift=0):
    """Whole numbers that look drawn, and that need no generator to be had elsewhere again."""
    return [i * step % modulo + shift for i in range(n)]


def drawn(seed, n, kind="lognorm", scale=1.0, digits=4):
    draws = np.random.default_rng(seed)
    numbers = {
        "lognorm": lambda: draws.lognormal(0, 0.6, n),
        "norm": lambda: draws.normal(0, 1, n),
        "expon": lambda: draws.exponential(1, n),
    }[kind]()
    return [round(float(x) * scale, digits) for x in numbers]


PAIRS = {
    "three and four": ([1.0, 2.0, 3.0], [2.5, 3.5, 4.5, 5.5]),
    "one and one": ([1.0], [2.0]),
    "one and many": ([0.3], drawn(1, 12)),
    "apart": (lattice(9, 4, 97), lattice(11, 5, 97, 1000)),
    "alike": (drawn(2, 40), drawn(3, 35)),
    "shifted": (drawn(4, 60), [x + 0.25 for x in drawn(5, 50)]),
    "scaled": (drawn(6, 150), drawn(7, 120, scale=1.4)),
    "ties": (drawn(8, 30, digits=0), drawn(9, 25, digits=0)),
    "many ties": (drawn(10, 200, digits=1), drawn(11, 180, scale=1.2, digits=1)),
    "normal": (drawn(12, 100, "norm"), drawn(13, 100, "norm")),
}

LATTICES = [
    ((5000, 7919, 10007, 0), (4000, 104729, 10009, 100)),
    ((20000, 7919, 100003, 0), (30000, 104729, 100019, 400)),
    ((20000, 7919, 503, 0), (30000, 104729, 509, 0)),
]


def pair(a, b):
    return {"a": [float(x) for x in a], "b": [float(x) for x in b]}


def ks_pairs():
    for name, (a, b) in PAIRS.items():
        exact = stats.ks_2samp(a, b, method="exact")
        limit = stats.ks_2samp(a, b, method="asymp")
        ties = len(set(a) | set(b)) < len(a) + len(b)
        # SciPy's exact p-value is that of continuous samples.
        yield pair(a, b) | {
            "name": name,
            "distance": exact.statistic,
            "at": exact.statistic_location,
            "exact": None if ties else exact.pvalue,
            # Half a number, rounded to none, has no distribution.
            "limit": None if np.isnan(limit.pvalue) else limit.pvalue,
        }


def ks_lattices():
    for a, b in LATTICES:
        found = stats.ks_2samp(lattice(*a), lattice(*b), method="asymp")
        yield {"a": a, "b": b, "distance": found.statistic, "p": found.pvalue}


def arrangements(a, b, statistic):
    """P(statistic of a random arrangement >= that of this one), all of them looked at."""
    pooled = list(a) + list(b)
    seen = statistic(a, b)
    hits = total = 0
    for chosen in itertools.combinations(range(len(pooled)), len(a)):
        first = [pooled[i] for i in chosen]
        second = [x for i, x in enumerate(pooled) if i not in chosen]
        hits += statistic(first, second) >= seen - 1e-12
        total += 1
    return hits / total


def ks_with_ties():
    for a, b in [
        ([1, 1, 2, 3, 3], [2, 3, 4, 4, 4]),
        ([1, 1, 1, 2], [1, 2, 2, 2, 2, 2]),
        ([5, 5, 5], [5, 5, 5, 5]),
        ([1, 2, 2, 3, 5, 5, 6], [2, 2, 4, 5, 7, 7]),
    ]:
        p = arrangements(a, b, lambda x, y: stats.ks_2samp(x, y, method="asymp").statistic)
        yield pair(a, b) | {"p": p}


def kolmogorov():
    for n in [1, 2, 3, 5, 10, 40, 100, 140, 141, 200, 400, 401, 1000, 10_000, 500_000, 2_000_000]:
        for z in [0.3, 0.5, 0.8, 1.0, 1.3, 1.48, 1.6, 1.9, 2.1, 3.0, 6.0, 12.0]:
            d = z / np.sqrt(n)
            if d < 1:
                p = stats.kstwo.sf(d, n)
                if n > 100_000 and p < 0.01:
                    # SciPy leaves out 4/9 n d^4 of the exponent. Birnbaum and Tingey's sum has it.
                    j = np.arange(int(n * (1 - d)))
                    p = 2 * d * np.sum(stats.binom.pmf(j, n, d + j / n) / (d + j / n))
                yield {"n": n, "distance": d, "p": p}


def ks_one():
    for name, (a, _) in PAIRS.items():
        if name in ("normal", "alike", "three and four", "many ties"):
            norm = stats.ks_1samp(a, stats.norm.cdf)
            yield {"values": a, "distance": norm.statistic, "p": norm.pvalue}


def multiple():
    for p in [
        [0.01, 0.04, 0.03, 0.005],
        [0.5],
        [0.2, 0.2, 0.2],
        [0.0, 1.0, 0.9, 0.001, 0.001, 0.04],
        [round(i * 37 % 101 / 101, 4) for i in range(45)],
    ]:
        yield {
            "p": p,
            "holm": list(multipletests(p, method="holm")[1]),
            "benjamini_hochberg": list(stats.false_discovery_control(p)),
        }


def resampled_quantile():
    """The exact distribution of a resampled quantile: P(rank <= k) = P(Bin(n, k/n) >= r)."""
    for values, q in [(drawn(20, 30), 0.5), (drawn(21, 200), 0.9), (lattice(50, 7, 11), 0.25)]:
        n = len(values)
        r = int(np.ceil(q * n - 1e-9))
        ordered = sorted(values)
        cdf = [float(stats.binom.sf(r - 1, n, k / n)) for k in range(1, n + 1)]
        yield {"values": values, "q": q, "sorted": ordered, "cdf": cdf}


def quantile_difference():
    for name, q in [("shifted", 0.5), ("scaled", 0.9), ("many ties", 0.75)]:
        a, b = PAIRS[name]

        def change(x, y, axis=-1):
            quantile = lambda v: np.quantile(v, q, axis=axis, method="inverted_cdf")
            return quantile(y) - quantile(x)

        found = stats.bootstrap(
            (a, b), change, method="percentile", n_resamples=40_000, rng=np.random.default_rng(7)
        )
        low, high = found.confidence_interval
        yield pair(a, b) | {"q": q, "difference": change(a, b), "low": low, "high": high}


def welch():
    for a, b in [
        ([10.1, 10.4, 9.8, 10.0, 10.2], [10.6, 10.9, 10.3, 11.0, 10.5]),
        ([1.0, 2.0], [1.5, 9.0, 4.0]),
        ([5.0, 5.0, 5.0], [5.1, 5.3, 5.2]),
    ]:
        found = stats.ttest_ind(b, a, equal_var=False)
        interval = found.confidence_interval(0.95)
        yield pair(a, b) | {"p": found.pvalue, "low": interval.low, "high": interval.high}


def student():
    for degrees in [1, 1.7, 2, 4, 8, 30, 400]:
        for tail in [0.1, 0.025, 0.005, 1e-4]:
            yield {"degrees": degrees, "tail": tail, "t": stats.t.isf(tail, degrees)}


TOPICS = [
    ks_pairs,
    ks_lattices,
    ks_with_ties,
    kolmogorov,
    ks_one,
    multiple,
    resampled_quantile,
    quantile_difference,
    welch,
    student,
]


def plain(x):
    """NumPy's numbers are no JSON."""
    return x.item() if isinstance(x, np.generic) else list(x)


def main():
    golden = {
        "written by": "scripts/golden/compare.py",
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
            "networkx": networkx.__version__,
        },
    }
    for topic in TOPICS:
        golden[topic.__name__] = list(topic())
    with OUT.open("w") as file:
        # A line for each case: a change is seen where it is.
        file.write("{\n")
        for i, (key, value) in enumerate(golden.items()):
            file.write(",\n" if i else "")
            if isinstance(value, list):
                cases = ",\n".join("  " + json.dumps(case, default=plain, allow_nan=False) for case in value)
                file.write(f"{json.dumps(key)}: [\n{cases}\n]")
            else:
                file.write(f"{json.dumps(key)}: {json.dumps(value)}")
        file.write("\n}\n")


if __name__ == "__main__":
    main()
