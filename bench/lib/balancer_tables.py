"""The tables of the balancer's benches, in docs/balancing-reference.md."""

import statistics
from collections.abc import Iterable

from lib.tables import grouped, interval, spread, table

NAMES = {"direct": "no forwarder", "throng": "`serve balancer`", "nginx": "nginx", "haproxy": "HAProxy"}
BACKENDS = {"hello": "`serve hello`", "worker": "`serve worker`"}
LATENCIES = ("p50_us", "p99_us")
CHECKS = {"none": "none", "passive": "passive", "active": "active", "both": "passive and active"}
FULL = {"forwarder": "Backends that answer at once; the forwarder has a core to itself.",
        "workers": "The five workers of [s4.workers](../examples/balancer/s4.workers) behind `serve balancer`, which can do "
                   "1,515 requests/s together. What does not fit into their queues is refused."}


def within(values: Iterable[float], digits: int, sign: str = "") -> str:
    """The median with its 95 % interval; of fewer than six values, with their range."""
    values = list(values)
    low, high = interval(values) or (min(values), max(values))
    middle, low, high = (f"{value:{sign},.{digits}f}" for value in (statistics.median(values), low, high))
    return f"{middle} ({low} to {high})" if sign else f"{middle} ({low}–{high})"


def share(part: float, whole: float) -> str:
    """Of a whole, in percent."""
    return f"{100 * part / whole:.2f} %"


def served(rows: list[dict]) -> str:
    """The share of requests that were answered well."""
    count = sum(row["count"] for row in rows)
    return share(count - sum(row["errors"] for row in rows), count)


def bracket(rows: list[dict]) -> str:
    """What the numbers in brackets are."""
    turns = len({row["turn"] for row in rows})
    kind = "95 % interval" if turns >= 6 else "lowest and highest"
    return f"Median of {turns} turns ({kind})"


def peers(raw: dict) -> str:
    """Which versions were measured, and how many runs the generator itself does not trust."""
    known = ", ".join(f"{NAMES[name]} {version}" for name, version in raw["versions"].items()) + "."
    rows = raw["rows"]
    doubtful = sum(row["verdict"] == "untrusted" for row in rows)
    return f"{known} **{doubtful} of {len(rows)} runs are untrusted: the generator was late.**" if doubtful else known


def efficiency_section(raw: dict) -> list[str]:
    """Requests per CPU-second of each, and the ratio to nginx in the same turn."""
    lines = []
    for (kind, policy), rows in grouped(raw["rows"], lambda row: (row["backends"], row["policy"])).items():
        nginx = {row["turn"]: row["per_cpu_s"] for row in rows if row["forwarder"] == "nginx"}
        by_name = grouped(rows, lambda row: (row["forwarder"],))
        lines += [[BACKENDS[kind], policy, NAMES[name], *efficiency_cells(by_name[(name,)], nginx)]
                  for name in NAMES if name != "direct"]
    direct = [row["per_s"] for row in raw["rows"] if (row["forwarder"], row["backends"]) == ("direct", "hello")]
    beyond = (f" Without a forwarder, generator and one `serve hello` reach {spread(direct)} requests/s on their core."
              if direct else "")
    return [*table(["backends", "policy", "forwarder", "requests per CPU-second", "relative to nginx", "requests/s",
                    "its core was busy", "served", "busiest worker / mean"], lines), "",
            f"{bracket(raw['rows'])}; 64 connections, closed loop, HTTP/1.1 with keep-alive on both sides, three backends, no "
            "access log. CPU time is user and system time of the forwarder's processes. Each has one thread and a core; "
            f"backends and generator share the other.{beyond} {peers(raw)}"]


def efficiency_cells(rows: list[dict], nginx: dict[int, float]) -> list[str]:
    """Of one forwarder with one policy."""
    ratios = [row["per_cpu_s"] / nginx[row["turn"]] for row in rows]
    spread_out = [row["imbalance"] for row in rows if "imbalance" in row]
    return [within([row["per_cpu_s"] for row in rows], 0),
            "1" if rows[0]["forwarder"] == "nginx" else within(ratios, 3), spread([row["per_s"] for row in rows]),
            f"{100 * statistics.median(row['busy'] for row in rows):.0f} %", served(rows),
            f"{statistics.median(spread_out):.2f}" if spread_out else "–"]


