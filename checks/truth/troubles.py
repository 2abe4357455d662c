"""Cases of `cases.py` about what broke: an incident of ten seconds, planted troubles, and healthy runs."""

import concurrent.futures
import json
import pathlib
import re
import statistics
import sys

from bed import HERE, ROOT, Bed, Cases, Run, near, require, scenario, serving, target
from troubled import (
    ALIKE,
    MEDIAN_S,
    REQUESTS_A_CONNECTION,
    SECONDS,
    STALL_EVERY_S,
    STALL_FIRST_S,
    TO_THE_END,
    TROUBLES,
    Trouble,
)

CASES = Cases()
waits = CASES.waits
SHOP = ROOT / "examples/incident.py"
# The incident of the example, and its step.
BEGIN_S, END_S, STEP = 15, 25, "checkout"
WITHIN_S = 1.0
# Planted troubles are milder. What is wrong by more than half of its length is at another time.
TROUBLE_WITHIN_S = 2.0
# The warm-up of a run that has its trouble from the start to the end is no longer than this.
WARM_UP_MAX_S = SECONDS / 3
SEEDS, SEEDS_AT_ONCE, SEEDS_SECONDS = 20, 4, 40
RATE = 30
BODY_BYTES_MAX, SAMPLES_MAX = 2048, 5
# Of 20 healthy runs, of which each has a false alarm with a probability of 5 %, more than three have one with 1.6 %.
HEALTHY_SEEDS, ALARMS_MAX = 5, 3
ALARMS = ("incident", "two-groups", "periodic-stall", "response-grows", "keep-alive-closed")


