"""The balancer when a backend fails: what is lost by policy and health check, and where WebSockets reconnect to."""

import concurrent.futures
import contextlib
import itertools
import json
import pathlib
import signal
import tempfile
import time
from collections.abc import Iterator

from lib import machine
from lib.forwarders import backend, states
from lib.held import free_port
from lib.process import BenchError, Server, errors, measure, throng

POLICIES = ("random", "round-robin", "weighted-round-robin", "least-connections", "least-users", "source-hash",
            "two-choices", "peak-ewma", "ring-hash", "maglev", "shortest-queue", "prequal")
BY_CLIENT = ("source-hash", "ring-hash", "maglev")
STORMS = (*BY_CLIENT, "round-robin", "least-connections")
BACKENDS = 5
FAULTS = machine.BENCH / "scenarios" / "balancer-faults.yaml"
STORM = machine.BENCH / "scenarios" / "balancer-storm.yaml"
SLACK_SECONDS = 60
START_SECONDS_MAX = 30
# How long the backend of a storm is away.
DOWN_S = (0, 2)

# Of a second, so that what is lost in it can be dated.
SLICE_S = 0.25
RATE = 300
# Five workers can do 4,000/s, so that nobody queues.
WORK = ("--service-time=exponential: 5ms", "--concurrency=4")
ACTIVE = ("--health-path=/healthz", "--health-every=250ms", "--health-timeout=250ms", "--fall=2", "--rise=1")
NOT_PASSIVE = "--eject-after=0"
CHECKS = {"none": (NOT_PASSIVE,), "passive": (), "active": (NOT_PASSIVE, *ACTIVE), "both": ACTIVE}
# A backend that hangs is given up after half a second, and one that was ejected is tried again after one.
PATIENCE = ("--response-timeout=500ms", "--eject-for=1s")
SITUATIONS = ("killed", "stopped")


def cases() -> list[tuple[str, str, int]]:
    """Policy, checks and retries: every policy without checks and with all, round robin with each and without retries."""
    return [*((policy, checks, 2) for policy in POLICIES for checks in ("none", "both")),
            *(("round-robin", checks, 2) for checks in ("passive", "active")),
            *(("round-robin", checks, 0) for checks in CHECKS)]


def kill(seconds: float, chosen: list[tuple[str, str, int]]) -> list[dict]:
    """One of five workers is killed or stopped after a quarter of each run, and is back after three fifths of it."""
    rows = []
    with contextlib.ExitStack() as stack:
        runs = stack.enter_context(tempfile.TemporaryDirectory())
        workers = stack.enter_context(fleet("worker", *WORK))
        for situation in SITUATIONS:
            for policy, checks, retries in chosen:
                options = (f"--policy={policy}", f"--retries={retries}", *CHECKS[checks], *PATIENCE)
                with Server("balancer", f"--to={workers.addresses()}", *options, core=None) as one:
                    rows.append({"situation": situation, "policy": policy, "checks": checks, "retries": retries,
                                 **faulty(one, workers, situation, seconds, runs)})
                print({name: value for name, value in rows[-1].items() if name != "slices"}, flush=True)
    return rows


class Fleet:
    """Backends of one kind, of which the last can fail and come back at its address."""

    def __init__(self, kind: str, options: tuple[str, ...]) -> None:
        self.kind, self.options = kind, options
        self.servers: list[Server] = []
        for number in range(BACKENDS):
            self.servers.append(backend(kind, number, *options, core=None))

    def addresses(self) -> str:
        """For the balancer."""
        return ",".join(server.url for server in self.servers)

    def fail(self, situation: str) -> None:
        """Its process ends, or does nothing any more, at once."""
        victim = self.servers[-1].process
        victim.send_signal(signal.SIGKILL if situation == "killed" else signal.SIGSTOP)
        if situation == "killed":
            victim.wait()

    def restore(self, situation: str) -> None:
        """It is there again: as another process, or where it stopped."""
        if situation == "stopped":
            self.servers[-1].process.send_signal(signal.SIGCONT)
            return
        listen = f"127.0.0.1:{self.servers[-1].port}"
        self.servers[-1] = backend(self.kind, BACKENDS - 1, *self.options, core=None, listen=listen)

    def end(self) -> None:
        """All of them, the stopped one included."""
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                server.process.send_signal(signal.SIGCONT)
            server.__exit__()


@contextlib.contextmanager
def fleet(kind: str, *options: str) -> Iterator[Fleet]:
    """Five backends, for as long as they are needed."""
    one = Fleet(kind, options)
    try:
        yield one
    finally:
        one.end()


