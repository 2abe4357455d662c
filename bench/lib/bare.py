"""What the machine allows: programs of a few system calls, run beside Throng on the same day."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator

from lib import machine
from lib.process import CLIENT_CORE, BenchError, pinned

SOURCES = machine.BENCH / "bare"
# Connections of a thread: its file table holds 20,000, and the kernel deals them unevenly.
PER_THREAD = 19_000
BROADCASTS = 3
BROADCAST_BYTES = 200
SECONDS_MAX = 900
GONE_SECONDS = 120


class Bare:
    """The programs, compiled."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        for source in SOURCES.glob("*.c"):
            subprocess.run(["cc", "-O2", "-o", str(folder / source.stem), str(source), "-pthread"],
                           check=True)

    def pairs(self, users: int) -> dict:
        """So many connections, and broadcasts to all of them; no protocol, no scenario."""
        before = sockets()
        threads = max(2, -(-users // PER_THREAD))
        reported = self.run("pairs", users, threads, BROADCASTS, BROADCAST_BYTES)
        until = time.monotonic() + GONE_SECONDS
        while sockets() > before + users // 1_000:
            if time.monotonic() > until:
                raise BenchError(f"{sockets():,} sockets are still there")
            time.sleep(0.1)
        return reported | {"threads": threads}

    def turns(self, rate: int, seconds: int) -> dict:
        """How late a thread is on the client's core that does nothing but look at the clock."""
        return self.run("turns", rate, seconds, core=CLIENT_CORE)

    def run(self, program: str, *numbers: int, core: int | None = None) -> dict:
        """What a program prints."""
        command = [str(self.folder / program), *map(str, numbers)]
        if core is not None:
            command = pinned(core, command)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True,
                              timeout=SECONDS_MAX)
        return json.loads(done.stdout)


@contextlib.contextmanager
def compiled() -> Iterator[Bare]:
    """The programs, for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        yield Bare(pathlib.Path(folder))


def sockets() -> int:
    """TCP sockets in use or being closed, on the whole machine."""
    words = pathlib.Path("/proc/net/sockstat").read_text().split("TCP:")[1].split()
    return int(words[1]) + int(words[5])
