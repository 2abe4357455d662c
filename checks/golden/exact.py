#!/usr/bin/env python3
"""Writes testdata/golden/exact.json: intervals and p-values of counts by SciPy, and how often intervals miss,
counted out over all counts.

    python -m venv venv && venv/bin/pip install -r checks/golden/requirements.txt
    venv/bin/python checks/golden/exact.py
"""

import json
import pathlib
import platform

import numpy as np
import scipy
from scipy import stats

OUT = pathlib.Path(__file__).parents[2] / "testdata/golden/exact.json"
CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE


def garwood(count):
    low = stats.chi2.ppf(ALPHA / 2, 2 * count) / 2 if count else 0.0
    return [float(low), float(stats.chi2.ppf(1 - ALPHA / 2, 2 * (count + 1)) / 2)]


def doubled(law, count):
    return float(min(1.0, 2 * min(law.cdf(count), law.sf(count - 1))))


def miss(law, last):
    counts = np.arange(last + 1)
    p = 2 * np.minimum(law.cdf(counts), law.sf(counts - 1))
    return float(law.pmf(counts)[p < ALPHA].sum())


def poisson(count, mean):
    law = stats.poisson(mean)
    return {
        "count": count, "mean": mean, "interval": garwood(count), "p": doubled(law, count),
        "miss": miss(law, int(mean + 50 * np.sqrt(mean) + 50)),
    }


def binomial(count, of, p):
    law = stats.binom(of, p)
    found = stats.binomtest(count, of).proportion_ci(CONFIDENCE, method="exact")
    return {
        "count": count, "of": of, "probability": p, "interval": [float(found.low), float(found.high)],
        "p": doubled(law, count), "miss": miss(law, of),
    }


def several(probabilities, count):
    """By convolution."""
    law = np.array([1.0])
    for p in probabilities:
        law = np.convolve(law, [1 - p, p])
    return {"probabilities": probabilities, "count": count, "at_least": float(law[count:].sum())}


golden = {
    "made_with": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
    "poisson": [poisson(*case) for case in [
        (0, 0.4), (1, 3.0), (7, 4.2), (24, 24.0), (150, 121.5), (9_873, 10_000.0), (64_110, 64_389.4),
        (1_200_345, 1_200_000.0),
    ]],
    "binomial": [binomial(*case) for case in [
        (0, 5, 0.5), (1, 12, 0.01), (3, 40, 0.25), (12, 40, 0.25), (40, 40, 0.9), (310, 1_000, 0.3),
        (5_421, 22_204, 0.247673), (21, 5_500, 0.004014), (600_500, 1_000_000, 0.6),
    ]],
    "several": [several(*case) for case in [
        ([0.05] * 20, 3), ([0.01, 0.5, 0.3, 0.04, 0.0], 2), ([0.02 + 0.0005 * k for k in range(60)], 5),
    ]],
}
OUT.write_text(json.dumps(golden, indent=1) + "\n")
