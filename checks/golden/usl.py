"""Writes testdata/golden/usl.json: the universal scalability law fitted by SciPy.

Fits are curve_fit's with bounds; intervals are profiles: the values whose best fit is not worse than
the best of all by more than s² t². Data and printed coefficients under "published" are those of the R
package usl (specsdm91 and raytracer, from Gunther's books; its documentation and saved tests).

    pip install -r checks/golden/requirements.txt
    python checks/golden/usl.py
"""

import json
import platform
from pathlib import Path

import numpy
import scipy
from scipy.optimize import brentq, curve_fit, least_squares, minimize_scalar
from scipy.stats import t as student

OUT = Path(__file__).parents[2] / "testdata/golden/usl.json"

CASES = [
    {
        "name": "specsdm91",
        "n": [1, 18, 36, 72, 108, 144, 216],
        "x": [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
        "published": {"lambda": "89.9952", "sigma": "0.0277", "kappa": "0.000104", "peak": "96.52"},
    },
    {
        "name": "raytracer",
        "n": [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64],
        "x": [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310],
        "published": {"lambda": "21.8488", "sigma": "0.0578", "kappa": "0.0000"},
    },
    {
        "name": "textbook",
        "n": [1, 2, 4, 6, 8, 10],
        "x": [1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557],
        "published": {"lambda": "1.00", "sigma": "0.02", "kappa": "0.02"},
    },
    {
        "name": "scattered",
        "n": [1.2, 1.2, 3.7, 3.9, 9.5, 20.1, 20.4, 41.0, 77.3, 120.0],
        "x": [610, 590, 1790, 1905, 4120, 6400, 6900, 8300, 8700, 7600],
    },
    {
        "name": "straight",
        "n": [1, 2, 4, 8, 16],
        "x": [101, 198, 405, 795, 1610],
    },
]


def law(n, scale, sigma, kappa):
    return scale * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


def squares_with(n, x, best, which, value):
    """Least squares with one parameter held."""
    free = [i for i in range(3) if i != which]

    def residuals(p):
        full = numpy.empty(3)
        full[which] = value
        full[free] = p * scale[free]
        return law(n, *full) - x

    scale = numpy.where(best > 1e-9, best, [best[0], 1e-2, 1e-4])
    lower = numpy.array([1e-12 if i == 0 else 0.0 for i in free])
    results = []
    for factor in (1.0, 0.3, 3.0, 0.01):
        start = numpy.maximum(best[free] / scale[free] * factor, 1e-6)
        fit = least_squares(
            residuals, start, bounds=(lower, numpy.inf), xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        results.append(2 * fit.cost)
    return min(results)


def profile(n, x, best, least, which, confidence=0.95):
    freedom = len(n) - 3
    limit = least * (1 + student.ppf(0.5 + confidence / 2, freedom) ** 2 / freedom)
    over = lambda v: squares_with(n, x, best, which, v) - limit
    value = best[which]
    if which > 0 and over(0.0) <= 0:
        low = 0.0
    else:
        low = brentq(over, value * 1e-3, value, xtol=1e-14, rtol=1e-10)
    step = value if value > 1e-9 else 1e-6
    while over(value + step) <= 0:
        step *= 2
    return [float(value), float(low), float(brentq(over, value, value + step, xtol=1e-14, rtol=1e-10))]


def squares_at(n, x, peak):
    """Least squares with the greatest throughput at this load: κ = (1 − σ)/p², λ linear."""

    def of(sigma):
        shape = law(n, 1.0, sigma, (1 - sigma) / peak**2)
        return float((((x @ shape) / (shape @ shape) * shape - x) ** 2).sum())

    pieces = numpy.linspace(0, 1, 41)
    return min(
        minimize_scalar(of, bounds=piece, method="bounded", options={"xatol": 1e-14}).fun
        for piece in zip(pieces, pieces[1:])
    )


def peak_profile(n, x, best, least, confidence=0.95):
    """The load of greatest throughput with its interval; None stands for infinity."""
    freedom = len(n) - 3
    limit = least * (1 + student.ppf(0.5 + confidence / 2, freedom) ** 2 / freedom)
    over = lambda peak: squares_at(n, x, peak) - limit
    _, sigma, kappa = best
    loads = numpy.geomspace(1, 1e7, 400)
    within = [load for load in loads if over(load) <= 0]
    value = None if kappa == 0 else float(((1 - sigma) / kappa) ** 0.5)
    if value is not None:
        within = sorted([*within, value])
    below = [load for load in loads if load < within[0]]
    above = [load for load in loads if load > within[-1]]
    low = brentq(over, below[-1], within[0], xtol=1e-12) if below else 1.0
    high = None if over(numpy.inf) <= 0 else brentq(over, within[-1], above[0], xtol=1e-12)
    return [value, float(low), high and float(high)]


for case in CASES:
    n, x = numpy.array(case["n"], float), numpy.array(case["x"], float)
    fits = []
    for start in ([x[0] / n[0], 0.05, 1e-4], [x[0] / n[0], 0.01, 1e-2]):
        p, _ = curve_fit(
            law, n, x, p0=start, bounds=([0, 0, 0], numpy.inf), xtol=1e-15, ftol=1e-15, gtol=1e-15,
            x_scale=[x[0], 1e-2, 1e-4], max_nfev=100_000,
        )
        # A bound that holds is held exactly.
        for zero in ([2], [1], [1, 2]):
            free = [i for i in range(3) if i not in zero]
            bare = lambda n, *q: law(n, *[q[free.index(i)] if i in free else 0.0 for i in range(3)])
            q, _ = curve_fit(bare, n, x, p0=p[free], bounds=(0, numpy.inf), xtol=1e-15, ftol=1e-15, gtol=1e-15)
            full = numpy.zeros(3)
            full[free] = q
            fits.append((float(((law(n, *full) - x) ** 2).sum()), tuple(full)))
        fits.append((float(((law(n, *p) - x) ** 2).sum()), tuple(p)))
    # Among fits that are equal within rounding, that with fewer parameters.
    least = min(fits)[0]
    best = min((f for f in fits if f[0] <= least * (1 + 1e-9)), key=lambda f: sum(v > 0 for v in f[1]))
    squares, best = best[0], numpy.array(best[1])
    case["squares"] = squares
    for which, key in enumerate(["lambda", "sigma", "kappa"]):
        case[key] = profile(n, x, best, squares, which)
    case["peak"] = peak_profile(n, x, best, squares)

OUT.write_text(
    json.dumps(
        {
            "made_with": {
                "python": platform.python_version(),
                "numpy": numpy.__version__,
                "scipy": scipy.__version__,
            },
            "confidence": 0.95,
            "cases": CASES,
        },
        indent=1,
    )
    + "\n"
)
