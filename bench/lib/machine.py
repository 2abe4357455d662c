"""What the machine is, what it is doing, and how the benches wait for it."""

import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import time

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
RUNS = BENCH / "runs"
# Files of raw data of each bench that are kept: the one that the documentation shows, and the one before.
RUNS_KEPT = 2

# What each core does meanwhile, above which something else takes part in what is measured; and for how long we look.
BUSY = 0.2
LOOK_SECONDS = 2.0
# Older raw data has the load average instead, which a bench just before had raised.
BUSY_LOAD = 0.5


def describe() -> dict:
    """What a reader must know of the machine to compare figures with his own."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "memory_bytes": meminfo()["MemTotal"],
        "system": system(),
        "busy_before": busy_cores(LOOK_SECONDS),
    }


def busy_cores(seconds: float) -> float:
    """Cores that work, or are taken by other guests of the host, on average over this time."""
    def worked_ticks() -> int:
        # user nice system idle iowait irq softirq steal
        ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4]

    before, begun = worked_ticks(), time.monotonic()
    time.sleep(seconds)
    return (worked_ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begun)


def system() -> str:
    """The distribution's name for itself."""
    try:
        known = platform.freedesktop_os_release()
    except OSError:
        return platform.system()
    return known.get("PRETTY_NAME", platform.system())


def revision(tree: pathlib.Path = ROOT) -> str:
    """The commit of a tree, by default the one that is measured, with a mark where the tree differs from it."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=tree, text=True,
                          capture_output=True, check=False)
    return done.stdout.strip() or "unknown"


def built(program: pathlib.Path) -> dict:
    """Which build a program is: the commit of the tree that it stands in, and its digest."""
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"revision": revision(program.parent), "sha256": digest}


def meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    found = {}
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        name, value = line.split(":")
        found[name] = int(value.split()[0]) * 1024
    return found


def sockstat() -> dict[str, int]:
    """TCP's line of /proc/net/sockstat: sockets in use, orphans, in TIME_WAIT, pages of memory."""
    for line in pathlib.Path("/proc/net/sockstat").read_text().splitlines():
        if line.startswith("TCP:"):
            words = line.split()[1:]
            return dict(zip(words[::2], map(int, words[1::2])))
    return {}


def settle(sockets: int, seconds_max: float) -> float:
    """Waits until no more than so many TCP sockets are left; seconds it took.

    Sockets of a million connections outlive their process by seconds, and would be charged to
    whatever is measured next.
    """
    begun = time.monotonic()
    while time.monotonic() - begun < seconds_max:
        now = sockstat()
        if now["inuse"] + now["orphan"] <= sockets:
            break
        time.sleep(0.1)
    return time.monotonic() - begun


def busy_with(machine: dict) -> str | None:
    """What the machine was doing before, if that was too much to measure beside it."""
    if "busy_before" in machine:
        busy, limit, text = machine["busy_before"], BUSY, "{:.1f} cores"
    else:
        busy, limit, text = machine["load_before"], BUSY_LOAD, "load {:.1f}"
    return text.format(busy) if busy > limit * machine["cores"] else None


def warn_if_busy(machine: dict) -> None:
    """Says so where figures will be worse than alone."""
    if busy := busy_with(machine):
        print(f"warning: the machine was busy before ({busy}): figures are worse than alone")


class Store:
    """Where a bench keeps its raw data: bench/runs/<date>-<host>/<bench>.json.

    Kept again whenever there is more, so that an hour of measuring is not lost with its last
    minute. Only the newest RUNS_KEPT files of a bench stay. A quick run, whose figures mean nothing,
    goes to bench/out/, which git and the documentation do not look at.
    """

    def __init__(self, bench: str, quick: bool) -> None:
        now = datetime.datetime.now(datetime.UTC)
        folder = BENCH / "out" if quick else RUNS
        stamp = now.strftime("%Y%m%dT%H%M%S")
        self.path = folder / f"{stamp}-{platform.node()}" / f"{bench}.json"
        self.about = {"bench": bench, "date": now.strftime("%Y-%m-%d"), "revision": revision()}

    def keep(self, raw: dict) -> None:
        """Writes it whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.about | raw, separators=(",", ":")) + "\n")
        temporary.rename(self.path)
        for path in files(self.path.stem, self.path.parent.parent)[:-RUNS_KEPT]:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()

    def __str__(self) -> str:
        return f"raw data: {self.path.relative_to(ROOT)}"


def files(bench: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """The raw data of a bench, oldest first; names of folders begin with their date."""
    return sorted(folder.glob(f"*/{bench}.json"))


def newest(bench: str, folder: pathlib.Path = RUNS) -> tuple[pathlib.Path, dict] | None:
    """The newest raw data of a bench."""
    paths = files(bench, folder)
    return (paths[-1], json.loads(paths[-1].read_text())) if paths else None
