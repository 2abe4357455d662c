"""What the scripts beside it share: a target with known faults, and a run of Throng against it."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = HERE / "target.py"
BUILDS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# A run that does not end is a failed one.
LIMIT_S = 300
# Cases that only wait and are played at once: they take little CPU, of two cores.
WAITING_MAX = 4


def throng_binary() -> pathlib.Path:
    """`THRONG`, else the release build, made if it is missing."""
    given = os.environ.get("THRONG")
    if given:
        return pathlib.Path(given).resolve()
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "throng"]
    subprocess.run(build, cwd=ROOT, check=True)
    return BUILDS / "release/throng"


class Target:
    """A running target: its ports, and what it counted once it has stopped."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        # `8080`, or `listening on http://127.0.0.1:8080`, with more addresses behind it.
        self.ports = [int(word.rpartition(":")[2]) for word in process.stdout.readline().split() if word[-1].isdigit()]
        self.port = self.ports[0]
        self.counts = {}

    def stop(self) -> dict:
        if not self.counts and self.process.poll() is None:
            out, _ = self.process.communicate(timeout=30)
            self.counts = json.loads(out)
        return self.counts


@contextlib.contextmanager
def target(*options, before=()):
    """`before`: a command that runs it, such as `ip netns exec NAME`."""
    with serving(*before, sys.executable, TARGET, *options) as running:
        yield running


@contextlib.contextmanager
def serving(*command):
    """A program that prints its port or its addresses, serves until its standard input closes, and prints then what it
    counted."""
    command = [*map(str, command)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    running = Target(process)
    try:
        yield running
        running.stop()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


class Run:
    """A finished run: what was printed, the exit code, and its files."""

    def __init__(self, done: subprocess.CompletedProcess, space: pathlib.Path) -> None:
        self.code = done.returncode
        self.out, self.err = done.stdout, done.stderr
        runs = sorted(path.parent for path in space.glob("runs/*/summary.json"))
        self.path = runs[-1] if runs else None
        self.summary = json.loads((self.path / "summary.json").read_text()) if self.path else {}

    @property
    def verdict(self) -> str:
        return self.summary.get("verdict", "none")

    @property
    def findings(self) -> list:
        return self.summary.get("findings", [])

    @property
    def codes(self) -> list:
        return [finding["code"] for finding in self.findings]

    @property
    def errors(self) -> list:
        return self.summary.get("errors", [])

    @property
    def incidents(self) -> list:
        return self.summary.get("incidents", [])

    @property
    def about_target(self) -> list:
        """Findings that are not about the generator and its machine."""
        own = re.compile("generator-|host-|rows-|own-work|threshold-by-lag|retransmits|run-too-short")
        return [finding for finding in self.findings if not own.match(finding["code"])]

    def finding(self, code: str) -> dict:
        """The first of this code; empty if there is none."""
        return next((finding for finding in self.findings if finding["code"] == code), {})

    def measure(self, name: str) -> dict:
        return next((measure for measure in self.summary.get("measures", []) if measure["name"] == name), {})

    def threshold(self, text: str) -> dict:
        return next((result for result in self.summary.get("thresholds", []) if result["text"] == text), {})


class Bed:
    """Runs scenarios with one binary, each in a directory of its own."""

    def __init__(self, space: str, throng: pathlib.Path | None = None) -> None:
        self.throng = throng or throng_binary()
        self.space = pathlib.Path(space)
        self.runs = 0

    def run(
        self, scenario: str, *args, verb="run", before=(), while_running=None, env=None, limit_s=LIMIT_S, files=None
    ) -> Run:
        """`before`: a command that runs Throng, such as `ip netns exec NAME`; `while_running` is called with the
        process; `files`: texts or bytes by name, beside the scenario."""
        self.runs += 1
        space = self.space / str(self.runs)
        space.mkdir()
        for name, content in {"scenario.yaml": scenario, **(files or {})}.items():
            (space / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        command = [*before, str(self.throng), verb, "--runs", str(space / "runs")]
        command += [*map(str, args), str(space / "scenario.yaml")]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=space,
            env={**os.environ, "NO_COLOR": "1", **(env or {})},
        )
        try:
            if while_running:
                while_running(process)
            out, err = process.communicate(timeout=limit_s)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return Run(subprocess.CompletedProcess(command, process.returncode, out, err), space)

    def throng_out(self, *args) -> str:
        """What Throng prints."""
        command = [str(self.throng), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        return done.stdout + done.stderr

    def analysis(self, run: Run) -> dict:
        """What `analyze` finds in a run."""
        said = self.throng_out("analyze", "--json", run.path)
        require(said.startswith("{"), f"analyze says: {said}")
        return json.loads(said)


class Wrong(Exception):
    """What Throng said is not true."""


class Skipped(Exception):
    """What a case needs is not here."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


def near(value: float, truth: float, share: float) -> bool:
    return abs(value - truth) <= share * abs(truth)


def scenario(port: int, steps: str, arrivals: str, thresholds: str = "[]", options: str = "{}", more: str = "") -> str:
    return f"""
name: truth
target: http://127.0.0.1:{port}/
sessions:
  visitor: [{steps}]
arrivals: [{arrivals}]
thresholds: {thresholds}
options: {options}
{more}
"""


class Cases:
    """Checks by name; each takes a bed, returns what Throng said, and raises `Wrong`."""

    def __init__(self) -> None:
        self.all = {}
        self.waiting = set()

    def case(self, check):
        self.all[check.__name__] = check
        return check

    def waits(self, check):
        """A case that takes little CPU for a long time, and whose truth is no matter of milliseconds: others like it may
        be played beside it."""
        self.waiting.add(check.__name__)
        return self.case(check)

    def add(self, others: "Cases") -> None:
        twice = self.all.keys() & others.all.keys()
        if twice:
            sys.exit(f"two cases are called {', '.join(sorted(twice))}")
        self.all |= others.all
        self.waiting |= others.waiting

    def main(self, prefix: str) -> int:
        """Plays those named as arguments, or all, and prints a line for each: those that wait at once, then the others one
        by one."""
        names = list(dict.fromkeys(sys.argv[1:])) or list(self.all)
        unknown = [name for name in names if name not in self.all]
        if unknown:
            sys.exit(f"no case {unknown[0]}; the cases are {', '.join(self.all)}")
        throng = throng_binary()
        with tempfile.TemporaryDirectory(prefix=prefix) as space:
            play = lambda name: self.play(name, pathlib.Path(space) / name, throng)
            with concurrent.futures.ThreadPoolExecutor(WAITING_MAX) as pool:
                results = list(pool.map(play, [name for name in names if name in self.waiting]))
            results += map(play, [name for name in names if name not in self.waiting])
        passed, failed, skipped = (results.count(result) for result in ("passed", "failed", "skipped"))
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed else 0

    def play(self, name: str, space: pathlib.Path, throng: pathlib.Path) -> str:
        """`passed`, `failed` or `skipped`."""
        space.mkdir()
        try:
            print(f"ok     {name}: {self.all[name](Bed(space, throng))}", flush=True)
        except Skipped as why:
            print(f"skip   {name}: {why}", flush=True)
            return "skipped"
        except (Wrong, LookupError, TypeError, ValueError, OSError, subprocess.SubprocessError) as error:
            print(f"WRONG  {name}: {error!r}", flush=True)
            return "failed"
        return "passed"