def served(log: pathlib.Path) -> list[dict]:
    """The requests that a target served, by its own log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def example(port: int, seconds: int, seed: int) -> str:
    """The scenario of the example, shortened."""
    text = (ROOT / "examples/incident.yaml").read_text()
    for old, new in [("127.0.0.1:8080/\n", f"127.0.0.1:{port}/\nseed: {seed}\n"), ("for: 60s", f"for: {seconds}s")]:
        require(old in text, f"the example has no {old!r}")
        text = text.replace(old, new)
    return text


def figures(rows: list[dict]) -> dict:
    """Those of an incident, in the words of `summary.json`."""
    ok = [row["took_s"] for row in rows if row["status"] == 200]
    p50_ns = statistics.median(ok) * 1e9
    return {"operations": len(rows), "errors": len(rows) - len(ok), "p50_ns": p50_ns}


def checkouts(log: pathlib.Path, begin_s: float, end_s: float) -> list[dict]:
    """Those that were answered within a time."""
    rows = served(log)
    answered = lambda row: begin_s <= row["at_s"] + row["took_s"] < end_s
    return [row for row in rows if row["target"] == f"/{STEP}" and answered(row)]


def one_incident(bed: Bed, seconds: int, seed: int) -> tuple[Run, dict]:
    """A run of the example: it has one incident, at its time and of its size."""
    log = bed.space / "served.jsonl"
    with serving(sys.executable, SHOP, "--port", 0, "--seed", seed, "--log", log, "--until-stdin-closes") as shop:
        run = bed.run(example(shop.port, seconds, seed))
        shop.stop()
    texts = [incident["text"] for incident in run.incidents]
    require(len(texts) == 1, f"seed {seed}: incidents: {texts}; findings: {run.codes}")
    found = run.incidents[0]
    begin_s, end_s = found["begin_ns"] / 1e9, found["end_ns"] / 1e9
    where = f"seed {seed}: {found['text']}"
    require(found["step"] == STEP and not found["to_the_end"], where)
    require({"errors", "response"} <= set(found["kinds"]), f"{where}: {found['kinds']}")
    require(abs(begin_s - BEGIN_S) <= WITHIN_S and abs(end_s - END_S) <= WITHIN_S, f"{where}: {begin_s} s to {end_s} s")
    # Of the window that was found; what was answered right at its ends may be counted on either side.
    true, said = figures(checkouts(log, begin_s, end_s)), found["during"]
    wrong = [name for name, value in true.items() if not near(said[name], value, 0.10)]
    require(not wrong, f"{where}: {said}; the target's log says {true}")
    errors = figures(checkouts(log, 0, float("inf")))["errors"]
    require(near(said["errors"], errors, 0.10), f"{where}: {said['errors']} errors; the target sent {errors}")
    usual = figures(checkouts(log, 0, BEGIN_S))["p50_ns"]
    # A connection, and what the machine needs.
    require(near(found["usual"]["p50_ns"], usual, 0.10) or abs(found["usual"]["p50_ns"] - usual) < 1e6, f"{where}: {usual}")
    return run, found


def clock(ns: int) -> str:
    """`0:15`."""
    seconds = round(ns / 1e9)
    return f"{seconds // 60}:{seconds % 60:02}"


@waits
def incident_example(bed: Bed) -> str:
    """The example as it stands: its incident is the first finding about the target, and `analyze` counts it."""
    run, found = one_incident(bed, 60, 1)
    require((run.verdict, run.code) == ("failed", 1), f"{run.verdict}, exit code {run.code}")
    codes = [finding["code"] for finding in run.about_target]
    require("incident" in codes, f"findings: {codes}")
    before = set(codes[: codes.index("incident")]) - {"threshold-failed"}
    require(not before, f"before the incident stand {before}")
    text = run.finding("incident")["text"]
    for part in (STEP, clock(found["begin_ns"]), clock(found["end_ns"])):
        require(part in text, f"no {part!r} in {text!r}")
        require(part in run.out, f"no {part!r} on the terminal: {run.out}")
    rows = [row for row in run.errors if row["step"] == STEP]
    require(len(rows) == 1 and rows[0]["detail"] == "503", f"errors: {run.errors}")
    samples = rows[0]["samples"]
    require(0 < len(samples) <= SAMPLES_MAX, f"{len(samples)} samples")
    require("no connection left in the pool" in samples[0].get("body", ""), f"a sample: {samples[0]}")
    codes = analysed(bed, run, BEGIN_S)
    require("never-down" not in codes, f"analyze says: {codes}")
    return text


@waits
def incident_seeds(bed: Bed) -> str:
    """Twenty seeds of the run and of the target: begin and end within 1 s, size within 10 %."""

    def play(seed: int) -> dict:
        space = bed.space / f"seed-{seed}"
        space.mkdir()
        return one_incident(Bed(space, bed.throng), SEEDS_SECONDS, seed)[1]

    with concurrent.futures.ThreadPoolExecutor(SEEDS_AT_ONCE) as pool:
        found = list(pool.map(play, range(1, SEEDS + 1)))
    begins = max(abs(incident["begin_ns"] / 1e9 - BEGIN_S) for incident in found)
    ends = max(abs(incident["end_ns"] / 1e9 - END_S) for incident in found)
    return f"{SEEDS} seeds: begin within {begins:.1f} s, end within {ends:.1f} s; {found[0]['text']}"


def analysed(bed: Bed, run: Run, begin_s: float) -> list[str]:
    """The codes of what `analyze` finds, whose warm-up ends before this moment."""
    analysis = bed.analysis(run)
    warm_up = analysis["warm_up"]
    require(warm_up["cut_ns"] < begin_s * 1e9, f"it is worse from {begin_s} s on, and a warm-up is excluded: {warm_up}")
    return [finding["code"] for finding in analysis["findings"]]


SESSION = "[{{ get: /browse, as: browse }}, {{ get: /search, as: search }}, {{ post: '/checkout{query}', as: checkout{tags} }}]"


def visits(name: str, ports: list[int], seconds: int = SECONDS, seed: int = 7) -> str:
    """The scenario of a trouble: browse, search, checkout, over connections that users share."""
    if name == "one_tag":
        regions = ("sydney", "frankfurt", "oregon")
        tags = {region: SESSION.format(query=f"?region={region}", tags=f", tags: {{ region: {region} }}") for region in regions}
        sessions = "\n".join(f"  {region}: {steps}" for region, steps in tags.items())
    else:
        sessions = f"  visitor: {SESSION.format(query='', tags='')}"
    urls = ", ".join(f"{{ url: 'http://127.0.0.1:{port}/' }}" for port in ports)
    servers = f"{{ servers: [ {urls} ] }}" if len(ports) > 1 else f"http://127.0.0.1:{ports[0]}/"
    return f"""
