"""Holds so many users at once: market and generator as processes of their own, watched."""

import dataclasses
import json
import math
import os
import pathlib
import socket
import subprocess
import tempfile
import time

from lib import machine
from lib.process import THRONG, BenchError, Server
from lib.watch import Sample, Watch

SCENARIO = machine.BENCH / "scenarios" / "million.yaml"
FANS = machine.ROOT / "examples" / "football-million.yaml"

# A sample a second is enough for minutes; a short ramp needs more of them.
SAMPLE_SECONDS = 1.0
SAMPLES_PER_RAMP = 40
# Beyond its plan a run may take so long, and its sockets to go: 13 s were seen for a million.
SLACK_SECONDS = 120
GONE_SECONDS = 120
LINE_SECONDS = 10
# Besides the crowd: one user for each of the three broadcasts.
BETTORS = 3
# As slow as the fans of the example are; the example says so to its own market.
GOAL_EVERY = "15m"
# Ports below those that the kernel gives to connections, so that no connection can take ours.
PORTS = range(20_000, 30_000)


@dataclasses.dataclass(frozen=True)
class Hold:
    """What is asked: so many users, connecting so many a second."""

    users: int
    rate: int

    @property
    def connecting_s(self) -> float:
        return self.users / self.rate

    @property
    def window_s(self) -> int:
        """For one broadcast: more than the kernel needs to send and receive so many messages."""
        return max(8, math.ceil(self.users * 15e-6))

    @property
    def join_after_s(self) -> int:
        # Connecting takes longer than planned where that is more than the machine can do; joining
        # must not begin before its end.
        return math.ceil(2 * self.connecting_s) + 5

    @property
    def seconds(self) -> float:
        return 3 + self.connecting_s + self.join_after_s + 3 + 3 * self.window_s

    def sets(self, market: str) -> dict[str, str]:
        """The scenario's parameters."""
        return {
            "market": market, "rate": f"{self.rate}/s",
            "connecting": f"{round(self.connecting_s * 1e6)}us",
            "join_after": f"{self.join_after_s}s", "window": f"{self.window_s}s",
            # One bettor in a window.
            "bets": f"{60 / self.window_s}/min",
        }


def prepare(users: int, apply: bool) -> None:
    """Sees to it that the machine can hold them, its memory included, or says why not."""
    command = [str(THRONG), "doctor", "--users", str(users)]
    if subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return
    if apply and os.geteuid() == 0:
        subprocess.run([*command, "--apply"], check=False)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"this machine cannot hold {users:,} users as it is:\n\n{done.stdout}"
                         f"{done.stderr}\n--apply changes its settings (needs root)")


def free_port() -> int:
    """A port that nobody listens on."""
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise BenchError(f"no free port in {PORTS}")


def hold(ask: Hold, program: pathlib.Path = THRONG) -> dict:
    """One run of the million scenario by a build of the generator: summary and samples."""
    with market(ask.users, "--games", "1", "--goal-every", "1000h") as server:
        sets = [f"--set={name}={value}" for name, value in ask.sets(server.url).items()]
        period = max(0.02, min(SAMPLE_SECONDS, ask.connecting_s / SAMPLES_PER_RAMP))
        raw = watched(server, [str(SCENARIO), *sets], ask.users, ask.seconds, period, program)
    return {"users": ask.users, "rate": ask.rate, "seconds": ask.seconds} | raw


def fans(users: int, rate: int, stay_s: int, batch: str) -> dict:
    """The football final with so many fans, who come at this rate and then stay."""
    arrive_s = users / rate
    with market(users, "--batch", batch, "--goal-every", GOAL_EVERY) as server:
        sets = [f"target={server.url}", f"arrivals.0.constant={rate}/s",
                f"arrivals.0.for={round(arrive_s * 1e6)}us", f"hold={stay_s}s"]
        raw = watched(server, [str(FANS), *(f"--set={one}" for one in sets)],
                      users, arrive_s + stay_s, SAMPLE_SECONDS)
    return {"users": users, "rate": rate, "seconds": arrive_s + stay_s, "batch": batch} | raw


def market(users: int, *options: str) -> Server:
    """A market that has room for them, on any core. It pings nobody: a million pings a minute would
    be a load of their own."""
    return Server("market", "--connections", str(users), "--ping-after", "0s", *options,
                  listen=f"127.0.0.1:{free_port()}", core=None)


def watched(server: Server, what: list[str], users: int, planned_s: float,
            period_s: float, program: pathlib.Path = THRONG) -> dict:
    """Runs the generator, looks at it all the time, and waits until its sockets are gone."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "summary.json")
        command = [str(program), "run", *what, "--runs", str(pathlib.Path(folder, "runs")), "--json"]
        with open(out, "w", encoding="utf-8") as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file)
        watch = Watch(process.pid, server.process.pid)
        try:
            follow(process, watch, planned_s, period_s, users)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode not in (0, 1, 2):
            raise BenchError(f"{' '.join(command)} ended with {process.returncode}")
        summary = json.loads(out.read_text())
    gone(watch)
    places = f"{machine.ROOT}/"
    return {"command": ["throng", "run", *(part.removeprefix(places) for part in what)],
            "exit_code": process.returncode, "summary": summary,
            "samples": columns(watch.samples)}


def columns(samples: list[Sample]) -> dict[str, list]:
    """Samples by name: a table of hundreds of rows, whose names are written once."""
    return {field.name: [getattr(sample, field.name) for sample in samples]
            for field in dataclasses.fields(Sample)}


def follow(process: subprocess.Popen, watch: Watch, planned_s: float, period_s: float,
           users: int) -> None:
    """Looks closely until all are there, then once a second until the end; prints who waits."""
    printed_at = 0.0
    while process.poll() is None:
        sample = watch.look()
        if sample.at_s > planned_s + SLACK_SECONDS:
            raise BenchError(f"the run was to take {planned_s:.0f} s and took {sample.at_s:.0f} s")
        if sample.at_s >= printed_at:
            print(f"  {sample.at_s:4.0f} of {planned_s:.0f} s: {line(sample)}", flush=True)
            printed_at = sample.at_s + LINE_SECONDS
        time.sleep(period_s if sample.pairs < users else SAMPLE_SECONDS)


def line(sample: Sample) -> str:
    """What there is now."""
    return (f"{sample.pairs:>9,} connections, generator {sample.generator_rss / 2**20:,.0f} MiB, "
            f"market {sample.market_rss / 2**20:,.0f} MiB, "
            f"kernel {sample.kernel_bytes / 2**20:,.0f} MiB, "
            f"{sample.available / 2**20:,.0f} MiB left")


def gone(watch: Watch) -> None:
    """Waits until the kernel has taken the sockets away: they would slow down what comes next."""
    until = time.monotonic() + GONE_SECONDS
    few = max(100, max(sample.sockets for sample in watch.samples) // 1_000)
    while watch.look().sockets > few:
        if time.monotonic() > until:
            raise BenchError(f"{watch.samples[-1].sockets:,} sockets are still there")
        time.sleep(0.1)
