"""Writes testdata/golden/percentile.json: long-run variances by SciPy's cosine transform.

    pip install -r checks/golden/requirements.txt
    python checks/golden/percentile.py
"""

import json
from pathlib import Path

import numpy
from scipy.fft import dct

OUT = Path(__file__).parents[2] / "testdata/golden/percentile.json"
rng = numpy.random.default_rng(20180401)


def wandering(n, correlation):
    x = numpy.zeros(n + 50)
    for i in range(1, n + 50):
        x[i] = correlation * x[i - 1] + rng.normal()
    x = numpy.round(x[50:], 6)
    return x - x.mean()


def cosines(series, degrees):
    # The second cosine transform in its orthonormal form has these coefficients behind its first.
    return (dct(series, type=2, norm="ortho")[1 : degrees + 1] ** 2).mean()


def case(n, correlation):
    series = wandering(n, correlation)
    degrees = max(2, round(0.41 * n ** (2 / 3)))
    raw = (series[1:] @ series[:-1]) / (series @ series)
    phi = min(raw + (1 + 3 * raw) / n, 0.97) if raw > 0 else 0.0
    left = series[1:] - phi * series[:-1]
    return {
        "series": series.tolist(),
        "degrees": degrees,
        "cosines": cosines(series, degrees),
        "prewhitened": cosines(left, degrees) / (1 - phi) ** 2,
    }


cases = [case(10, 0.0), case(31, 0.5), case(60, -0.4), case(120, 0.9), case(257, 0.99)]
OUT.write_text(json.dumps({"long_run": cases}) + "\n")
