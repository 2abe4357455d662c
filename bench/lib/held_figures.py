"""What the samples of a held crowd come to. Pure: raw data in, figures out."""

import itertools

# All count as there once this share of them is: the last few would measure stragglers, not speed.
ALL = 0.999
FIRST_MILLION = 1_000_000


def held(raw: dict) -> dict:
    """Figures of one run; None for what it cannot tell."""
    names, users = list(raw["samples"]), raw["users"]
    samples = [dict(zip(names, row)) for row in zip(*raw["samples"].values())]
    summary = raw["summary"]
    begin = last_before(samples, users)
    full = next((s for s in samples if s["sockets"] >= 2 * ALL * users), None)
    figures = {
        "users": users,
        "held": summary["users"]["connected"],
        "refused": summary["users"]["refused"],
        "errors": sum(m["errors"] for m in summary["measures"]),
        "verdict": summary["verdict"],
        "lag_p99_ns": summary["health"]["lag_p99_ns"],
        "retransmits": summary["health"]["host_retransmits"],
        "broadcast_s": broadcasts(summary),
        "request_p98_ns": p98(summary, "join", "request"),
        "asked_per_s": raw["rate"],
    }
    if full is None:
        return figures
    there = [s for s in samples if s["at_s"] >= full["at_s"] and s["sockets"] >= 2 * ALL * users]
    end = there[-1]
    figures |= {
        "held_s": end["at_s"] - full["at_s"],
        "connected_per_s": rate(samples, begin, users),
        "connected_per_s_first_million":
            rate(samples, begin, FIRST_MILLION) if users >= FIRST_MILLION else None,
        "generator_cpu_us": cpu(begin, full, "generator"),
        "market_cpu_us": cpu(begin, full, "market"),
        # The most while all were there: joining and broadcasts included.
        "generator_rss": max(s["generator_rss"] for s in there),
        "market_rss": max(s["market_rss"] for s in there),
        "generator_rss_empty": begin["generator_rss"],
        "market_rss_empty": begin["market_rss"],
        # At the moment when all are connected: unread messages would be counted, too.
        "kernel_bytes": (full["kernel_bytes"] - begin["kernel_bytes"]) / users,
        "least_available": min(s["available"] for s in samples),
        "teardown_s": samples[-1]["at_s"] - end["at_s"],
    }
    return figures


def last_before(samples: list[dict], users: int) -> dict:
    """The last sample before the first user: both processes are up, and empty."""
    empty = itertools.takewhile(lambda s: s["sockets"] <= max(2, users // 1_000), samples)
    # The last of them, for the first may see the generator before its loops are there.
    return (list(empty) or samples[:1])[-1]


def rate(samples: list[dict], begin: dict, users: int) -> float | None:
    """Connections a second until so many are there, interpolated between two samples."""
    before = begin
    for sample in samples:
        if sample["at_s"] <= begin["at_s"]:
            continue
        if sample["sockets"] >= 2 * ALL * users:
            share = (2 * ALL * users - before["sockets"]) / (sample["sockets"] - before["sockets"])
            at = before["at_s"] + share * (sample["at_s"] - before["at_s"])
            return ALL * users / (at - begin["at_s"])
        before = sample
    return None


def cpu(begin: dict, full: dict, who: str) -> float:
    """CPU microseconds for each connection made meanwhile."""
    pairs = (full["sockets"] - begin["sockets"]) / 2
    return (full[f"{who}_cpu_s"] - begin[f"{who}_cpu_s"]) * 1e6 / pairs


def bytes_per_user(figures: dict, small: dict, who: str) -> float | None:
    """What a user takes of a process.

    Against a run with far fewer, where there is one: what the process takes for itself once it
    works is in both. Else against itself while it was empty, which charges all of that to users.
    """
    name = f"{who}_rss"
    if name not in figures or name not in small:
        return None
    if figures["users"] >= 10 * small["users"]:
        return (figures[name] - small[name]) / (figures["users"] - small["users"])
    return (figures[name] - figures[f"{name}_empty"]) / figures["users"]


def broadcasts(summary: dict) -> list[float]:
    """Seconds until the last receiver, for each broadcast of the run."""
    times = []
    for phase in summary["phases"]:
        if not phase["name"].startswith("broadcast"):
            continue
        for measure in phase["measures"]:
            if measure["name"] == "broadcast" and measure["response"]:
                times.append(measure["response"]["max_ns"] / 1e9)
    return times


def p98(summary: dict, *names: str) -> int | None:
    """The 98th percentile of the first of these measures that there is."""
    for name in names:
        for measure in summary["measures"]:
            if measure["name"] == name and measure["response"]:
                return measure["response"]["p98_ns"]
    return None
