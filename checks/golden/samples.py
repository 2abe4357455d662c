#!/usr/bin/env python3
"""Writes testdata/golden/samples.json: figures by NumPy of samples that `throng import` reads.

    python -m venv venv && venv/bin/pip install -r checks/golden/requirements.txt
    venv/bin/python checks/golden/samples.py
"""

import json
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).parents[2] / "testdata/golden/samples.json"


def case(name, seed, shift):
    """Milliseconds with four decimals: most short, some long."""
    draws = 5 + shift + np.random.default_rng(seed).exponential(3, 600)
    values = [round(float(draw), 4) for draw in draws]
    at = [np.quantile(values, q, method="inverted_cdf") for q in (0.5, 0.9, 0.99)]
    return {
        "name": name,
        "samples_ms": values,
        "mean_ms": float(np.mean(values)),
        "min_ms": min(values),
        "max_ms": max(values),
        "p50_ms": float(at[0]),
        "p90_ms": float(at[1]),
        "p99_ms": float(at[2]),
    }


def main():
    cases = [
        case("old-1", 1, 0),
        case("old-2", 2, 0),
        case("new-1", 3, 2),
        case("new-2", 4, 2),
    ]
    golden = {"written by": "checks/golden/samples.py", "numpy": np.__version__, "cases": cases}
    OUT.write_text(json.dumps(golden) + "\n")


main()
