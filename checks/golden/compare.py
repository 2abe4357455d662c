#!/usr/bin/env python3
"""Writes testdata/golden/compare.json: what SciPy, statsmodels and NetworkX say about samples, which
crates/base/stats computes as well. Where they say nothing (ties in exact tests, limits beyond their
tables), the answer is counted out or integrated here, by other means than the crate's.

    python -m venv venv && venv/bin/pip install -r checks/golden/requirements.txt
    venv/bin/python checks/golden/compare.py
"""

import fractions
import itertools
import json
import math
import pathlib
import platform

import networkx
import numpy as np
import scipy
import statsmodels
from scipy import integrate, interpolate, optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.tsa.stattools import acf

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


def anderson_samples():
    yield from ([a, b] for name, (a, b) in PAIRS.items() if name != "one and one")
    yield [drawn(30, 20), drawn(31, 30), drawn(32, 25)]
    yield [drawn(33, 20, digits=0), drawn(34, 30, scale=2, digits=0), drawn(35, 25, digits=0)]
    yield [drawn(40 + i, 12 + i, digits=2) for i in range(6)]
    yield [[38.7, 41.5, 43.8, 44.5, 45.5, 46.0, 47.7, 58.0],  # Scholz and Stephens, section 8
           [39.2, 39.3, 39.7, 41.4, 41.8, 42.9, 43.3, 45.8],
           [34.0, 35.0, 39.0, 40.0, 43.0, 43.0, 44.0, 45.0],
           [34.0, 34.8, 34.8, 35.4, 37.2, 37.8, 41.2, 42.8]]  # fmt: skip


def anderson():
    for samples in anderson_samples():
        found = stats.anderson_ksamp(samples, variant="midrank")
        samples = [[float(x) for x in sample] for sample in samples]
        yield {"samples": samples, "standardised": found.statistic, "p": found.pvalue}


def anderson_lattices():
    for a, b in LATTICES:
        found = stats.anderson_ksamp([lattice(*a), lattice(*b)], variant="midrank")
        yield {"a": a, "b": b, "standardised": found.statistic, "p": found.pvalue}


def anderson_limit():
    """Imhof's integral (1961) for P(sum of Z_j^2 / (j (j + 1)) > x): none of our formulas."""
    j = np.arange(1, 4001)
    weights = 1 / (j * (j + 1.0))
    rest = 1 / 4001  # of the weights; their squares are nothing

    def integrand(u, x):
        angle = 0.5 * (np.sum(np.arctan(weights * u)) + rest * u) - 0.5 * x * u
        return np.sin(angle) / u / np.exp(0.25 * np.sum(np.log1p((weights * u) ** 2)))

    for x in [0.05, 0.2, 0.5, 1.0, 1.933, 2.492, 3.857, 6.0, 10.0]:
        edges = np.concatenate([[1e-9], np.arange(0.5, 600, 0.5) * min(1, 4 / x)])
        parts = [
            integrate.fixed_quad(np.vectorize(lambda u: integrand(u, x)), a, b, n=8)[0]
            for a, b in itertools.pairwise(edges)
        ]
        yield {"x": x, "p": 0.5 + sum(parts) / np.pi}


