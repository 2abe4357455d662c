"""The market on stores: what one of its processes takes, beside what the store alone does."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from lib import machine
from lib.process import TARGET, THRONG, BenchError, Server, measure, throng

PREDICTIONS = machine.BENCH / "scenarios" / "predictions.yaml"
BENDS = machine.BENCH / "scenarios" / "market-bends.yaml"
LESSONS = machine.ROOT / "examples" / "market" / "lessons-experiment.yaml"
FINAL = machine.ROOT / "examples" / "market" / "final.yaml"
# What `op` of the scenario asks, and what is expected to bend under it.
BENDING = {"mysql": "predict", "redis": "pools", "api": "predict"}
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
def system(**args):
    """The servers of the example, none of them started yet, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="throng-bench-") as folder:
        # PostgreSQL's user has to pass through.
        pathlib.Path(folder).chmod(0o711)
        servers = load_example().Market(folder, argparse.Namespace(**args))
        try:
            yield servers
        finally:
            servers.stop()


@contextlib.contextmanager
def database(kind: str):
    """A database server of its own, empty: its URL."""
    with system() as servers:
        yield servers.store(kind)


def predictions(url: str, runs: str, seconds: int, program: pathlib.Path = THRONG) -> dict:
    """What 64 players reach at a market."""
    summary, _ = throng(pathlib.Path(runs), str(PREDICTIONS), "--set", f"target={url}/", "--set",
                        f"window={seconds}s", "--force", seconds_max=RUN_MAX_S, program=program)
    phase = next(phase for phase in summary["phases"] if phase["name"] == "window")
    found = measure(phase, "predict")
    # Far from its store, a process may answer none in the time.
    response = found["response"] or {"p50_ns": None, "p98_ns": None}
    ms = {name: value and value / 1e6 for name, value in response.items() if name in ("p50_ns", "p98_ns")}
    return {"per_s": found["count"] / seconds, "all": measure(summary, "predict")["count"],
            "p50_ms": ms["p50_ns"], "p98_ms": ms["p98_ns"], "errors": found["errors"]}


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
                            rows.append({"distance_ms": distance, "driver": driver, "queries": queries, "seconds": seconds,
                                         **predictions(one.url, runs, seconds)})
                        print(rows[-1], flush=True)
    return rows


def bends(seconds: int) -> list[dict]:
    """The highest load that one process with each store holds, and what the CPU was used for there."""
    return [bend(what, op, seconds) for what, op in BENDING.items()]


def bend(what: str, op: str, seconds: int) -> dict:
    """A search for capacity, and a run at the load that holds."""
    with system() as servers, tempfile.TemporaryDirectory() as runs:
        options = []
        if what != "api":
            options.append(f"--store={servers.store('mysql')}")
            options.append(f"--store-connections={CONNECTIONS}")
        if what == "redis":
            options.append(f"--cache={servers.redis()['url']}")
        with Server("market", "--threads=1", "--goal-every=20s", *options, core=None) as one:
            row = {"what": what, "op": op, **search(one.url, op, seconds, runs)}
            pids = {"market": one.process.pid} | {name: process.pid for name, process in servers.running}
            before = {name: cpu_s(pid) for name, pid in pids.items()}
            summary, cost = throng(pathlib.Path(runs), str(BENDS), "--set", f"target={one.url}/", "--set",
                                   f"op={op}", "--set", f"players={row['players']}", "--set",
                                   f"window={seconds}s", "--force", seconds_max=RUN_MAX_S)
            row["cpu_cores"] = {name: (cpu_s(pid) - before[name]) / cost["wall_s"] for name, pid in pids.items()}
            row["cpu_cores"]["generator"] = (cost["user_s"] + cost["system_s"]) / cost["wall_s"]
    phase = next(phase for phase in summary["phases"] if phase["name"] == "hold")
    row["per_s"] = measure(phase, "asked")["count"] / seconds
    print(row, flush=True)
    return row


def search(url: str, op: str, seconds: int, runs: str) -> dict:
    """What `throng capacity` says of the number of players, 20 requests a second each."""
    command = [str(THRONG), "capacity", str(BENDS), "--of", "players", "--runs", runs, "--json", "--set",
               f"target={url}/", "--set", f"op={op}", "--set", f"window={seconds}s", "--time-limit", "4m", "--force"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=30 * 60, check=False)
    if done.returncode != 0:
        raise BenchError(f"throng capacity ended with {done.returncode}: {done.stderr[-300:]}")
    found = json.loads(done.stdout)
    return {"players": int(found["holds"]), "found": found}


