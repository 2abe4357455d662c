"""Tables of what bench/run measured: the same on the screen and in docs/benchmarks.md."""

from lib.held_figures import bytes_per_user, held
from lib.peers_tables import cpu
from lib.tables import grouped, spread, table


def per_cpu_second(row: dict) -> float:
    return row["operations"] / cpu(row)


def ratios(raw: dict) -> list[float]:
    """Throng's requests per client CPU-second relative to wrk just before."""
    return [per_cpu_second(pair["throng"]) / per_cpu_second(pair["wrk"]) for pair in raw["http"]]


def load(row: dict) -> str:
    """What was sent: messages over open connections, or users who take or open one."""
    return row.get("load", "users")


def lags_us(rows: list[dict]) -> list[float]:
    """p99 lag of each run, microseconds."""
    return [row["lag_p99_ns"] / 1e3 for row in rows]


def bare_lags_us(rows: list[dict]) -> list[float]:
    """p99 lag of a bare thread just before each run, microseconds."""
    return [row["bare"]["lag_p99_ns"] / 1e3 for row in rows if "bare" in row]


def messages(raw: dict) -> list[dict]:
    """The runs that sent messages over open connections."""
    return [row for row in raw["punctuality"] if load(row) == "messages"]


def sections(raw: dict) -> list[str]:
    """All tables with their headings."""
    http = table(
        ["", "requests per client CPU-second", "requests/s", "CPU µs per request"],
        [[name, spread(per_cpu_second(pair[name]) for pair in raw["http"]),
          spread(pair[name]["operations"] / pair[name]["seconds"] for pair in raw["http"]),
          spread((1 / per_cpu_second(pair[name]) for pair in raw["http"]), 1, 1e6)]
         for name in ("throng", "wrk")] + [["ratio", spread(ratios(raw), 2), "", ""]])
    echo = table(
        ["connections", "messages per client CPU-second", "messages/s"],
        [[f"{users:,}", spread(map(per_cpu_second, rows)),
          spread(row["operations"] / row["seconds"] for row in rows)]
         for (users,), rows in grouped(raw["echo"], lambda row: (row["users"],)).items()])
    lag = table(
        ["per second", "lag p50, µs", "lag p99, µs", "lag max, ms", "a bare thread's p99, µs"],
        [[f"{rate:,} {what}", spread((row["lag_p50_ns"] for row in rows), 1, 1e-3),
          spread(lags_us(rows), 1), spread((row["lag_max_ns"] for row in rows), 1, 1e-6),
          spread(bare_lags_us(rows), 1)]
         for (what, rate), rows in grouped(raw["punctuality"],
                                           lambda row: (load(row), row["rate"])).items()])
    small, large = map(held, raw["held"])
    size = bytes_per_user(large, small, "generator")
    crowd = table(
        ["users", "generator bytes per user", "broadcast to the last, s"],
        [[f"{large['users']:,}", "–" if size is None else f"{size:,.0f}",
          spread(large["broadcast_s"], 2)]])
    return ["### HTTP compared with wrk, in turn", "", *http, "",
            "### WebSocket echo, 100 bytes", "", *echo, "",
            "### Punctuality of an open load from one core", "", *lag, "",
            "One precise loop has a core to itself; the rest of Throng, and the target, share "
            "the other. *Messages* go over 1,000 open WebSockets, each on its own schedule. "
            "*Users* send HTTP requests over shared connections; a user that finds none free opens one, so "
            "a stall of the target delays the load, too. A bare thread only reads the clock (`bench/bare/turns.c`), on the same core just "
            "before each run.", "",
            "### A broadcast", "", *crowd, ""]
