"""Tables of what bench/chat measured, beside the figures that were published of other chats.

The published ones: "Scalability and High Availability in Real-time Cloud Services", tables 7.1 and
8.2. A chat of Rails in two browsers for 60 s, packets counted by Wireshark; and one of Rails
(ActionCable) and one of Phoenix under Tsung for 300 s, each server on one virtual CPU with 1 GiB.
"""

from lib.tables import grouped, spread, table

# Packets and bytes, table 7.1. There messages came by WebSocket, and went by requests.
PRINTED_TRANSPORTS = {
    "polling": (918, 302_211),
    "long-polling": (555, 245_338),
    "streaming": (1_396, 186_046),
    "websocket": (568, 138_492),
    "websocket-alone": None,
}
SECONDS = 60
# What a frame of Ethernet, or of loopback as sniffers see it, has besides its IP packet.
LINK_BYTES = 14

# By framing and new connections a second, table 8.2: requests, connections, errors, one message's
# time to everybody in ms, seconds until it failed.
PRINTED_CAPACITY = {
    ("phoenix", 10): (2_963, 2_963, 0, 210, None),
    ("phoenix", 20): (5_915, 5_915, 0, 834, None),
    ("phoenix", 40): (11_314, 11_313, 1, 1_194, None),
    ("phoenix", 80): (23_215, 20_686, 546, 5_692, 220),
    ("actioncable", 10): (2_951, 2_951, 0, 224, None),
    ("actioncable", 20): (5_874, 4_238, 99, 1_530, 200),
}


def ms(value_ns: float | None, digits: int = 1) -> str:
    return "–" if value_ns is None else f"{value_ns / 1e6:,.{digits}f}"


def of_measure(summary: dict, name: str) -> dict:
    return next(one for one in summary["measures"] if one["name"] == name)


def transports_section(raw: dict) -> list[str]:
    """Packets, bytes and latency by transport, and what headers add."""
    rows = {(row["transport"], row["cookie"]): row for row in raw["rows"]}
    few, many = (choose(cookie for _, cookie in rows) for choose in (min, max))
    lines = []
    for transport, printed in PRINTED_TRANSPORTS.items():
        bare, full = (rows[transport, cookie]["kernel"] for cookie in (few, many))
        published = figures(*printed) if printed else ["", "", ""]
        lines.append([transport.replace("-", " "), *published, *counted(bare), *counted(full)])
    sizes = table(
        ["", "packets, printed", "bytes, printed", "bytes/s, printed",
         *(f"{what}, cookie of {cookie} B" for cookie in (few, many)
           for what in ("packets", "bytes", "bytes/s"))], lines)
    lines = []
    for transport in PRINTED_TRANSPORTS:
        row = rows[transport, few]
        said, speak = (of_measure(row["summary"], name) for name in ("said", "speak"))
        response = said["response"]
        lines.append([transport.replace("-", " "), f"{speak['count']:,}", f"{said['count']:,}",
                      ms(response["mean_ns"], 2), ms(response["p50_ns"], 2), ms(response["p98_ns"], 2),
                      ms(response["max_ns"], 2)])
    times = table(["", "said", "received", "mean, ms", "p50, ms", "p98, ms", "max, ms"], lines)
    return ["### Bytes and packets", "", *sizes, "",
            "### From the room to a client", "", *times, "", *known(rows)]


def known(rows: dict[tuple[str, int], dict]) -> list[str]:
    """Traffic as the runs report it, compared with the kernel's counters."""
    lines = []
    for (transport, cookie), row in sorted(rows.items(), key=lambda one: one[0][::-1]):
        if not (traffic := row["summary"].get("traffic")):
            return []
        total, ip_bytes = traffic["total"], row["kernel"]["ip_bytes"]
        both = {name: total[f"{name}_out"] + total[f"{name}_in"]
                for name in ("segments", "payload", "ip_bytes")}
        lines.append([f"{transport.replace('-', ' ')}, cookie of {cookie} B",
                      f"{traffic['connections']:,}", f"{both['segments']:,.0f}",
                      f"{row['kernel']['packets']:,}", f"{both['payload']:,.0f}",
                      f"{both['ip_bytes']:,.0f}", f"{ip_bytes:,}",
                      f"{100 * (both['ip_bytes'] / ip_bytes - 1):+.1f} %"])
    return ["### Traffic as the runs report it", "", *table(
        ["", "connections", "segments", "of the kernel", "payload bytes", "IP bytes, estimated",
         "of the kernel", "off by"], lines), ""]


