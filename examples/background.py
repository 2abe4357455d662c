"""Systems that run in the background: `up` starts one and prints its addresses, `down` ends it.

What `up` starts is a process of its own, the keeper, which starts all others and ends them when it gets SIGTERM. It
writes what there is to know of the system to a file that only its user can read.
"""

import importlib.machinery
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
UP_MAX_S = 90
DOWN_MAX_S = 60


def load_services():
    """`scripts/services` knows how Debian's servers are started without the system's own."""
    path = os.path.join(ROOT, "scripts", "services")
    loader = importlib.machinery.SourceFileLoader("services", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("services", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


services = load_services()


class Background:
    """A system of this name, whose keeper is the script `up` in the directory of that name."""

    def __init__(self, name):
        self.name = name
        self.up = os.path.join(os.path.dirname(os.path.realpath(__file__)), name, "up")
        self.state = os.path.join(tempfile.gettempdir(), f"throng-{name}-{os.geteuid()}.json")

    def keep(self, open_system):
        """Keeps a system until SIGTERM. `open_system(folder)` returns it; its `all()` starts it and returns its
        variables, its `stop()` ends it."""
        folder = tempfile.mkdtemp(prefix=f"throng-{self.name}-")
        # PostgreSQL's user has to pass through.
        os.chmod(folder, 0o711)
        system = open_system(folder)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        state = {}
        try:
            try:
                state = {"pid": os.getpid(), "variables": {**system.all(), f"{self.name.upper()}_DIR": folder}}
            except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                state = {"error": str(error)}
            self.write(state)
            while "error" not in state:
                time.sleep(3600)
        finally:
            system.stop()
            shutil.rmtree(folder, ignore_errors=True)
            if "error" not in state and os.path.exists(self.state):
                os.unlink(self.state)

    def write(self, state):
        with open(self.state + ".new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(state, file)
        os.rename(self.state + ".new", self.state)

    def start(self, argv):
        """Starts the keeper with these arguments, and prints the system's variables as shell commands."""
        if os.path.exists(self.state):
            down = os.path.join(os.path.dirname(self.up), "down")
            sys.exit(f"a {self.name} is up already, or was killed: {down} ends it")
        log = open(self.state.removesuffix(".json") + ".log", "wb")
        keeper = subprocess.Popen(
            [sys.executable, "-B", self.up, "--serve", *argv],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
        end = time.monotonic() + UP_MAX_S
        while not os.path.exists(self.state):
            if keeper.poll() is not None or time.monotonic() > end:
                keeper.terminate()
                sys.exit(f"the {self.name} did not start; see {log.name}")
            time.sleep(0.1)
        state = self.read()
        if "error" in state:
            os.unlink(self.state)
            sys.exit(f"the {self.name} did not start: {state['error']}")
        for name, value in state["variables"].items():
            print(f"export {name}={shlex.quote(value)}")

    def read(self):
        with open(self.state) as file:
            return json.load(file)

    def is_keeper(self, pid):
        """A number may belong to another process by now."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return self.up.encode() in file.read().split(b"\0")
        except OSError:
            return False

    def end(self):
        """Ends the keeper, and with it the system."""
        try:
            pid = self.read()["pid"]
        except FileNotFoundError:
            print(f"no {self.name} is up", file=sys.stderr)
            return
        if self.is_keeper(pid):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + DOWN_MAX_S
        while self.is_keeper(pid):
            if time.monotonic() > end:
                sys.exit(f"process {pid} does not end")
            time.sleep(0.1)
        # If it was killed, it could not remove this.
        if os.path.exists(self.state):
            os.unlink(self.state)
