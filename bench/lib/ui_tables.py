"""What bench/ui measured, as numbers and as a table."""

import math
import statistics

from lib.tables import spread, table

# The interval holds the median at least so often.
CONFIDENCE = 0.95


def ratios(raw: dict) -> list[float]:
    """Operations a second of each watched run to those of its partner that nobody watched."""
    return [pair["watched"]["per_s"] / pair["alone"]["per_s"] for pair in raw["pairs"]]


def interval(values: list[float]) -> tuple[float, float] | None:
    """Of the median, by order statistics alone: no shape is assumed (Conover 1999, section 3.2).

    None where there are too few values.
    """
    ordered, count = sorted(values), len(values)
    below, left_out = 0.0, -1
    while below + math.comb(count, left_out + 1) / 2**count <= (1 - CONFIDENCE) / 2:
        left_out += 1
        below += math.comb(count, left_out) / 2**count
    if left_out < 0:
        return None
    return ordered[left_out], ordered[-1 - left_out]


def sections(raw: dict) -> list[str]:
    """One table, and the ratio with its interval."""
    lines = []
    for name, words in (("alone", "unwatched"), ("watched", "three viewers and one that never reads")):
        rows = [pair[name] for pair in raw["pairs"]]
        lines.append([words, spread(row["per_s"] for row in rows),
                      spread((row["cpu_s"] / row["requests"] * 1e6 for row in rows), 2),
                      spread((row["p99_us"] for row in rows), 0),
                      spread((row["lag_p99_us"] for row in rows), 1)])
    found = ratios(raw)
    bounds = interval(found)
    range_text = (f"{bounds[0]:.4f} to {bounds[1]:.4f} in {100 * CONFIDENCE:.0f} % of such benches"
                  if bounds else "too few pairs for an interval")
    viewers = [one for pair in raw["pairs"] for one in pair["watched"]["viewers"]]
    return ["### Watched by three", "", *table(
        ["", "requests/s", "CPU µs per request", "p99, µs", "lag p99, µs"], lines), "",
        f"Requests per second, watched relative to unwatched: {statistics.median(found):.4f} (median of "
        f"{len(found)} pairs; {range_text}). A viewer got "
        f"{statistics.median(one['events'] for one in viewers):,.0f} documents of "
        f"{statistics.median(one['bytes'] / one['events'] for one in viewers) / 1024:,.0f} KiB.",
        ""]
