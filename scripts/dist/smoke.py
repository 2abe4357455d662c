#!/usr/bin/env python3
"""Installs each artefact of a folder and runs it where nothing else is: scripts/dist/smoke.py FOLDER

Each is installed offline into an empty folder (install.py), which becomes its root (chroot), in mount, process and network
namespaces with loopback only: no toolchain, no shell, no libraries. What npm installs keeps the root of the system, for
Node. There `throng --version` runs; then `throng serve hello`, and `throng run` of it for two seconds in this process and
in a worker process; then `throng serve market`, and the first scenario of the README, shortened. A binary of another
processor runs under qemu-user, if that is installed, and without workers: a process that it starts would not be under
qemu. Recipes are checked, not run. Fails if anything that ran failed.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import install

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 120
# The scenario of the README, and what makes it short and independent of how busy this machine is.
FIRST = re.compile(r"^```yaml first\.yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHORT = ["arrivals.0.for=2s", "thresholds.1=p99(pools) < 5s"]
# ioctl(2) on interfaces: netdevice(7).
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def emulator(architecture):
    """The static emulator of another processor; an empty path if none is needed, None if it is missing."""
    machine = install.MACHINES[architecture]
    return "" if machine == platform.machine() else shutil.which(f"qemu-{machine}-static")


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        _, flags, _ = struct.unpack("16sH14s", fcntl.ioctl(control, SIOCGIFFLAGS, request))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


class Root:
    """A root directory in which commands run; this process is already in namespaces of its own."""

    def __init__(self, folder, program, how):
        self.folder = pathlib.Path(folder)
        # With the root of the system the folder is where it is.
        self.has_system = how == "system"
        self.command = [f"{folder}{program}" if self.has_system else program]
        self.is_emulated = how == "emulated"
        if self.is_emulated:
            self.command.insert(0, "/qemu")
        self.environment = {"PATH": os.environ["PATH"]} if self.has_system else {}

    def enter(self):
        os.chdir(self.folder)
        if not self.has_system:
            os.chroot(self.folder)
        os.chdir("work")

    def popen(self, *args):
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*self.command, *args], env=self.environment, stdin=pipe, stdout=pipe, text=True, preexec_fn=self.enter
        )

    def run(self, *args):
        """Standard output and exit code."""
        process = self.popen(*args)
        out, _ = process.communicate(timeout=TIMEOUT_S)
        return out, process.returncode

    def complaint(self, *args):
        """What it says on standard error."""
        ended = subprocess.run(
            [*self.command, *args], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, preexec_fn=self.enter, timeout=TIMEOUT_S, check=False,
        )
        return ended.stderr

    @contextlib.contextmanager
    def served(self, system):
        process = self.popen("serve", system, "--listen", "127.0.0.1:0", "--until-stdin-closes")
        try:
            yield process.stdout.readline().removeprefix("listening on ").strip()
        finally:
            process.communicate(timeout=TIMEOUT_S)


def load(root, what, *more):
    """Runs a URL or a file, which must pass; returns what was counted."""
    out, code = root.run("run", what, "--set", "options.lag_max=5s", "--json", *more)
    summary = json.loads(out)
    requests = [m for m in summary["measures"] if m["kind"] == "request"]
    count, errors = (sum(m[key] for m in requests) for key in ("count", "errors"))
    assert code == 0 and count > 0 and errors == 0, (code, summary["findings"])
    return f"{count} requests"


def first_test(root):
    """The first test of the README: its market, and its scenario."""
    text = FIRST.search((ROOT / "README.md").read_text()).group(1)
    (root.folder / "work/first.yaml").write_text(text)
    with root.served("market") as url:
        short = [part for setting in [f"target={url}", *SHORT] for part in ("--set", setting)]
        return load(root, "first.yaml", *short) + " of the market"


def inside(folder, program, how):
    """What runs in the namespaces; the last line says what was seen."""
    raise_loopback()
    root = Root(folder, program, how)
    version, code = root.run("--version")
    assert code == 0, code
    seen = [version.strip()]
    if root.is_emulated and "epoll_pwait2" in root.complaint("run", "http://127.0.0.1:1/", "--duration", "1s"):
        _, code = root.run("new", "--output", "-")
        assert code == 0, code
        seen.append("a scenario written; NO LOAD: the emulator lacks epoll_pwait2")
    else:
        short = ["--users", "2", "--duration", "2s"]
        with root.served("hello") as url:
            seen.append(load(root, url, *short))
            if not root.is_emulated:
                seen.append(load(root, url, *short, "--workers", "1") + " of a worker")
        seen.append(first_test(root))
    print(", ".join(seen))


def enclosed(folder, *command):
    """Runs a Python script, with arguments, in namespaces of its own; returns what it ended with."""
    # As every container runtime does (OCI runtime specification, default devices); the rest is not needed.
    for name in ("dev", "proc", "work"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "dev" / "null").touch()
    mounts = 'mount -t proc proc "$1/proc" && mount --bind /dev/null "$1/dev/null"'
    namespaces = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    script = mounts + ' && shift && exec "$@"'
    shell = ["sh", "-ec", script, "sh", folder, sys.executable, "-B", *command]
    return subprocess.run([*namespaces, *shell], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)


def check(artefact, architecture, folder):
    """Installs one artefact for one architecture into the empty folder and runs it there; returns what was seen."""
    try:
        installed = install.into(folder, artefact, architecture)
    except install.MissingToolError as missing:
        return f"NOT RUN: {missing}"
    qemu = emulator(architecture)
    if qemu is None:
        return "installed; NOT RUN: qemu-user-static is not installed"
    if qemu:
        shutil.copy(qemu, folder / "qemu")
    how = "emulated" if qemu else "system" if installed.needs_system else "native"
    ended = enclosed(folder, __file__, "--inside", folder, installed.program, how)
    if ended.returncode != 0:
        sys.exit(f"{artefact.name} ({architecture}) does not run")
    return ended.stdout.strip() + (" (emulated)" if qemu else "")


def main(folder):
    folder = pathlib.Path(folder)
    for artefact in sorted(folder.iterdir()):
        for architecture in install.architectures(artefact):
            with tempfile.TemporaryDirectory(prefix="throng-root-") as empty:
                seen = check(artefact, architecture, pathlib.Path(empty))
            print(f"{artefact.name}  {architecture}  {artefact.stat().st_size / 1e6:.1f} MB: {seen}", flush=True)
    for line in install.recipes(folder):
        print(line)


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(*sys.argv[2:])
    else:
        main(sys.argv[1])
