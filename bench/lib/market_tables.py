"""The tables of the market's benches, in docs/market.md."""

import statistics

NAMES = {"mysql": "MariaDB", "postgres": "PostgreSQL", "memory": "memory"}
FRONTS = {"shared": "two API processes that share an address", "nginx": "two API processes behind nginx",
          "shared-tls": "two API processes that share an address and speak TLS",
          "nginx-tls": "two API processes behind nginx, which speaks TLS"}
BENDING = {"api": ("an API process, in memory", "predictions"), "redis": ("with Redis as cache, MariaDB behind it", "pools"),
           "mysql": ("with MariaDB", "predictions")}

# Requests a second of each player of market-bends.yaml.
PER_PLAYER = 20
# Subscribers in examples/market/lessons.yaml.
LESSONS_USERS = 200
# Seconds of a run of `distances` in raw data that do not say them, and the fewest operations that have a 98th percentile.
DISTANCES_S = 6
P98_MIN = 50
# Share of the variation from which on an interaction is shown.
SHARE_MIN = 0.05


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
        count = row["per_s"] * row.get("seconds", DISTANCES_S)
        p98 = row["p98_ms"] if count >= P98_MIN else None
        lines.append(f"| {distance} ms | {row['driver']} | {row['queries']} | {rate(row['per_s'])} | {paper} | "
                     f"{shown(row['p50_ms'])} | {shown(p98)} | {row['errors']} |")
    return [*lines, "", "Predictions count whether they were accepted or refused. On paper: connections ÷ (round trips × distance) of accepted "
            "ones, without the time of the store itself; a refused one has two round trips less, so that a rate may be above. "
            f"A p98 has {P98_MIN} operations at least. The relay adds one to two milliseconds of its own to each round trip."]


def compared_section(raw: dict) -> list[str]:
    """The verdicts of `throng compare` on the stores."""
    lines = ["| baseline | candidate | predictions |", "|---|---|---|"]
    for row in raw["rows"]:
        text = next(measure["text"] for measure in row["measures"] if measure["name"] == "asked")
        lines.append(f"| {NAMES[row['baseline']]} | {NAMES[row['candidate']]} | {text} |")
    return [*lines, "", "`throng compare --phase hold` of the runs of `bench/scenarios/market-bends.yaml` with 100 players, 2,000 "
            "predictions a second, whose runs take turns."]


def effect(term: dict, share: float, model: str) -> str:
    """An effect with its interval, and what share of the variation it explains."""
    found, times = term["effect"], model == "multiplicative"
    # Half of the effect, of the logarithms of a multiplicative model: from the lower to the higher level.
    low, middle, high = (10 ** (2 * value) if times else 2 * value
                         for value in (found["low"], found["value"], found["high"]))
    form = (lambda value: f"×{value:.2f}") if times else (lambda value: f"{value:+,.1f}")
    return f"{form(middle)} ({form(low)} to {form(high)}), {share:.0%}"


def races(raw: dict) -> list[str]:
    """Distributions in each batch time, which is a second, for each of the 200 subscribers."""
    row = next(row for row in raw["rows"] if "broadcast" in row["response"])
    places = {factor["name"]: place for place, factor in enumerate(row["factors"])}
    claim, processes = (row["factors"][places[name]]["levels"] for name in ("claim", "processes"))
    heads = [f"{count} API {'process' if count == '1' else 'processes'}" for count in processes]
    lines = [f"| distributions a batch and subscriber | {' | '.join(heads)} |",
             "|---|" + "--:|" * len(processes)]
    for number, name in enumerate(claim):
        cells = []
        for other in range(len(processes)):
            values = [value / LESSONS_USERS for cell in row["cells"] for value in cell["values"]
                      if cell["levels"][places["claim"]] == number and cell["levels"][places["processes"]] == other]
            cells.append(spread(values, 2))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, "", "Median (lowest–highest) of twelve runs; `claim-set: late`. Above 1, a batch had duplicates."]


def lessons_section(raw: dict) -> list[str]:
    """What each mistake does to each response."""
    rows = raw["rows"]
    names = [f"`{row['response']}`" for row in rows]
    lines = [f"| from, to | {' | '.join(names)} |", "|---|" + "---|" * len(rows)]
    for number, first in enumerate(rows[0]["fit"]["terms"]):
        cells = [effect(row["fit"]["terms"][number], row["fit"]["terms"][number]["ss"] / row["fit"]["total_ss"], row["model"])
                 for row in rows]
        main = len(first["factors"]) == 1
        if main:
            factor = rows[0]["factors"][first["factors"][0]]
            name = f"{factor['name']}: {' → '.join(factor['levels'])}"
        elif max(row["fit"]["terms"][number]["ss"] / row["fit"]["total_ss"] for row in rows) >= SHARE_MIN:
            name = " × ".join(rows[0]["factors"][place]["name"] for place in first["factors"])
        else:
            continue
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, "", "`throng experiment examples/market/lessons-experiment.yaml`: effects with 95 % intervals, and the share of the "
            f"variation that they explain; of interactions, those that explain {SHARE_MIN:.0%} of one response.", "", *races(raw)]


def law(found: dict) -> str:
    """Contention and coherency of the scalability law, if it was fitted."""
    fitted = found["law"]
    if fitted is None:
        return "–"
    return f"σ {fitted['sigma'][0]:.2g}, κ {fitted['kappa'][0]:.2g}, R² {fitted['r_squared']:.2f}"


def bends_section(raw: dict) -> list[str]:
    """Where each of the parts bends."""
    lines = ["| what | requests | load that holds | load that fails | limit reached at (95 %) | law | CPU where it holds, cores |",
             "|---|---|--:|--:|--:|---|---|"]
    for row in raw["rows"]:
        name, asked = BENDING[row["what"]]
        found = row["found"]
        crossing = found["crossing"]
        interval = "–" if crossing is None else "{:,.0f} ({:,.0f}–{:,.0f})/s".format(*(PER_PLAYER * load for load in crossing))
        fails = "–" if found["breaks"] is None else f"{PER_PLAYER * found['breaks']:,.0f}/s"
        cores = ", ".join(f"{process} {used:.2f}" for process, used in row["cpu_cores"].items())
        lines.append(f"| {name} | {asked} | {PER_PLAYER * found['holds']:,.0f}/s | {fails} | {interval} | {law(found)} | {cores} |")
    return [*lines, "", "Found by `throng capacity`: p98 below 50 ms and no errors, with players who make 20 requests a second each; one "
            "serving thread, 16 connections to the store. All processes share the machine's cores."]


def final_section(raw: dict) -> list[str]:
    """The crowd of the final."""
    lines = ["| front | held | connected | errors | predictions | p98 of predictions | p98 of broadcasts |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for row in raw["rows"]:
        errors = sum(row[name]["errors"] for name in ("predict", "request", "broadcast"))
        lines.append(f"| {FRONTS[row['front']]} | {row['hold']} | {row['connected']:,} | {errors} | {row['predict']['count']:,} | "
                     f"{row['predict']['p98_ms']:,.0f} ms | {row['broadcast']['p98_ms']:,.0f} ms |")
    return lines


BENCHES = {"stores": stores_section, "distances": distances_section, "bends": bends_section,
           "compared": compared_section, "lessons": lessons_section,
           **{f"final_{front}": final_section for front in FRONTS}}
