"""The tables of the market's benches, in docs/market.md."""

import statistics

NAMES = {"mysql": "MariaDB", "postgres": "PostgreSQL", "memory": "memory"}
FRONTS = {"shared": "two API processes that share an address", "nginx": "two API processes behind nginx"}


def spread(values: list[float], digits: int = 0) -> str:
    """The median, and the lowest and highest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def shown(ms: float | None) -> str:
    """A latency, if anything was answered."""
    return "–" if ms is None else f"{ms:,.1f} ms"


def rate(per_s: float) -> str:
    """Per second, with a decimal where it matters."""
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.1f}"


def stores_section(raw: dict) -> list[str]:
    """What one process reaches beside the bare client, by store."""
    lines = ["| store | predictions/s | bare client, the same procedure | ratio | p50 | p98 | errors |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for kind, name in NAMES.items():
        rows = [row for row in raw["rows"] if row["store"] == kind]
        if not rows:
            continue
        reached = [row["per_s"] for row in rows]
        bare = [row["bare_per_s"] for row in rows if row["bare_per_s"]]
        ratio = spread([a / b for a, b in zip(reached, bare)], 2) if bare else "–"
        lines.append(f"| {name} | {spread(reached)} | {spread(bare) if bare else '–'} | {ratio} | "
                     f"{spread([row['p50_ms'] for row in rows], 1)} ms | "
                     f"{spread([row['p98_ms'] for row in rows], 1)} ms | {sum(row['errors'] for row in rows)} |")
    return [*lines, "", f"Median (lowest–highest) of {len(raw['rows']) // len(NAMES)} turns; 64 players, 16 connections, "
            "one thread; generator, market and store share the machine's cores."]


def distances_section(raw: dict) -> list[str]:
    """Throughput and latency by distance, driver and queries, beside what a blocking thread can do on paper."""
    lines = ["| distance | driver | queries | predictions/s | on paper, at most | p50 | p98 | errors |",
             "|--:|---|---|--:|--:|--:|--:|--:|"]
    for row in raw["rows"]:
        distance = row["distance_ms"]
        trips = 1 if row["queries"] == "pipelined" else 6
        # One thread waits for each round trip; 16 connections wait beside each other.
        connections = 1 if row["driver"] == "blocking" else 16
        paper = f"{connections * 1e3 / (trips * distance):,.0f}" if distance else "–"
        lines.append(f"| {distance} ms | {row['driver']} | {row['queries']} | {rate(row['per_s'])} | {paper} | "
                     f"{shown(row['p50_ms'])} | {shown(row['p98_ms'])} | {row['errors']} |")
    return [*lines, "", "On paper: connections ÷ (round trips × distance), without the time of the store itself. The relay adds one to "
            "two milliseconds of its own to each round trip."]


def final_section(raw: dict) -> list[str]:
    """The crowd of the final."""
    lines = ["| front | held | connected | errors | predictions | p98 of predictions | p98 of broadcasts |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for row in raw["rows"]:
        errors = sum(row[name]["errors"] for name in ("predict", "request", "broadcast"))
        lines.append(f"| {FRONTS[row['front']]} | {row['hold']} | {row['connected']:,} | {errors} | {row['predict']['count']:,} | "
                     f"{row['predict']['p98_ms']:,.0f} ms | {row['broadcast']['p98_ms']:,.0f} ms |")
    return lines


BENCHES = {"stores": stores_section, "distances": distances_section, "final": final_section}
