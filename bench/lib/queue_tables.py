"""The tables of the queue's benches, in docs/queue.md."""

from operator import itemgetter

from lib.market_tables import spread

SERVERS = {"queue": "`serve queue --frontends 1`", "echo": "`serve echo --raw`"}


def echoes_section(raw: dict) -> list[str]:
    """Echoes per second and CPU of each, by clients."""
    lines = ["| server | clients | echoes/s | CPU per echo, µs | p50 | p98 | errors |", "|---|--:|--:|--:|--:|--:|--:|"]
    for clients in sorted({row["clients"] for row in raw["rows"]}):
        for server, name in SERVERS.items():
            rows = [row for row in raw["rows"] if (row["server"], row["clients"]) == (server, clients)]
            lines.append(f"| {name} | {clients} | {spread([row['per_s'] for row in rows])} | "
                         f"{spread([row['cpu_us'] for row in rows], 2)} | {spread([row['p50_ms'] for row in rows], 2)} ms | "
                         f"{spread([row['p98_ms'] for row in rows], 2)} ms | {sum(row['errors'] for row in rows)} |")
    return [*lines, "", "Median (lowest–highest); frames of 200 bytes, closed loop. The server has one core, the generator the "
            "other."]


def operations_section(raw: dict) -> list[str]:
    """Operations per second beside pgbench, by placement and connections."""
    lines = ["| cores | `--durable` | connections | operations/s | pgbench, the same functions | ratio | database's CPU per operation | "
             "the same under pgbench | middleware's CPU | p50 | p98 | errors |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    what = itemgetter("placed", "durable", "connections")
    for placed, durable, connections in dict.fromkeys(map(what, raw["rows"])):
        rows = [row for row in raw["rows"] if what(row) == (placed, durable, connections)]
        ratio = spread([row["per_s"] / row["pgbench_per_s"] for row in rows], 2)
        cpu = " | ".join(f"{spread([row[name] for row in rows], 0)} µs"
                         for name in ("database_us", "pgbench_database_us", "queue_us"))
        lines.append(f"| {placed} | {durable} | {connections} | {spread([row['per_s'] for row in rows])} | "
                     f"{spread([row['pgbench_per_s'] for row in rows])} | {ratio} | {cpu} | "
                     f"{spread([row['p50_ms'] for row in rows], 1)} ms | {spread([row['p98_ms'] for row in rows], 1)} ms | "
                     f"{sum(row['errors'] for row in rows)} |")
    return [*lines, "", "Median (lowest–highest); sends and pops in equal parts over 20 queues, 64 clients without think time, "
            "200 bytes. Shared: generator, queue and database share both cores; pgbench has them with the database alone. "
            "Apart: the database has one core; generator and queue share the other one, or pgbench has it."]


BENCHES = {"echoes": echoes_section, "operations": operations_section}