name: {name.replace('_', '-')}
seed: {seed}
target: {servers}
sessions:
{sessions}
arrivals: [ {{ poisson: {RATE}/s, for: {seconds}s }} ]
options: {{ http_connections: shared, drain: 5s }}
"""


def trouble(name: str):
    """A case: the first finding about the target names the trouble's step, time and kind."""
    planted = TROUBLES[name]

    def check(bed: Bed) -> str:
        log = bed.space / "served.jsonl"
        with serving(sys.executable, HERE / "troubled.py", name, "--log", log) as server:
            run = bed.run(visits(name, server.ports))
            server.stop()
        require(bool(run.about_target), f"no finding: {(run.err or run.out)[-500:]}")
        first = run.about_target[0]
        require(first["code"] == planted.code, f"the first finding is {first['code']}: {first['text']}; all: {run.codes}")
        NAMED[planted.code](planted, run, first, served(log))
        codes = analysed(bed, run, planted.begin_s or WARM_UP_MAX_S)
        # What is said of connections is said of runs alone.
        require(planted.code in codes or planted.code == "keep-alive-closed", f"analyze does not find it: {codes}")
        return first["text"]

    check.__name__ = f"trouble_{name}"
    check.__doc__ = f"What is planted as {name} in `troubled.py` is the first finding about the target."
    return check


def is_of(found: dict, planted: Trouble) -> bool:
    """True of an incident of the trouble's step and tag that is worse in the same."""
    # Fewer may be completed where answers come later.
    kinds = [kind for kind in found["kinds"] if kind != "throughput"]
    return (found["step"], found["tag"], kinds) == (planted.step, planted.tag, [planted.kind])


def is_at(found: dict, window: tuple[float, float]) -> bool:
    begin_s, end_s = window
    within_s = min(TROUBLE_WITHIN_S, (end_s - begin_s) / 2)
    is_end = found["to_the_end"] if end_s == TO_THE_END else abs(found["end_ns"] / 1e9 - end_s) <= within_s
    return is_end and abs(found["begin_ns"] / 1e9 - begin_s) <= within_s


def incident_is_named(planted: Trouble, run: Run, first: dict, _rows: list[dict]) -> None:
    """The incident of the first finding has the trouble's step, kind and time; and each time that it lasts has one."""
    text = first["text"]
    name = f"{planted.step} ({planted.tag})" if planted.tag else planted.step
    require(text.startswith(f"{name}: "), f"it does not begin with {name!r}: {text}")
    require(planted.kind != "errors" or "503" in text, f"no 503: {text}")
    found = next((found for found in run.incidents if text.startswith(found["text"])), None)
    require(found is not None, f"{text!r} is none of the incidents: {[found['text'] for found in run.incidents]}")
    require(is_of(found, planted), f"it is of {found['step']} ({found['tag']}), worse in {found['kinds']}: {text}")
    require(any(is_at(found, window) for window in planted.windows), f"it is not at its time: {found}")
    own = [found for found in run.incidents if is_of(found, planted)]
    missed = [window for window in planted.windows if not any(is_at(found, window) for found in own)]
    require(not missed, f"no incident at {missed}: {[found['text'] for found in run.incidents]}")


