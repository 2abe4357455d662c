"""Writes the values that the tests compare with: distributions.csv and intervals.csv.

Made with Python 3.11, SciPy 1.17.1 and NumPy 2.4.6:
    python golden.py
"""

import csv
import math
from pathlib import Path

from scipy import integrate, stats

HERE = Path(__file__).parent

DISTRIBUTIONS = [
    ("uniform", (2.0, 5.0), stats.uniform(2, 3)),
    ("exponential", (0.25,), stats.expon(scale=0.25)),
    ("normal", (-1.0, 2.5), stats.norm(-1, 2.5)),
    ("lognormal", (0.5, 0.8), stats.lognorm(0.8, scale=math.exp(0.5))),
    ("weibull", (3.0, 0.7), stats.weibull_min(0.7, scale=3)),
    ("weibull", (1.0, 2.0), stats.weibull_min(2.0)),
    ("pareto", (1.5, 2.5), stats.pareto(2.5, scale=1.5)),
    ("pareto", (2.0, 1.0), stats.pareto(1.0, scale=2.0)),
    ("gamma", (0.4, 2.0), stats.gamma(0.4, scale=2.0)),
    ("gamma", (30.0, 0.1), stats.gamma(30.0, scale=0.1)),
]
PROBABILITIES = [0.001, 0.05, 0.5, 0.9, 0.999]


def clamped_mean(dist, low, high):
    """low + the integral of the survival function over [low, high]."""
    edge = min(max(dist.support()[0], low), high)
    area, _ = integrate.quad(dist.sf, edge, high, epsabs=1e-13, epsrel=1e-12, limit=500)
    return edge + area


with open(HERE / "distributions.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["name", "parameters", "mean", "low", "high", "clamped_mean", "x", "cdf"])
    for name, parameters, dist in DISTRIBUTIONS:
        low, high = float(dist.ppf(0.2)), float(dist.ppf(0.95))
        for p in PROBABILITIES:
            x = float(dist.ppf(p))
            row = [dist.mean(), low, high, clamped_mean(dist, low, high), x, dist.cdf(x)]
            out.writerow([name, " ".join(map(repr, parameters)), *(repr(float(v)) for v in row)])

with open(HERE / "intervals.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["n", "q", "confidence", "lower", "upper"])
    for n in [5, 6, 10, 30, 100, 299, 1000, 5000, 100_000, 10_000_000, 1_000_000_000]:
        for q in [0.5, 0.9, 0.98, 0.99, 0.999]:
            for confidence in [0.9, 0.95, 0.99]:
                tail = (1 - confidence) / 2
                lower = int(stats.binom.ppf(tail, n, q))
                upper = int(stats.binom.ppf(1 - tail, n, q)) + 1
                if not (1 <= lower and upper <= n):
                    lower = upper = ""
                out.writerow([n, q, confidence, lower, upper])
