"""Forwarders beside each other: Throng's balancer, nginx and HAProxy, each with one thread, in front of the same backends."""

import contextlib
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator

from lib.gauge import tree, usage
from lib.held import free_port
from lib.install import CannotInstall, apt, find, version_of
from lib.process import SERVER_CORE, BenchError, Server, pinned

# The policies that all have, in the words of each.
POLICIES = {
    "round-robin": {"throng": "round-robin", "nginx": "", "haproxy": "roundrobin"},
    "least-connections": {"throng": "least-connections", "nginx": "least_conn;", "haproxy": "leastconn"},
    "two-choices": {"throng": "two-choices", "nginx": "random two least_conn;", "haproxy": "random(2)"},
    "source-hash": {"throng": "source-hash", "nginx": "hash $remote_addr;", "haproxy": "source"},
}
FORWARDERS = ("throng", "nginx", "haproxy")
# The versions that were measured; apt takes what the archive has.
PEERS = {
    "nginx": {"from": "apt", "package": "nginx-light", "version": "1.22.1-9", "program": "nginx"},
    "haproxy": {"from": "apt", "package": "haproxy", "version": "2.6.12-1", "program": "haproxy"},
}
# Idle connections kept to each backend: as many as there are clients, so that nobody connects again and again.
POOL = 4_096
READY_SECONDS_MAX = 20

# Of what nginx writes; without these lines it needs folders of its package.
NGINX_FOLDERS = """\
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
"""
NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
""" + NGINX_FOLDERS + """\
    upstream backends {{
        {policy}
{backends}
        keepalive {pool};
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://backends;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }}
    }}
}}
"""
HAPROXY = """\
global
    nbthread 1
    maxconn 8000
defaults
    mode http
    timeout connect 2s
    timeout client 75s
    timeout server 60s
    option forwardfor
    http-reuse always
frontend clients
    bind 127.0.0.1:{port}
    default_backend backends
backend backends
    balance {policy}
{backends}
"""


class Peer(Server):
    """A server that is given its port, and is ready once that is open. It ends with this process."""

    def __init__(self, command: list[str], port: int, folder: str, core: int | None) -> None:
        command = ["setpriv", "--pdeathsig", "TERM", *command]
        if core is not None:
            command = pinned(core, command)
        printed = pathlib.Path(folder, "printed")
        with open(printed, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        until = time.monotonic() + READY_SECONDS_MAX
        while not listens(port):
            if self.process.poll() is not None or time.monotonic() > until:
                self.__exit__()
                raise BenchError(f"{' '.join(command)} did not start: {printed.read_text(errors='replace')[-300:]}")
            time.sleep(0.02)


def listens(port: int) -> bool:
    """Whether somebody accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def versions() -> dict[str, str]:
    """Installs the peers, and says which versions they are."""
    known = {}
    for name, entry in PEERS.items():
        try:
            apt(entry, pathlib.Path())
        except CannotInstall as error:
            raise BenchError(f"{name} is missing: {error}") from None
        known[name] = version_of(entry)
    return known


@contextlib.contextmanager
def forwarder(kind: str, policy: str, ports: list[int], core: int | None = SERVER_CORE) -> Iterator[Server]:
    """One of them, with one thread and without an access log."""
    word = POLICIES[policy][kind]
    if kind == "throng":
        to = ",".join(f"http://127.0.0.1:{port}" for port in ports)
        with Server("balancer", f"--to={to}", f"--policy={word}", "--threads=1", f"--pool={POOL}", core=core) as one:
            yield one
        return
    with tempfile.TemporaryDirectory(prefix="throng-bench-") as folder:
        # nginx's worker is another user.
        pathlib.Path(folder).chmod(0o711)
        port, config = free_port(), pathlib.Path(folder, "config")
        lines = {"nginx": "        server 127.0.0.1:{port};", "haproxy": "    server b{port} 127.0.0.1:{port}"}[kind]
        backends = "\n".join(lines.format(port=backend) for backend in ports)
        text = {"nginx": NGINX, "haproxy": HAPROXY}[kind]
        config.write_text(text.format(folder=folder, port=port, policy=word, backends=backends, pool=POOL))
        command = {"nginx": ["-p", folder, "-c", str(config)], "haproxy": ["-db", "-f", str(config)]}[kind]
        with Peer([find(PEERS[kind]["program"]), *command], port, folder, core) as one:
            yield one


@contextlib.contextmanager
def backends(kind: str, count: int, *options: str, core: int | None) -> Iterator[list[Server]]:
    """Servers of one kind, each a process with one thread."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(backend(kind, number, *options, core=core)) for number in range(count)]


def backend(kind: str, number: int, *options: str, core: int | None, listen: str = "127.0.0.1:0") -> Server:
    """One of them; workers have names."""
    named = (f"--name=w{number}", f"--seed={number + 1}") if kind == "worker" else ()
    return Server(kind, "--threads=1", *named, *options, listen=listen, core=core)


def cpu_s(*servers: Server) -> float:
    """User and system time of these and of the processes that they started."""
    pids = [pid for server in servers for pid in (server.process.pid, *tree(server.process.pid))]
    return usage(pids)[1]


def get(url: str) -> str:
    """What is there."""
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def states(url: str) -> list[dict]:
    """What Throng's balancer says of its backends."""
    return json.loads(get(f"{url}/backends"))["backends"]


def worked(workers: list[Server]) -> list[int]:
    """Requests that each worker has worked on so far."""
    lines = [line for worker in workers for line in get(f"{worker.url}/metrics").splitlines()]
    return [int(line.split()[1]) for line in lines if line.startswith("worker_requests_done_total ")]
