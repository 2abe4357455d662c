#!/usr/bin/env python3
"""Writes the tables of docs/judging-reference.md on how often the interval of a percentile holds the true one, of whole runs
and at the look that ends a run.

    scripts/percentile-truth.py
"""

from docs_table import example, write

# Runs of each kind and length.
RUNS = 400

if __name__ == "__main__":
    program = example("percentile_truth")
    for table in ("percentiles", "looks"):
        write("docs/judging-reference.md", table, [program, table, RUNS])
