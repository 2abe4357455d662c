"""Looks at generator, market and kernel from outside while a run goes on.

From /proc alone: what a process says of itself is no evidence of what it costs.
"""

import dataclasses
import os
import pathlib
import time

from lib import machine

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One look. Bytes, seconds, sockets; `at_s` counts from the first."""

    at_s: float
    generator_rss: int
    generator_anon: int
    generator_cpu_s: float
    market_rss: int
    market_anon: int
    market_cpu_s: float
    # Both ends of all connections, without what was there before.
    sockets: int
    time_wait: int
    tcp_memory: int
    # Memory that is neither free, nor cache of files, nor anonymous: the kernel's own.
    kernel_bytes: int
    slab: int
    available: int

    @property
    def pairs(self) -> int:
        return self.sockets // 2


def memory_of(pid: int) -> tuple[int, int]:
    """Resident bytes of a process, and how many of them are its own; 0 once it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0, 0
    known = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return tuple(int(known.get(name, "0 kB").split()[0]) * 1024 for name in ("VmRSS", "RssAnon"))


def cpu_of(pid: int) -> float:
    """CPU seconds of all threads of a process.

    From the scheduler, in nanoseconds: /proc/PID/stat counts in hundredths of a second, which is
    all that 1,000 connections cost.
    """
    spent = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            spent += int(path.read_text().split()[0])
        except (OSError, IndexError):
            continue
    return spent / 1e9


class Watch:
    """Samples of two processes and the kernel."""

    def __init__(self, generator: int, market: int) -> None:
        self.pids = generator, market
        self.begun = time.monotonic()
        self.sockets_before = machine.sockstat()["inuse"]
        self.samples: list[Sample] = []

    def look(self) -> Sample:
        """Takes one sample and keeps it."""
        memory, tcp = machine.meminfo(), machine.sockstat()
        generator, market = self.pids
        generator_rss, generator_anon = memory_of(generator)
        market_rss, market_anon = memory_of(market)
        known = memory["MemFree"] + memory["Buffers"] + memory["Cached"] + memory["AnonPages"]
        sample = Sample(
            at_s=round(time.monotonic() - self.begun, 3),
            generator_rss=generator_rss, generator_anon=generator_anon,
            generator_cpu_s=cpu_of(generator),
            market_rss=market_rss, market_anon=market_anon, market_cpu_s=cpu_of(market),
            sockets=tcp["inuse"] - self.sockets_before, time_wait=tcp["tw"],
            tcp_memory=tcp["mem"] * PAGE, kernel_bytes=memory["MemTotal"] - known,
            slab=memory["Slab"], available=memory["MemAvailable"])
        self.samples.append(sample)
        return sample
