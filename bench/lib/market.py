"""The market on stores: what one of its processes takes, beside what the store alone does."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

from lib import machine
from lib.process import TARGET, THRONG, BenchError, Server, measure, throng

PREDICTIONS = machine.BENCH / "scenarios" / "predictions.yaml"
FINAL = machine.ROOT / "examples" / "market" / "final.yaml"
CONNECTIONS = 16
# Long enough for a run on a busy machine.
RUN_MAX_S = 120


def load_example():
    """`examples/market/up` starts stores whose commits are on the disk."""
    sys.dont_write_bytecode = True
    path = machine.ROOT / "examples" / "market" / "up"
    loader = importlib.machinery.SourceFileLoader("market_up", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("market_up", loader))
    loader.exec_module(module)
    return module


def build_examples() -> None:
    """The bare client and the relay."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "market", "--examples"], check=True,
                   cwd=machine.ROOT)


@contextlib.contextmanager
def database(kind: str):
    """A database server of its own, empty: its URL."""
    with tempfile.TemporaryDirectory(prefix="throng-bench-") as folder:
        pathlib.Path(folder).chmod(0o711)
        servers = load_example().Market(folder, argparse.Namespace())
        try:
            yield servers.store(kind)
        finally:
            servers.stop()


def predictions(url: str, runs: str, seconds: int) -> dict:
    """What 64 players reach at a market."""
    summary, _ = throng(pathlib.Path(runs), str(PREDICTIONS), "--set", f"target={url}/", "--set",
                        f"window={seconds}s", "--force", seconds_max=RUN_MAX_S)
    phase = next(phase for phase in summary["phases"] if phase["name"] == "window")
    found = measure(phase, "predict")
    # Far from its store, a process may answer none in the time.
    response = found["response"] or {"p50_ns": None, "p98_ns": None}
    ms = {name: value and value / 1e6 for name, value in response.items() if name in ("p50_ns", "p98_ns")}
    return {"per_s": found["count"] / seconds, "p50_ms": ms["p50_ns"], "p98_ms": ms["p98_ns"],
            "errors": found["errors"]}


def bare(url: str, seconds: int) -> float:
    """Predictions per second of bare connections that call the same procedure."""
    command = [str(TARGET / "release" / "examples" / "bare_client"), url, str(CONNECTIONS), str(seconds)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=RUN_MAX_S, check=False)
    if done.returncode != 0:
        raise BenchError(f"bare_client: {done.stderr[-300:]}")
    return float(done.stdout.split()[0])


def market(url: str, *options: str) -> Server:
    """One process of the market on this store, whose pools are settled now and then."""
    return Server("market", "--threads=1", f"--store={url}", f"--store-connections={CONNECTIONS}",
                  "--store-wait=60s", "--goal-every=20s", *options, core=None)


def stores(turns: int, seconds: int) -> list[dict]:
    """Turns of the bare client and of one process, on each store."""
    rows = []
    for kind in ("mysql", "postgres"):
        with database(kind) as url, tempfile.TemporaryDirectory() as runs, market(url) as one:
            for _ in range(turns):
                rows.append({"store": kind, "bare_per_s": bare(url, seconds),
                             **predictions(one.url, runs, seconds)})
                print(rows[-1], flush=True)
    with tempfile.TemporaryDirectory() as runs, Server("market", "--threads=1", "--goal-every=20s",
                                                       core=None) as one:
        for _ in range(turns):
            rows.append({"store": "memory", "bare_per_s": None, **predictions(one.url, runs, seconds)})
            print(rows[-1], flush=True)
    return rows


def distances(delays_ms: list[float], seconds: int) -> list[dict]:
    """Both drivers and both forms of queries at several distances from the store."""
    rows = []
    with database("mysql") as url, tempfile.TemporaryDirectory() as runs:
        before, _, rest = url.rpartition("@")
        address, _, name = rest.partition("/")
        for distance in delays_ms:
            relay = [str(TARGET / "release" / "examples" / "distance"), "127.0.0.1:0", address, str(distance / 2)]
            with Server.of(relay, core=None) as far:
                through = f"{before}@127.0.0.1:{far.port}/{name}"
                for driver in ("async", "blocking"):
                    for queries in ("pipelined", "sequential"):
                        options = (f"--driver={driver}", f"--queries={queries}")
                        with market(through, *options) as one:
                            rows.append({"distance_ms": distance, "driver": driver, "queries": queries,
                                         **predictions(one.url, runs, seconds)})
                        print(rows[-1], flush=True)
    return rows


def final(front: str, hold: str) -> dict:
    """24,000 fans on the whole system: behind nginx, or on two API processes that share an address."""
    args = argparse.Namespace(throng=str(THRONG), store="mysql", apis=2, tls=False, options=[])
    with tempfile.TemporaryDirectory(prefix="throng-bench-") as folder, tempfile.TemporaryDirectory() as runs:
        pathlib.Path(folder).chmod(0o711)
        system = load_example().Market(folder, args)
        try:
            urls = system.all()
            target, shared = urls["MARKET_URL"], contextlib.nullcontext()
            if front == "shared":
                both = (f"--store={urls['MARKET_STORE']}", f"--bus={urls['MARKET_BUS']}",
                        f"--cache={urls['MARKET_BUS']}", "--processes=2", "--connections=24000")
                shared = Server("market", "api", *both, core=None)
            with shared as one:
                target = one.url + "/" if one else target
                command = ["--set", f"target={target}", "--set", f"hold={hold}", "--set", "options.lag_max=1s"]
                summary, _ = throng(pathlib.Path(runs), str(FINAL), *command, seconds_max=1200, variables=urls)
        finally:
            system.stop()
    row = {"front": front, "hold": hold, "connected": summary["users"]["connected"]}
    for name in ("predict", "request", "broadcast"):
        found = measure(summary, name)
        row[name] = {"count": found["count"], "errors": found["errors"], "p50_ms": found["response"]["p50_ns"] / 1e6,
                     "p98_ms": found["response"]["p98_ns"] / 1e6}
    return row
