#!/usr/bin/env python3
"""Measures the time from nothing to the first verdict: scripts/dist/first_verdict.py FOLDER

Each package of this processor in FOLDER, which `make dist` wrote, is installed offline into an empty folder. Then, in
namespaces of its own (smoke.py), `throng serve hello` is started, and `throng run URL` loads it for two seconds. Prints
tables in Markdown: the times of each way, and what the binary takes to start.
"""

import datetime
import http.server
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import install
import smoke

# Ways to install, and how their files end.
WAYS = {"pip": ".whl", "npm": ".tgz", "deb": ".deb", "rpm": ".rpm", "tar": ".tar.gz", "image": "-oci.tar"}
RUN = ["--users", "2", "--duration", "2s"]
STARTS = 20
FIRST_REQUESTS = 5


def seconds(began):
    return time.perf_counter() - began


class FirstRequest(http.server.BaseHTTPRequestHandler):
    """Answers all requests, and notes when the first one came."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.server.came is None:
            self.server.came = time.perf_counter()
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def first_request(root):
    """Seconds from the start of the process to the first request that arrives."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), FirstRequest) as server:
        server.came = None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        began = time.perf_counter()
        root.run("run", f"http://127.0.0.1:{server.server_port}/", "--users", "1", "--duration", "200ms")
        server.shutdown()
        return server.came - began


def inside(folder, program, how):
    """What is measured in the namespaces; the last line is JSON."""
    smoke.raise_loopback()
    root = smoke.Root(folder, program, how)
    began = time.perf_counter()
    with root.served("hello") as url:
        out, code = root.run("run", url, *RUN)
        verdict = seconds(began)
    assert code == 0, out
    starts = []
    for _ in range(STARTS):
        began = time.perf_counter()
        root.run("--version")
        starts.append(seconds(began))
    requests = [first_request(root) for _ in range(FIRST_REQUESTS)]
    print(json.dumps({
        "verdict_s": verdict,
        "start_s": statistics.median(starts),
        "first_request_s": statistics.median(requests),
    }))


def measured(artefact, architecture):
    """What was measured of one package; None if it cannot be installed here."""
    with tempfile.TemporaryDirectory(prefix="throng-root-") as empty:
        folder = pathlib.Path(empty)
        began = time.perf_counter()
        try:
            installed = install.into(folder, artefact, architecture)
        except install.MissingToolError:
            return None
        install_s = seconds(began)
        how = "system" if installed.needs_system else "native"
        ended = smoke.enclosed(folder, __file__, "--inside", folder, installed.program, how)
        if ended.returncode != 0:
            sys.exit(f"{artefact.name} does not run")
        binary = (folder / installed.program.lstrip("/")).stat().st_size
        return {**json.loads(ended.stdout.splitlines()[-1]), "install_s": install_s, "binary_bytes": binary}


def download_bytes(artefact, architecture):
    """All that must be fetched; of npm, also the package with the binary."""
    files = [artefact]
    if artefact.name.endswith(".tgz"):
        files.append(install.platform_packages(artefact)[architecture])
    return sum(file.stat().st_size for file in files)


def main(folder):
    architecture = next(a for a, machine in install.MACHINES.items() if machine == platform.machine())
    rows, tar = [], None
    for way, ending in WAYS.items():
        found = [path for path in pathlib.Path(folder).iterdir() if path.name.endswith(ending)]
        artefacts = [path for path in found if architecture in install.architectures(path)]
        if not artefacts:
            continue
        [artefact] = artefacts
        times = measured(artefact, architecture)
        if times is None:
            rows.append(f"| {way} | not installed on this machine | | | |")
            continue
        tar = times if way == "tar" else tar
        total = times["install_s"] + times["verdict_s"]
        size = download_bytes(artefact, architecture) / 1e6
        rows.append(
            f"| {way} | {size:.1f} MB | {times['install_s']:.1f} s | {times['verdict_s']:.1f} s | **{total:.1f} s** |"
        )
    if tar is None:
        sys.exit(f"{folder} has no packages for {platform.machine()}: `make dist` writes them")
    load = os.getloadavg()[0]
    name = ["git", "rev-parse", "--short", "HEAD"]
    version = subprocess.run(name, cwd=smoke.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    print(f"Measured on {datetime.date.today()} at `{version.stdout.strip()}` on {os.cpu_count()} cores ({platform.machine()}),")
    print(f"on which {load:.1f} other tasks ran.\n")
    print("| way | files | install | start, run of 2 s, verdict | total |")
    print("|---|--:|--:|--:|--:|")
    print("\n".join(rows))
    print("\npip includes making an environment for it.\n")
    print("| the binary | |")
    print("|---|--:|")
    print(f"| size | {tar['binary_bytes'] / 1e6:.1f} MB |")
    print(f"| `throng --version`, median of {STARTS} | {tar['start_s'] * 1e3:.1f} ms |")
    print(f"| `throng run URL` until its first request, median of {FIRST_REQUESTS} | {tar['first_request_s'] * 1e3:.0f} ms |")


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(*sys.argv[2:])
    else:
        main(sys.argv[1])
