#!/usr/bin/env python3
"""Searches for the capacity of queues whose capacity is known in closed form.

    checks/truth/theory.py [--repeat N] [--at-once N] [QUEUE]...

Each queue is a server with random work; the searched load is the one at which p95 of the response passes a limit.
How late the machine lets the servers answer, in the mean, stands beside the results: theory knows no such time.
A search is right if that load is in its stated interval: the 95 % interval of the crossing, or, where there is none,
between the load that holds and the one that breaks. Formulas: Erlang (1909, 1917); Gross et al., Fundamentals of
Queueing Theory (2008), ch. 2; Lavenberg and Reiser (1980) for what an arrival at a closed network meets.
"""

import argparse
import concurrent.futures
import json
import math
import sys
import tempfile

from bed import Bed, target

QUANTILE = 0.95
# Mean service time divided by the number of servers: all can do as much.
WORK_S = 0.005
# Of the queue whose limit is the nearest to its service time: answers that a busy machine sends a millisecond late would
# move its crossing by as much as its intervals are wide.
LONG_WORK_S = 0.020
THINK_S = 0.5


def mmc_later(servers: int, rate: float, time: float) -> float:
    """The chance that a response of M/M/c takes longer than `time`."""
    mu = 1 / (WORK_S * servers)
    offered = rate / mu
    if offered >= servers:
        return 1.0
    term, total = 1.0, 1.0
    for n in range(1, servers):
        term *= offered / n
        total += term
    term *= offered / servers * servers / (servers - offered)
    waits = term / (total + term)
    rest = servers - 1 - offered
    if abs(rest) < 1e-9:
        return math.exp(-mu * time) * (1 + waits * mu * time)
    return math.exp(-mu * time) * (1 + waits * (1 - math.exp(-mu * rest * time)) / rest)


def md1_later(rate: float, time: float) -> float:
    """The same of M/D/1: Erlang's distribution of the wait, and the constant service."""
    load = rate * LONG_WORK_S
    if load >= 1:
        return 1.0
    wait = time - LONG_WORK_S
    if wait < 0:
        return 1.0
    total = 0.0
    for k in range(int(wait / LONG_WORK_S) + 1):
        x = rate * (wait - k * LONG_WORK_S)
        total += (-x) ** k / math.factorial(k) * math.exp(x)
    return 1 - (1 - load) * total


def closed_later(users: int, time: float) -> float:
    """The same of one exponential server and `users` who think exponentially between requests: an arrival meets the
    network with one user less."""
    mu, others = 1 / WORK_S, users - 1
    weights = [1.0]
    for n in range(others):
        weights.append(weights[-1] * (others - n) * WORK_S / THINK_S)
    total = sum(weights)
    later = 0.0
    for n, weight in enumerate(weights):
        # Erlang of n + 1 services.
        term = poisson = math.exp(-mu * time)
        for k in range(1, n + 1):
            term *= mu * time / k
            poisson += term
        later += weight / total * poisson
    return later


