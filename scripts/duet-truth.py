#!/usr/bin/env python3
"""Writes the tables of docs/comparing.md on looks after every pair: how often they are wrong, and how many pairs they take.

    scripts/duet-truth.py
"""

from docs_table import example, write

# Sequences of each machine, and of each shift.
SEQUENCES = 2_000

if __name__ == "__main__":
    program = example("duet_truth")
    for table in ("level", "pairs"):
        write("docs/comparing.md", f"duet {table}", [program, table, SEQUENCES])