def faulty(one: Server, workers: Fleet, situation: str, seconds: float, runs: str) -> dict:
    """A run in whose middle a worker fails: what was lost, and when."""
    phases = [{"name": f"s{number}", "poisson": f"{RATE}/s", "for": f"{SLICE_S * 1e3:.0f}ms"}
              for number in range(round(seconds / SLICE_S))]
    settings = ("--set", f"params.url={one.url}", "--set", f"arrivals={json.dumps(phases)}")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        begun = set(pathlib.Path(runs).iterdir())
        running = pool.submit(throng, pathlib.Path(runs), str(FAULTS), *settings, "--force",
                              seconds_max=seconds + SLACK_SECONDS)
        start_ns = started(runs, begun)
        sleep_until(start_ns, seconds / 4)
        failed_ns = time.time_ns()
        workers.fail(situation)
        try:
            time.sleep(seconds * 0.35)
        finally:
            restored_ns = time.time_ns()
            workers.restore(situation)
        summary, _ = running.result()
    found = measure(summary, "work")
    if found["response"] is None:
        raise BenchError("nothing was answered")
    slices = [{"end_s": phase["end_ns"] / 1e9, "count": each["count"], "errors": each["errors"]}
              for phase in summary["phases"] for each in [measure(phase, "work")]]
    lossy = [each["end_s"] for each in slices if each["errors"]]
    failed_s = (failed_ns - start_ns) / 1e9
    return {"count": found["count"], "lost": errors(summary), "kinds": found["errors_by_kind"],
            # To the end of the last slice in which something was lost.
            "lost_for_s": max(0.0, lossy[-1] - failed_s) if lossy else 0.0,
            "down_s": (restored_ns - failed_ns) / 1e9, "failed_s": failed_s, "verdict": summary["verdict"],
            "unstarted": summary["users"]["unstarted"], "cut_off": summary["users"]["cut_off"],
            **{f"{part}_ms": found["response"][f"{part}_ns"] / 1e6 for part in ("p50", "p99")}, "slices": slices}


def started(runs: str, known: set[pathlib.Path]) -> int:
    """When the zero of a run was that has just been started, in nanoseconds of Unix time."""
    until = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until:
        for folder in set(pathlib.Path(runs).iterdir()) - known:
            with contextlib.suppress(OSError, json.JSONDecodeError):
                return json.loads((folder / "run.json").read_text())["started_unix_ns"]
        time.sleep(0.01)
    raise BenchError(f"no run has started after {START_SECONDS_MAX} s")


def sleep_until(start_ns: int, seconds: float) -> None:
    """Until so long after a run's start."""
    time.sleep(max(0.0, seconds - (time.time_ns() - start_ns) / 1e9))


def storm(users: int, hold_s: int, policies: tuple[str, ...]) -> list[dict]:
    """WebSockets through the balancer; a backend is killed, and is back at once or two seconds later."""
    rows = []
    for policy, down_s in itertools.product(policies, DOWN_S):
        with tempfile.TemporaryDirectory() as runs, fleet("echo") as echoes:
            metrics = free_port()
            options = (f"--policy={policy}", "--hash-by=X-User", "--retries=2", PATIENCE[1],
                       f"--metrics-listen=127.0.0.1:{metrics}")
            with Server("balancer", f"--to={echoes.addresses()}", *options, core=None) as one:
                row = {"policy": policy, "users": users, "down_s": down_s,
                       **stormy(one, f"http://127.0.0.1:{metrics}", echoes, (users, hold_s, down_s), runs)}
        rows.append(row)
        print(row, flush=True)
    return rows


def stormy(one: Server, operator: str, echoes: Fleet, sizes: tuple[int, int, int], runs: str) -> dict:
    """A run in which a backend takes its WebSockets with it: WebSockets of each before and at the end."""
    def held() -> list[int]:
        return [state["in_flight"] for state in states(operator)]

    users, hold_s, down_s = sizes
    settings = [f"params.url={one.url}", f"params.users={users}", f"params.hold={hold_s}s"]
    settings = [word for setting in settings for word in ("--set", setting)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(throng, pathlib.Path(runs), str(STORM), *settings, "--force",
                              seconds_max=hold_s + SLACK_SECONDS)
        start_ns = started(runs, set())
        # All come within the first second.
        sleep_until(start_ns, 3)
        before = held()
        echoes.fail("killed")
        try:
            time.sleep(down_s)
        finally:
            echoes.restore("killed")
        # The run lasts a second longer than it holds.
        sleep_until(start_ns, hold_s)
        after = held()
        if running.done():
            raise BenchError("the run ended before its WebSockets were counted: measure alone")
        summary, _ = running.result()
    found = measure(summary, "reconnect")
    times = found["response"] or {"p50_ns": 0, "p99_ns": 0}
    return {"before": before, "after": after, "attempts": found["count"], "failed": found["errors"],
            "p50_ms": times["p50_ns"] / 1e6, "p99_ms": times["p99_ns"] / 1e6, "verdict": summary["verdict"]}