def growth_is_named(planted: Trouble, _run: Run, first: dict, rows: list[dict]) -> None:
    """The step, and how long its answers took in the first and in the last fifth of the run."""
    require(first["text"].startswith(f"{planted.step}: "), f"it does not begin with {planted.step!r}: {first['text']}")
    for name, begin_s, end_s in [("first", 0, SECONDS / 5), ("last", SECONDS * 4 / 5, SECONDS)]:
        own = [row for row in rows if row["target"] == f"/{planted.step}" and begin_s <= row["at_s"] < end_s]
        true_s = statistics.geometric_mean(row["took_s"] for row in own)
        said_s = first["evidence"][f"response_{name}_ns"] / 1e9
        require(near(said_s, true_s, 0.15), f"{said_s} s in the {name} fifth, and the target took {true_s} s")


def stalls_are_named(_planted: Trouble, _run: Run, first: dict, _rows: list[dict]) -> None:
    """One of the steps, which all stall; the period, the first stall, and how many there were."""
    text, evidence = first["text"], first["evidence"]
    require(any(text.startswith(f"{path[1:]}: ") for path in MEDIAN_S), f"it does not begin with a step: {text}")
    require(near(evidence["period_s"], STALL_EVERY_S, 0.05), f"no period of {STALL_EVERY_S} s: {first}")
    require(abs(evidence["first_s"] - STALL_FIRST_S) <= TROUBLE_WITHIN_S, f"the first is at {STALL_FIRST_S} s: {first}")
    count = 1 + (SECONDS - STALL_FIRST_S) // STALL_EVERY_S
    # One may be too short to be seen.
    require(count - 1 <= evidence["stalls"] <= count, f"there were {count}: {first}")


def closing_is_named(planted: Trouble, run: Run, first: dict, rows: list[dict]) -> None:
    """After how many requests connections were closed, as the target counted, and the failures that this caused: those of
    the step whose requests were not sent again, through the whole run."""
    connections = len({row["connection"] for row in rows})
    each = sum(row["status"] == 200 for row in rows) / connections
    # Connections that were open at the end had fewer.
    require(near(each, REQUESTS_A_CONNECTION, 0.15), f"the target answered {each} requests for each connection")
    evidence = first["evidence"]
    require(near(evidence["requests_each"], each, 0.05), f"the target answered {each} requests for each: {first}")
    require(near(evidence["connections"], connections, 0.05), f"the target had {connections} connections: {first}")
    failed = [row for row in run.errors if row["step"] == planted.step]
    require([row["kind"] for row in failed] == ["closed"], f"errors: {run.errors}")
    span_s = (failed[0]["last_ns"] - failed[0]["first_ns"]) / 1e9
    require(span_s > 0.6 * SECONDS, f"from {failed[0]['first_ns']} to {failed[0]['last_ns']}")


NAMED = {
    "incident": incident_is_named,
    "response-grows": growth_is_named,
    "periodic-stall": stalls_are_named,
    "keep-alive-closed": closing_is_named,
}
for name in TROUBLES:
    if name != "none":
        waits(trouble(name))


