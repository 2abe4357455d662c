#!/usr/bin/env python3
"""Lets other tools measure a server, imports what they write, and compares that with their own summaries.

    checks/imports/results.py [--write] [TOOL]...

Each tool sends some hundred requests to a server on loopback whose response times are in three groups, and of which one
in ten is a 503. Counts of requests and failures have to be equal, and means and percentiles as close as the tool's own
digits and a bucket of a histogram allow. Prints a table; fails if something differs. `--write` puts the table into
docs/import-checks.md. THRONG names another binary than the release build. Tools are installed by their package managers
as those of `make bench-peers`; one that cannot be had here keeps its row with the reason.
"""

import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from clients import CLIENTS, Measured, Unavailable, percentile  # noqa: E402
from counting import Handler, Server  # noqa: E402
from report import ROOT, markdown, write  # noqa: E402

THRONG = os.environ.get("THRONG", str(ROOT / "target/release/throng"))
# Of a histogram that keeps ten bits of each time.
BUCKET = 1 / 1024
FIGURES = ("mean", "p50", "p95")
IMPORT_SECONDS_MAX = 60


class Delayed(Handler):
    """Answers in three groups of times; one request in ten fails, but those of /ok."""

    def answer(self) -> None:
        self.body()
        with self.server.lock:
            self.server.number += 1
            number = self.server.number
        time.sleep((0.003, 0.008, 0.020)[(0, 0, 0, 0, 0, 0, 1, 1, 1, 2)[number % 10]])
        is_failure = number % 10 == 4 and self.path != "/ok"
        text = b"answer\n"
        self.send_response(503 if is_failure else 200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Slow(Server):
    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = Delayed
        self.lock, self.number = threading.Lock(), 0


@dataclasses.dataclass(frozen=True)
class Imported:
    """What Throng made of a file."""

    count: int
    failed: int
    # Milliseconds.
    figures: dict[str, float]


def imported(measured: Measured, space: pathlib.Path) -> Imported:
    """Imports a file, and reads the figures of all its operations together, which are of one measure."""
    # Two forms of the same results have the same id.
    runs = space / f"runs-{measured.form}"
    done = subprocess.run([THRONG, "import", "--runs", str(runs), str(measured.path)],
                          capture_output=True, text=True, timeout=IMPORT_SECONDS_MAX)
    if done.returncode != 0:
        raise RuntimeError(f"{measured.form}: {done.stderr[-500:]}")
    run = next(runs.iterdir())
    shown = subprocess.run([THRONG, "show", "--json", str(run)], capture_output=True, text=True,
                           timeout=IMPORT_SECONDS_MAX)
    measures = json.loads(shown.stdout)["measures"]
    if len(measures) != 1:
        raise RuntimeError(f"{measured.form}: {len(measures)} measures")
    times = measures[0][measured.of]
    figures = {"mean": times["mean_ns"] / 1e6} | {name: times[f"{name}_ns"] / 1e6 for name in ("p50", "p95")}
    return Imported(measures[0]["count"], measures[0]["errors"], figures)


def sides(rows: tuple[float, ...], share: float) -> tuple[float, float, float]:
    """A percentile of all times by the nearest rank, and the two times between which tools interpolate."""
    ordered = sorted(rows)
    place = (len(ordered) - 1) * share
    return percentile(ordered, share), ordered[math.floor(place)], ordered[math.ceil(place)]


def agrees(measured: Measured, ours: Imported) -> bool:
    """Whether counts are equal, and figures as close as digits and buckets allow."""
    def is_close(name: str) -> bool:
        theirs, allowed = measured.figures.get(name), measured.digit_ms
        if theirs is None:
            return True
        if measured.rows and name != "mean":
            rank, low, high = sides(measured.rows, int(name[1:]) / 100)
            return low - allowed <= theirs <= high + allowed and abs(rank - ours.figures[name]) <= allowed + rank * BUCKET
        return abs(theirs - ours.figures[name]) <= allowed + theirs * (BUCKET + measured.rounding)

    return measured.count == ours.count and measured.failed == ours.failed and all(map(is_close, FIGURES))


def row(measured: Measured, ours: Imported) -> list[str]:
    def pair(name: str) -> str:
        theirs = measured.figures.get(name)
        return f"{ours.figures[name]:.3f}" if theirs is None else f"{theirs:.3f} {ours.figures[name]:.3f}"

    sound = "✓" if agrees(measured, ours) else "differs"
    return [measured.tool, measured.form, sound, f"{measured.count} {ours.count}", f"{measured.failed} {ours.failed}",
            *map(pair, FIGURES)]


def main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if not argument.startswith("--")]
    rows, wrong = [], 0
    for name, client in CLIENTS.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="throng-results-") as folder, Slow() as server:
            space = pathlib.Path(folder)
            try:
                found = client(f"http://127.0.0.1:{server.port}", space)
                rows_of_client = [row(measured, imported(measured, space)) for measured in found]
            except Unavailable as error:
                rows_of_client = [[name, str(error), "–", *["–"] * (2 + len(FIGURES))]]
        for cells in rows_of_client:
            wrong += cells[2] == "differs"
            print("  ".join(cells), flush=True)
        rows += rows_of_client
    heads = ["tool", "form", "agrees", "requests", "failed", *(f"{figure}, ms" for figure in FIGURES)]
    text = markdown(heads, rows, texts=3)
    print(f"\n{text}")
    if "--write" in arguments:
        write("results", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
