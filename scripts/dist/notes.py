#!/usr/bin/env python3
"""Prints what CHANGELOG.md says of a version: scripts/dist/notes.py X.Y.Z. Fails if it says nothing."""

import pathlib
import re
import sys

CHANGELOG = pathlib.Path(__file__).resolve().parents[2] / "CHANGELOG.md"


def of(version):
    """The text below the version's heading, up to that of the version before it."""
    begin = rf"^## \[{re.escape(version)}\][^\n]*\n"
    found = re.search(rf"{begin}(.*?)(?=^## \[|\Z)", CHANGELOG.read_text(), re.MULTILINE | re.DOTALL)
    return found and found.group(1).strip()


if __name__ == "__main__":
    text = of(sys.argv[1])
    if not text:
        sys.exit(f"CHANGELOG.md has no section [{sys.argv[1]}]")
    print(text)
