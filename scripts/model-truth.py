#!/usr/bin/env python3
"""Writes the tables of docs/modelling-reference.md on the accuracy of the estimators.

    scripts/model-truth.py [fits|tests|hurst|counts]...    all of them, or these
"""

import sys

from docs_table import example, write

# Samples of each kind; a test redraws 49 for each.
SAMPLES = {"fits": 1000, "tests": 300, "hurst": 500, "counts": 500}


def main() -> None:
    requested = sys.argv[1:] or list(SAMPLES)
    unknown = [name for name in requested if name not in SAMPLES]
    if unknown:
        sys.exit(f"model-truth: no table {unknown[0]}; the tables are {', '.join(SAMPLES)}")
    program = example("fit_truth")
    for name in requested:
        write("docs/modelling-reference.md", name, [program, name, SAMPLES[name]])


if __name__ == "__main__":
    main()
