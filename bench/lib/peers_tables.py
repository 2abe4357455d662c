"""Tables of what bench/peers measured: the same on the screen and in docs/benchmarks.md."""

import statistics

from lib.peers import CONNECTIONS, PEERS
from lib.tables import grouped, spread, table

# Response times of an open load on a server that stalls 1 s in every 10 s and answers in 1 ms
# otherwise, worked out on paper: one request in ten meets the stall, and waits evenly between
# nothing and 1 s for its end.
TRUTH_MS = {"p50": 1.1, "p90": None, "p95": 501, "p99": 901, "max": 1001}
REASON = 120
# A percentile is right where it is so close to the truth.
RIGHT_WITHIN = 0.1


def called(row: dict) -> str:
    """A tool and the way in which it was used."""
    return f"{row['tool']}, {row['variant']}" if row["variant"] else row["tool"]


def cpu(row: dict) -> float:
    return row["user_s"] + row["system_s"]


def per_cpu_second(rows: list[dict]) -> float:
    """The median over rounds of operations per CPU-second of the client."""
    return statistics.median(row["operations"] / cpu(row) for row in rows)


def good(raw: dict, kind: str, users: int | None = None) -> dict[tuple, list[dict]]:
    """The successful rounds, by tool."""
    rows = [row for row in raw["rows"] if row["kind"] == kind and "error" not in row
            and users in (None, row["users"])]
    return grouped(rows, lambda row: (called(row),))


def missing(raw: dict, kind: str, users: int | None, width: int) -> list[list[str]]:
    """Rows for tools without figures, each with its reason: none is left out silently."""
    lines = []
    for name, tool in raw["tools"].items():
        peer = PEERS.get(name)
        reason = peer.cannot.get(kind) if peer else None
        if tool["reason"]:
            reason = f"not installed: {tool['reason']}"
        if reason:
            lines.append([name, reason, *[""] * (width - 2)])
    whole = good(raw, kind, users)
    failed = grouped((row for row in raw["rows"] if row["kind"] == kind and "error" in row
                      and users in (None, row["users"])), lambda row: (called(row),))
    for (name,), rows in failed.items():
        times = f"failed in {len(rows)} of {len(rows) + len(whole.get((name,), []))} rounds"
        lines.append([name, f"{times}: {rows[0]['error'][:REASON]}", *[""] * (width - 2)])
    return lines


def counted(raw: dict, kind: str, users: int, what: str) -> list[str]:
    """Closed loads: operations against the CPU of the client."""
    heads = ["tool", f"{what} per client CPU-second", f"{what}/s", f"CPU µs per {what[:-1]}",
             "of it in user mode", "peak memory, MiB", "errors"]
    groups = sorted(good(raw, kind, users).items(), key=lambda item: -per_cpu_second(item[1]))
    lines = []
    for (name,), rows in groups:
        lines.append([
            f"**{name}**" if name == "throng" else name,
            spread(row["operations"] / cpu(row) for row in rows),
            spread(row["operations"] / row["seconds"] for row in rows),
            spread((cpu(row) / row["operations"] for row in rows), 1, 1e6),
            spread([statistics.median(row["user_s"] / row["operations"] for row in rows)], 1, 1e6),
            spread([statistics.median(row["rss_peak_bytes"] for row in rows)], 0, 1 / 2**20),
            spread([sum(row["errors"] for row in rows)]),
        ])
    return table(heads, lines + missing(raw, kind, users, len(heads)))


def idle(raw: dict, kind: str) -> list[str]:
    """Users who wait."""
    heads = ["tool", "bytes per user", "CPU ms per connection", "connections/s",
             "memory with 100 users, MiB"]
    groups = sorted(good(raw, kind).items(),
                    key=lambda item: statistics.median(r["bytes_per_user"] for r in item[1]))
    lines, lost = [], []
    for (name,), rows in groups:
        clear = statistics.median(row["bytes_per_user"] for row in rows) > 0
        line = [
            f"**{name}**" if name == "throng" else name,
            # A garbage collector may give back more than all users take.
            spread(row["bytes_per_user"] for row in rows) if clear else "lost in its own size",
            spread((row["cpu_s_per_connection"] for row in rows), 3, 1e3),
            spread(row["connections_per_s"] for row in rows),
            spread([statistics.median(row["rss_few_bytes"] for row in rows)], 0, 1 / 2**20),
        ]
        (lines if clear else lost).append(line)
    lines += lost
    return table(heads, lines + missing(raw, kind, None, len(heads)))


