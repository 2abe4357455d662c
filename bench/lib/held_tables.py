"""Tables of held crowds: the same on the screen and in docs/benchmarks.md."""

from lib.held_figures import bytes_per_user, held
from lib.tables import spread, table


def cell(value: float | None, digits: int = 0, scale: float = 1.0) -> str:
    """A number that may be missing."""
    return "–" if value is None else f"{value * scale:,.{digits}f}"


def million_sections(raw: dict) -> list[str]:
    """One table for what a user costs, one for how the runs went."""
    figures = [held(row) for row in raw["rows"]]
    small = min(figures, key=lambda f: f["users"])
    cost = table(
        ["users", "connected/s", "generator CPU µs per connection", "market CPU µs per connection",
         "generator bytes per user", "market bytes per user", "kernel bytes per pair",
         "broadcast to the last, s", "join p98, ms"],
        [[f"{f['users']:,}", cell(f.get("connected_per_s")), cell(f.get("generator_cpu_us"), 1),
          cell(f.get("market_cpu_us"), 1), cell(bytes_per_user(f, small, "generator")),
          cell(bytes_per_user(f, small, "market")), cell(f.get("kernel_bytes")),
          spread(f["broadcast_s"], 2 if f["users"] >= 100_000 else 3),
          cell(f["request_p98_ns"], 1, 1e-6)] for f in figures])
    went = table(
        ["users", "held", "for, s", "generator, MiB", "market, MiB", "errors", "refused",
         "connected/s to the first million",
         "generator's lag p99, ms", "retransmits", "least free memory, MiB", "teardown, s",
         "verdict"],
        [[f"{f['users']:,}", f"{fan_count(f):,}", cell(f.get("held_s")),
          cell(f.get("generator_rss"), 0, 2**-20), cell(f.get("market_rss"), 0, 2**-20),
          f"{f['errors']:,}",
          f"{f['refused']:,}", cell(f.get("connected_per_s_first_million")),
          cell(f["lag_p99_ns"], 1, 1e-6), f"{f['retransmits']:,}",
          cell(f.get("least_available"), 0, 2**-20), cell(f.get("teardown_s"), 1), f["verdict"]]
         for f in figures])
    return ["### What a user costs", "", *cost, "",
            f"Requested: {raw['rows'][0]['rate']:,} connections a second in each run.", "",
            *bare_section(raw, figures),
            "### Course of the runs", "", *went, ""]


def bare_section(raw: dict, figures: list[dict]) -> list[str]:
    """Throng compared with a bare client and server, if those were measured."""
    if not raw.get("bare"):
        return []
    throng = {f["users"]: f for f in figures}
    lines = []
    for bare in raw["bare"]:
        ours = throng.get(bare["users"], {})
        lines.append([
            f"{bare['users']:,}",
            cell(ours.get("connected_per_s")), cell(bare["connected_per_s"]),
            cell(ours.get("generator_cpu_us"), 1), cell(bare["client_us"], 1),
            spread(ours.get("broadcast_s", []), 2), spread(bare["broadcast_s"], 2)])
    return ["### What this machine allows", "",
            "Pairs of sockets without a protocol, a scenario or a record (`bench/bare/pairs.c`), "
            "just before each run.", "",
            *table(["users", "connected/s", "bare", "client CPU µs per connection", "bare",
                    "broadcast to the last, s", "bare"], lines), ""]


def fan_count(figures: dict) -> int:
    """Connected users without the bettors of the three broadcasts."""
    return min(figures["held"], figures["users"])


def fans_section(raw: dict) -> list[str]:
    """The final with a million fans."""
    row = raw["row"]
    figures = held(row)
    measures = {m["name"]: m for m in row["summary"]["measures"]}
    lines = [[name, f"{m['count']:,}", f"{m['errors']:,}",
              *(cell((m["response"] or {}).get(f"{p}_ns"), 1, 1e-6)
                for p in ("p50", "p98", "max"))] for name, m in measures.items()]
    crowd = table(
        ["fans", "connected", "errors", "generator bytes per user", "market bytes per user",
         "generator's lag p99, ms", "verdict"],
        [[f"{row['users']:,}", f"{figures['held']:,}", f"{figures['errors']:,}",
          cell(bytes_per_user(figures, figures, "generator")),
          cell(bytes_per_user(figures, figures, "market")),
          cell(figures["lag_p99_ns"], 1, 1e-6), figures["verdict"]]])
    return [f"### {row['users']:,} fans of the final", "",
            f"{row['rate']:,} a second, {row['seconds']:.0f} s in all, distributions at most every "
            f"{row['batch']}.", "", *crowd, "",
            *table(["measure", "operations", "errors", "p50, ms", "p98, ms", "max, ms"], lines),
            ""]

