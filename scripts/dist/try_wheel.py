#!/usr/bin/env python3
"""Packs any binary of this machine as a wheel, to try one that `make dist` did not build: try_wheel.py BINARY FOLDER

It is compressed little, and has neither manual pages nor licenses.
"""

import pathlib
import platform
import sys
import time
import tomllib
from types import SimpleNamespace

import wheel
from names import NAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(binary, folder):
    architecture = next(a for a, machine in wheel.MACHINES.items() if machine == platform.machine())
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    what = SimpleNamespace(
        architecture=architecture, version=version, binary=pathlib.Path(binary).read_bytes(), man={}, completions={},
        license=(ROOT / "LICENSE").read_bytes(), licenses=b"",
    )
    name, data = wheel.package(what, NAMES, int(time.time()), level=1)
    (pathlib.Path(folder) / name).write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
