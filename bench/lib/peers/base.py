"""What all peers have in common: a load, an outcome, and how the one becomes the other."""

import dataclasses
import pathlib
from collections.abc import Iterable

from lib import machine
from lib.install import Tool

# The kinds of load, by the file of raw data that they go to. HTTP/1.1: a closed load, WebSockets that wait, WebSocket
# echo, an open load against a server that stalls; closed loads of HTTP/2 and of gRPC's calls; users of HTTP/2 who wait.
FILES = {
    "peers": ("http", "idle", "echo", "stall"),
    "peers_h2": ("h2", "grpc"),
    "peers_idle_h2": ("idle_h2",),
}
KINDS = tuple(kind for kinds in FILES.values() for kind in kinds)
# Of all closed loads but echo's larger one; over HTTP/2 each may carry several requests at once.
CONNECTIONS = 64
MESSAGE_BYTES = 100
# What is called, and the folder and name of the file that says how.
CALL = "throng.echo.Echo/Say"
PROTOS, PROTO = machine.ROOT / "examples" / "grpc", "echo.proto"


@dataclasses.dataclass(frozen=True)
class Load:
    """A load for a tool."""

    kind: str
    # Which way of using the tool, where it has more than one.
    variant: str
    port: int
    # Connections, or requests under way over HTTP/2, or the users that take turns in an open load.
    users: int
    seconds: int
    # New users or requests a second; 0 for as fast as answers come.
    rate: int
    # Where the tool may write.
    folder: pathlib.Path

    @property
    def streams(self) -> int:
        """Requests under way on each connection."""
        return self.users // CONNECTIONS

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/echo"

    @property
    def path(self) -> str:
        return f"{self.http}/hello" if self.kind in ("http", "h2", "idle_h2") else f"{self.http}/"

    def write(self, name: str, text: str) -> str:
        """A file for the tool to read."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def file(self, name: str) -> pathlib.Path:
        return self.folder / name


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a tool says it did, in its own words."""

    operations: int
    errors: int = 0
    # Milliseconds by the names p50, p90, p95, p99 and max; what a tool does not report is missing.
    latency_ms: dict[str, float] = dataclasses.field(default_factory=dict)


class Peer:
    """One tool. What it cannot do stands in `cannot`, with the reason that the table shows."""

    name = ""
    # The ways in which it is used, by kind of load.
    variants: dict[str, tuple[str, ...]] = {}
    cannot: dict[str, str] = {}
    # How much longer than the others its closed loads run, where start and end would be most of it.
    stretch = 1

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def command(self, load: Load) -> list[str]:
        """The command line for a load."""
        raise NotImplementedError

    def environment(self, _load: Load) -> dict[str, str]:
        """Variables that the command needs."""
        return {}

    def read(self, load: Load, printed: str) -> Outcome:
        """The tool's figures of a load, from its output and files."""
        raise NotImplementedError


def percentiles(values: Iterable[float]) -> dict[str, float]:
    """Of raw latencies, by nearest rank: for tools that write them down and sum nothing up."""
    known = sorted(values)
    if not known:
        return {}

    def at(share: float) -> float:
        return known[min(len(known) - 1, int(share * len(known)))]

    return {"p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99), "max": known[-1]}