def latency_section(raw: dict) -> list[str]:
    """Latency through each, and what it adds to that of a direct run in the same turn."""
    rows = raw["rows"]
    by_name = {name: {row["turn"]: row for row in rows if row["forwarder"] == name} for name in NAMES}
    lines = []
    for name, turns in by_name.items():
        less = {other: {part: [row[part] - by_name[other][turn][part] for turn, row in turns.items()]
                        for part in LATENCIES} for other in ("direct", "haproxy")}
        added = [within(less["direct"][part], 0, "+") if name != "direct" else "–" for part in LATENCIES]
        beside = within(less["haproxy"]["p99_us"], 0, "+") if name in ("throng", "nginx") else "–"
        found = list(turns.values())
        lines.append([NAMES[name], *(spread([row[part] for row in found]) for part in LATENCIES), *added, beside, served(found)])
    return [*table(["through", "p50, µs", "p99, µs", "added p50, µs", "added p99, µs", "p99 less HAProxy's, µs", "served"],
                   lines), "",
            f"{rows[0]['rate']:,} requests/s, whether responses come or not, from sending to the last byte. Latencies: median "
            f"(lowest–highest). Differences are those of runs of the same turn. {bracket(rows)}. Generator on one core, "
            f"forwarder and workers on the other. {peers(raw)}"]


def limit_section(raw: dict) -> list[str]:
    """Measured throughput beside n / (T_response + T_think), and which part is full."""
    sections, peaks, each = [], [], []
    for (full,), rows in grouped(raw["rows"], lambda row: (row["full"],)).items():
        lines = []
        for (name,), found in grouped(rows, lambda row: (row["forwarder"],)).items():
            # What a light load lets one expect, as S4 counts.
            light_s = min(found, key=lambda row: row["users"])["response_s"]
            lines += [limit_line(name, row, light_s) for row in found]
            most = max(found, key=lambda row: row["per_s"])
            if full == "forwarder" and name != "direct":
                peaks.append(f"{NAMES[name]} {most['per_s']:,.0f}/s with {most['busy']:.2f} of its core")
        if full == "workers" and "by_worker" in rows[0]:
            each = workers_table(rows)
        sections += ["" if sections else None, FULL[full], "",
                     *table(["through", "users", "n / (T + Z), T of the lightest load", "n / (T + Z), T of this load",
                             "answered/s", "served/s", "mean response", "p99", "its CPU, cores"], lines)]
    think_ms = raw["rows"][0]["think_s"] * 1e3
    return [*(line for line in sections if line is not None), "", *each,
            f"n users, who think for Z = {think_ms:.0f} ms; T is the mean response time, of refusals too. The most that each "
            f"forwarded: {'; '.join(peaks)}. Where its core is not full, generator and backends on the other core are the "
            f"limit. {peers(raw)}"]


def workers_table(rows: list[dict]) -> list[str]:
    """What each worker served, beside its capacity and its part of n / (T + Z)."""
    workers = rows[0]["by_worker"]
    light_s = min(rows, key=lambda row: row["users"])["response_s"]
    whole = sum(worker["capacity_per_s"] for worker in workers)
    lines = []
    for row in rows:
        law = row["users"] / (light_s + row["think_s"])
        lines.append([f"{row['users']:,}", f"{law:,.0f}", *(
            f"{law * worker['capacity_per_s'] / whole:,.0f}: {worker['per_s']:,.0f} "
            f"({100 * worker['per_s'] / worker['capacity_per_s']:.0f} %)" for worker in row["by_worker"])])
    names = [f"{worker['name']}, {worker['capacity_per_s']:.0f}/s" for worker in workers]
    return ["Each of them: its part by weight of n / (T + Z) with T of the lightest load, the requests/s that it served, and "
            "how much that is of its capacity (2 servers / 5 ms × speed). Beyond its capacity the law says what is offered.", "",
            *table(["users", "n / (T + Z)", *names], lines), ""]


def limit_line(name: str, row: dict, light_s: float) -> list[str]:
    """One load."""
    laws = [row["users"] / (response_s + row["think_s"]) for response_s in (light_s, row["response_s"])]
    return [NAMES[name], f"{row['users']:,}", *(f"{law:,.0f}" for law in laws), f"{row['per_s']:,.0f}",
            f"{row['served_per_s']:,.0f}", f"{1e3 * row['response_s']:.2f} ms", f"{1e3 * row['p99_s']:.1f} ms",
            f"{row['busy']:.2f}"]


