"""Runs the wide-area network's measurements, an example of the crate `wan`."""

import json
import os
import pathlib
import subprocess

from lib.machine import ROOT
from lib.process import BenchError

# Parts that are long enough to be measured once.
ONCE = ("losses", "near_and_far")


def build() -> pathlib.Path:
    """The program, built for release."""
    done = subprocess.run(["cargo", "build", "--release", "--locked", "--package", "lab", "--example", "measure"],
                          cwd=ROOT, check=False)
    if done.returncode:
        raise BenchError("the crate `wan` does not build")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "measure"


def measure(program: pathlib.Path, part: str, turns: int, seconds: int) -> list[dict]:
    """The lines that the program prints of a part, of some turns."""
    command = [str(program), part.replace("_", "-"), *([str(seconds)] if seconds else [])]
    rows = []
    for _ in range(1 if part in ONCE else turns):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            raise BenchError(lines[-1]["error"] if lines else f"{' '.join(command)} failed")
        rows += lines
    return rows
