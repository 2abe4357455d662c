"""What idle clients cost the balancer: its memory by the number of connections that have been served and stay open."""

import contextlib
import resource
import socket

from lib.forwarders import backends
from lib.gauge import usage
from lib.process import CLIENT_CORE, BenchError, Server

# Files of this process beside its connections.
SPARE_FILES = 200
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def idle(steps: tuple[int, ...]) -> list[dict]:
    """Opens more and more connections, each with one request, one after the other; the resident memory at each step."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < max(steps) + SPARE_FILES:
        raise BenchError(f"{max(steps)} connections need as many open files; the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(backends("hello", 1, core=CLIENT_CORE))
        one = stack.enter_context(Server("balancer", f"--to=http://127.0.0.1:{servers[0].port}", "--threads=1",
                                         "--idle-timeout=10m"))
        open_ = []
        for count in steps:
            while len(open_) < count:
                open_.append(stack.enter_context(served(one.port)))
            rows.append({"clients": count, "rss_bytes": usage([one.process.pid])[0]})
            print(rows[-1], flush=True)
    return rows


def served(port: int) -> socket.socket:
    """A connection whose request was answered."""
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    client.sendall(REQUEST)
    if b" 200 " not in client.recv(4096):
        raise BenchError("a client got no answer")
    return client
