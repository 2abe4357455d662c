"""The goals for Throng's figures, and what was measured."""

import dataclasses
import statistics
from collections.abc import Callable

from lib.chat_tables import ratios as chat_ratios
from lib.held_figures import bytes_per_user, held
from lib.peers import CONNECTIONS
from lib.peers_tables import good, per_cpu_second
from lib.run_tables import bare_lags_us, lags_us, messages, ratios
from lib.tables import spread, table
from lib.ui_tables import ratios as watched_ratios

MILLION = 1_000_000
HELD_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Goal:
    """One figure: what it is, the bench that measures it, its limit, and how it is found in raw data."""

    name: str
    what: str
    bench: str
    limit: float
    at_least: bool
    # All measured values; none if the bench did not get that far.
    find: Callable[[dict], list[float]]
    unit: str = ""
    digits: int = 0
    # The same for a bare program on this machine, if there is one.
    bare: Callable[[dict], list[float]] | None = None


def crowds(raw: dict) -> list[dict]:
    """Runs of bench/million in which everybody came and nothing failed."""
    figures = [held(row) for row in raw["rows"]]
    return [f for f in figures if "held_s" in f and not f["errors"] and not f["refused"]]


def users_held(raw: dict) -> list[float]:
    """The largest crowd that stayed a minute."""
    return sorted(f["users"] for f in crowds(raw) if f["held_s"] >= HELD_SECONDS)[-1:]


def of_million(name: str) -> Callable[[dict], list[float]]:
    """A figure of the run with a million users."""
    def find(raw: dict) -> list[float]:
        return [f[name] for f in crowds(raw) if f["users"] == MILLION and f.get(name)]
    return find


def first_million(raw: dict) -> list[float]:
    """Rates of connecting up to a million, of all runs that had as many."""
    rates = (f["connected_per_s_first_million"] for f in crowds(raw))
    return [per_s for per_s in rates if per_s]


def generator_bytes(raw: dict) -> list[float]:
    """Of the largest run relative to the smallest."""
    figures = sorted(crowds(raw), key=lambda f: f["users"])
    if not figures or figures[-1]["users"] < MILLION:
        return []
    return [bytes_per_user(figures[-1], figures[0], "generator")]


def broadcast(users: int) -> Callable[[dict], list[float]]:
    """Seconds to the last receiver, for each broadcast to this many users."""
    def find(raw: dict) -> list[float]:
        return [s for f in crowds(raw) if f["users"] == users for s in f["broadcast_s"]]
    return find


def bare_pairs(users: int, name: str) -> Callable[[dict], list[float]]:
    """A figure of the bare client and server with this many users."""
    def find(raw: dict) -> list[float]:
        found = [row[name] for row in raw.get("bare", []) if row["users"] == users]
        return [value for one in found for value in (one if isinstance(one, list) else [one])]
    return find


def echo(users: int) -> Callable[[dict], list[float]]:
    """Messages per CPU-second: ours to those of the best peer, both medians over rounds."""
    def find(raw: dict) -> list[float]:
        groups = good(raw, "echo", users)
        rates = {name: per_cpu_second(rows) for (name,), rows in groups.items()}
        ours = rates.pop("throng", None)
        return [ours / max(rates.values())] if ours and rates else []
    return find


def beside(peer: str, kind: str, users: int) -> Callable[[dict], list[float]]:
    """Operations per CPU-second: ours to those of a peer, both medians over rounds."""
    def find(raw: dict) -> list[float]:
        rates = {name: per_cpu_second(rows) for (name,), rows in good(raw, kind, users).items()}
        return [rates["throng"] / rates[peer]] if {"throng", peer} <= rates.keys() else []
    return find


def cpu_beside(peer: str, kind: str, users: int) -> Callable[[dict], list[float]]:
    """CPU of an operation relative to a peer's."""
    return lambda raw: [1 / ratio for ratio in beside(peer, kind, users)(raw)]


def punctual(raw: dict) -> list[float]:
    """p99 lag of messages over open connections, at 50,000 a second."""
    return lags_us(messages(raw))


def fans(raw: dict) -> list[float]:
    """Fans of the final, if nothing failed and the run was not ended early."""
    figures = held(raw["row"])
    return [figures["held"]] if not figures["errors"] and not figures["refused"] else []


def last_of_crowd(users: int) -> Callable[[dict], list[float]]:
    """Seconds until the last user has a chat message, if all received it."""
    def find(raw: dict) -> list[float]:
        return [s for row in raw["rows"] if row["users"] == users and row["transport"] == "websocket"
                and not row["errors"] and min(row["heard"]) >= users for s in row["last_s"]]
    return find


def costs(*pairs: str) -> Callable[[dict], list[float]]:
    """CPU of a message relative to the alternative: the most expensive of these pairs."""
    def find(raw: dict) -> list[float]:
        found = [chat_ratios(raw["rows"][pair]) for pair in pairs if pair in raw["rows"]]
        return max(found, key=statistics.median, default=[])
    return find


