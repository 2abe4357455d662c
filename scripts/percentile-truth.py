#!/usr/bin/env python3
"""Writes the table of docs/judging-reference.md on how often the interval of a percentile holds the true one.

    scripts/percentile-truth.py
"""

from docs_table import example, write

# Runs of each kind and length.
RUNS = 400

if __name__ == "__main__":
    write("docs/judging-reference.md", "percentiles", [example("percentile_truth"), RUNS])
