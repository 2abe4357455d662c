"""Processes: servers that live as long as they are needed, and commands that are measured."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from lib import machine

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", machine.ROOT / "target"))
THRONG = TARGET / "release" / "throng"
GAUGE = pathlib.Path(__file__).parent / "gauge.py"

# A precise loop keeps the last core to itself.
CLIENT_CORE, SERVER_CORE = 1, 0
STOP_SECONDS = 20


class BenchError(Exception):
    """A measurement that cannot be made, or that measured something else than it should."""


def build() -> None:
    """The program as it would be released."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "throng"], check=True,
                   cwd=machine.ROOT)


def pinned(core: int, command: list[str]) -> list[str]:
    """The command on one core, where there is more than one."""
    return ["taskset", "-c", str(core), *command] if os.cpu_count() > 1 else list(command)


class Server:
    """One of the built-in systems, for as long as it is needed; ended by its own handle."""

    def __init__(self, kind: str, *options: str, listen: str = "127.0.0.1:0",
                 core: int | None = SERVER_CORE) -> None:
        self.start([str(THRONG), "serve", kind, "--listen", listen, *options,
                    "--until-stdin-closes"], core)

    @classmethod
    def of(cls, command: list[str], core: int | None = SERVER_CORE) -> "Server":
        """Any other program that prints its address and ends with its standard input."""
        server = cls.__new__(cls)
        server.start(command, core)
        return server

    def start(self, command: list[str], core: int | None) -> None:
        if core is not None:
            command = pinned(core, command)
        # It stops when its input closes, so it cannot outlive the bench, however that ends.
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f"{' '.join(command)} did not start")
        self.port = int(line.rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def gauged(command: list[str], seconds_max: float, core: int | None = CLIENT_CORE,
           sockets: int = 0, hold: float = 0.0, **variables: str) -> tuple[str, dict]:
    """Runs a command to its end: what it printed, and what it cost with all that it started.

    With `sockets` it ends `hold` seconds after the machine has so many more of them.
    """
    if core is not None:
        command = pinned(core, command)
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place, "gauge.json")
        gauge = [sys.executable, str(GAUGE), str(out), str(seconds_max), str(sockets), str(hold),
                 "--", *command]
        # Errors go to the same place: what a tool says of its own failure is shown with it.
        with open(pathlib.Path(place, "printed"), "w+", encoding="utf-8", errors="replace") as file:
            subprocess.run(gauge, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                           cwd=place, env={**os.environ, **variables}, check=False)
            file.seek(0)
            printed = file.read()
        if not out.exists():
            raise BenchError(f"{' '.join(command)} was not measured: {printed[-300:]}")
        cost = json.loads(out.read_text())
    if cost["overran"]:
        raise BenchError(f"took longer than {seconds_max:.0f} s")
    return printed, cost


def throng(runs: pathlib.Path, what: str, *options: str, seconds_max: float,
           core: int | None = None, program: pathlib.Path = THRONG,
           variables: dict[str, str] | None = None) -> tuple[dict, dict]:
    """One run of the generator: its summary, and the cost of the process from start to end."""
    command = [str(program), "run", what, "--runs", str(runs), "--json", *options]
    printed, cost = gauged(command, seconds_max, core, **variables or {})
    # 1: a threshold did not hold, 2: not to be trusted. Both are for the bench to judge.
    if cost["code"] not in (0, 1, 2):
        raise BenchError(f"{' '.join(command)} ended with {cost['code']}: {printed[-300:]}")
    return printed_summary(printed), cost


def printed_summary(printed: str) -> dict:
    """The summary in what `run --json` printed: it stands after the progress."""
    start = printed.find("{\n")
    if start < 0:
        raise BenchError(f"no summary was printed: {printed[-300:]}")
    return json.loads(printed[start:])


def sends(echo: str, seconds: int) -> tuple[str, list[str]]:
    """The scenario, and its options, of 50,000 messages a second over 1,000 open WebSockets."""
    return (str(machine.BENCH / "scenarios" / "sends.yaml"),
            ["--set", f"params.echo={echo}", "--set", f"params.window={seconds}s"])


def measure(summary: dict, name: str) -> dict:
    """A measure of a summary by its name or kind; the empty one where nothing was measured."""
    nothing = {"count": 0, "errors": 0, "response": None, "lag": None}
    return next((m for m in summary["measures"] if name in (m["name"], m["kind"])), nothing)


def errors(summary: dict) -> int:
    """Operations that did not end well."""
    return sum(m["errors"] for m in summary["measures"])