def counted(kernel: dict) -> list[str]:
    """What the kernel counted, in frames as a sniffer sees them."""
    return figures(kernel["packets"], kernel["ip_bytes"] + LINK_BYTES * kernel["packets"])


def figures(packets: int, size: int) -> list[str]:
    """Packets, bytes, bytes a second."""
    return [f"{packets:,}", f"{size:,}", f"{size / SECONDS:,.0f}"]


def capacity_section(raw: dict) -> list[str]:
    """One table a framing: rate by rate until the first that fails."""
    lines = []
    for (framing,), rows in grouped(raw["rows"], lambda row: (row["framing"],)).items():
        lines += [f"### {NAMES[framing]}", "", *table(
            ["new a second", "users", "joined", "errors", "received of three", "to the last, ms",
             "first failure, s", "MTBF, s", "MTTR, s", "available", "nines", "printed: connected",
             "printed: to all, ms"],
            [capacity_row(row) for row in sorted(rows, key=lambda row: row["rate"])]), ""]
    return lines


NAMES = {"phoenix": "Phoenix", "actioncable": "ActionCable"}


def capacity_row(row: dict) -> list[str]:
    users, joined, said, up = (row[name] for name in ("users", "joined", "said", "availability"))
    printed = PRINTED_CAPACITY.get((row["framing"], round(row["rate"])))
    return [
        f"{row['rate']:,g}" + ("" if row["outcome"] == "holds" else " (fails)"),
        f"{users['started']:,}", f"{joined['count'] - joined['errors']:,}", f"{row['errors']:,}",
        f"{said['count']:,}", ms(said["response"]["max_ns"] if said["response"] else None),
        seconds(up["first_failure_ns"]), mtbf(up),
        seconds(up["mttr_ns"]["value"] if up["mttr_ns"] else None),
        f"{100 * up['observed']:.1f} %", "–" if up["nines"] is None else f"{up['nines']:.1f}",
        *((f"{printed[1]:,} of {printed[0]:,}", f"{printed[3]:,}") if printed else ("", ""))]


def mtbf(up: dict) -> str:
    """The estimate, or the bound that a run without a failure gives."""
    found = up["mtbf_ns"]
    if found["value"] is not None:
        return seconds(found["value"])
    return f"≥ {seconds(found['low'])}"


def seconds(value_ns: float | None) -> str:
    return "–" if value_ns is None else f"{value_ns / 1e9:,.1f}"


def crowd_section(raw: dict) -> list[str]:
    """One message to many listeners."""
    lines = [[f"{row['users']:,}", OVER[row["transport"]], f"{row['connected']:,}",
              spread(row["last_s"], 3), f"{min(row['heard']):,}", f"{row['errors']:,}",
              ms(row["lag_p99_ns"])] for row in raw["rows"]]
    return ["### One message to many listeners", "", *table(
        ["listeners", "over", "connected", "to the last, s", "fewest received", "errors",
         "generator's lag p99, ms"], lines), ""]


OVER = {"websocket": "WebSocket", "streaming": "event streams", "phoenix": "Phoenix"}


def ratios(rows: list[dict]) -> list[float]:
    """CPU of a message relative to the alternative, turn by turn."""
    return [row["ours"]["cpu_us"] / row["other"]["cpu_us"] for row in rows]


def messages_section(raw: dict) -> list[str]:
    """What a message costs over two transports."""
    lines = []
    for name, rows in raw["rows"].items():
        one, other = COMPARED[name]
        lines.append([one, other, *(spread((row[side]["cpu_us"] for row in rows), 2)
                                    for side in ("ours", "other")), spread(ratios(rows), 2)])
    return ["### What a message costs the generator", "", *table(
        ["", "compared with", "CPU µs per message", "of the other", "ratio"], lines), ""]


COMPARED = {
    "sse": ("event stream, received", "WebSocket, received"),
    "tcp": ("framed TCP, round trip", "WebSocket, round trip"),
    "phoenix": ("Phoenix: `push` and its reply", "the same bytes by hand"),
    "actioncable": ("ActionCable: `perform` and its message", "the same bytes by hand"),
    "socketio": ("Socket.IO: `emit` and its acknowledgement", "the same bytes by hand"),
}

BENCHES = {"transports": transports_section, "capacity": capacity_section,
           "crowd": crowd_section, "messages": messages_section}
