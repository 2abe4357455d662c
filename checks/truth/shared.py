"""Cases of `cases.py` with inputs of `THRONG_INPUTS` (by default `../shared/cases`): troubles and mixed statuses that load
tools once misread. They are skipped where the inputs, Go or Node are missing."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

from bed import ROOT, Bed, Cases, Run, Skipped, near, require

CASES = Cases()
waits = CASES.waits
INPUTS = pathlib.Path(os.environ.get("THRONG_INPUTS", ROOT / "../shared/cases"))
# What is wrong by more than half of its length is at another time.
WITHIN_S = 2.0
TO_THE_END = float("inf")
STARTED_WITHIN_S = 10.0
BUILDING = threading.Lock()
# The WebSockets of the target are no part of these cases.
NO_WEBSOCKETS = "exports.WebSocketServer = class { clients = []; on() {} };\n"


def given(name: str) -> pathlib.Path:
    path = INPUTS / name
    if not path.exists():
        raise Skipped(f"{path} is missing (THRONG_INPUTS names the directory)")
    return path


def program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Skipped(f"{name} is missing")
    return found


@contextlib.contextmanager
def listening(command: list, env: dict | None = None):
    """A server that takes its port as the last argument; gives the port once it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, **(env or {})}
    process = subprocess.Popen([*map(str, command), str(port)], env=env, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + STARTED_WITHIN_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            require(process.poll() is None and time.monotonic() < end, f"{command[0]} does not listen")
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def server(bed: Bed, *flags):
    """The scripted server of `overload`, built once."""
    source = given("overload/srv.go")
    built = bed.space.parent / "srv"
    with BUILDING:
        if not built.exists():
            subprocess.run([program("go"), "build", "-o", str(built), str(source)], check=True)
    return listening([built, *flags, "-port"])


def site(bed: Bed):
    """The target of `what-broke`."""
    folder = bed.space / "node_modules/ws"
    folder.mkdir(parents=True)
    (folder / "index.js").write_text(NO_WEBSOCKETS)
    env = {"NODE_PATH": str(folder.parent)}
    return listening([program("node"), given("what-broke/target.js")], env)


def run_of(bed: Bed, name: str, port: int, *sets: str, while_running=None) -> Run:
    """A run of a scenario that is given, at this port."""
    args = [part for setting in (f"target=http://127.0.0.1:{port}/", *sets) for part in ("--set", setting)]
    run = bed.run(given(name).read_text(), *args, while_running=while_running)
    require(bool(run.findings), f"no run: {(run.err or run.out)[-500:]}")
    return run


@dataclasses.dataclass(frozen=True)
class Planted:
    """A trouble of the server of `overload`, which has one step, and what is to be said of it."""

    about: str
    scenario: str
    flags: tuple
    # In what its incidents are worse.
    kinds: frozenset[str]
    # One for each time that it lasts, in seconds.
    windows: tuple[tuple[float, float], ...]


RESPONSE, ERRORS = frozenset({"response"}), frozenset({"errors"})
PLANTED = {
    "after_20_s": Planted(
        "Three times as long from 20 s on: no warm-up.",
        "step.yaml",
        ("-step-at", 20, "-step-by", 3),
        RESPONSE,
        ((20, TO_THE_END),),
    ),
    "by_half": Planted(
        "Half as long again from 20 s on.",
        "step.yaml",
        ("-step-at", 20, "-step-by", 1.5),
        RESPONSE,
        ((20, TO_THE_END),),
    ),
    "late_step": Planted(
        "Twice as long from 45 s on: it was not steady from the start.",
        "step.yaml",
        ("-step-at", 45, "-step-by", 2),
        RESPONSE,
        ((45, TO_THE_END),),
    ),
    "brownout": Planted(
        "From 25 s to 35 s 30 % fail, and all take four times as long.",
        "brownout.yaml",
        ("-bad-from", 25, "-bad-to", 35, "-bad-err", 0.3, "-bad-x", 4),
        ERRORS | RESPONSE,
        ((25, 35),),
    ),
    "burst": Planted(
        "Half of the answers of two seconds in thirteen fail.",
        "burst.yaml",
        ("-bad-every", 13, "-bad-from", 5, "-bad-to", 7, "-bad-err", 0.5),
        ERRORS,
        ((5, 7), (18, 20), (31, 33)),
    ),
}
# Seconds from one stall to the next, and of each.
STALLS = {"short_stalls": (7, 0.3), "long_stalls": (10, 1)}


def incident_at(run: Run, step: str, kinds: frozenset[str], window: tuple[float, float]) -> dict:
    """The incident of this step and time, worse in all of these."""
    begin_s, end_s = window
    within_s = min(WITHIN_S, (end_s - begin_s) / 2)
    for found in run.incidents:
        is_end = found["to_the_end"] if end_s == TO_THE_END else abs(found["end_ns"] / 1e9 - end_s) <= within_s
        is_begin = abs(found["begin_ns"] / 1e9 - begin_s) <= within_s
        if is_begin and is_end and found["step"] == step and kinds <= set(found["kinds"]):
            named = [finding for finding in run.findings if finding["text"].startswith(found["text"])]
            require(any(finding["code"] == "incident" for finding in named), f"it is no finding: {run.codes}")
            return found
    texts = [found["text"] for found in run.incidents]
    require(False, f"no incident of {step}, {sorted(kinds)}, at {window}: {texts}; findings: {run.codes}")
    return {}


def analysed(bed: Bed, run: Run, kinds: frozenset[str], window: tuple[float, float]) -> None:
    """`analyze` takes nothing of what became worse for a warm-up, counts failures as time down, and calls no run steady
    that ends worse."""
    analysis = bed.analysis(run)
    begin_s, end_s = window
    warm_up = analysis["warm_up"]
    require(warm_up["cut_ns"] < begin_s * 1e9, f"it is worse from {begin_s} s on, and a warm-up is excluded: {warm_up}")
    codes = [finding["code"] for finding in analysis["findings"]]
    require("incident" in codes, f"analyze: {codes}")
    require("never-down" not in codes or "errors" not in kinds, f"analyze: {codes}")
    require("steady-state" not in codes or end_s != TO_THE_END, f"analyze: {codes}")


@waits
def shared_statuses(bed: Bed) -> str:
    """401, 404 and 500 equally: each has a row."""
    with site(bed) as port:
        run = run_of(bed, "what-broke/mixed-statuses.yaml", port)
    rows = {row["detail"]: row["count"] for row in run.errors}
    require(set(rows) == {"401", "404", "500"}, f"errors: {run.errors}")
    require(sum(rows.values()) == run.measure("api")["errors"], f"{rows}, of {run.measure('api')['errors']}")
    lacking = [status for status in rows if status not in run.out]
    require(not lacking, f"{lacking} are not on the terminal: {run.out}")
    return ", ".join(f"{count} × {status}" for status, count in rows.items())


@waits
def shared_incident(bed: Bed) -> str:
    """An incident of ten seconds at one step of four: 30 % fail, and the others take 400 ms."""
    kinds, window = ERRORS | RESPONSE, (15, 25)
    with site(bed) as port:
        arm = lambda _: urllib.request.urlopen(f"http://127.0.0.1:{port}/_arm").read()
        run = run_of(bed, "what-broke/incident.yaml", port, while_running=arm)
        found = incident_at(run, "checkout", kinds, window)
        analysed(bed, run, kinds, window)
    return found["text"]


def planted(name: str):
    """A case: each time that a trouble lasts is an incident, in the run and in its analysis."""
    trouble = PLANTED[name]

    def check(bed: Bed) -> str:
        with server(bed, *trouble.flags) as port:
            run = run_of(bed, f"overload/{trouble.scenario}", port)
        found = [incident_at(run, "page", trouble.kinds, window) for window in trouble.windows]
        analysed(bed, run, trouble.kinds, (trouble.windows[0][0], trouble.windows[-1][1]))
        return "; ".join(incident["text"] for incident in found)

    check.__name__ = f"shared_{name}"
    check.__doc__ = trouble.about
    return check


def stalling(name: str):
    """A case: stalls have a finding with their period, in the run and in its analysis."""
    every_s, for_s = STALLS[name]

    def check(bed: Bed) -> str:
        with server(bed, "-stall-every", every_s, "-stall-for", for_s) as port:
            run = run_of(bed, "overload/step.yaml", port)
        findings = {"the run": run.findings, "analyze": bed.analysis(run)["findings"]}
        for where, all_of in findings.items():
            periods = [one["evidence"]["period_s"] for one in all_of if one["code"] == "periodic-stall"]
            require(len(periods) == 1, f"{where}: {[one['code'] for one in all_of]}")
            require(near(periods[0], every_s, 0.05), f"{where}: a period of {periods[0]} s, and it is {every_s} s")
        return run.finding("periodic-stall")["text"]

    check.__name__ = f"shared_{name}"
    check.__doc__ = f"No answer for {for_s} s, every {every_s} s."
    return check


for name in PLANTED:
    waits(planted(name))
for name in STALLS:
    waits(stalling(name))


@waits
def shared_ramp(bed: Bed) -> str:
    """0 to 200/s and back to 20/s: load that changes is neither steady nor an incident."""
    arrivals = "arrivals=[{ ramp: 0/s..200/s, for: 20s }, { ramp: 200/s..20/s, for: 20s }]"
    with server(bed) as port:
        run = run_of(bed, "overload/step.yaml", port, arrivals)
    require(not run.incidents, f"incidents: {[found['text'] for found in run.incidents]}")
    codes = [finding["code"] for finding in bed.analysis(run)["findings"]]
    require("steady-state" not in codes, f"analyze: {codes}")
    return ", ".join(codes)


@waits
def shared_two_groups(bed: Bed) -> str:
    """Answers over connections from the hundredth on take 402 ms, the others 21 ms."""
    sets = "arrivals=[{ users: 120, for: 40s }]", "options.http_connections=user", "sessions.v=[{ get: /, as: page }, { think: 1s }]"
    with server(bed, "-mean", 20, "-conn-min", 101, "-conn-x", 20) as port:
        run = run_of(bed, "overload/step.yaml", port, *sets)
    found = run.finding("two-groups")
    require(found.get("text", "").startswith("page: "), f"findings: {run.codes}")
    return found["text"]