@waits
def errors_alike(bed: Bed) -> str:
    """401, 404 and 500 equally: a row for each with its number, its share and samples that show its body."""
    paths = ", ".join(f"{{ weight: 1, steps: [ {{ get: {path}, as: api }} ] }}" for path in ALIKE)
    arrivals = "{ constant: 40/s, for: 4s, name: one }, { constant: 40/s, for: 4s, name: two }"
    runs = {}
    for options in ("{}", "{ samples: 0 }"):
        with serving(sys.executable, HERE / "troubled.py", "errors_alike") as server:
            steps = f"{{ choose: [ {paths} ] }}"
            runs[options] = bed.run(scenario(server.port, steps, arrivals, options=options))
            counts = {row["path"]: row["statuses"] for row in server.stop()}
        found = {row["detail"]: row for row in runs[options].errors}
        true = {str(ALIKE[path].status): sum(statuses.values()) for path, statuses in counts.items() if path != "/"}
        said = {detail: row["count"] for detail, row in found.items()}
        require(said == true, f"errors: {said}; the target answered {true}")
        require(all((row["step"], row["kind"]) == ("api", "status") for row in found.values()), f"{found}")
        order = [row["count"] for row in runs[options].errors]
        require(order == sorted(order, reverse=True), f"the most frequent is not the first: {order}")
        operations = runs[options].measure("api")["count"]
        for row in found.values():
            require(near(row["share"], row["count"] / operations, 0.001), f"a share of {row['share']}: {row}")
            require(sum(row["by_phase"]) == row["count"] and min(row["by_phase"][:2]) > 0, f"by phase: {row['by_phase']}")
            printed = re.search(rf"\b{row['detail']}\b.*\b{row['count']}\b|\b{row['count']}\b.*\b{row['detail']}\b", runs[options].out)
            require(bool(printed), f"the terminal has no row of {row['count']} × {row['detail']}: {runs[options].out}")
    for detail, row in ((row["detail"], row) for row in runs["{}"].errors):
        bodies = [sample.get("body", "") for sample in row["samples"]]
        require(0 < len(bodies) <= SAMPLES_MAX, f"{len(bodies)} samples of {detail}")
        true = next(answer.body for answer in ALIKE.values() if str(answer.status) == detail)
        bounded = [body for body in bodies if body and len(body.encode()) <= BODY_BYTES_MAX + 8]
        require(len(bounded) == len(bodies), f"bodies of {[len(body) for body in bodies]} bytes")
        require(all(body.startswith(true[:20]) for body in bodies), f"a body: {bodies[0][:100]}")
        require(all(detail in sample.get("status", "") for sample in row["samples"]), f"a sample: {row['samples'][0]}")
    require(not any(row["samples"] for row in runs["{ samples: 0 }"].errors), "samples although there were to be none")
    return ", ".join(f"{row['count']} × {row['detail']}" for row in runs["{}"].errors)


@waits
def healthy(bed: Bed) -> str:
    """Healthy runs: a queue of four servers at 70 %, Poisson arrivals, a ramp, and a server that warms up."""

    def visitors(seed: int) -> Run:
        with serving(sys.executable, HERE / "troubled.py", "none", "--seed", seed) as server:
            return spaced(f"visitors-{seed}").run(visits("none", server.ports, 30, seed))

    def queue(name: str, arrivals: str, *options):
        def play(seed: int) -> Run:
            with target("--servers", 4, "--service", 0.04, "--seed", seed, *options) as server:
                settings = "{ http_connections: shared, drain: 5s }"
                text = scenario(server.port, "{ get: /, as: page }", arrivals, options=settings, more=f"seed: {seed}")
                return spaced(f"{name}-{seed}").run(text)

        return play

    def spaced(name: str) -> Bed:
        space = bed.space / name
        space.mkdir()
        return Bed(space, bed.throng)

    kinds = {
        "visitors": visitors,
        "queue": queue("queue", "{ poisson: 70/s, for: 30s }"),
        "ramp": queue("ramp", "{ ramp: 5/s..70/s, for: 30s }"),
        "warm-up": queue("warm-up", "{ poisson: 40/s, for: 30s }", "--warm-up", 4),
    }
    plays = [(name, play, seed) for seed in range(1, HEALTHY_SEEDS + 1) for name, play in kinds.items()]
    with concurrent.futures.ThreadPoolExecutor(SEEDS_AT_ONCE) as pool:
        runs = list(pool.map(lambda one: one[1](one[2]), plays))
    require(all(run.findings for run in runs), "a run has no findings")
    alarms = [
        f"{name} {seed}: {finding['text']}"
        for (name, _, seed), run in zip(plays, runs)
        for finding in run.findings
        if finding["code"] in ALARMS
    ]
    alarmed = {text.partition(":")[0] for text in alarms}
    require(len(alarmed) <= ALARMS_MAX, f"{len(alarmed)} of {len(runs)} runs have alarms: {alarms}")
    return f"{len(alarmed)} of {len(runs)} runs have false alarms{': ' if alarms else ''}{'; '.join(alarms)}"
