#!/usr/bin/env python3
"""Golden values for crates/base/stats: designs fitted by statsmodels, tests by SciPy.

    pip install -r checks/golden/requirements.txt
    python checks/golden/factorial.py
"""

import itertools
import json
import warnings
from pathlib import Path

import numpy
import pandas
import scipy
import statsmodels
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

OUT = Path(__file__).parents[2] / "testdata/golden/factorial.json"
CONFIDENCE = 0.90
RANDOM = numpy.random.default_rng(1991)


def subsets(count):
    for size in range(1, count + 1):
        yield from itertools.combinations(range(count), size)


def signs(levels, factors):
    return numpy.prod([2.0 * levels[:, f] - 1.0 for f in factors], axis=0)


def trend(frame, formula):
    """Whether the values rise or fall with their order, beyond what the model says: its coefficient
    as one more column, as a partial correlation."""
    model = smf.ols(formula + " + order", frame.assign(order=numpy.arange(len(frame)))).fit()
    if model.df_resid < 1:
        return None
    t = float(model.tvalues["order"])
    r = t / (t * t + float(model.df_resid)) ** 0.5
    return {"statistic": r, "p": float(model.pvalues["order"])}


def two_level(name, levels, values, terms):
    """Coefficients of sign columns, with intervals; sums of squares where a term is left out."""
    levels, values = numpy.array(levels), numpy.array(values, dtype=float)
    names = ["x" + "".join(map(str, term)) for term in terms]
    frame = pandas.DataFrame({n: signs(levels, t) for n, t in zip(names, terms)})
    frame["y"] = values
    model = smf.ols("y ~ " + " + ".join(names), frame).fit()
    total = float(((values - values.mean()) ** 2).sum())
    has_error = model.df_resid > 0
    interval = model.conf_int(alpha=1.0 - CONFIDENCE)
    drift = trend(frame, "y ~ " + " + ".join(names)) if has_error else None
    results = {}
    for term, column in zip(terms, names):
        others = [n for n in names if n != column]
        without = smf.ols("y ~ " + (" + ".join(others) or "1"), frame).fit()
        ss = float(without.ssr - model.ssr)
        results["".join(map(str, term))] = {
            "effect": float(model.params[column]),
            "interval": [float(x) for x in interval.loc[column]] if has_error else None,
            "ss": ss,
            "p": float(model.pvalues[column]) if has_error else None,
        }
    return {
        "name": name,
        "levels_count": [2] * levels.shape[1],
        "levels": levels.tolist(),
        "values": values.tolist(),
        "mean": float(model.params["Intercept"]),
        "mean_interval": [float(x) for x in interval.loc["Intercept"]] if has_error else None,
        "total_ss": total,
        "error_ss": float(model.ssr) if has_error else None,
        "error_df": int(model.df_resid),
        "trend": drift,
        "terms": results,
    }


def several_levels(name, levels_count, levels, values):
    """Analysis of variance with effects that add up to 0, each term left out in turn."""
    levels = numpy.array(levels)
    frame = pandas.DataFrame({f"f{f}": levels[:, f] for f in range(levels.shape[1])})
    frame["y"] = values
    wrapped = [f"C(f{f}, Sum)" for f in range(levels.shape[1])]
    model = smf.ols("y ~ " + " * ".join(wrapped), frame).fit()
    table = anova_lm(model, typ=3)
    results = {}
    for term in subsets(levels.shape[1]):
        row = table.loc[":".join(wrapped[f] for f in term)]
        results["".join(map(str, term))] = {
            "ss": float(row["sum_sq"]),
            "df": int(row["df"]),
            "f": float(row["F"]),
            "p": float(row["PR(>F)"]),
        }
    # Effects of the first factor's levels; patsy leaves the last one out.
    effects = [float(model.params[f"{wrapped[0]}[S.{level}]"]) for level in range(levels_count[0] - 1)]
    effects.append(-sum(effects))
    weights = numpy.zeros((levels_count[0], len(model.params)))
    for level in range(levels_count[0] - 1):
        place = list(model.params.index).index(f"{wrapped[0]}[S.{level}]")
        weights[level, place] = 1.0
        weights[-1, place] = -1.0
    intervals = model.t_test(weights).conf_int(alpha=1.0 - CONFIDENCE)
    values = numpy.array(values, dtype=float)
    return {
        "name": name,
        "levels_count": levels_count,
        "levels": levels.tolist(),
        "values": values.tolist(),
        "mean": float(model.params["Intercept"]),
        "total_ss": float(((values - values.mean()) ** 2).sum()),
        "error_ss": float(model.ssr),
        "error_df": int(model.df_resid),
        "trend": trend(frame, "y ~ " + " * ".join(wrapped)),
        "terms": results,
        "level_effects": effects,
        "level_intervals": [[float(x) for x in row] for row in intervals],
    }


def cells(k):
    """The first factor changes fastest, as in published sign tables."""
    return [[(cell >> f) & 1 for f in range(k)] for cell in range(2**k)]


def repeated(levels, times):
    return [row for row in levels for _ in range(times)]


