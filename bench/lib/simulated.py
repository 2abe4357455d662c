"""A controller with simulated agents: what it costs each second, and what that means for larger fleets."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from lib import machine
from lib.process import TARGET, THRONG, BenchError

AGENTS = TARGET / "release" / "examples" / "simulated_agents"
OPERATIONS = 20
RUN_SECONDS_MAX = 400
LOOK_SECONDS = 0.1
# The beginning of a line about a second of the run.
SECOND = re.compile(r"\s+(\d+):(\d\d)  ")
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
    """A run by this number of simulated agents, and what its controller used."""
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
                course = conduct(folder, nats, agents)
                sent = int(simulated.stdout.readline())
            finally:
                simulated.kill()
                simulated.wait()
        return figures(folder, course, sent, agents, measures)


@dataclasses.dataclass
class Course:
    """A run as it was looked at from outside."""

    # Times, with the CPU time of the controller and of NATS until then, and the most memory that the controller had.
    looks: list[tuple[int, float, float, int]] = dataclasses.field(default_factory=list)
    # When it showed a second of the run: the time, and the second.
    shown: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)

    def cpu_s_at(self, unix_ns: int) -> tuple[float, float]:
        """CPU time of the controller and of NATS until the look nearest to then."""
        _, controller, nats, _ = min(self.looks, key=lambda look: abs(look[0] - unix_ns))
        return controller, nats


def conduct(folder: pathlib.Path, nats: Nats, agents: int) -> Course:
    """The run, from the start of its controller to its end."""
    command = [str(THRONG), "run", str(folder / "simulated.yaml"), "--runs", str(folder / "runs"), "--fleet", nats.url,
               "--agents", str(agents), "--clock-bound", "60s", "--lost-after", "60s", "--force"]
    run = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    course = Course()

    def read() -> None:
        for line in run.stdout:
            course.said.append(line)
            if second := SECOND.match(line):
                course.shown.append((time.time_ns(), 60 * int(second[1]) + int(second[2])))

    reader = threading.Thread(target=read)
    reader.start()
    deadline = time.monotonic() + RUN_SECONDS_MAX
    while run.poll() is None:
        if time.monotonic() > deadline:
            run.kill()
        try:
            cpu = cpu_s(run.pid), cpu_s(nats.process.pid)
            course.looks.append((time.time_ns(), *cpu, peak_bytes(run.pid)))
        except (OSError, ValueError):
            break
        time.sleep(LOOK_SECONDS)
    run.wait()
    reader.join()
    if len(course.shown) < 2:
        raise BenchError(f"a run by {agents} agents showed no course: {''.join(course.said)[-500:]}")
    return course


def figures(folder: pathlib.Path, course: Course, sent: int, agents: int, measures: int) -> dict:
    """What one run cost from its start until its controller had merged its last seconds; all agents must have taken part."""
    (directory,) = (folder / "runs").iterdir()
    info = json.loads((directory / "run.json").read_text())
    whole = sum(worker["lost_at_ns"] is None for worker in info["workers"])
    if whole != agents:
        raise BenchError(f"{whole} of {agents} simulated agents took part")
    begun_ns, (shown_ns, second) = info["started_unix_ns"], course.shown[-1]
    # What was received of later seconds by then is counted as well.
    controller, nats = (end - begin for begin, end in zip(course.cpu_s_at(begun_ns), course.cpu_s_at(shown_ns)))
    return {"agents": agents, "measures": measures, "seconds": second, "cpu_cores": controller / second,
            "nats_cores": nats / second, "behind_s": (shown_ns - begun_ns) / 1e9 - second,
            "rss_peak_bytes": course.looks[-1][3],
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
