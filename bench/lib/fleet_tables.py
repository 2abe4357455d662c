"""The tables of the benches of fleets, in docs/fleet.md."""

import statistics

from lib.simulated import extrapolated
from lib.tables import interval, spread, table


def starts_section(raw: dict) -> list[str]:
    """Runs in a row by all agents: who took part, and what the controller used."""
    rounds, agents = raw["rounds"], raw["agents"]
    whole = sum(row["agents"] == agents for row in rounds)
    heads = ["of a run", "median (lowest–highest)"]
    rows = [
        ["from the command to the verdict", spread((row["seconds"] for row in rounds), 1) + " s"],
        ["of it the run itself", spread((row["run_s"] for row in rounds), 1) + " s"],
        ["controller's CPU", spread((row["cpu_s"] for row in rounds), 2) + " s"],
        ["controller's memory", spread((row["rss_bytes"] for row in rounds), 0, 2**-20) + " MiB"],
        ["bound of an agent's clock, median of all", spread((row["clock_bound_median_ns"] for row in rounds), 1, 1e-6) + " ms"],
        ["operations that failed", spread(row["errors"] for row in rounds)],
    ]
    return [f"{whole} of {len(rounds)} runs were begun and ended by all {agents} agents, which were up in "
            f"{raw['up_s']:.1f} s.", "", *table(heads, rows)]


def pairs_section(raw: dict) -> list[str]:
    """The cost of the way over NATS."""
    pairs = raw["pairs"]
    ratios = [pair["fleet"]["cpu_ns"] / pair["worker"]["cpu_ns"] for pair in pairs]
    bounds = interval(ratios)
    sure = f", 95 % interval {bounds[0]:.3f} to {bounds[1]:.3f}" if bounds else ""
    costs = " and ".join(f"{spread((pair[way]['cpu_ns'] for pair in pairs), 2, 1e-3)} µs {words}"
                         for way, words in (("worker", "by a worker process"), ("fleet", "over NATS")))
    return [f"{len(pairs)} pairs of runs of {raw['seconds']} s: CPU of controller and worker a request is {costs}. The "
            f"median of the pairs' ratios is {statistics.median(ratios):.3f}{sure}."]


def simulated_section(raw: dict) -> list[str]:
    """What simulated agents cost their controller each second, and what follows for larger fleets."""
    heads = ["agents", "measures each second", "controller's CPU, cores", "its memory at most, MiB", "CPU of NATS, cores",
             "behind at the end, s", "bytes per agent and second"]
    rows = [[f"{row['agents']:,}", f"{row['agents'] * row['measures']:,}", f"{row['cpu_cores']:.3f}",
             f"{row['rss_peak_bytes'] / 2**20:,.0f}", f"{row['nats_cores']:.2f}", f"{row['behind_s']:.1f}",
             f"{row['bytes_per_agent_s']:,}"] for row in raw["rows"]]
    lines = table(heads, rows)
    if len(raw["rows"]) < 2:
        return lines
    found = extrapolated(raw["rows"])
    heads = ["users of an agent", "agents for ten million", "CPU, cores", "memory, MiB", "MB a second"]
    rows = [[f"{row['users_of_an_agent']:,}", f"{row['agents']:,}", f"{row['cpu_cores']:.2f}",
             f"{row['rss_bytes'] / 2**20:,.0f}", f"{row['bytes_s'] / 1e6:.1f}"] for row in found["ten_million_users"]]
    return [*lines, "",
            f"By a line through the first and the last, half a core bears {found['agents_of_half_a_core'] or 0:,.0f} agents, and a "
            f"whole one {found['agents_of_a_core'] or 0:,.0f}. Ten million users take:", "", *table(heads, rows)]


BENCHES = {"starts": starts_section, "pairs": pairs_section, "simulated": simulated_section}