def cpu_s(pid: int) -> float:
    """CPU time that a process and its children that ended have used, in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def compared(turns: int, seconds: int) -> list[dict]:
    """What `throng compare` says of the same scenario on two stores: 2,000 predictions a second."""
    with (tempfile.TemporaryDirectory() as runs, contextlib.ExitStack() as open_ones,
          database("mysql") as mysql, database("postgres") as postgres):
        one_of = {"mysql": market(mysql), "postgres": market(postgres),
                  "memory": Server("market", "--threads=1", "--goal-every=20s", core=None)}
        for one in one_of.values():
            open_ones.enter_context(one)
        kept = {name: [] for name in one_of}
        for _ in range(turns):
            for name, one in one_of.items():
                summary, _ = throng(pathlib.Path(runs), str(BENDS), "--set", f"target={one.url}/",
                                    "--set", "players=100", "--set", f"window={seconds}s", "--force", seconds_max=RUN_MAX_S)
                newest = max(pathlib.Path(runs).iterdir(), key=lambda path: path.stat().st_mtime_ns)
                kept[name].append(str(newest))
                print(name, measure(summary, "asked")["response"], flush=True)
        return [compare(kept, baseline, candidate) for baseline, candidate in
                (("memory", "mysql"), ("memory", "postgres"), ("mysql", "postgres"))]


def compare(kept: dict[str, list[str]], baseline: str, candidate: str) -> dict:
    """The verdict, as JSON."""
    command = [str(THRONG), "compare", *kept[candidate], "--baseline", *kept[baseline], "--phase", "hold", "--json",
               "--force"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=RUN_MAX_S, check=False)
    if done.returncode not in (0, 1, 2):
        raise BenchError(f"throng compare ended with {done.returncode}: {done.stderr[-300:]}")
    measures = [{name: measure[name] for name in ("name", "verdict", "text", "changes")}
                for measure in json.loads(done.stdout)["measures"]]
    return {"baseline": baseline, "candidate": candidate, "code": done.returncode, "measures": measures}


def lessons() -> list[dict]:
    """The experiment on four of the mistakes: the effects on each response, and the mean of each combination."""
    with system() as servers, tempfile.TemporaryDirectory() as runs:
        urls = {"MARKET_STORE": servers.store("mysql"), "MARKET_CACHE": servers.redis()["url"]}
        command = [str(THRONG), "experiment", str(LESSONS), "--dir", f"{runs}/experiment", "--json"]
        done = subprocess.run(command, text=True, capture_output=True, timeout=60 * 60, check=False,
                              env={**os.environ, **urls})
    if done.returncode not in (0, 2):
        raise BenchError(f"throng experiment ended with {done.returncode}: {done.stderr[-500:]}")
    analysis = json.loads(done.stdout)
    factors = [{name: factor[name] for name in ("letter", "name", "levels")} for factor in analysis["factors"]]
    left_out = len(analysis["left_out"])
    return [{"response": response["name"], "factors": factors, "left_out": left_out,
             **{name: response[name] for name in ("unit", "model", "cells", "fit")}}
            for response in analysis["responses"]]


def final(front: str, hold: str) -> dict:
    """24,000 fans on the whole system: behind nginx, or on two API processes that share an address."""
    tls = front.endswith("-tls")
    options = {"throng": str(THRONG), "store": "mysql", "bus": "redis", "apis": 2, "tls": tls, "options": []}
    with system(**options) as servers, tempfile.TemporaryDirectory() as runs:
        urls = servers.all()
        target, shared = urls["MARKET_URL"], contextlib.nullcontext()
        if front.startswith("shared"):
            both = (f"--store={urls['MARKET_STORE']}", f"--bus={urls['MARKET_BUS']}",
                    f"--cache={urls['MARKET_CACHE']}", "--processes=2", "--connections=24000",
                    *([f"--tls-cert={servers.tls['certificate']}", f"--tls-key={servers.tls['key']}"] if tls else []))
            shared = Server("market", "api", *both, core=None)
        with shared as one:
            target = one.url + "/" if one else target
            if tls:
                target = target.replace("http:", "https:")
                target = f"{{ url: '{target}', tls: {{ ca: '{urls['MARKET_CA']}' }} }}"
            command = ["--set", f"target={target}", "--set", f"hold={hold}", "--set", "options.lag_max=1s"]
            summary, _ = throng(pathlib.Path(runs), str(FINAL), *command, seconds_max=1200, variables=urls)
    row = {"front": front, "hold": hold, "connected": summary["users"]["connected"]}
    for name in ("predict", "request", "broadcast"):
        found = measure(summary, name)
        row[name] = {"count": found["count"], "errors": found["errors"], "p50_ms": found["response"]["p50_ns"] / 1e6,
                     "p98_ms": found["response"]["p98_ns"] / 1e6}
    return row
