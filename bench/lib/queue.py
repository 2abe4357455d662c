"""The queue: its echo beside an echo server's, and what it takes from a database beside pgbench."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

from lib import machine
from lib.market import database
from lib.process import CLIENT_CORE, SERVER_CORE, BenchError, Server, measure, pinned, throng

CLIENTS = 64
MESSAGES, QUEUES, LENGTH = 15_000, 20, 200
RUN_MAX_S = 120
# What the two calls of the scenario are to the database.
PGBENCH = f"""\\set to random(1, {QUEUES})
\\set from random(1, {QUEUES})
SELECT queue_send(:to, 1, NULL, '{'x' * LENGTH}', false);
SELECT * FROM queue_pop_skip(:from, 1);
"""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def database_processes() -> dict[int, list[str]]:
    """The processes of PostgreSQL: what the kernel says of each, after its name."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().partition(" (")[2].rpartition(")")
            if name == "postgres":
                found[int(stat.parent.name)] = rest.split()
    return found


def database_seconds() -> float:
    """CPU time of all processes of PostgreSQL, with those of its connections that have ended."""
    ticks = sum(int(field) for fields in database_processes().values() for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def place_database(core: int | None) -> None:
    """Gives PostgreSQL, and the connections that it opens from now on, this core or all of them."""
    cores = range(os.cpu_count()) if core is None else (core,)
    for process in database_processes():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(process, cores)


def load(scenario: str, port: int, runs: str, seconds: int, *options: str, core: int | None = None) -> dict:
    """A run of a scenario against a server: its summary."""
    name = "echo" if scenario == "queue-echo" else "queue"
    path = machine.BENCH / "scenarios" / f"{scenario}.yaml"
    settings = [f"params.{name}=tcp://127.0.0.1:{port}", f"params.window={seconds}s", *options]
    settings = [word for setting in settings for word in ("--set", setting)]
    summary, _ = throng(pathlib.Path(runs), str(path), *settings, "--force", seconds_max=RUN_MAX_S, core=core)
    return summary


def window(summary: dict, name: str, seconds: int) -> dict:
    """A measure of the measured phase."""
    phase = next(phase for phase in summary["phases"] if phase["name"] == "window")
    found = measure(phase, name)
    if found["response"] is None:
        raise BenchError("nothing was answered")
    ms = {part: found["response"][part] / 1e6 for part in ("p50_ns", "p98_ns")}
    return {"per_s": found["count"] / seconds, "errors": found["errors"], "p50_ms": ms["p50_ns"],
            "p98_ms": ms["p98_ns"]}


def echoes(turns: int, seconds: int, clients: tuple[int, ...]) -> list[dict]:
    """Turns of both servers, each on one core, with the generator on the other."""
    rows = []
    kinds = {"queue": (["--frontends=1"], 136), "echo": (["--raw"], 8)}
    with tempfile.TemporaryDirectory() as runs:
        for count in clients:
            for _ in range(turns):
                for kind, (options, answer) in kinds.items():
                    with Server(kind, *options) as server:
                        before = cpu_seconds(server.process.pid)
                        summary = load("queue-echo", server.port, runs, seconds, f"params.clients={count}",
                                       f"params.answer={answer}")
                        spent = cpu_seconds(server.process.pid) - before
                    whole = measure(summary, "echo")["count"]
                    rows.append({"server": kind, "clients": count, "cpu_us": 1e6 * spent / whole,
                                 **window(summary, "echo", seconds)})
                    print(rows[-1], flush=True)
    return rows


def pgbench(url: str, connections: int, seconds: int, durable: str, core: int | None) -> float:
    """Calls per second of the same functions, by pgbench, on one core or any."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(PGBENCH)
        script.flush()
        command = ["pgbench", "-n", "-M", "prepared", "-c", str(connections), "-j", "1", "-T", str(seconds), "-f",
                   script.name, url]
        if core is not None:
            command = pinned(core, command)
        options = dict(os.environ, PGOPTIONS=f"-c synchronous_commit={durable}")
        done = subprocess.run(command, text=True, capture_output=True, check=False, env=options,
                              timeout=RUN_MAX_S)
    if done.returncode != 0:
        raise BenchError(f"pgbench: {done.stderr[-300:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    # A transaction of the script is two calls.
    return 2 * float(line.split()[2])


def operations(turns: int, seconds: int, connections: tuple[int, ...]) -> list[dict]:
    """Turns of pgbench and of the queue, with as many connections to the same database.

    Placed `shared`, all processes have all cores; `apart`, the database has one, and what calls it has the other.
    """
    rows = []
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(database("postgres"))
        runs = stack.enter_context(tempfile.TemporaryDirectory())
        for placed, cores in {"shared": (None, None), "apart": (SERVER_CORE, CLIENT_CORE)}.items():
            place_database(cores[0])
            for durable in ("on", "off"):
                for count in connections:
                    for _ in range(turns):
                        rows.append({"placed": placed, "durable": durable, "connections": count,
                                     **turn(url, runs, seconds, count, durable, cores[1])})
                        print(rows[-1], flush=True)
    return rows


def turn(url: str, runs: str, seconds: int, connections: int, durable: str, core: int | None) -> dict:
    """What pgbench reaches, and then the queue."""
    options = (f"--store={url}", f"--connections={connections}", f"--durable={durable}", f"--fill={MESSAGES}",
               f"--queues={QUEUES}", f"--length={LENGTH}B")
    with Server("queue", *options, core=core):
        # It fills the database for both.
        before = database_seconds()
        bare = pgbench(url, connections, seconds, durable, core)
        bare_cpu_s = database_seconds() - before
    with Server("queue", *options, core=core) as server:
        before, own_before = database_seconds(), cpu_seconds(server.process.pid)
        summary = load("queue-mix", server.port, runs, seconds, core=core)
        cpu_s, own_cpu_s = database_seconds() - before, cpu_seconds(server.process.pid) - own_before
    whole = measure(summary, "operation")["count"]
    return {"pgbench_per_s": bare, "pgbench_database_us": 1e6 * bare_cpu_s / (bare * seconds),
            "database_us": 1e6 * cpu_s / whole, "queue_us": 1e6 * own_cpu_s / whole,
            **window(summary, "operation", seconds)}
