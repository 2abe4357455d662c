"""One measurement of one peer: start the server, run the tool, keep what it cost and said."""

import contextlib
import dataclasses
import pathlib
import tempfile

from lib import machine
from lib.h2_server import h2_server
from lib.peers.base import CONNECTIONS, Load, Outcome, Peer
from lib.process import BenchError, Server, gauged

# A tool may take this much longer than requested: virtual machines start, reports are written.
SLACK_SECONDS = 90
# Idle users are looked at for so long once all are there.
HOLD_SECONDS = 4
# How many there are in the small run that the large one is compared with.
FEW_USERS = 100
# All are there: a pair has two sockets, and a last few may be slow.
ALL = 0.995
# So many sockets are no trace of a load before this one.
FEW_SOCKETS = 200
SETTLE_SECONDS = 30

# A part of a command line that is longer says nothing to a reader.
LONG = 200

SERVERS = {"http": ("hello",), "idle": ("echo", "--threads", "1"),
           "echo": ("echo", "--threads", "1"), "stall": ("stall",),
           "grpc": ("grpc", "--threads", "1")}


@dataclasses.dataclass(frozen=True)
class Ask:
    """What is measured: a kind of load in its size."""

    kind: str
    users: int
    seconds: int
    rate: int = 0


def one(peer: Peer, variant: str, ask: Ask) -> dict:
    """A row of raw data. What goes wrong is in it, too: a failing tool is a result."""
    if ask.kind in ("http", "echo", "h2", "grpc"):
        ask = dataclasses.replace(ask, seconds=ask.seconds * peer.stretch)
    row = {"kind": ask.kind, "tool": peer.name, "variant": variant, "users": ask.users,
           "seconds": ask.seconds, "rate": ask.rate}
    # The sockets of the one before must not slow this one down.
    machine.settle(FEW_SOCKETS, SETTLE_SECONDS)
    try:
        return row | (idle(peer, variant, ask) if ask.kind.startswith("idle") else busy(peer, variant, ask))
    except (BenchError, OSError, ValueError, LookupError, StopIteration, TypeError) as error:
        return row | {"error": str(error) if isinstance(error, BenchError) else repr(error)}


def worked(row: dict) -> dict:
    """A row whose measurement went well; the bench ends where one did not."""
    if "error" in row or row.get("errors"):
        raise BenchError(f"{row['tool']}: {row.get('error') or row['errors']}")
    return row


def tidy(command: list[str], load: Load) -> str:
    """A command line for readers: no places of this machine, no class path of a page."""
    shown = []
    for part in command:
        part = part.replace(str(load.folder), "$TMP").replace(f"{machine.ROOT}/", "")
        part = part.replace(str(load.port), "$PORT")
        shown.append(part if len(part) <= LONG else "…")
    return " ".join([pathlib.Path(shown[0]).name, *(part or "''" for part in shown[1:])])


def server_of(ask: Ask) -> contextlib.AbstractContextManager[Server]:
    """Throng's own, or over HTTP/2, where that is not made for speed, nginx."""
    match ask.kind:
        case "h2":
            return h2_server(ask.users // CONNECTIONS, CONNECTIONS)
        case "idle_h2":
            return h2_server(1, ask.users)
    return Server(*SERVERS[ask.kind])


def run(peer: Peer, variant: str, ask: Ask, sockets: int = 0) -> tuple[Outcome | None, dict]:
    """A fresh server, pinned beside the tool; what the tool reported, and what it cost."""
    with tempfile.TemporaryDirectory() as folder, server_of(ask) as server:
        load = Load(ask.kind, variant, server.port, ask.users, ask.seconds, ask.rate,
                    pathlib.Path(folder))
        hold = HOLD_SECONDS if sockets else 0
        command = peer.command(load)
        printed, cost = gauged(command, ask.seconds + SLACK_SECONDS, sockets=sockets,
                               hold=hold, **peer.environment(load))
        cost["command"] = tidy(command, load)
        if sockets:
            return None, cost
        try:
            return peer.read(load, printed), cost
        except (OSError, ValueError, LookupError, StopIteration) as error:
            # A tool that failed says why in its last line; one that did not was misread.
            last = (printed.strip().splitlines() or ["it printed nothing"])[-1].strip()
            why = last if cost["code"] else repr(error)
            raise BenchError(f"ended with {cost['code']}: {why}"[:200]) from error


def busy(peer: Peer, variant: str, ask: Ask) -> dict:
    """A load that is counted: operations against the CPU of the whole tool, start to end."""
    outcome, cost = run(peer, variant, ask)
    if outcome.operations <= 0:
        raise BenchError(f"ended with {cost['code']} and did nothing")
    return {name: cost[name] for name in ("command", "wall_s", "user_s", "system_s",
                                      "rss_peak_bytes")} | {
        "operations": outcome.operations, "errors": outcome.errors,
        "latency_ms": outcome.latency_ms}


def idle(peer: Peer, variant: str, ask: Ask) -> dict:
    """Users who wait: a large run less a small one, so that the tool itself cancels out."""
    few, all_of_them = (plateau(peer, variant, dataclasses.replace(ask, users=users))
                        for users in (FEW_USERS, ask.users))
    more = ask.users - FEW_USERS
    return {
        "command": all_of_them["command"],
        "bytes_per_user": (all_of_them["rss"] - few["rss"]) / more,
        "cpu_s_per_connection": (all_of_them["cpu"] - few["cpu"]) / more,
        "connections_per_s": all_of_them["per_s"],
        "rss_bytes": all_of_them["rss"],
        "rss_few_bytes": few["rss"],
    }


def plateau(peer: Peer, variant: str, ask: Ask) -> dict:
    """Memory and CPU of a tool when all its users are there, and how fast they came."""
    enough = int(2 * ask.users * ALL)
    _, cost = run(peer, variant, ask, enough)
    if cost["reached_s"] is None:
        most = max((row[3] for row in cost["series"]), default=0) // 2
        raise BenchError(f"{most} of {ask.users} users connected")
    series = cost["series"]
    # After the first second of the hold: what was only needed for connecting is gone.
    after = [row for row in series if row[0] >= cost["reached_s"] + 1]
    rss = sorted(row[1] for row in after[:-5] or after)
    first = next(row for row in series if row[3] >= 0.05 * enough)
    last = next(row for row in series if row[3] >= 0.95 * enough)
    span = max(last[0] - first[0], 0.05)
    return {"command": cost["command"], "rss": rss[len(rss) // 2], "cpu": after[0][2],
            "per_s": (last[3] - first[3]) / 2 / span}
