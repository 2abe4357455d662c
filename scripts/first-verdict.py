#!/usr/bin/env python3
"""Writes how long it takes from nothing to the first verdict into docs/installing.md, of what `make dist` built.

    scripts/first-verdict.py [FOLDER]     dist, if none is named
"""

import sys

import docs_table

folder = sys.argv[1] if len(sys.argv) > 1 else docs_table.ROOT / "dist"
measure = [sys.executable, "-B", docs_table.ROOT / "scripts/dist/first_verdict.py", folder]
docs_table.write("docs/installing.md", "first-verdict", measure, kind="measured")