def designs():
    full = lambda k: list(subsets(k))
    yield two_level("memory and cache", cells(2), [15, 45, 25, 75], full(2))
    yield two_level(
        "memory and cache, repeated",
        repeated(cells(2), 3),
        [15, 18, 12, 45, 48, 51, 25, 28, 19, 75, 75, 81],
        full(2),
    )
    # One repetition of two cells is missing.
    yield two_level(
        "unbalanced",
        repeated(cells(2), 3)[:-2],
        [15, 18, 12, 45, 48, 51, 25, 28, 19, 75],
        full(2),
    )
    noise = lambda n: [float(x) for x in RANDOM.normal(0.0, 1.0, n)]
    levels = repeated(cells(3), 3)
    truth = [50 + 3 * (2 * a - 1) - 7 * (2 * b - 1) + 2 * (2 * a - 1) * (2 * c - 1) for a, b, c in levels]
    yield two_level("three factors", levels, [t + e for t, e in zip(truth, noise(24))], full(3))
    # A whole cell is missing, so that the interaction of all three cannot be estimated.
    left = [i for i, row in enumerate(levels) if row != [1, 1, 0]]
    pairs = [t for t in full(3) if len(t) < 3]
    values = [t + e for t, e in zip(truth, noise(24))]
    yield two_level("a cell is missing", [levels[i] for i in left], [values[i] for i in left], pairs)
    # 2^(5-2) with D = AB and E = AC: each column but those of single factors stands for several.
    base = repeated(cells(3), 2)
    levels = [[a, b, c, 1 - (a ^ b), 1 - (a ^ c)] for a, b, c in base]
    values = [20 + 4 * a - 9 * d + 2 * e + n for (a, b, c, d, e), n in zip(levels, noise(16))]
    classes = [(0,), (1,), (2,), (3,), (4,), (1, 2), (1, 4)]
    yield two_level("fraction", levels, values, classes)
    # Jain (1991), section 20.2: code sizes on three processors.
    yield several_levels(
        "code sizes",
        [3],
        [[level] for level in (0, 1, 2) for _ in range(5)],
        [144, 120, 176, 288, 144, 101, 144, 211, 288, 72, 130, 180, 141, 374, 302],
    )
    # Three by four levels, uneven numbers of repetitions.
    levels = [[a, b] for a in range(3) for b in range(4) for _ in range(2 + (a + b) % 2)]
    values = [10 + 2 * a + (b - 1.5) ** 2 + a * b + e for (a, b), e in zip(levels, noise(len(levels)))]
    yield several_levels("three by four", [3, 4], levels, values)


def tests():
    samples = [RANDOM.normal(5.0, 2.0, n) for n in (3, 4, 5, 6, 7, 11, 12, 24, 60, 500)]
    samples += [RANDOM.exponential(1.0, n) for n in (3, 4, 9, 30, 200)]
    samples.append(numpy.repeat([1.0, 2.0, 2.5], 4))
    normality = []
    for sample in samples:
        sample = numpy.round(sample, 6)
        w, p = stats.shapiro(sample)
        normality.append({"numbers": sample.tolist(), "statistic": float(w), "p": float(p)})
    variances = []
    for scale in (1.0, 3.0, 10.0):
        groups = [numpy.round(RANDOM.normal(0.0, s, n), 6) for s, n in ((1.0, 5), (scale, 6), (1.0, 8))]
        f, p = stats.levene(*groups, center="median")
        groups = [group.tolist() for group in groups]
        variances.append({"groups": groups, "statistic": float(f), "p": float(p)})
    trends = []
    for slope in (0.0, 0.3, -2.0):
        x = numpy.round(RANDOM.normal(0.0, 1.0, 20), 1)
        y = numpy.round(slope * x + RANDOM.normal(0.0, 1.0, 20), 1)
        rho, p = stats.spearmanr(x, y)
        trends.append({"x": x.tolist(), "y": y.tolist(), "statistic": float(rho), "p": float(p)})
    # Few numbers: every pairing is looked at. The last has ties on both sides.
    for count, decimals in ((4, 3), (5, 3), (6, 3), (7, 3), (8, 0)):
        x = numpy.round(RANDOM.normal(0.0, 1.0, count), decimals)
        y = numpy.round(x + RANDOM.normal(0.0, 1.0, count), decimals)
        rho = lambda x: stats.spearmanr(x, y).statistic
        # More resamples than there are pairings: all of them.
        exact = stats.permutation_test((x,), rho, permutation_type="pairings", n_resamples=10**6)
        # Its p-value is twice the smaller tail; ours is of all that is as far from 0.
        far = abs(exact.null_distribution) >= abs(exact.statistic) - 1e-9
        results = {"statistic": float(exact.statistic), "p": float(far.mean())}
        trends.append({"x": x.tolist(), "y": y.tolist(), **results})
    return {"shapiro_wilk": normality, "brown_forsythe": variances, "spearman": trends}


def main():
    # Designs without repetitions have no errors to divide by.
    warnings.simplefilter("ignore", RuntimeWarning)
    golden = {
        "versions": {
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
        },
        "confidence": CONFIDENCE,
        "designs": list(designs()),
        "tests": tests(),
    }
    OUT.write_text(json.dumps(golden, separators=(",", ":")).replace("},", "},\n") + "\n")


if __name__ == "__main__":
    main()
