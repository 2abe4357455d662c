"""The gRPC project's interoperability cases, each a scenario below `grpc`, against several servers.

The cases are those of https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import time

import daemons
import servers
from http_cases import RELOADS_S, first
from play import counted, play, undisturbed

SCENARIOS = servers.HERE / "grpc"
# By case: operations of each user by measure, and what grpc-go counts of each.
CASES = {
    "empty_unary": ({"call": 1}, {"EmptyCall OK": 1}),
    "large_unary": ({"call": 1}, {"UnaryCall OK": 1}),
    "client_compressed_unary": (
        {"probe": 1, "compressed": 1, "plain": 1}, {"UnaryCall InvalidArgument": 1, "UnaryCall OK": 2},
    ),
    "server_compressed_unary": ({"compressed": 1, "plain": 1}, {"UnaryCall OK": 2, "UnaryCall compressed": 1}),
    "client_streaming": (
        {"call": 1, "message": 3, "sum": 1, "end": 1},
        {"StreamingInputCall received": 4, "StreamingInputCall OK": 1},
    ),
    "client_compressed_streaming": (
        {"probe": 1, "refused": 1, "probe end": 1, "call": 1, "compressed": 1, "plain": 1, "end": 1},
        {"StreamingInputCall received": 3, "StreamingInputCall InvalidArgument": 1, "StreamingInputCall OK": 1},
    ),
    "server_streaming": (
        {"call": 1, "first": 1, "second": 1, "third": 1, "fourth": 1, "end": 1}, {"StreamingOutputCall OK": 1},
    ),
    "server_compressed_streaming": ({"call": 1, "first": 1, "second": 1, "end": 1}, {"StreamingOutputCall OK": 1}),
    "ping_pong": ({"call": 1, "message": 4, "end": 1}, {"FullDuplexCall received": 4, "FullDuplexCall OK": 1}),
    "empty_stream": ({"call": 1, "end": 1}, {"FullDuplexCall received": 0, "FullDuplexCall OK": 1}),
    "custom_metadata": (
        {"call": 1, "stream": 1, "message": 1, "end": 1},
        {"UnaryCall OK": 1, "FullDuplexCall received": 1, "FullDuplexCall OK": 1},
    ),
    "status_code_and_message": (
        {"call": 1, "stream": 1, "message": 1, "end": 1}, {"UnaryCall Unknown": 1, "FullDuplexCall Unknown": 1},
    ),
    "special_status_message": ({"call": 1}, {"UnaryCall Unknown": 1}),
    "unimplemented_method": ({"call": 1}, {}),
    "unimplemented_service": ({"call": 1}, {}),
    "cancel_after_begin": ({"call": 1, "end": 1}, {"StreamingInputCall Canceled": 1}),
    "cancel_after_first_response": (
        {"call": 1, "message": 1, "end": 1}, {"FullDuplexCall received": 1, "FullDuplexCall Canceled": 1},
    ),
    # A server may see the end before the message, and names the end as it likes: only success would be wrong.
    "timeout_on_sleeping_server": ({"call": 1, "message": 1}, {"FullDuplexCall OK": 0}),
}
# By case: measures whose only operation of each user has to fail, and as which kind.
FAILURES = {"timeout_on_sleeping_server": {"exceeded": "grpc-deadline-exceeded"}}
# What a server cannot do: grpc-go compresses all messages of a call or none, and Python's grpcio does not say whether
# a request was compressed.
NOT_SERVED = {
    "grpc-go": {"server_compressed_streaming"},
    "grpcio": {"client_compressed_unary", "client_compressed_streaming"},
}
# A proxy may end such a call before its client does, as UNAVAILABLE, and end its request at the server in good order.
DIRECT_ONLY = {"timeout_on_sleeping_server"}
USERS = 20


class GrpcGo(servers.Server):
    name = "grpc-go"

    def start(self) -> None:
        binary, files = servers.Go.binary, ["-cert", self.tls["certificate"], "-key", self.tls["key"]]
        self.spoken = [
            servers.Spoken([binary, "grpc"], self.folder / "plain"),
            servers.Spoken([binary, "grpc", *files], self.folder / "tls"),
        ]
        self.port, secure = (int(own.line()) for own in self.spoken)
        self.urls = {("2", False): f"http://127.0.0.1:{self.port}", ("2", True): f"https://127.0.0.1:{secure}"}

    def version(self) -> str:
        return re.search(r"google.golang.org/grpc v([\d.]+)", (servers.HERE / "go/go.mod").read_text())[1]

    counts, reload, stop = servers.Go.counts, servers.Go.reload, servers.Go.stop


class Grpcio(servers.Server):
    name = "grpcio"

    def __init__(self, folder: pathlib.Path, tls: dict, python: pathlib.Path) -> None:
        super().__init__(folder, tls, False)
        self.python = python

    def start(self) -> None:
        script, files = servers.HERE / "grpcio_server.py", [self.tls["certificate"], self.tls["key"]]
        self.spoken = [
            servers.Spoken([self.python, "-B", script], self.folder / "plain"),
            servers.Spoken([self.python, "-B", script, *files], self.folder / "tls"),
        ]
        plain, secure = (int(own.line()) for own in self.spoken)
        self.urls = {("2", False): f"http://127.0.0.1:{plain}", ("2", True): f"https://127.0.0.1:{secure}"}

    def version(self) -> str:
        return servers.output(str(self.python), "-c", "import grpc; print(grpc.__version__)").strip()

    counts, stop = servers.Go.counts, servers.Go.stop


class Nginx(daemons.Nginx):
    """nginx in front of grpc-go."""

    def start(self) -> None:
        user = "user root;" if os.geteuid() == 0 else ""
        self.secure, place = self.plain, self.folder
        config = self.config(f"""
{user} daemon off; worker_processes 1; pid {place}/pid; error_log {place}/error.log;
events {{ worker_connections 2048; }}
http {{
  access_log off; client_body_temp_path {place}; proxy_temp_path {place}; fastcgi_temp_path {place};
  uwsgi_temp_path {place}; scgi_temp_path {place}; client_max_body_size 0; grpc_buffer_size 1m;
  server {{ listen 127.0.0.1:{self.plain2} http2; location / {{ grpc_pass grpc://127.0.0.1:{self.backend}; }} }}
}}
""")
        self.plain = self.secure = self.plain2
        self.spawn(servers.program("nginx"), "-p", place, "-c", config)
        self.urls = {("2", False): self.urls["2", False]}


class HaProxy(daemons.HaProxy):
    """HAProxy in front of grpc-go."""

    def start(self) -> None:
        self.plain = self.secure = self.plain2
        config = self.config(f"""
defaults
  mode http
  timeout connect 10s
  timeout server 60s
  timeout client 60s
frontend all
  bind 127.0.0.1:{self.plain} proto h2
  default_backend go
backend go
  server go 127.0.0.1:{self.backend} proto h2
""")
        self.spawn(servers.program("haproxy"), "-W", "-db", "-f", config)
        self.urls = {("2", False): self.urls["2", False]}


def scenario(server, tls: bool, text: str, options: str = "") -> str:
    """A scenario for this server. The files that it names stand where the original does."""
    target = f"{{ url: \"{server.urls['2', tls]}\", tls: {{ ca: \"{server.tls['ca']}\" }} }}"
    text = text.replace("target: http://127.0.0.1:10000", f"target: {target}")
    text = text.replace("protos: [test.proto]", f'protos: [test.proto], import_paths: ["{SCENARIOS}"]')
    return f"{text}options: {{ timeout: 60s, connect_timeout: 60s, lag_max: 60s{options} }}\n"


def case(bed, server, tls: bool, name: str, counting) -> str:
    """What differs; `counting`: the server that counts, if one does."""
    measures, counts = CASES[name]
    before = counting.counts() if counting else None
    result = play(bed, scenario(server, tls, (SCENARIOS / f"{name}.yaml").read_text()))
    users = result.users
    found = [result.differs(measure, times * users) for measure, times in measures.items()]
    found += [result.fails_otherwise(measure, kind, users) for measure, kind in FAILURES.get(name, {}).items()]
    if result.count("steps"):
        found.append(f"steps: {result.errors('steps')}")
    if counting:
        # A proxy may end a cancelled call at its server in another way, or not have begun it.
        is_direct = counting is server
        own = {name: times for name, times in counts.items() if is_direct or not name.endswith("Canceled")}
        found.append(counted(counting, before, {name: times * users for name, times in own.items()}))
    return first(*found)


REPLACED = """
target: http://127.0.0.1:10000
grpc: { protos: [test.proto] }
sessions:
  user:
    - forever:
      - { grpc: grpc.testing.TestService/EmptyCall, as: call }
      - think: 20ms..40ms
arrivals: [{ users: 20, for: 6s }]
"""


def replaced(bed, server, tls: bool) -> str:
    """A server that is replaced three times under load, with a connection for each user and with shared ones."""
    found = []
    for options in ("", ", http_connections: shared, loops: 1"):
        before = server.counts()

        def reloads(process) -> None:
            began = time.monotonic()
            for at in RELOADS_S:
                time.sleep(max(0.0, began + at - time.monotonic()))
                server.reload()

        result = play(bed, scenario(server, tls, REPLACED, options), while_running=reloads)
        calls = result.count("call")
        ended = "" if result.count("connect") > (1 if options else USERS) else "no connection ended"
        found += [result.differs("call", calls), counted(server, before, {"EmptyCall OK": calls}), ended]
    return first(*found)


def python_with_grpc(home: pathlib.Path) -> pathlib.Path:
    """The interpreter of a virtual environment with grpcio."""
    venv = home / "venv"
    if not (venv / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    install = [venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "-r", SCENARIOS / "requirements.txt"]
    subprocess.run([str(part) for part in install], check=True)
    return venv / "bin/python"


def play_all(bed, server, counting, report) -> None:
    own = server.name if server.name in NOT_SERVED else "grpc-go"
    title = f"{server.name} {server.version()}"
    left_out = NOT_SERVED[own] if counting in (None, server) else NOT_SERVED[own] | DIRECT_ONLY
    for _, tls in server.urls:
        column = f"{title}, TLS" if tls else title
        for name in CASES:
            found = None if name in left_out else undisturbed(lambda: case(bed, server, tls, name, counting))
            report(name, column, found)
        if server.name == "grpc-go":
            report("replaced under load", column, undisturbed(lambda: replaced(bed, server, tls)))


def table(bed, folder: pathlib.Path, tls: dict, home: pathlib.Path, names: list, make_table):
    """The table and its text."""
    found, columns = make_table(), collections.OrderedDict()

    def report(name: str, column: str, differs) -> None:
        columns[column] = column
        found.report((f"`{name}`" if name in CASES else name,), column, differs)

    def wanted(kind) -> bool:
        return not names or kind.name.lower() in names

    with servers.running(GrpcGo(folder / "grpc-go", tls, False)) as go:
        if wanted(GrpcGo):
            play_all(bed, go, go, report)
        for kind in (Nginx, HaProxy):
            if wanted(kind) and servers.program(kind.program):
                with servers.running(kind(folder / kind.name, tls, False, go.port)) as proxy:
                    play_all(bed, proxy, go, report)
    if wanted(Grpcio):
        with servers.running(Grpcio(folder / "grpcio", tls, python_with_grpc(home))) as server:
            play_all(bed, server, None, report)
    return found, found.markdown(["case"], columns)
