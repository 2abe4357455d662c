#!/usr/bin/env python3
"""Runs a program as a container's runtime would, with what matters to it: a file system of its own that is read-only,
volumes, another user, no privilege, and a seccomp filter that refuses unshare(2). The network is the machine's.

    sandbox.py SPECIFICATION      a file with JSON, see `run`
"""

import ctypes
import json
import os
import resource
import struct
import sys

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
UNSHARE = {"x86_64": 272, "aarch64": 97}
# What a program that is linked with the system's libraries needs of it.
SYSTEM = ["/bin", "/lib", "/lib64", "/usr", "/etc", "/proc", "/sys", "/dev"]

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind=None, flags=0):
    encoded = [None if word is None else word.encode() for word in (source, target, kind)]
    checked(libc.mount(*encoded, ctypes.c_ulong(flags), None), f"mount {target}")


def bind(source, target, read_only):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        mount(None, target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def refuse_unshare():
    """The filter of a container, as far as Throng meets it: EPERM for unshare, all else is allowed."""
    number = UNSHARE[os.uname().machine]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def run(spec):
    """`root`: an empty folder; `program`: its file; `args`, `env`, `folder`, `user`, `files_max`;
    `mounts`: source, target, and whether it is read-only; `hosts`: the file with names."""
    checked(libc.unshare(CLONE_NEWNS), "unshare")
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    root = spec["root"]
    mount("tmpfs", root, "tmpfs")
    for folder in SYSTEM:
        if os.path.islink(folder):
            os.symlink(os.readlink(folder), root + folder)
        elif os.path.exists(folder):
            bind(folder, root + folder, False)
    bind(spec["hosts"], root + "/etc/hosts", True)
    program = "/image/" + os.path.basename(spec["program"])
    bind(spec["program"], root + program, True)
    for source, target, read_only in spec["mounts"]:
        bind(source, root + target, read_only)
    mount(None, root, flags=MS_REMOUNT | MS_RDONLY)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = spec["files_max"] if hard == resource.RLIM_INFINITY else min(hard, spec["files_max"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    os.chroot(root)
    os.chdir(spec["folder"])
    os.setgroups([])
    os.setgid(spec["user"])
    os.setuid(spec["user"])
    refuse_unshare()
    os.execve(program, [program, *spec["args"]], spec["env"])


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        specification = json.load(file)
    run(specification)