def crossing(later, low: float, high: float) -> float:
    """Where `later` passes 1 - QUANTILE."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if later(middle) < 1 - QUANTILE else (low, middle)
    return low


class Queue:
    """`trial_s`: long against the time in which the queue forgets that it was empty at first."""

    def __init__(self, options: list, limit_s: float, truth: float, first: str, load: str, steps: str, trial_s: int) -> None:
        self.options, self.limit_s, self.truth = options, limit_s, truth
        self.first, self.steps, self.trial_s = first, steps, trial_s
        self.load = f"{{ {load}, for: {trial_s}s }}"


def opened(servers: int, limit_s: float, later, distribution: str = "exponential", trial_s: int = 30, work_s: float = WORK_S) -> Queue:
    most = 1 / work_s
    options = ["--servers", servers, "--service", work_s * servers, "--distribution", distribution]
    first = f"{0.4 * most:.0f}/s"
    truth = crossing(lambda rate: later(rate, limit_s), 0.01 * most, most)
    return Queue(options, limit_s, truth, first, f"poisson: {first}", "{ get: /, as: page }", trial_s)


def closed(limit_s: float, trial_s: int = 30) -> Queue:
    # A number of users is whole: the crossing lies between two of them.
    truth = crossing(lambda users: closed_later(int(users), limit_s), 2, 1000)
    options = ["--service", WORK_S]
    # Who thinks first does not come with all others at once.
    steps = f"{{ think: {{ exponential: {THINK_S}s }} }}, {{ get: /, as: page }}"
    return Queue(options, limit_s, truth, "40", "users: 40", steps, trial_s)


QUEUES = {
    "M/M/1": opened(1, 0.050, lambda rate, time: mmc_later(1, rate, time)),
    "M/M/4": opened(4, 0.100, lambda rate, time: mmc_later(4, rate, time)),
    "M/M/16": opened(16, 0.288, lambda rate, time: mmc_later(16, rate, time), trial_s=60),
    "M/D/1": opened(1, 0.120, md1_later, "deterministic", trial_s=120, work_s=LONG_WORK_S),
    "closed": closed(0.080),
}


def search(name: str, seed: int) -> dict:
    """One search: its interval, and whether the truth is in it."""
    queue = QUEUES[name]
    with tempfile.TemporaryDirectory(prefix="throng-theory-") as space, target("--precise", *queue.options, "--seed", seed) as server:
        text = f"""
name: theory
seed: {seed}
target: http://127.0.0.1:{server.port}/
sessions:
  visitor: [{queue.steps}]
arrivals: [{queue.load}]
thresholds: ['p95(page) < {queue.limit_s * 1000}ms']
options: {{ drain: 1s, http_connections: shared }}
"""
        args = ["--from", queue.first, "--pause", "100ms", "--json", "--growth", 1.5, "--time-limit", "2h"]
        run = Bed(space).run(text, *args, verb="capacity", limit_s=3600)
    try:
        found = json.loads(run.out)
    except ValueError:
        return {"name": name, "is_right": False, "said": run.err.strip()[:300]}
    if found["crossing"]:
        _, low, high = found["crossing"]
        kind = "crossing"
    else:
        low, high = found["holds"] or 0.0, found["breaks"] or math.inf
        kind = "bracket"
    return {
        "name": name,
        "is_right": low <= queue.truth <= high,
        "said": f"{kind} {low:.1f} to {high:.1f}",
        "width": (high - low) / queue.truth,
        "late_s": server.counts["late_mean_s"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=12, help="more need more than two cores, and the servers are slower than theory")
    parser.add_argument("queues", nargs="*", choices=[*QUEUES, []], metavar="QUEUE")
    args = parser.parse_args()
    names = args.queues or list(QUEUES)
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        # Those with the longest runs begin first.
        order = sorted(names, key=lambda name: -QUEUES[name].trial_s)
        searches = [pool.submit(search, name, seed) for name in order for seed in range(1, args.repeat + 1)]
        results = [searched.result() for searched in searches]
    for name in names:
        own = [result for result in results if result["name"] == name]
        right = sum(result["is_right"] for result in own)
        widths = sorted(result["width"] for result in own if math.isfinite(result.get("width", math.inf)))
        width = f", median width {widths[len(widths) // 2]:.1%}" if widths else ""
        late = sorted(result["late_s"] for result in own if "late_s" in result)
        width += f", answers {late[len(late) // 2] * 1000:.2f} ms late" if late else ""
        enough = right >= 0.9 * len(own)
        missed += not enough
        print(f"{'ok   ' if enough else 'WRONG'}  {name:7} truth {QUEUES[name].truth:.1f}: in {right} of {len(own)} intervals{width}")
        for result in own:
            if not result["is_right"]:
                print(f"         outside: {result['said']}")
    print(f"{len(names) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
