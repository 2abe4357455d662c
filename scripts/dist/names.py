#!/usr/bin/env python3
"""The names of names.toml: `scripts/dist/names.py TABLE KEY` prints one, for shell scripts."""

import pathlib
import sys
import tomllib

NAMES = tomllib.loads((pathlib.Path(__file__).parent / "names.toml").read_text())

if __name__ == "__main__":
    print(NAMES[sys.argv[1]][sys.argv[2]])
