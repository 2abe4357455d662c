#!/usr/bin/env python3
"""Writes the table of docs/judging.md on how often the interval of a percentile holds the true one: the text
between `<!-- truth: percentiles -->` and `<!-- end -->` is the output of the example percentile_truth of the
crate `stats`.

    scripts/percentile-truth.py
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs/judging.md"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Runs of each kind and length.
RUNS = 400
MARK = "<!-- truth: percentiles -->\n"


def main() -> None:
    build = ["cargo", "build", "--release", "--locked", "--package", "stats", "--example", "percentile_truth"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = TARGET / "release/examples/percentile_truth"
    found = subprocess.run([program, str(RUNS)], check=True, capture_output=True, text=True)
    head, mark, rest = DOCS.read_text().partition(MARK)
    _, end, tail = rest.partition("<!-- end -->")
    if not end:
        sys.exit(f"percentile-truth: {DOCS.name} has no place for the table")
    temporary = DOCS.with_suffix(".tmp")
    temporary.write_text(f"{head}{mark}{found.stdout}{end}{tail}")
    temporary.rename(DOCS)


if __name__ == "__main__":
    main()
