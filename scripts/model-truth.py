#!/usr/bin/env python3
"""Writes the tables of docs/modelling-reference.md on the accuracy of the estimators: the text between
`<!-- truth: NAME -->` and `<!-- end -->` is the output of the example fit_truth of the crate `stats`.

    scripts/model-truth.py [fits|tests|hurst|counts]...    all of them, or these
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs/modelling-reference.md"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Samples of each kind; a test redraws 49 for each.
SAMPLES = {"fits": 1000, "tests": 300, "hurst": 500, "counts": 500}


def main() -> None:
    requested = sys.argv[1:] or list(SAMPLES)
    unknown = [name for name in requested if name not in SAMPLES]
    if unknown:
        sys.exit(f"model-truth: no table {unknown[0]}; the tables are {', '.join(SAMPLES)}")
    build = ["cargo", "build", "--release", "--locked", "--package", "stats", "--example", "fit_truth"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = TARGET / "release/examples/fit_truth"
    for name in requested:
        found = subprocess.run([program, name, str(SAMPLES[name])], check=True, capture_output=True, text=True)
        text = DOCS.read_text()
        head, mark, rest = text.partition(f"<!-- truth: {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        if not end:
            sys.exit(f"model-truth: {DOCS.name} has no place for {name}")
        temporary = DOCS.with_suffix(".tmp")
        temporary.write_text(f"{head}{mark}{found.stdout}{end}{tail}")
        temporary.rename(DOCS)
        print(f"wrote {name}", flush=True)


if __name__ == "__main__":
    main()