def anderson_pairs():
    """Small samples, and larger ones with few distinct values."""
    yield [1, 2, 2, 3, 3], [3, 4, 4, 5, 5]
    yield [1, 1, 1, 2, 2], [2, 3, 3, 3, 3]
    yield [1, 1, 1, 1, 2], [2, 2, 2, 2, 2]
    yield [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
    yield [4, 1, 7, 3, 9, 6], [5, 2, 10, 12, 8, 11]
    yield [1], [2, 2, 3, 5]
    yield [3, 9], [1, 2, 4, 5, 6, 7, 8, 10, 11, 12]
    yield lattice(8, 3, 11), lattice(8, 4, 13, 2)
    yield [0] * 12 + [1] * 3, [0] * 6 + [1] * 9
    yield [0] * 30 + [1] * 8 + [2] * 2, [0] * 20 + [1] * 10 + [2] * 10
    yield [5, 5, 5, 5], [5, 5, 5]


def anderson_exact():
    """Every permutation, in whole fractions: equation 7 of Scholz and Stephens, none of our shortcuts.
    Tied numbers are not distinguished, so that forty of them can be enumerated as well."""
    for a, b in anderson_pairs():
        n, m = len(a), len(b)
        total = n + m
        values = sorted(set(a) | set(b))
        tied = [(a + b).count(v) for v in values]

        def statistic(counts):
            whole, upto, all_upto = fractions.Fraction(0), 0, 0
            for count, t in zip(counts, tied, strict=True):
                mid, all_mid = upto + fractions.Fraction(count, 2), all_upto + fractions.Fraction(t, 2)
                spread = all_mid * (total - all_mid) - fractions.Fraction(total * t, 4)
                if spread > 0:
                    whole += t * (total * mid - n * all_mid) ** 2 / spread
                upto, all_upto = upto + count, all_upto + t
            return whole * (total - 1) / (total * n * m)

        seen = statistic([a.count(v) for v in values])
        reached = 0
        for counts in itertools.product(*(range(t + 1) for t in tied)):
            if sum(counts) == n and statistic(counts) >= seen:
                reached += math.prod(math.comb(t, c) for t, c in zip(tied, counts, strict=True))
        found = {"a": a, "b": b, "statistic": float(seen), "p": reached / math.comb(total, n)}
        if math.comb(total, n) <= 20_000 and len(values) > 1 and min(n, m) > 1:
            method = stats.PermutationMethod(n_resamples=20_000)
            found["scipy"] = stats.anderson_ksamp([a, b], variant="midrank", method=method).pvalue
        yield found


def anderson_tied():
    """The limit with ties: eigenvalues of the full covariance of the weighted deviations, and Imhof's
    integral (1961) for the sum of squares that these weigh."""
    cases = [
        [1, 1],
        [1, 1, 1],
        [7, 2, 1],
        [1] * 10,
        [1] * 37,
        [50] + [1] * 50,
        [1, 2, 3, 4, 5, 40, 5, 4, 3, 2, 1],
    ]
    for tied in cases:
        t = np.array(tied) / sum(tied)
        middle = np.cumsum(t) - t / 2
        covariance = np.minimum.outer(middle, middle) * (1 - np.maximum.outer(middle, middle))
        own = middle * (1 - middle) - t / 4
        np.fill_diagonal(covariance, own)
        root = np.sqrt(t / own)
        weights = np.linalg.eigvalsh(root[:, None] * covariance * root[None, :])
        weights = weights[weights > 1e-12]
        for x in [0.3, 1.25, 2.5, 5.0]:

            def integrand(u, weights=weights, x=x):
                angle = 0.5 * np.sum(np.arctan(weights * u)) - 0.5 * x * u
                return np.sin(angle) / u / np.exp(0.25 * np.sum(np.log1p((weights * u) ** 2)))

            if len(weights) == 1:
                p = float(stats.chi2.sf(x / weights[0], 1))
            elif len(weights) == 2:  # slowly falling: integrated over the one of the two instead
                density = lambda z: stats.chi2.sf((x - weights[1] * z * z) / weights[0], 1) * stats.norm.pdf(z)
                edge = math.sqrt(x / weights[1])
                p = 2 * (integrate.quad(density, 0, edge)[0] + stats.norm.sf(edge))
            else:
                end = 4000 if len(weights) < 5 else 600
                step = min(0.5, 2 / x)
                edges = np.concatenate([[1e-9], np.arange(step, end, step)])
                parts = [
                    integrate.fixed_quad(np.vectorize(integrand), a, b, n=8)[0]
                    for a, b in itertools.pairwise(edges)
                ]
                p = 0.5 + sum(parts) / np.pi
            yield {"tied": tied, "x": x, "p": p}


def anderson_permuted():
    """SciPy's permutations of samples with many ties that are too large to be counted out."""
    for n, m, modulo, step in [(50, 50, 10, 3), (100, 80, 20, 40), (60, 200, 12, 80)]:
        a = [i * i % modulo for i in range(n)]
        b = [(i * i + i // step) % modulo for i in range(m)]
        method = stats.PermutationMethod(n_resamples=20_000, rng=np.random.default_rng(1))
        found = stats.anderson_ksamp([a, b], variant="midrank", method=method)
        yield {"a": a, "b": b, "p": found.pvalue}


def mann_whitney():
    for name, (a, b) in PAIRS.items():
        ties = len(set(a) | set(b)) < len(a) + len(b)
        limit = stats.mannwhitneyu(b, a, method="asymptotic")
        case = pair(a, b) | {"name": name, "u": limit.statistic, "limit": limit.pvalue}
        case["exact"] = None if ties else stats.mannwhitneyu(b, a, method="exact").pvalue
        if len(a) > 1:
            # Brunner's and Munzel's statistic is (A - 1/2) by DeLong's standard error.
            apart = limit.statistic / len(a) / len(b) - 0.5
            munzel = stats.brunnermunzel(a, b).statistic
            case["error"] = abs(apart / munzel) if np.isfinite(munzel) and munzel else None
        yield case


def arrangements_by_u(n, m):
    """How many arrangements of n and m numbers have U = 0, 1, ..., n m; whole numbers."""
    counts = {(0, j): [1] for j in range(m + 1)}
    for i in range(1, n + 1):
        counts[i, 0] = [1]
        for j in range(1, m + 1):
            # A number of the second sample at the end exceeds all i of the first.
            row = [0] * (i * j + 1)
            for u, c in enumerate(counts[i, j - 1]):
                row[u + i] += c
            for u, c in enumerate(counts[i - 1, j]):
                row[u] += c
            counts[i, j] = row
    return counts[n, m]


def shift():
    cases = dict(PAIRS)
    # Hollander and Wolfe (1973), page 69: permeability constants of the human chorioamnion.
    cases["permeability"] = (
        [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
        [1.15, 0.88, 0.90, 0.74, 1.21],
    )
    for name, (a, b) in cases.items():
        n, m = len(a), len(b)
        differences = sorted(y - x for x in a for y in b)
        if max(n, m) <= 50:
            counts = arrangements_by_u(n, m)
            below = list(itertools.accumulate(counts))
            rank = sum(1 for c in below if 40 * c <= below[-1])
        else:
            spread = np.sqrt(n * m * (n + m + 1) / 12)
            rank = int(np.floor(n * m / 2 - stats.norm.isf(0.025) * spread))
        yield pair(a, b) | {
            "name": name,
            "shift": float(np.median(differences)),
            "low": differences[rank - 1] if rank else None,
            "high": differences[n * m - rank] if rank else None,
        }


def shift_lattices():
    for a, b in LATTICES:
        a, b = [(2000, *x[1:]) for x in (a, b)]
        differences = np.subtract.outer(lattice(*b), lattice(*a)).ravel()
        yield {"a": a, "b": b, "shift": float(np.median(differences))}


def cliques():
    graphs = [
        networkx.empty_graph(3),
        networkx.complete_graph(5),
        networkx.karate_club_graph(),
        networkx.gnp_random_graph(30, 0.6, seed=1),
        networkx.gnp_random_graph(90, 0.3, seed=2),
        networkx.complete_multipartite_graph(3, 3, 3, 3),
        networkx.cycle_graph(70),
    ]
    for graph in graphs:
        found = sorted(sorted(clique) for clique in networkx.find_cliques(graph))
        found.sort(key=len, reverse=True)
        yield {"nodes": len(graph), "edges": list(graph.edges), "cliques": found}


def median_filter():
    for series, width, sigmas in [
        (drawn(50, 80), 20, 2),
        (drawn(51, 33), 5, 1.0),
        (lattice(60, 7, 13), 7, 1.2),
        ([1.0, 2.0, 50.0], 20, 1.0),
        ([3.0], 20, 2),
    ]:
        x = np.array(series, float)
        windows = [x[max(0, i - width // 2) : i + width - width // 2] for i in range(len(x))]
        filtered = [
            float(np.median(w)) if abs(v - np.median(w)) > sigmas * np.std(w) else float(v)
            for v, w in zip(x, windows)
        ]
        yield {"series": list(x), "width": width, "sigmas": sigmas, "filtered": filtered}


def splines():
    for x, y in [
        ([0.0, 1.0, 2.5, 3.0, 7.0], [0.0, 0.1, 0.5, 0.9, 1.0]),
        ([1.0, 2.0], [3.0, 5.0]),
        ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
        (sorted(set(drawn(60, 40))), None),
        ([0.0, 0.1, 5.0, 5.1, 9.0, 9.2], [0.0, 2.0, 2.0, 2.1, 1.0, 4.0]),
    ]:
        y = y or [(i + 1) / len(x) for i in range(len(x))]
        at = list(np.linspace(x[0], x[-1], 37))
        kind = "natural" if len(x) > 2 else "not-a-knot"
        yield {
            "x": x,
            "y": y,
            "at": at,
            "natural": list(interpolate.CubicSpline(x, y, bc_type=kind)(at)),
            "monotone": list(interpolate.PchipInterpolator(x, y)(at)),
        }


def ecdf_shares():
    a = drawn(61, 150, scale=20)
    x = sorted(set(a))
    upto = [sum(1 for v in a if v <= u) / len(a) for u in x]
    grid = np.arange(0, np.ceil(x[-1]) + 3)
    inside = (grid >= x[0]) & (grid <= x[-1])
    shares = {}
    for name, curve in {
        "natural": interpolate.CubicSpline(x, upto, bc_type="natural"),
        "monotone": interpolate.PchipInterpolator(x, upto),
    }.items():
        values = np.where(grid < x[0], 0.0, 1.0)
        values[inside] = np.clip(curve(grid[inside]), 0, 1)
        shares[name] = list(values)
    yield {"values": a, "points": len(grid)} | shares


def autoregressive(seed, n, phi):
    noise = drawn(seed, n, "norm", digits=6)
    x = [noise[0]]
    for e in noise[1:]:
        x.append(round(phi * x[-1] + e, 6))
    return x


def autocorrelation():
    for series in [
        autoregressive(70, 200, 0.7),
        autoregressive(71, 257, -0.5),
        drawn(72, 64),
        [1.0, 2.0],
        autoregressive(73, 1000, 0.95),
    ]:
        rho = acf(series, nlags=len(series) - 1, adjusted=False, fft=False)
        sums = []
        for k in range(0, len(rho) - 1, 2):
            pair_ = rho[k] + rho[k + 1]
            if pair_ <= 0:
                break
            sums.append(min([pair_] + sums[-1:]))
        span = min(max(2 * sum(sums) - 1, 1), len(series))
        yield {"series": series, "acf": list(rho), "effective": len(series) / span}


def power():
    for effect, n, ratio, alpha in [
        (0.5, 20, 1, 0.05), (1.0, 5, 1, 0.05), (2.0, 5, 1, 0.05), (0.2, 300, 1, 0.01),
        (0.0, 10, 1, 0.05), (1.5, 4, 2, 0.1), (3.0, 2, 1, 0.05), (0.01, 20_000, 1, 0.05),
        (5.0, 200, 1, 0.001), (0.7, 2, 1, 0.05),
    ]:  # fmt: skip
        p = TTestIndPower().power(effect, n, alpha, ratio)
        yield {"effect": effect, "n": n, "m": n * ratio, "alpha": alpha, "power": float(p)}


def samples_needed():
    for effect, alpha, least in [(0.5, 0.05, 0.8), (1.0, 0.05, 0.8), (2.0, 0.01, 0.9), (0.1, 0.05, 0.8)]:
        n = TTestIndPower().solve_power(effect, None, alpha, least)
        yield {"effect": effect, "alpha": alpha, "power": least, "n": int(np.ceil(n))}


# Per cent of silica in 22 chondrites (Good and Gaskins 1980), the example of Silverman (1981).
CHONDRITES = [
    20.77, 22.56, 22.71, 22.99, 26.39, 27.08, 27.32, 27.33, 27.57, 27.81, 28.69,
    29.36, 30.25, 31.89, 32.88, 33.23, 33.28, 33.40, 33.52, 33.83, 33.95, 34.82,
]  # fmt: skip


def densities():
    for values in [CHONDRITES, drawn(80, 300), [1.0, 4.0, 4.0, 9.0]]:
        deviation = np.std(values, ddof=1)
        for h in [0.4 * deviation, 0.1 * deviation]:
            at = np.linspace(min(values) - h, max(values) + h, 25)
            found = stats.gaussian_kde(values, bw_method=h / deviation)(at)
            yield {"values": values, "bandwidth": h, "at": list(at), "heights": list(found)}


def sheather_jones():
    """The equation of 1991, each pair of numbers looked at, solved by Brent's method."""
    for values in [CHONDRITES, drawn(81, 400), drawn(82, 150, "norm") + drawn(83, 150, "norm", 0.2)]:
        x = np.array(values)
        n = len(x)
        square = np.subtract.outer(x, x) ** 2
        quartiles = np.diff(np.quantile(x, [0.25, 0.75], method="inverted_cdf"))[0]
        spread = min(np.std(x), quartiles / 1.349)

        def functional(h, order):
            s = square / h**2
            poly = s**2 - 6 * s + 3 if order == 4 else s**3 - 15 * s**2 + 45 * s - 15
            total = np.sum(np.exp(-s / 2) * poly)
            return total / (n * (n - 1) * np.sqrt(2 * np.pi) * h ** (order + 1))

        second = functional(1.24 * spread * n ** (-1 / 7), 4)
        first = functional(1.23 * spread * n ** (-1 / 9), 6)
        ratio = 1.357 * abs(second / first) ** (1 / 7)

        def excess(h):
            return (1 / (2 * np.sqrt(np.pi) * n * functional(ratio * h ** (5 / 7), 4))) ** 0.2 - h

        h = optimize.brentq(excess, 0.02 * spread, 1.144 * spread * n**-0.2)
        yield {"values": values, "bandwidth": h}


def critical_bandwidths():
    """Peaks of SciPy's density on a fine grid, counted while the bandwidth is halved."""
    at = np.linspace(10, 45, 7001)
    for modes in [1, 2, 3, 4]:
        low, high = 0.1, 10.0
        while high - low > 1e-5:
            h = (low + high) / 2
            heights = stats.gaussian_kde(CHONDRITES, bw_method=h / np.std(CHONDRITES, ddof=1))(at)
            turns = np.diff(np.sign(np.diff(heights)))
            low, high = (low, h) if np.sum(turns < 0) <= modes else (h, high)
        yield {"values": CHONDRITES, "modes": modes, "bandwidth": high}


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
    anderson,
    anderson_lattices,
    anderson_limit,
    anderson_exact,
    anderson_tied,
    anderson_permuted,
    mann_whitney,
    shift,
    shift_lattices,
    cliques,
    median_filter,
    splines,
    ecdf_shares,
    autocorrelation,
    power,
    samples_needed,
    densities,
    sheather_jones,
    critical_bandwidths,
]


def plain(x):
    """NumPy's numbers are no JSON."""
    return x.item() if isinstance(x, np.generic) else list(x)


def main():
    golden = {
        "written by": "checks/golden/compare.py",
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
