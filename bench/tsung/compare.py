#!/usr/bin/env python3
"""Tsung and Throng run load.xml against one server, which writes down when requests come.

    bench/tsung/compare.py [path of throng]

Needs Tsung (Debian: tsung) and SciPy. Both tools are looked at from the server alone: users that
start in each phase, requests by kind, gaps between starts, think times. Samples are compared by
Smirnov's test for two samples; counts of Poisson processes by the exact test of Przyborowski and
Wilenski 1940, shares by Fisher's. Prints a table and exits with 1 if a p-value is below 0.01.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from scipy import stats

HERE = Path(__file__).resolve().parent
PORT = 18480
PHASES = (30.0, 30.0)
ALPHA = 0.01


class Server:
    """Answers everything at once, and keeps (time, kind, user)."""

    def __init__(self):
        self.seen = []
        self.listener = socket.create_server(("127.0.0.1", PORT), backlog=1024)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            now = time.monotonic()
            head, _, rest = data.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            length = int(length[1]) if length else 0
            while len(rest) < length:
                rest += peer.recv(65536)
            data = rest[length:]
            path = head.split(b" ", 2)[1].decode()
            kind, user = path.strip("/").rsplit("/", 1)
            self.seen.append((now, kind, user))
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    def take(self):
        seen, self.seen = self.seen, []
        return sorted(seen)


def sample(seen):
    """The figures of one tool's requests."""
    by_user = {}
    for at, kind, user in seen:
        by_user.setdefault(user, {})[kind.split("/")[0]] = at
    starts = sorted(at for at, kind, _ in seen if kind.startswith("start"))
    zero = starts[0]
    phases, begin = [], 0.0
    for length in PHASES:
        inside = [at - zero for at in starts if begin <= at - zero < begin + length]
        phases.append(inside)
        begin += length
    full = [times for times in by_user.values() if "end" in times]
    return {
        "users": [len(inside) for inside in phases],
        "gaps": [[b - a for a, b in zip(p, p[1:])] for p in phases],
        "exponential think": [t["middle"] - t["start"] for t in full],
        "uniform think": [t["end"] - t["middle"] for t in full],
        "kinds": {k: sum(1 for s in seen if s[1] == k) for k in ("start/short", "start/long", "middle", "end")},
    }


def counts_p(a, b):
    return stats.binomtest(a, a + b, 0.5).pvalue


def main():
    throng = sys.argv[1] if len(sys.argv) > 1 else "throng"
    server = Server()
    with tempfile.TemporaryDirectory() as space:
        command = ["tsung", "-f", str(HERE / "load.xml"), "-l", f"{space}/tsung", "start"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tsung = sample(server.take())
        command = [throng, "run", str(HERE / "load.xml"), "--runs", f"{space}/runs", "--json",
                   "--tsung-log", f"{space}/tsung.dump", "--set", "seed=" + os.environ.get("SEED", "42")]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        verdict = json.loads(ran.stdout)["verdict"]
        ours = sample(server.take())
        lines = len(Path(f"{space}/tsung.dump").read_text().splitlines()) - 1
    print(f"throng's verdict: {verdict}; lines of its tsung.dump: {lines}")
    print(f"{'':34}{'Tsung':>10}{'Throng':>10}{'statistic':>11}{'p':>9}")
    worst = 1.0

    def row(name, a, b, statistic, p):
        nonlocal worst
        worst = min(worst, p)
        print(f"{name:34}{a:>10}{b:>10}{statistic:>11}{p:>9.3f}")

    for number, (a, b) in enumerate(zip(tsung["users"], ours["users"]), 1):
        row(f"users started in phase {number}", a, b, "", counts_p(a, b))
    a, b = tsung["kinds"], ours["kinds"]
    table = [[a["start/short"], a["start/long"]], [b["start/short"], b["start/long"]]]
    shares = [f"{100 * t[1] / sum(t):.1f}%" for t in table]
    row("share of session `long`", *shares, "", stats.fisher_exact(table)[1])
    for kind in ("middle", "end"):
        row(f"requests {kind} for each long user", f"{a[kind] / a['start/long']:.4f}",
            f"{b[kind] / b['start/long']:.4f}", "", 1.0 if a[kind] / a["start/long"] == b[kind] / b["start/long"] else 0.0)
    pairs = [(f"gaps in phase {n}, mean ms", x, y) for n, (x, y) in enumerate(zip(tsung["gaps"], ours["gaps"]), 1)]
    pairs += [(f"{k}, mean ms", tsung[k], ours[k]) for k in ("exponential think", "uniform think")]
    for name, x, y in pairs:
        found = stats.ks_2samp(x, y)
        mean = lambda v: f"{1000 * sum(v) / len(v):.1f}"
        row(name, mean(x), mean(y), f"D={found.statistic:.3f}", found.pvalue)
    sys.exit(int(worst < ALPHA))


if __name__ == "__main__":
    main()
