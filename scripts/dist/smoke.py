#!/usr/bin/env python3
"""Unpacks each artefact of a folder and runs it where nothing else is: scripts/dist/smoke.py FOLDER

Each gets a root of its own (chroot), and mount, process and network namespaces with loopback only: no toolchain, no
shell, no libraries. In it `throng --version` runs, then `throng serve hello`, and `throng run` of it for two seconds
in this process and in a worker process. A binary of another processor runs under qemu-user, if that is installed, and
without workers: a process that it starts would not be under qemu. Fails if anything that ran failed.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import platform
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import unpack

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
TIMEOUT_S = 120
# ioctl(2) on interfaces: netdevice(7).
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def emulator(architecture):
    """The static emulator of another processor; an empty path if none is needed, None if it is missing."""
    machine = MACHINES[architecture]
    return "" if machine == platform.machine() else shutil.which(f"qemu-{machine}-static")


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        _, flags, _ = struct.unpack("16sH14s", fcntl.ioctl(control, SIOCGIFFLAGS, request))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


class Root:
    """A root directory in which commands run; this process is already in namespaces of its own."""

    def __init__(self, folder, program, is_emulated):
        self.folder = folder
        self.command = (["/qemu"] if is_emulated else []) + [program]

    def enter(self):
        os.chroot(self.folder)
        os.chdir("/work")

    def popen(self, *args):
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*self.command, *args], env={}, stdin=pipe, stdout=pipe, text=True, preexec_fn=self.enter
        )

    def run(self, *args):
        """Standard output and exit code."""
        process = self.popen(*args)
        out, _ = process.communicate(timeout=TIMEOUT_S)
        return out, process.returncode

    def complaint(self, *args):
        """What it says on standard error."""
        ended = subprocess.run(
            [*self.command, *args], env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, preexec_fn=self.enter, timeout=TIMEOUT_S, check=False,
        )
        return ended.stderr

    @contextlib.contextmanager
    def served(self):
        process = self.popen("serve", "hello", "--listen", "127.0.0.1:0", "--until-stdin-closes")
        try:
            yield process.stdout.readline().removeprefix("listening on ").strip()
        finally:
            process.communicate(timeout=TIMEOUT_S)


def load(root, url, *more):
    """Loads the URL for two seconds; returns what was counted."""
    out, code = root.run("run", url, "--users", "2", "--duration", "2s", "--set", "options.lag_max=5s", "--json", *more)
    summary = json.loads(out)
    request = next(m for m in summary["measures"] if m["kind"] == "request")
    assert code == 0 and request["count"] > 0 and request["errors"] == 0, (code, summary["findings"])
    return f"{request['count']} requests"


def inside(folder, program, is_emulated):
    """What runs in the namespaces; the last line says what was seen."""
    raise_loopback()
    root = Root(folder, program, is_emulated == "emulated")
    version, code = root.run("--version")
    assert code == 0, code
    seen = [version.strip()]
    if root.command[:-1] and "epoll_pwait2" in root.complaint("run", "http://127.0.0.1:1/", "--duration", "1s"):
        _, code = root.run("new", "--output", "-")
        assert code == 0, code
        seen.append("a scenario written; NO LOAD: the emulator lacks epoll_pwait2")
    else:
        with root.served() as url:
            seen.append(load(root, url))
            if not root.command[:-1]:
                seen.append(load(root, url, "--workers", "1") + " of a worker")
    print(", ".join(seen))


def check(artefact, architecture, folder):
    """Unpacks one artefact for one architecture into the empty folder and runs it there; returns what was seen."""
    program = unpack.into(folder, artefact, architecture)
    qemu = emulator(architecture)
    if qemu is None:
        return "NOT RUN: qemu-user-static is not installed"
    for name in ("proc", "work"):
        (folder / name).mkdir(exist_ok=True)
    if qemu:
        shutil.copy(qemu, folder / "qemu")
    how = "emulated" if qemu else "native"
    # As every container runtime does (OCI runtime specification, default devices); the rest is not needed.
    (folder / "dev").mkdir(exist_ok=True)
    (folder / "dev" / "null").touch()
    mounts = 'mount -t proc proc "$1/proc" && mount --bind /dev/null "$1/dev/null"'
    script = mounts + ' && exec "$2" -B "$3" --inside "$1" "$4" "$5"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    command += ["sh", "-ec", script, "sh", folder, sys.executable, __file__, program, how]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode != 0:
        sys.exit(f"{artefact.name} ({architecture}) does not run")
    return ended.stdout.strip() + (" (emulated)" if qemu else "")


def main(folder):
    for artefact in sorted(pathlib.Path(folder).iterdir()):
        for architecture in unpack.architectures(artefact):
            with tempfile.TemporaryDirectory(prefix="throng-root-") as empty:
                seen = check(artefact, architecture, pathlib.Path(empty))
            print(f"{artefact.name}  {architecture}  {artefact.stat().st_size / 1e6:.1f} MB: {seen}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(*sys.argv[2:])
    else:
        main(sys.argv[1])
