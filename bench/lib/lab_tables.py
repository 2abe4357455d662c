"""The tables of the wide-area network's benches, in docs/lab-network.md."""

from lib.tables import grouped, spread, table


def idle_section(raw: dict) -> list[str]:
    """CPU of a forwarder that nobody uses."""
    share = spread([row["forwarder_cpu_share"] for row in raw["rows"]], 3, 100)
    return [f"While nothing is sent, the forwarder uses {share} % of a core."]


def round_trips_section(raw: dict) -> list[str]:
    """Errors of round trips, by rate and distance."""
    rows = []
    groups = grouped(raw["rows"], lambda row: (row["packets_per_s"], row["requested_ms"]))
    for (rate, requested), turns in groups.items():
        lost = sum(row["sent"] - row["returned"] - row["missed"] for row in turns)
        cells = [spread([row[name] for row in turns], 3) for name in ("error_median_ms", "error_p99_ms", "error_max_ms")]
        reached = [2 * row["sent"] / (row["seconds"] - row["requested_ms"] / 1000) for row in turns]
        late = [row["late"] / (2 * row["sent"]) for row in turns]
        rows.append([f"{requested} ms", f"{rate:,}", spread(reached), *cells, spread(late, 2, 100),
                     spread([row["forwarder_cpu_share"] for row in turns], 1, 100), str(lost)])
    heads = ["round trip", "packets/s", "reached", "error of the median, ms", "of p99", "of the greatest", "over 0.3 ms late, %",
             "forwarder's CPU, %", "lost"]
    return [*table(heads, rows), "", "Median of the turns (lowest–highest). UDP of 100 bytes and its echo; times of "
            "arrival are the kernel's. Negative: earlier than requested."]


def hosts_section(raw: dict) -> list[str]:
    """How fast hosts come and go, and what many pairs at once do."""
    rows = raw["rows"]
    one = rows[0]
    return [f"{one['hosts']} hosts in {one['places']} places are up in {spread([row['up_s'] for row in rows], 2)} s and down in "
            f"{spread([row['down_s'] for row in rows], 2)} s. With {one['pairs']} pairs of places measured at once, "
            f"12,000 packets per second in each direction, the worst pair's median is off by "
            f"{spread([row['worst_median_ms'] for row in rows], 2)} ms and its p99 by "
            f"{spread([row['worst_p99_ms'] for row in rows], 2)} ms."]


def packets_section(raw: dict) -> list[str]:
    """Packets per second of a core."""
    rows = []
    for (size,), turns in grouped(raw["rows"], lambda row: (row["bytes"],)).items():
        rows.append([f"{size:,} bytes", *(spread([row[name] for row in turns]) for name in
                                         ("forwarded_per_s", "per_cpu_second")),
                     spread([row["gbit_per_s"] for row in turns], 2)])
    heads = ["packets of", "per second", "per second of CPU", "Gbit/s"]
    return [*table(heads, rows), "", "Median of the turns (lowest–highest). One host sends to another one over 20 ms as "
            "fast as it can; both share a core, the forwarder has the other one. Its CPU, without empty polls, includes "
            "the receiving host's protocols, up to the socket."]


def stream_section(raw: dict) -> list[str]:
    """One connection, with super-packets."""
    rows = raw["rows"]
    return [f"One TCP connection over 1 ms: {spread([row['gbit_per_s'] for row in rows], 1)} Gbit/s, "
            f"{spread([row['gbit_per_cpu_second'] for row in rows], 1)} Gbit for each second of the forwarder's CPU."]


def losses_section(raw: dict) -> list[str]:
    """TCP beside the formula."""
    rows = []
    for row in raw["rows"]:
        formula = row["mathis_mbit_per_s"]
        beside = [f"{formula:,.2f}", f"{row['mbit_per_s'] / formula:.2f}"] if formula else ["–", "–"]
        rows.append([f"{row['round_trip_ms']} ms", f"{100 * row['requested_loss']:g} %", f"{100 * row['loss']:.3f} %",
                     str(row["streams"]), f"{row['mbit_per_s']:,.2f}", *beside])
    heads = ["round trip", "loss requested", "loss measured", "connections", "Mbit/s of each", "formula", "ratio"]
    return [*table(heads, rows), "", "TCP Reno, segments of 1,448 bytes, windows up to 64 MiB. The formula is that of "
            "Mathis et al. (1997), √(3/2) · segment / (round trip · √loss), with the loss measured."]


def near_and_far_section(raw: dict) -> list[str]:
    """The example on paper."""
    rows = [[f"{row['users']:,} users, the server {where}", f"{row['mean_ms']:,.0f} ms", f"{row['expected_ms']:,.0f} ms",
             f"{100 * row['error']:+.2f} %"]
            for row in raw["rows"]
            for where in [{"near": "near its store", "far": "far from its store"}[row["server"]]]]
    return table(["", "mean measured", "on paper", "error"], rows)


BENCHES = {"idle": idle_section, "round_trips": round_trips_section, "hosts": hosts_section, "packets": packets_section,
           "stream": stream_section, "losses": losses_section, "near_and_far": near_and_far_section}
