#!/usr/bin/env python3
"""Searches for capacity at targets whose short runs deceive, and at one for which load is not the cause.

    checks/truth/sustained.py [CASE]...    all of them, or these; THRONG names another binary

Prints a line for each, with what Throng said, and fails if one is wrong. All together take about forty minutes.
"""

import json
import sys

from bed import Bed, Cases, Run, require, scenario, target

CASES = Cases()
case = CASES.case
LIMIT_S = 3600


def search(bed: Bed, port: int, arrivals: str, threshold: str) -> tuple[Run, dict]:
    text = scenario(port, "{ get: /, as: page }", f"{{ {arrivals} }}", f"['{threshold}']", "{ drain: 2s, http_connections: shared }")
    run = bed.run(text, "--pause", "1s", "--json", verb="capacity", limit_s=LIMIT_S)
    return run, json.loads(run.out)


@case
def bucket(bed: Bed) -> str:
    """300/s and 600 in reserve, which last for a run of 15 s at 340/s. With 1 % of errors 303/s are sustained."""
    with target("--bucket", 300, "--burst", 600) as server:
        _, found = search(bed, server.port, "constant: 100/s, for: 15s", "error_rate(page) < 1%")
    holds = found["holds"] or 0.0
    require(285 <= holds <= 314, f"holds {holds}/s; the target sustains 303/s")
    return found["findings"][0]["text"]


@case
def stalls(bed: Bed) -> str:
    """No answers for 0.2 s of every 7 s: p99 is above 100 ms at any load."""
    with target("--stall-every", 7, "--stall-for", 0.2, "--delay", 0.002) as server:
        run, found = search(bed, server.port, "poisson: 200/s, for: 15s", "p99(page) < 100ms")
    require(found["ending"] == "load_is_not_the_cause", f"the search ended as {found['ending']}")
    require(run.code == 1, f"exit code {run.code}")
    return found["findings"][0]["text"]


@case
def even(bed: Bed) -> str:
    """M/D/1 that does 100/s, with a threshold that a growing queue keeps for minutes."""
    with target("--precise", "--servers", 1, "--service", 0.010, "--distribution", "deterministic") as server:
        _, found = search(bed, server.port, "poisson: 50/s, for: 30s", "p95(page) < 8s")
    holds, breaks = found["holds"] or 0.0, found["breaks"]
    require(found["crossing"] is None, "no threshold was reached")
    require(90 <= holds <= 101 and breaks <= 105, f"holds {holds}/s, breaks at {breaks}/s; the target can do 100/s")
    return found["findings"][0]["text"]


if __name__ == "__main__":
    sys.exit(CASES.main("throng-sustained-"))
