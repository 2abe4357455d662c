#!/usr/bin/env python3
"""Writes the table of docs/judging-reference.md on how often healthy runs have incidents, and planted ones are found.

    scripts/incident-truth.py
"""

from docs_table import example, write

# Runs of each kind.
RUNS = 1000

if __name__ == "__main__":
    write("docs/judging-reference.md", "incidents", [example("incident_truth"), RUNS])
