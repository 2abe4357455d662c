"""Cases of `cases.py` about what broke: an incident of ten seconds, planted troubles, and healthy runs."""

import concurrent.futures
import json
import pathlib
import re
import statistics
import sys

from bed import HERE, ROOT, Bed, Cases, Run, near, require, scenario, serving, target
from troubled import ALIKE, REQUESTS_A_CONNECTION, SECONDS, STALL_EVERY_S, TO_THE_END, TROUBLES, Trouble

CASES = Cases()
waits = CASES.waits
SHOP = ROOT / "examples/incident.py"
# The incident of the example, and its step.
BEGIN_S, END_S, STEP = 15, 25, "checkout"
WITHIN_S = 1.0
# Planted troubles are milder.
TROUBLE_WITHIN_S = 2.0
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
    codes = analysed(bed, run)
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


def analysed(bed: Bed, run: Run) -> list[str]:
    """The codes of what `analyze` finds."""
    said = bed.throng_out("analyze", "--json", run.path)
    require(said.startswith("{"), f"analyze says: {said}")
    findings = json.loads(said)["findings"]
    steady = next((finding for finding in findings if finding["code"] == "steady-state"), None)
    codes = [finding["code"] for finding in findings]
    if steady:
        cut_s = steady["evidence"]["cut_s"]
        require(cut_s < BEGIN_S - WITHIN_S, f"it excludes {cut_s} s as a warm-up: {steady['text']}")
    return codes


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
        with serving(sys.executable, HERE / "troubled.py", name, "--log", bed.space / "served.jsonl") as server:
            run = bed.run(visits(name, server.ports))
            server.stop()
        require(bool(run.about_target), f"no finding: {(run.err or run.out)[-500:]}")
        first = run.about_target[0]
        require(first["code"] in planted.codes, f"the first finding is {first['code']}: {first['text']}; all: {run.codes}")
        for named in (planted.named, planted.step or ""):
            # Connections belong to no step.
            require(named in first["text"] or first["code"] == "keep-alive-closed", f"no {named!r} in {first['text']!r}")
        match first["code"]:
            case "incident":
                of_incident(planted, run, first["text"])
            case "errors" | "keep-alive-closed":
                # Those of the step were not sent again.
                of_errors(planted, run, "closed")
            case "periodic-stall":
                require(says(first, STALL_EVERY_S), f"no period of {STALL_EVERY_S} s: {first}")
        if first["code"] == "keep-alive-closed":
            require(says(first, REQUESTS_A_CONNECTION), f"not after {REQUESTS_A_CONNECTION} requests: {first}")
        analysed(bed, run)
        return first["text"]

    check.__name__ = f"trouble_{name}"
    check.__doc__ = f"What is planted as {name} in `troubled.py` is the first finding about the target."
    return check


def of_incident(planted: Trouble, run: Run, text: str) -> None:
    """The incident of the first finding has the trouble's step, kind and time; and each time that it lasts has one."""
    first = next((found for found in run.incidents if found["text"] in text), run.incidents[0])
    require(planted.step is None or first["step"].startswith(planted.step), f"the step is {first['step']}")
    require(first["kinds"][0] == planted.kind, f"it is worse in {first['kinds']}: {text}")
    require(planted.named in f"{first['tag']} {first['step']}", f"its tag is {first['tag']}")
    require(any(is_at(found, window) for found in [first] for window in planted.windows), f"it is not at its time: {first}")
    missed = [window for window in planted.windows if not any(is_at(found, window) for found in run.incidents)]
    require(not missed, f"no incident at {missed}: {[found['text'] for found in run.incidents]}")


def is_at(found: dict, window: tuple[float, float]) -> bool:
    begin_s, end_s = window
    is_end = found["to_the_end"] if end_s == TO_THE_END else abs(found["end_ns"] / 1e9 - end_s) <= TROUBLE_WITHIN_S
    return is_end and abs(found["begin_ns"] / 1e9 - begin_s) <= TROUBLE_WITHIN_S


def says(finding: dict, number: float) -> bool:
    """True if the finding has this number in its text or in its evidence."""
    said = [*finding["evidence"].values(), *map(float, re.findall(r"\d+\.?\d*", finding["text"]))]
    return any(near(value, number, 0.05) for value in said)


def of_errors(planted: Trouble, run: Run, kind: str) -> None:
    """Failures of one kind at one step, through the whole run."""
    rows = [row for row in run.errors if row["step"] == planted.step]
    require([row["kind"] for row in rows] == [kind], f"errors: {run.errors}")
    span_s = (rows[0]["last_ns"] - rows[0]["first_ns"]) / 1e9
    require(span_s > 0.6 * SECONDS, f"from {rows[0]['first_ns']} to {rows[0]['last_ns']}")


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
