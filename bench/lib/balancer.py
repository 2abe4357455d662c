"""The balancer as a forwarder: its CPU and its latency beside those of nginx and HAProxy, and where it is the limit."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from lib import machine
from lib.forwarders import FORWARDERS, POLICIES, backends, cpu_s, forwarder, get, states, worked
from lib.held import free_port
from lib.process import CLIENT_CORE, SERVER_CORE, BenchError, Server, errors, measure, throng

CLIENTS = 64
BACKENDS = 3
# Policies by the client need more clients than one address has.
ADDRESSES = "options.source_addresses=127.0.1.1..127.0.1.64"
SLACK_SECONDS = 60
# Nothing of a request but the worker's own handling. All requests can be in progress at once.
INSTANT = ("--service-time=0ms", "--concurrency=10000", "--queue=10000")
OPTIONS = {"worker": INSTANT, "hello": ()}
THINK_S = 0.05
THINK = machine.BENCH / "scenarios" / "balancer-think.yaml"
# The mean service time of each at speed 1.
S4_SERVICE_S = 0.005
S4_WORKERS = machine.ROOT / "examples" / "balancer" / "s4.workers"


def turned(kinds: tuple[str, ...], turn: int) -> tuple[str, ...]:
    """Each of them comes first in its turn."""
    at = turn % len(kinds)
    return kinds[at:] + kinds[:at]


def closed(url: str, runs: str, seconds: int) -> tuple[dict, dict]:
    """Requests as fast as they are answered, over 64 connections."""
    # A precise loop would keep the core that the backends are on.
    options = ["--set", "options.mode=wide", "--set", "options.loops=1", "--set", "options.lag_max=1s", "--set", ADDRESSES]
    return throng(pathlib.Path(runs), f"{url}/work", "--users", str(CLIENTS), "--duration", f"{seconds}s", *options,
                  core=CLIENT_CORE, seconds_max=seconds + SLACK_SECONDS)


def served(summary: dict, found: dict) -> dict:
    """How many of the requests of a measure were answered well."""
    if not found["count"]:
        raise BenchError("nothing was answered")
    return {"count": found["count"], "errors": found["errors"], "verdict": summary["verdict"]}


def efficiency(turns: int, seconds: int, kinds: dict[str, list[str]]) -> list[dict]:
    """Turns of all forwarders, each on a core of its own; backends (by kind: policies) and generator have the other.

    Beside them the generator without a forwarder, for what the other core allows. The first turn warms caches and
    clocks, and is not kept.
    """
    rows = []
    for kind, policies in kinds.items():
        with tempfile.TemporaryDirectory() as runs, backends(kind, BACKENDS, *OPTIONS[kind], core=CLIENT_CORE) as servers:
            for policy in policies:
                # It knows no policy.
                names = ("direct", *FORWARDERS) if policy == policies[0] else FORWARDERS
                for turn in range(turns + 1):
                    for name in turned(names, turn):
                        row = {"backends": kind, "policy": policy, "forwarder": name, "turn": turn,
                               **efficient(name, policy, servers, kind, runs, seconds)}
                        if turn > 0:
                            rows.append(row)
                            print(row, flush=True)
    return rows


def efficient(name: str, policy: str, servers: list[Server], kind: str, runs: str, seconds: int) -> dict:
    """One turn of one forwarder."""
    counts = worked(servers) if kind == "worker" else []
    with through(name, policy, servers) as one:
        before = cpu_s(one)
        summary, cost = closed(one.url, runs, seconds)
        spent = cpu_s(one) - before
    found = measure(summary, "request")
    row = {**served(summary, found), "per_s": found["rate_per_s"], "generator_cpu_s": cost["user_s"] + cost["system_s"]}
    if name != "direct":
        if not spent:
            raise BenchError(f"{name} took less CPU time than can be measured")
        row |= {"cpu_s": spent, "busy": spent / seconds, "per_cpu_s": found["count"] / spent}
    if counts and name != "direct":
        each = [after - earlier for after, earlier in zip(worked(servers), counts)]
        row["imbalance"] = max(each) * len(each) / sum(each)
    return row


@contextlib.contextmanager
def through(name: str, policy: str, servers: list[Server]) -> Iterator[Server]:
    """A forwarder, or the first of the backends itself."""
    if name == "direct":
        yield servers[0]
        return
    with forwarder(name, policy, [server.port for server in servers]) as one:
        yield one


def latency(turns: int, seconds: int, rate: int) -> list[dict]:
    """An open load, directly and through each forwarder in turn; all of them stand ready all the time.

    The generator is precise and has a core to itself. The first turn is not kept.
    """
    rows = []
    with contextlib.ExitStack() as stack:
        runs = stack.enter_context(tempfile.TemporaryDirectory())
        servers = stack.enter_context(backends("worker", BACKENDS, *INSTANT, core=SERVER_CORE))
        names = ("direct", *FORWARDERS)
        urls = {name: stack.enter_context(through(name, "round-robin", servers)).url for name in names}
        for turn in range(turns + 1):
            for name in turned(names, turn):
                row = {"forwarder": name, "turn": turn, "rate": rate, **steady(urls[name], runs, seconds, rate)}
                if turn > 0:
                    rows.append(row)
                    print(row, flush=True)
    return rows


def steady(url: str, runs: str, seconds: int, rate: int) -> dict:
    """Response times at a fixed rate, counted from the sending: the generator's lag is no forwarder's."""
    summary, _ = throng(pathlib.Path(runs), f"{url}/work", "--rate", f"{rate}/s", "--duration", f"{seconds}s", "--set",
                        "options.loops=1", "--set", "options.mode=precise", seconds_max=seconds + SLACK_SECONDS)
    found = measure(summary, "request")
    row = served(summary, found)
    if found["service"] is None:
        raise BenchError(f"nothing succeeded at {url}")
    times = {f"{part}_us": found["service"][f"{part}_ns"] / 1e3 for part in ("p50", "p99")}
    return row | times | {"lag_p99_us": summary["health"]["lag_p99_ns"] / 1e3}


def limit(seconds: int, users: tuple[int, ...], users_of_workers: tuple[int, ...]) -> list[dict]:
    """More and more users who think for 50 ms, until something is full: the forwarder, or workers behind it."""
    rows = []
    with tempfile.TemporaryDirectory() as runs, backends("hello", BACKENDS, core=CLIENT_CORE) as servers:
        for name in ("direct", *FORWARDERS):
            with through(name, "round-robin", servers) as one:
                rows += [{"full": "forwarder", "forwarder": name, **thinking(one, runs, seconds, count)}
                         for count in users]
        # S4's machines, which refuse what they cannot queue.
        metrics = free_port()
        with Server("balancer", f"--workers={S4_WORKERS}", "--policy=weighted-round-robin", "--threads=1",
                    f"--metrics-listen=127.0.0.1:{metrics}") as one:
            for count in users_of_workers:
                before = served_by(metrics)
                row = thinking(one, runs, seconds, count)
                rows.append({"full": "workers", "forwarder": "throng", **row,
                             "by_worker": by_worker(before, served_by(metrics), row["served_per_s"])})
    return rows


def served_by(metrics: int) -> dict[str, int]:
    """Requests that each worker of a balancer has worked on so far, by its address, in the order of the list."""
    names = [state["name"] for state in states(f"http://127.0.0.1:{metrics}")]
    found = {}
    for name in names:
        lines = get(f"http://{name}/metrics").splitlines()
        found[name] = next(int(line.split()[1]) for line in lines if line.startswith("worker_requests_done_total "))
    return found


def by_worker(before: dict[str, int], after: dict[str, int], served_per_s: float) -> list[dict]:
    """The part that each worker of S4 had in what was served a second."""
    done = [after[name] - before[name] for name in after]
    return [{**worker, "per_s": served_per_s * count / max(sum(done), 1)} for worker, count in zip(s4_workers(), done)]


def s4_workers() -> list[dict]:
    """Name and capacity of each worker of S4's file."""
    lines = [line.split("#")[0] for line in S4_WORKERS.read_text().splitlines()]
    settings = [dict(part.strip().split("=", 1) for part in line.split(";")) for line in lines if line.strip()]
    return [{"name": one["name"], "capacity_per_s": float(one["concurrency"]) * float(one["speed"]) / S4_SERVICE_S}
            for one in settings]


