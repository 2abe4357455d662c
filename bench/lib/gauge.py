#!/usr/bin/env python3
"""Runs one command and reports what it and everything it starts cost.

Usage: gauge.py OUT.json SECONDS_MAX SOCKETS HOLD_SECONDS -- COMMAND...

With SOCKETS above 0 the command is ended HOLD_SECONDS after the machine has had so many more TCP
sockets than before: tools that hold connections need not agree on when they are all there.

A process of its own, because it makes itself the *subreaper* of the command (prctl(2)): what that
leaves behind, such as Erlang's port mapper, becomes a child of the gauge, is ended by it and
counted with the rest. So CPU is exact (the kernel's own sum over all that were waited for), and
nothing outlives a measurement. Memory is sampled: the sum of the resident sets of the tree, which
counts a page that two of its processes share twice.
"""

import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

SAMPLE_SECONDS = 0.05
# How long a command may take to go once it was asked to.
GRACE_SECONDS = 5.0
PR_SET_CHILD_SUBREAPER = 36
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """Direct children of a process, over all its threads."""
    found: list[int] = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:
            continue
    return found


def tree(pid: int) -> list[int]:
    """All descendants of a process, without itself."""
    below = children(pid)
    return below + [one for child in below for one in tree(child)]


def sockets() -> int:
    """TCP sockets in use on this machine, both ends of what is on loopback."""
    for line in pathlib.Path("/proc/net/sockstat").read_text().splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[2])
    return 0


def usage(pids: list[int]) -> tuple[int, float]:
    """Resident bytes, and CPU seconds with those of children that have ended."""
    rss, ticks = 0, 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        rss += int(fields[21]) * PAGE
        ticks += sum(map(int, fields[11:15]))
    return rss, ticks / TICKS


def end(pid: int, how: signal.Signals) -> None:
    """Signals a process that may be gone already."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def reap(within: float) -> bool:
    """Waits for all children; whether none is left in time."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return True
    return False


def main() -> int:
    """Starts, samples, ends and reports."""
    out, command = sys.argv[1], sys.argv[6:]
    seconds_max, enough, hold = float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, begun = sockets(), time.monotonic()
    process = subprocess.Popen(command)
    # Asked to end, it ends what it started: the command never outlives its gauge.
    signal.signal(signal.SIGTERM, lambda *_: end(process.pid, signal.SIGTERM))
    series, reached, until = [], None, seconds_max
    while process.poll() is None:
        at = time.monotonic() - begun
        rss, cpu = usage(tree(os.getpid()))
        more = sockets() - before
        series.append((round(at, 2), rss, round(cpu, 2), more))
        if reached is None and 0 < enough <= more:
            reached, until = at, min(until, at + hold)
        if at > until:
            end(process.pid, signal.SIGKILL if at > until + GRACE_SECONDS else signal.SIGTERM)
        time.sleep(SAMPLE_SECONDS)
    wall = time.monotonic() - begun
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in tree(os.getpid()):
            end(pid, how)
        if reap(GRACE_SECONDS):
            break
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    reported = {
        "command": command,
        "code": process.returncode,
        "overran": wall > seconds_max,
        "wall_s": wall,
        "user_s": spent.ru_utime,
        "system_s": spent.ru_stime,
        # Not the kernel's ru_maxrss: that begins with the size of the process that forked.
        "rss_peak_bytes": max((row[1] for row in series), default=0),
        # When the sockets were all there, where that was asked for.
        "reached_s": reached,
        "series": series,
    }
    pathlib.Path(out).write_text(json.dumps(reported))
    return 0


if __name__ == "__main__":
    sys.exit(main())
