"""Tables and numbers for people."""

import math
import statistics
from collections.abc import Callable, Iterable

CONFIDENCE = 0.95


def spread(values: Iterable[float], digits: int = 0, scale: float = 1.0) -> str:
    """The median, and the range that it comes from; a single value stands alone."""
    known = sorted(value * scale for value in values)
    if not known:
        return "–"
    middle = f"{statistics.median(known):,.{digits}f}"
    if len(known) == 1:
        return middle
    return f"{middle} ({known[0]:,.{digits}f}–{known[-1]:,.{digits}f})"


def interval(values: Iterable[float]) -> tuple[float, float] | None:
    """Of the median: the narrowest pair of order statistics that holds it with 95 %, which needs six values."""
    values = sorted(values)
    count, outside, rank = len(values), 0.0, 0
    while (outside := outside + math.comb(count, rank) / 2**count) <= (1 - CONFIDENCE) / 2:
        rank += 1
    return (values[rank - 1], values[count - rank]) if rank else None


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def grouped(rows: Iterable[dict], key: Callable[[dict], tuple]) -> dict[tuple, list[dict]]:
    """Rows by key, in the order in which the keys came."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