def kill_section(raw: dict) -> list[str]:
    """What was lost, and for how long, by situation, policy and checks."""
    lines = []
    for (policy, checks, retries), rows in grouped(
            raw["rows"], lambda row: (row["policy"], row["checks"], row["retries"])).items():
        cells = {row["situation"]: kill_cells(row) for row in rows}
        lines.append([policy, CHECKS[checks], str(retries), *cells["killed"], *cells["stopped"]])
    down = statistics.median(row["down_s"] for row in raw["rows"])
    return [*table(["policy", "checks", "retries", *(f"{name}: {cell}" for name in ("killed", "stopped")
                                                     for cell in ("lost", "for", "p99"))], lines), "",
            "One of five workers is killed (SIGKILL) or stopped (SIGSTOP) in a run of 300 requests/s, each on a connection of "
            f"its own, and is back after {down:.1f} s. *Lost* are requests that failed, of all of the run; *for* is the time "
            "from the fault to the last loss, to a quarter of a second; p99 is that of the whole run. Passive checks alone, "
            "active ones alone, and no retries were measured with round robin only. `--response-timeout 500ms --eject-for 1s`, "
            "and for active checks `--health-every 250ms --health-timeout 250ms --fall 2 --rise 1`; the budget of retries is "
            "the default, 20 % of requests."]


def kill_cells(row: dict) -> list[str]:
    """Of one run."""
    lost = f"{row['lost']:,} ({share(row['lost'], row['count'])})" if row["lost"] else "0"
    untrusted = " (untrusted)" if row["verdict"] == "untrusted" else ""
    return [lost + untrusted, f"{row['lost_for_s']:.1f} s" if row["lost"] else "–", f"{row['p99_ms']:.0f} ms"]


def storm_section(raw: dict) -> list[str]:
    """WebSockets of each backend before a fault and after it."""
    lines = []
    for row in raw["rows"]:
        lost = row["before"][-1]
        both = [max(held) * len(held) / sum(held) if sum(held) else 0 for held in (row["before"], row["after"])]
        lines.append([row["policy"], "at once" if row["down_s"] == 0 else f"after {row['down_s']} s", f"{lost:,}",
                      share(row["after"][-1], lost) if lost else "–",
                      ", ".join(f"{after - before:+,}" for before, after in zip(row["before"][:-1], row["after"])),
                      f"{sum(row['before']) - sum(row['after']):,}", f"{row['attempts']:,} ({row['failed']:,})",
                      f"{row['p99_ms']:.0f} ms", *(f"{each:.2f}" for each in both)])
    users = raw["rows"][0]["users"]
    return [*table(["policy", "it is back", "its WebSockets", "came back to it", "came to the others", "missing at the end",
                    "attempts (failed)", "p99 of an attempt", "max / mean before", "and after"], lines), "",
            f"{users:,} WebSockets over five `serve echo`, of which one is killed; `--hash-by` a header field that names the "
            "user. Users reconnect after 0.5 to 1 s, and after twice as long for each attempt that fails. Two retries, "
            "`--eject-for 1s`, no active checks."]


def idle_section(raw: dict) -> list[str]:
    """Memory by idle clients, and what each beyond the first step costs."""
    first, *more = raw["rows"]
    lines = [[f"{first['clients']:,}", mebibytes(first), "–"]]
    for row in more:
        each = (row["rss_bytes"] - first["rss_bytes"]) / (row["clients"] - first["clients"])
        lines.append([f"{row['clients']:,}", mebibytes(row), f"{each / 1024:.2f} KiB"])
    return [*table(["clients", "resident memory", f"each beyond the first {first['clients']:,}"], lines), "",
            "Connections that had one request each and stay open. One thread; the sockets' memory is the kernel's and not in it."]


def mebibytes(row: dict) -> str:
    """Resident memory."""
    return f"{row['rss_bytes'] / 2**20:.1f} MiB"


BENCHES = {"efficiency": efficiency_section, "latency": latency_section, "limit": limit_section, "idle": idle_section,
           "kill": kill_section, "storm": storm_section}
