"""Writes testdata/golden/analyze.json: truncation, trends, means and reliability by NumPy, SciPy,
statsmodels and pyMannKendall.

    pip install -r checks/golden/requirements.txt
    python checks/golden/analyze.py
"""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy
import pymannkendall
import scipy
import statsmodels
from scipy.stats import chi2, f, kendalltau, norm, rankdata, t, theilslopes
from statsmodels.tsa.stattools import acf

OUT = Path(__file__).parents[2] / "testdata/golden/analyze.json"
rng = numpy.random.default_rng(20150805)


def rounded(values):
    """Short numbers, so that the file stays readable; they are what is computed with."""
    return numpy.round(values, 6)


def wandering(n, correlation):
    x = numpy.zeros(n + 50)
    for i in range(1, n + 50):
        x[i] = correlation * x[i - 1] + rng.normal()
    return x[50:]


def mser(name, values, batch):
    """By the definition: every cut's own mean and squares."""
    values = rounded(values)
    k = len(values) // batch
    means = values[: k * batch].reshape(k, batch).mean(axis=1)
    errors = [((means[d:] - means[d:].mean()) ** 2).sum() / (k - d) ** 2 for d in range(k - 4)]
    half = int(numpy.argmin(errors[: k // 2 + 1]))
    late = len(errors) > k // 2 + 1 and min(errors[k // 2 + 1 :]) < errors[half]
    return {
        "name": name,
        "batch": batch,
        "values": values.tolist(),
        "cut": half * batch,
        "is_late": bool(late),
    }


def trend(name, values):
    values = rounded(values)
    n = len(values)
    time = numpy.arange(n)
    plain = pymannkendall.original_test(values)
    modified = pymannkendall.hamed_rao_modification_test(values)
    slope, _, low, high = theilslopes(values, time, 0.95)
    ranks = rankdata(values - slope * time)
    centred = ranks - ranks.mean()
    lags = numpy.array([(centred[i:] * centred[: n - i]).sum() for i in range(n)]) / (centred**2).sum()
    significant = numpy.where(abs(lags[1:]) > norm.ppf(0.975) / numpy.sqrt(n), lags[1:], 0)
    if len(set(values)) == n:
        pairs = n * (n - 1) / 2
        assert abs(kendalltau(time, values).statistic - plain.s / pairs) < 1e-12
    return {
        "name": name,
        "values": values.tolist(),
        "score": float(plain.s),
        "variance": float(plain.var_s),
        "p": float(plain.p),
        "slope": float(slope),
        "slope_low": float(low),
        "slope_high": float(high),
        "neighbours": float(lags[1]),
        "correlations": significant.tolist(),
        "variance_hamed_rao": float(modified.var_s),
    }


def mean(name, values):
    values = rounded(values)
    n = len(values)
    # Geyer's initial monotone sequence.
    lags = acf(values, nlags=n - 1)
    least, total = numpy.inf, 0.0
    for pair in lags[: n // 2 * 2].reshape(-1, 2).sum(axis=1):
        if pair <= 0:
            break
        least = min(least, pair)
        total += least
    effective = max(n / min(max(2 * total - 1, 1), n), 2)
    error = values.std(ddof=1) / numpy.sqrt(effective)
    low, high = t.interval(0.95, effective - 1, values.mean(), error)
    return {
        "name": name,
        "values": values.tolist(),
        "mean": float(values.mean()),
        "effective": float(effective),
        "error": float(error),
        "low": float(low),
        "high": float(high),
    }


def mean_time(time, events, confidence):
    tail = (1 - confidence) / 2
    if events == 0:
        low, high = 2 * time / chi2.ppf(confidence, 2), None
    else:
        low = 2 * time / chi2.ppf(1 - tail, 2 * events + 2)
        high = 2 * time / chi2.ppf(tail, 2 * events)
    return {
        "time": time,
        "events": events,
        "confidence": confidence,
        "low": float(low),
        "high": None if high is None else float(high),
    }


def availability(up, down, failures, repairs, confidence):
    tail = (1 - confidence) / 2
    share = lambda ratio: float(ratio / (1 + ratio))
    ratio = (up / failures) / (down / repairs)
    low = up / (failures + 1) / (down / repairs) * f.ppf(tail, 2 * repairs, 2 * failures + 2)
    high = ratio * f.ppf(1 - tail, 2 * repairs, 2 * failures)
    return {
        "up": up,
        "down": down,
        "failures": failures,
        "repairs": repairs,
        "confidence": confidence,
        "value": share(ratio),
        "low": share(low),
        "high": share(high),
    }


warming = lambda n, length: 10 + 40 * numpy.exp(-numpy.arange(n) / length)
golden = {
    "made_with": {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
        "pymannkendall": version("pymannkendall"),
    },
    "mser": [
        mser("noise", rng.normal(10, 1, 60), 1),
        mser("noise in fives", rng.normal(10, 1, 153), 5),
        mser("warming up", warming(120, 8) + rng.normal(0, 1, 120), 1),
        mser("warming up in fives", warming(200, 15) + rng.normal(0, 1, 200), 5),
        mser("rising throughout", numpy.arange(80) + rng.normal(0, 1, 80), 1),
        mser("wandering", wandering(150, 0.9), 5),
        mser("a late step", numpy.where(numpy.arange(90) < 70, 50, 10) + rng.normal(0, 1, 90), 1),
        mser("short", rng.exponential(5, 12), 1),
    ],
    "trend": [
        trend("noise", rng.normal(10, 1, 40)),
        trend("noise of even number", rng.exponential(3, 57)),
        trend("rising", 0.1 * numpy.arange(50) + rng.normal(0, 1, 50)),
        trend("falling", -0.5 * numpy.arange(24) + rng.normal(0, 3, 24)),
        trend("wandering", wandering(80, 0.7)),
        trend("wandering and rising", wandering(60, 0.5) + 0.05 * numpy.arange(60)),
        trend("ties", rng.integers(0, 6, 45).astype(float)),
        trend("few", rng.normal(0, 1, 10)),
    ],
    "mean": [
        mean("noise", rng.normal(10, 1, 30)),
        mean("alternating", numpy.arange(20) % 2 + rng.normal(0, 0.1, 20)),
        mean("wandering", wandering(90, 0.8)),
        mean("two", rng.normal(0, 1, 2)),
    ],
    "mean_time": [
        mean_time(time, events, confidence)
        for time, events in [(100.0, 0), (100.0, 1), (3600.0, 2), (5400.0, 17), (86400.0, 400)]
        for confidence in (0.9, 0.95, 0.99)
    ],
    "availability": [
        availability(*case, confidence)
        for case in [(99.0, 1.0, 1, 1), (54.0, 6.0, 6, 6), (3500.0, 100.0, 9, 8), (8e4, 120.0, 60, 60)]
        for confidence in (0.9, 0.95)
    ],
}
OUT.write_text(json.dumps(golden, indent=1) + "\n")
