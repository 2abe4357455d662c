"""What the scripts beside it share: a target with known faults, and a run of Throng against it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(__file__).resolve().parent / "target.py"
BUILDS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# A run that does not end is a failed one.
LIMIT_S = 300


def throng_binary() -> pathlib.Path:
    """`THRONG`, else the release build, made if it is missing."""
    given = os.environ.get("THRONG")
    if given:
        return pathlib.Path(given).resolve()
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "throng"]
    subprocess.run(build, cwd=ROOT, check=True)
    return BUILDS / "release/throng"


class Target:
    """A running target: its port, and what it counted once it has stopped."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        self.port = int(process.stdout.readline())
        self.counts = {}

    def stop(self) -> dict:
        if not self.counts and self.process.poll() is None:
            out, _ = self.process.communicate(timeout=30)
            self.counts = json.loads(out)
        return self.counts


@contextlib.contextmanager
def target(*options, before=()):
    """`before`: a command that runs it, such as `ip netns exec NAME`."""
    command = [*before, sys.executable, str(TARGET), *map(str, options)]
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

    def finding(self, code: str) -> dict:
        """The first of this code; empty if there is none."""
        return next((finding for finding in self.findings if finding["code"] == code), {})

    def measure(self, name: str) -> dict:
        return next((measure for measure in self.summary.get("measures", []) if measure["name"] == name), {})

    def threshold(self, text: str) -> dict:
        return next((result for result in self.summary.get("thresholds", []) if result["text"] == text), {})


class Bed:
    """Runs scenarios with one binary, each in a directory of its own."""

    def __init__(self, space: str) -> None:
        self.throng = throng_binary()
        self.space = pathlib.Path(space)
        self.runs = 0

    def run(self, scenario: str, *args, verb="run", before=(), while_running=None, env=None, limit_s=LIMIT_S) -> Run:
        """`before`: a command that runs Throng, such as `ip netns exec NAME`; `while_running` is called with the
        process."""
        self.runs += 1
        space = self.space / str(self.runs)
        space.mkdir()
        (space / "scenario.yaml").write_text(scenario)
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


class Wrong(Exception):
    """What Throng said is not true."""


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

    def case(self, check):
        self.all[check.__name__] = check
        return check

    def main(self, prefix: str) -> int:
        """Plays those named as arguments, or all, and prints a line for each."""
        names = sys.argv[1:] or list(self.all)
        unknown = [name for name in names if name not in self.all]
        if unknown:
            sys.exit(f"no case {unknown[0]}; the cases are {', '.join(self.all)}")
        wrong = 0
        with tempfile.TemporaryDirectory(prefix=prefix) as space:
            bed = Bed(space)
            for name in names:
                try:
                    print(f"ok     {name}: {self.all[name](bed)}", flush=True)
                except (Wrong, KeyError, TypeError, OSError, subprocess.TimeoutExpired) as error:
                    wrong += 1
                    print(f"WRONG  {name}: {error!r}", flush=True)
        print(f"{len(names) - wrong} passed, {wrong} failed")
        return 1 if wrong else 0