def thinking(one: Server, runs: str, seconds: int, users: int) -> dict:
    """What this number of users reaches, and the CPU time of the server that they talk to."""
    settings = [f"params.url={one.url}", f"params.users={users}", f"params.think={THINK_S * 1e3:.0f}ms",
                f"params.window={seconds}s"]
    settings = [word for setting in settings for word in ("--set", setting)]
    before = cpu_s(one)
    summary, _ = throng(pathlib.Path(runs), str(THINK), *settings, "--force", core=CLIENT_CORE,
                        seconds_max=seconds + SLACK_SECONDS)
    spent = cpu_s(one) - before
    phase = next(phase for phase in summary["phases"] if phase["name"] == "window")
    found = measure(phase, "work")
    row = {"users": users, "think_s": THINK_S, **served(summary, found), "all_errors": errors(summary),
           "per_s": found["count"] / seconds, "served_per_s": (found["count"] - found["errors"]) / seconds,
           "response_s": found["response"]["mean_ns"] / 1e9, "p99_s": found["response"]["p99_ns"] / 1e9,
           # The run's first second is a ramp; a request costs the same in it.
           "busy": spent / measure(summary, "work")["count"] * found["count"] / seconds}
    print(row, flush=True)
    return row


def policies_of(kinds: list[str]) -> dict[str, list[str]]:
    """All policies in front of the cheapest backends, with which the forwarder is the limit; one in front of workers."""
    known = {"hello": list(POLICIES), "worker": ["round-robin"]}
    return {kind: known[kind] for kind in kinds}
