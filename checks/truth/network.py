"""A network with known faults: two namespaces, and between them a relay that loses, delays and slows packets.

The kernel's own tools for that (netem) are missing on many machines, so the packets go through two TUN devices.
Needs root.
"""

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
# Packets that wait for a slow line; more are lost.
QUEUE_MAX = 200
CLIENT, SERVER = "10.99.0.1", "10.99.0.2"
# Several networks may be up at once.
NUMBERS = itertools.count()


class Network:
    """`client` and `server` are commands that run others in a namespace."""

    def __init__(self, loss: float, delay: float, bytes_per_s: float) -> None:
        self.loss, self.delay, self.bytes_per_s = loss, delay, bytes_per_s
        number = next(NUMBERS)
        names = [f"throng-{side}-{os.getpid()}-{number}" for side in ("client", "server")]
        self.names = names
        self.client, self.server = (["ip", "netns", "exec", name] for name in names)
        self.ended = threading.Event()
        self.random = random.Random(1)

    def up(self) -> None:
        self.devices = []
        for name, own, peer in zip(self.names, (CLIENT, SERVER), (SERVER, CLIENT)):
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.devices.append(tun(name))
            inside = ["ip", "-n", name]
            subprocess.run([*inside, "link", "set", "lo", "up"], check=True)
            subprocess.run([*inside, "addr", "add", own, "peer", peer, "dev", "link"], check=True)
            subprocess.run([*inside, "link", "set", "dev", "link", "up", "txqueuelen", "1000"], check=True)
        self.relay = threading.Thread(target=self.carry, daemon=True)
        self.relay.start()

    def down(self) -> None:
        self.ended.set()
        if hasattr(self, "relay"):
            self.relay.join()
        for device in getattr(self, "devices", []):
            os.close(device)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def carry(self) -> None:
        """Moves packets from each device to the other until it is over."""
        waiting, number = [], 0
        free = dict.fromkeys(self.devices, 0.0)
        queued = dict.fromkeys(self.devices, 0)
        peer = dict(zip(self.devices, reversed(self.devices)))
        while not self.ended.is_set():
            now = time.monotonic()
            rest = min(max(waiting[0][0] - now, 0), 0.1) if waiting else 0.1
            for device in select.select(self.devices, [], [], rest)[0]:
                packet = os.read(device, 65536)
                now = time.monotonic()
                if self.random.random() < self.loss or queued[device] >= QUEUE_MAX:
                    continue
                sent = max(now, free[device]) + len(packet) / self.bytes_per_s
                free[device] = sent
                number += 1
                queued[device] += 1
                heapq.heappush(waiting, (sent + self.delay, number, device, packet))
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, device, packet = heapq.heappop(waiting)
                queued[device] -= 1
                with contextlib.suppress(OSError):
                    os.write(peer[device], packet)


def tun(name: str) -> int:
    """A TUN device `link` in this namespace. A thread enters it: namespaces belong to threads."""
    made = []

    def make() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/var/run/netns/{name}", "rb") as space:
            if libc.setns(space.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"link", IFF_TUN | IFF_NO_PI))
        made.append(device)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made:
        raise OSError("no TUN device could be made")
    return made[0]


@contextlib.contextmanager
def network(loss: float = 0.0, delay: float = 0.0, bytes_per_s: float = float("inf")):
    """`delay` in seconds, each way; a line of `bytes_per_s`, each way."""
    running = Network(loss, delay, bytes_per_s)
    try:
        running.up()
        yield running
    finally:
        running.down()
