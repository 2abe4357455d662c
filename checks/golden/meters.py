#!/usr/bin/env python3
"""Writes testdata/golden/meters.json: what crates/base/stats computes of polygons and pooled groups, by
other means than the crate's: areas by the shoelace formula over all orders, deviations and quantiles
from all values, the geometric mean by SciPy.

    python -m venv venv && venv/bin/pip install -r checks/golden/requirements.txt
    venv/bin/python checks/golden/meters.py
"""

import itertools
import json
import pathlib
import platform

import numpy as np
import scipy
from scipy import stats

OUT = pathlib.Path(__file__).parents[2] / "testdata/golden/meters.json"
SHARES = [0, 0.5, 0.66, 0.75, 0.9, 0.95, 0.98, 1]


def shoelace(radii):
    """Area of the polygon whose corners lie at equal angles."""
    angles = 2 * np.pi * np.arange(len(radii)) / len(radii)
    x, y = radii * np.cos(angles), radii * np.sin(angles)
    return float(0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def polygon(radii, weights):
    radii = np.array(radii, dtype=float)
    areas = [shoelace(np.array(order)) for order in itertools.permutations(radii)]
    step = 1e-6
    moved = [shoelace(radii * (1 + step * (np.arange(len(radii)) == at))) for at in range(len(radii))]
    area = shoelace(radii)
    return {
        "radii": radii.tolist(),
        "weights": weights,
        "area": area,
        "least": min(areas),
        "most": max(areas),
        "mean": float(np.mean(areas)),
        "elasticities": [(m / area - 1) / step for m in moved],
        "geometric_mean": float(stats.gmean(radii, weights=weights)),
    }


def lattice(n, step, modulo, shift=0):
    """Whole numbers that look drawn, and that need no generator to be had elsewhere again."""
    return [i * step % modulo + shift for i in range(n)]


def pooled(groups):
    results = []
    for group in groups:
        values = np.array(group, dtype=float)
        results.append(
            {
                "count": len(group),
                "mean": float(values.mean()),
                "deviation": float(values.std(ddof=1)),
                "points": [
                    [share, float(np.quantile(values, share, method="inverted_cdf"))] for share in SHARES
                ],
            }
        )
    every = np.concatenate([np.array(group, dtype=float) for group in groups])
    centred = np.concatenate([np.array(g, dtype=float) - np.mean(g) for g in groups])
    return {
        "groups": results,
        "mean": float(every.mean()),
        "within": float(np.sqrt(np.sum(centred**2) / (len(every) - len(groups)))),
        "total": float(every.std(ddof=1)),
        "quantiles": [
            [share, float(np.quantile(every, share, method="inverted_cdf"))]
            for share in [0.1, 0.5, 0.7, 0.9, 0.97, 0.99]
        ],
    }


golden = {
    "made_by": {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    },
    "polygons": [
        polygon([1, 2, 3], [1, 1, 1]),
        polygon([15.41234, 13.39652, 16.55431], [1, 2, 0.5]),
        polygon([1 / 671, 1 / 291, 1 / 302, 32.06, 147.70], [1, 1, 1, 1, 1]),
        polygon([23999, 8449173, 50025404, 33158053], [3, 1, 1, 2]),
        polygon([0.5, 4, 4, 1, 9, 2.5, 7], [1, 2, 3, 4, 5, 6, 7]),
    ],
    "pooled": [
        pooled([lattice(40, 7, 31), lattice(200, 11, 97, 20), lattice(13, 5, 9, 400)]),
        pooled([lattice(1000, 389, 997), lattice(1000, 389, 997, 500)]),
        pooled([lattice(25, 3, 50)]),
    ],
}
OUT.write_text(json.dumps(golden, indent=1) + "\n")
