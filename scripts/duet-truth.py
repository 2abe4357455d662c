#!/usr/bin/env python3
"""Writes the tables of docs/comparing.md on looks after every pair: how often they are wrong, and how many pairs they take;
and those of docs/ui.md on looks after every run of a history.

    scripts/duet-truth.py
"""

from docs_table import example, write

# Sequences of each machine.
SEQUENCES = 2_000
# Sequences of each machine and shift, which take up to 400 pairs.
SHIFTED = 400
# Histories of each machine, with 90 looks.
HISTORIES = 200

if __name__ == "__main__":
    program = example("duet_truth")
    for table, sequences in (("level", SEQUENCES), ("pairs", SHIFTED)):
        write("docs/comparing.md", f"duet {table}", [program, table, sequences])
    for table in ("alarms", "delay"):
        write("docs/ui.md", f"trend {table}", [program, table, HISTORIES])