GOALS = [
    Goal("users", "users held on this machine for a minute", "million", 2_000_000, True,
         users_held),
    Goal("connecting", "connections a second to the first million", "million", 25_000, True,
         first_million, bare=bare_pairs(MILLION, "connected_per_s")),
    Goal("connecting-cpu", "generator CPU a connection, to a million", "million", 60, False,
         of_million("generator_cpu_us"), "µs", 1, bare_pairs(MILLION, "client_us")),
    Goal("bytes", "generator memory a user", "million", 400, False, generator_bytes, "bytes"),
    Goal("broadcast-million", "broadcast to 1,000,000, to the last receiver", "million", 7,
         False, broadcast(MILLION), "s", 2, bare_pairs(MILLION, "broadcast_s")),
    Goal("broadcast-100k", "broadcast to 100,000, to the last receiver", "million", 0.7, False,
         broadcast(100_000), "s", 2, bare_pairs(100_000, "broadcast_s")),
    Goal("http", "HTTP requests per CPU-second, relative to wrk", "run", 1.3, True, ratios, "×",
         2),
    Goal("echo-64", "WebSocket echo per CPU-second, 64 connections, relative to the best peer", "peers",
         3, True, echo(64), "×", 2),
    Goal("echo-1000", "WebSocket echo per CPU-second, 1,000 connections, relative to the best peer",
         "peers", 3, True, echo(1_000), "×", 2),
    *(Goal(f"h2-{streams}", f"CPU of a request over HTTP/2, {streams} at once on a connection, relative to h2load",
           "peers_h2", limit, False, cpu_beside("h2load", "h2", CONNECTIONS * streams), "×", 2)
      for streams, limit in ((1, 1), (10, 1), (100, 1.2))),
    Goal("grpc-ghz", "gRPC calls per CPU-second, relative to ghz", "peers_h2", 5, True,
         beside("ghz", "grpc", CONNECTIONS), "×", 1),
    Goal("grpc-k6", "gRPC calls per CPU-second, relative to k6", "peers_h2", 10, True,
         beside("k6", "grpc", CONNECTIONS), "×", 1),
    Goal("lag", "p99 lag of 50,000 sends a second from one core", "run", 50, False, punctual, "µs",
         1, lambda raw: bare_lags_us(messages(raw))),
    Goal("chat-20k", "a chat message to 20,000, to the last receiver", "chat_crowd", 0.3, False,
         last_of_crowd(20_000), "s", 3),
    Goal("chat-100k", "a chat message to 100,000, to the last receiver", "chat_crowd", 1, False,
         last_of_crowd(100_000), "s", 3),
    Goal("sse", "CPU of a received event, relative to a WebSocket message", "chat_messages", 1.15,
         False, costs("sse"), "×", 2),
    Goal("tcp", "CPU of a framed TCP message, relative to WebSocket", "chat_messages", 1.15, False,
         costs("tcp"), "×", 2),
    Goal("channels", "CPU of a channel message, relative to the same bytes by hand", "chat_messages", 1.10,
         False, costs("phoenix", "actioncable", "socketio"), "×", 2),
    Goal("viewers", "HTTP throughput watched by three viewers, relative to unwatched", "ui", 0.98,
         True, watched_ratios, "×", 3),
    Goal("fans", "fans of the complete final, without an error", "fans", MILLION, True, fans),
]


def row(goal: Goal, raw: dict | None, note: str) -> list[str]:
    """A goal's line: the median of what was measured against the limit."""
    sign = "≥" if goal.at_least else "≤"
    unit = f" {goal.unit}" if goal.unit else ""
    limit = f"{sign} {goal.limit:,g}{unit}" if goal.limit < 1_000 else f"{sign} {goal.limit:,.0f}"
    values = goal.find(raw) if raw else []
    if not values:
        measured_text = "not measured yet" if raw is None else "not reached"
        return [goal.what, limit, measured_text, "", "", "" if raw is None else "no", note]
    middle = statistics.median(values)
    ratio = middle / goal.limit
    met = ratio >= 1 if goal.at_least else ratio <= 1
    missed = abs(1 - ratio) * 100
    allowed = goal.bare(raw) if goal.bare else []
    return [goal.what, limit, spread(values, goal.digits) + unit,
            spread(allowed, goal.digits) + unit if allowed else "", f"{ratio:.2f}",
            "yes" if met else f"no, by {missed:.0f} %", note]


def goals_table(raws: dict[str, dict | None], notes: dict[str, str]) -> list[str]:
    """All goals; a note that belongs to none is a mistake."""
    strangers = set(notes) - {goal.name for goal in GOALS}
    if strangers:
        raise ValueError(f"bench/notes.json: no goal is called {', '.join(sorted(strangers))}")
    lines = [row(goal, raws[goal.bench], notes.get(goal.name, "")) for goal in GOALS]
    return table(["what", "goal", "measured", "bare", "ratio", "met", "what limits it"], lines)