def stall(raw: dict) -> list[str]:
    """Percentiles in ms beside the truth."""
    names = list(TRUTH_MS)
    heads = ["tool", *names, "requests per run", "errors", "right?"]
    truth = [f"{ms:g}" if ms else "the edge" for ms in TRUTH_MS.values()]
    lines = [["*the truth*", *truth, f"{planned(raw):,}", "0", ""]]
    for (name,), rows in good(raw, "stall").items():
        cells, right = [], []
        for figure in names:
            known = [row["latency_ms"][figure] for row in rows if figure in row["latency_ms"]]
            cells.append(spread(known, 1 if figure == "p50" else 0))
            if figure in ("p95", "p99"):
                share = statistics.median(known) / TRUTH_MS[figure] - 1 if known else None
                right.append(share is not None and abs(share) <= RIGHT_WITHIN)
        reported = "yes" if all(right) else "no" if any("p99" in r["latency_ms"] for r in rows) \
            else "no percentiles"
        lines.append([f"**{name}**" if name == "throng" else name, *cells,
                      spread(row["operations"] for row in rows),
                      spread([sum(row["errors"] for row in rows)]), reported])
    return table(heads, lines + missing(raw, "stall", None, len(heads)))


def planned(raw: dict) -> int:
    """Requests that an open load should have made."""
    return max((row["rate"] * row["seconds"] for row in raw["rows"] if row["kind"] == "stall"),
               default=0)


def sections(raw: dict) -> list[str]:
    """All tables with their headings, as far as there is data."""
    lines: list[str] = []
    kinds = {row["kind"] for row in raw["rows"]}
    if "http" in kinds:
        lines += ["### HTTP/1.1, 64 connections, closed loop", "",
                  *counted(raw, "http", 64, "requests"), ""]
    for kind, what in (("idle", "WebSocket users"), ("idle_h2", "users of HTTP/2")):
        if kind in kinds:
            users = max(row["users"] for row in raw["rows"] if row["kind"] == kind)
            lines += [f"### {users:,} idle {what}", "", *idle(raw, kind), ""]
    for users in sorted({row["users"] for row in raw["rows"] if row["kind"] == "echo"}):
        lines += [f"### WebSocket echo, 100 bytes, {users:,} connections, closed loop", "",
                  *counted(raw, "echo", users, "messages"), ""]
    for users in sorted({row["users"] for row in raw["rows"] if row["kind"] == "h2"}):
        streams = users // CONNECTIONS
        lines += [f"### HTTP/2, {CONNECTIONS} connections, {streams} at once on each, closed loop", "",
                  *counted(raw, "h2", users, "requests"), ""]
    if "grpc" in kinds:
        lines += [f"### gRPC, unary calls, 100 bytes, {CONNECTIONS} connections, closed loop", "",
                  *counted(raw, "grpc", None, "calls"), ""]
    if "stall" in kinds:
        lines += ["### How each tool reports a stall (ms)", "", *stall(raw), ""]
    return lines


def versions(raw: dict) -> list[str]:
    """Which version of each tool this was."""
    reported = (f"{name} {tool['version']}" for name, tool in raw["tools"].items()
            if not tool["reason"] and name != "throng")
    return ["### Versions", "", ", ".join(reported) + ".", ""]


# Options of ours that had another name when a row was measured.
RENAMED = {" --for ": " --duration "}


def today(command: str) -> str:
    """A command as it is called now."""
    if command.startswith("throng "):
        for was, name in RENAMED.items():
            command = command.replace(was, name)
    return command


def commands(raw: dict) -> list[str]:
    """How each tool was called, once for each kind of load."""
    known = grouped((row for row in raw["rows"] if "command" in row),
                    lambda row: (row["kind"], called(row)))
    lines = [today(rows[-1]["command"]) for rows in known.values()]
    return ["### How they were called", "",
            "`$TMP` holds the script of that measurement; the others are in `bench/peer-scripts/`. Flags of the other tools are those of the measured versions, our own those of today.",
            "", "```", *dict.fromkeys(lines), "```", ""]
