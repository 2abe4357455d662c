"""Throng, measured like its peers: the complete process, every operation recorded."""

import pathlib

from lib.install import Tool
from lib.peers.base import CALL, MESSAGE_BYTES, PROTO, PROTOS, Load, Outcome, Peer
from lib.process import THRONG, BenchError, errors, measure, printed_summary

SOCKETS = """
name: {kind}
target: http://127.0.0.1:{port}/
options: {{ loops: 1 }}
sessions:
  user: [ {{ ws: /echo }}, {steps} ]
arrivals:
  {arrivals}
"""
# Each user has one request under way at a time; over HTTP/2 several users share a connection.
REQUESTS = """
name: h2
target: {{ url: "http://127.0.0.1:{port}/", http: 2 }}
options: {{ loops: 1, http_connections: {sharing} }}
sessions:
  user: [ {{ forever: [ {{ get: /hello, as: page }} ] }} ]
arrivals: [ {{ users: {users}, for: {seconds}s }} ]
"""
# A loop may have 20,000 files open where the kernel has this limit: all loops share the client's core.
USERS_OF_LOOP = 15_000
CONNECTED = """
name: {kind}
target: {{ url: "http://127.0.0.1:{port}/", http: 2 }}
options: {{ loops: {loops} }}
sessions:
  user: [ {{ get: /hello, as: page }}, {steps} ]
arrivals:
  {arrivals}
"""
CALLS = """
name: grpc
target: http://127.0.0.1:{port}
grpc: {{ protos: [{proto}], import_paths: ["{protos}"] }}
options: {{ loops: 1 }}
sessions:
  user: [ {{ forever: [ {{ grpc: {call}, message: {{ text: {text} }} }} ] }} ]
arrivals: [ {{ users: {users}, for: {seconds}s }} ]
"""
ECHO = "{{ forever: [ {{ send: {text}, reply: {{}} }} ] }}"


class Throng(Peer):
    name = "throng"
    variants = {"http": ("",), "idle": ("",), "echo": ("",), "stall": ("",), "h2": ("",), "grpc": ("",),
                "idle_h2": ("",)}

    def command(self, load: Load) -> list[str]:
        if load.kind in ("http", "stall"):
            what = [load.path, "--duration", f"{load.seconds}s"]
            what += ["--rate", f"{load.rate}/s"] if load.rate else ["--users", str(load.users)]
            what += ["--set", "options.loops=1"]
        else:
            what = [load.write("scenario.yaml", self.scenario(load))]
        return [*self.tool.command, "run", *what, "--runs", str(load.file("runs")), "--json"]

    def scenario(self, load: Load) -> str:
        """Requests or calls over HTTP/2, WebSockets that are answered message by message, or users who wait."""
        if load.kind == "h2":
            sharing = "user" if load.streams == 1 else "shared"
            return REQUESTS.format(port=load.port, sharing=sharing, users=load.users, seconds=load.seconds)
        if load.kind == "grpc":
            return CALLS.format(port=load.port, proto=PROTO, protos=PROTOS, call=CALL,
                                text="x" * MESSAGE_BYTES, users=load.users, seconds=load.seconds)
        scenario = SOCKETS
        if load.kind.startswith("idle"):
            scenario = SOCKETS if load.kind == "idle" else CONNECTED
            arrivals = [f"{{ constant: {load.rate}/s, for: {load.users * 1000 // load.rate}ms }}",
                        f"{{ hold: {load.seconds}s }}"]
            steps = "{ think: 1h }"
        else:
            arrivals = [f"{{ users: {load.users}, for: {load.seconds}s }}"]
            steps = ECHO.format(text="x" * MESSAGE_BYTES)
        return scenario.format(kind=load.kind, port=load.port, steps=steps, loops=1 + load.users // USERS_OF_LOOP,
                              arrivals="\n  ".join(f"- {phase}" for phase in arrivals))

    def read(self, load: Load, printed: str) -> Outcome:
        summary = printed_summary(printed)
        if summary["health"]["rows_kept"] != 1.0:
            raise BenchError("not every operation was recorded")
        done = measure(summary, "send" if load.kind == "echo" else "request")
        times = done["response"] or {}
        latency = {name: times[f"{name}_ns"] / 1e6
                   for name in ("p50", "p90", "p95", "p99", "max") if times}
        return Outcome(done["count"] - done["errors"], errors(summary), latency)


def ourselves(version: str, program: pathlib.Path = THRONG) -> Tool:
    """The program as it was built here, or another build of it, called like an installed one."""
    return Tool("throng", version, (str(program),))
