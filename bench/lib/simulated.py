"""A controller with simulated agents: what it costs each second, and what that means for larger fleets."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from lib import machine
from lib.process import TARGET, THRONG, BenchError

AGENTS = TARGET / "release" / "examples" / "simulated_agents"
OPERATIONS = 20
WARM_UP = 3
START_SECONDS_MAX = 300
USERS = 10_000_000
USERS_OF_AN_AGENT = (10_000, 50_000, 100_000, 500_000)
CORES_MAX = 0.5


def build() -> None:
    """The simulated agents, as optimised as the program."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "fleet", "--example", "simulated_agents"],
                   check=True, cwd=machine.ROOT)


def scenario(measures: int, seconds: int) -> str:
    """A plan with this number of measures, one of which is that of connections."""
    steps = "".join(f"    - {{ get: /{n}, as: m{n} }}\n" for n in range(1, measures))
    return (f"name: simulated\ntarget: http://127.0.0.1:9\nsessions:\n  user:\n{steps}"
            f"arrivals: [ {{ hold: {seconds}s }} ]\n")


class Nats:
    """nats-server with a store of its own."""

    def __init__(self, store: pathlib.Path) -> None:
        command = ["nats-server", "--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir", str(store),
                   "--ports_file_dir", str(store)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ports = store / f"nats-server_{self.process.pid}.ports"
        for _ in range(100):
            if ports.exists() and ports.read_text().strip():
                self.url = json.loads(ports.read_text())["nats"][0]
                return
            time.sleep(0.1)
        raise BenchError("nats-server does not listen")

    def __enter__(self) -> "Nats":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_bytes(pid: int) -> int:
    """The most memory that it had so far."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def one(agents: int, measures: int, seconds: int) -> dict:
    """A run by this number of simulated agents: what its controller used each second, from the fourth on."""
    version = subprocess.run([str(THRONG), "--version"], text=True, capture_output=True, check=True).stdout.split()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "store").mkdir()
        (folder / "spools").mkdir(mode=0o700)
        file = folder / "simulated.yaml"
        file.write_text(scenario(measures, seconds))
        with Nats(folder / "store") as nats:
            command = [str(AGENTS), nats.url, str(agents), version, str(measures), str(OPERATIONS), str(seconds),
                       str(folder / "spools")]
            simulated = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)
            try:
                if "wait" not in simulated.stdout.readline():
                    raise BenchError(f"{agents} simulated agents did not start")
                looks = conduct(folder, nats.url, agents)
                sent = int(simulated.stdout.readline())
            finally:
                simulated.kill()
                simulated.wait()
        return figures(folder, looks, sent, agents, measures)


def conduct(folder: pathlib.Path, url: str, agents: int) -> list[tuple[float, float, int]]:
    """The run: by each of its seconds, the CPU time of the controller so far, and its memory."""
    command = [str(THRONG), "run", str(folder / "simulated.yaml"), "--runs", str(folder / "runs"), "--fleet", url,
               "--agents", str(agents), "--clock-bound", "60s", "--lost-after", "60s", "--force"]
    run = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    has_begun, said = threading.Event(), []

    def read() -> None:
        for line in run.stdout:
            said.append(line)
            # The first second of the run.
            if line.lstrip().startswith("0:"):
                has_begun.set()
        has_begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    looks = []
    try:
        if not has_begun.wait(START_SECONDS_MAX):
            raise BenchError(f"a run by {agents} agents did not begin")
        while run.poll() is None:
            try:
                looks.append((time.monotonic(), cpu_s(run.pid), peak_bytes(run.pid)))
            except (OSError, ValueError):
                break
            time.sleep(1)
    finally:
        if not has_begun.is_set():
            run.kill()
        run.wait(START_SECONDS_MAX)
        reader.join()
    if len(looks) <= WARM_UP + 1:
        raise BenchError(f"a run by {agents} agents was looked at {len(looks)} times: {''.join(said)[-500:]}")
    return looks


def figures(folder: pathlib.Path, looks: list[tuple[float, float, int]], sent: int, agents: int,
            measures: int) -> dict:
    """What one run cost; all agents must have taken part to its end."""
    (directory,) = (folder / "runs").iterdir()
    info = json.loads((directory / "run.json").read_text())
    whole = sum(worker["lost_at_ns"] is None for worker in info["workers"])
    if whole != agents:
        raise BenchError(f"{whole} of {agents} simulated agents took part")
    # The first look is after the first second; those after the last are of the verdict.
    steady = looks[WARM_UP:round(info["ended_ns"] / 1e9) - 1]
    if len(steady) < 2:
        raise BenchError(f"a run by {agents} agents was too short")
    (begun, cpu_begun, _), (ended, cpu_ended, _) = steady[0], steady[-1]
    return {"agents": agents, "measures": measures, "seconds": len(steady) - 1,
            "cpu_cores": (cpu_ended - cpu_begun) / (ended - begun), "rss_peak_bytes": looks[-1][2],
            "bytes_per_agent_s": sent}


def extrapolated(rows: list[dict]) -> dict:
    """The line through the first and the last row, and what it means for the largest fleet and for ten million users."""
    first, last = rows[0], rows[-1]
    more = last["agents"] - first["agents"]
    if more <= 0:
        raise BenchError("an extrapolation takes two numbers of agents")

    def line(name: str) -> tuple[float, float]:
        slope = (last[name] - first[name]) / more
        return first[name] - slope * first["agents"], slope

    (cpu, cpu_each), (memory, memory_each) = line("cpu_cores"), line("rss_peak_bytes")
    fleets = []
    for users in USERS_OF_AN_AGENT:
        agents = -(-USERS // users)
        fleets.append({"users_of_an_agent": users, "agents": agents, "cpu_cores": cpu + cpu_each * agents,
                       "rss_bytes": memory + memory_each * agents,
                       "bytes_s": last["bytes_per_agent_s"] * agents})
    # Rows and intervals are merged by one thread: a whole core is the end.
    largest = (1 - cpu) / cpu_each if cpu_each > 0 else None
    within = (CORES_MAX - cpu) / cpu_each if cpu_each > 0 else None
    return {"cpu_cores_per_agent": cpu_each, "rss_bytes_per_agent": memory_each, "agents_of_half_a_core": within,
            "agents_of_a_core": largest, "ten_million_users": fleets}
