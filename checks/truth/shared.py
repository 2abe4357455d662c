"""Cases of `cases.py` with inputs of `THRONG_INPUTS` (by default `../shared/cases`): troubles and mixed statuses that load
tools once misread. They are skipped where the inputs, Go or Node are missing."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

from bed import ROOT, Bed, Cases, Run, Skipped, require

CASES = Cases()
waits = CASES.waits
INPUTS = pathlib.Path(os.environ.get("THRONG_INPUTS", ROOT / "../shared/cases"))
WITHIN_S = 2.0
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


def analysed(bed: Bed, run: Run) -> dict:
    """What `analyze` finds, by code."""
    findings = json.loads(bed.throng_out("analyze", "--json", run.path))["findings"]
    return {finding["code"]: finding for finding in findings}


def incident_at(run: Run, kinds: set[str], begin_s: float, end_s: float | None = None) -> dict:
    """The incident of this time, worse in one of these; without an end it lasts to the end of the load."""
    for found in run.incidents:
        is_end = found["to_the_end"] if end_s is None else abs(found["end_ns"] / 1e9 - end_s) <= WITHIN_S
        if is_end and abs(found["begin_ns"] / 1e9 - begin_s) <= WITHIN_S and kinds & set(found["kinds"]):
            require("incident" in run.codes, f"it is no finding: {run.codes}")
            return found
    texts = [found["text"] for found in run.incidents]
    require(False, f"no incident of {kinds} from {begin_s} s to {end_s or 'the end'}: {texts}; findings: {run.codes}")
    return {}


def no_warm_up(found: dict, begin_s: float) -> None:
    """What became worse is excluded by no warm-up."""
    steady = found.get("steady-state")
    if steady:
        require(steady["evidence"]["cut_s"] < begin_s - WITHIN_S, f"analyze: {steady['text']}")


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
    with site(bed) as port:
        arm = lambda _: urllib.request.urlopen(f"http://127.0.0.1:{port}/_arm").read()
        run = run_of(bed, "what-broke/incident.yaml", port, while_running=arm)
        found = incident_at(run, {"errors"}, 15, 25)
        require(found["step"] == "checkout" and "response" in found["kinds"], f"{found['step']}: {found['kinds']}")
        require("never-down" not in analysed(bed, run), "analyze says that it was never down")
    return found["text"]


@waits
def shared_after_20_s(bed: Bed) -> str:
    """Three times as long from 20 s on: no warm-up."""
    with server(bed, "-step-at", 20, "-step-by", 3) as port:
        run = run_of(bed, "overload/step.yaml", port)
    found = incident_at(run, {"response"}, 20)
    no_warm_up(analysed(bed, run), 20)
    return found["text"]


@waits
def shared_by_half(bed: Bed) -> str:
    """Half as long again from 20 s on."""
    with server(bed, "-step-at", 20, "-step-by", 1.5) as port:
        run = run_of(bed, "overload/step.yaml", port)
    found = incident_at(run, {"response"}, 20)
    no_warm_up(analysed(bed, run), 20)
    return found["text"]


@waits
def shared_late_step(bed: Bed) -> str:
    """Twice as long from 45 s on: it was not steady from the start."""
    with server(bed, "-step-at", 45, "-step-by", 2) as port:
        run = run_of(bed, "overload/step.yaml", port)
    found = incident_at(run, {"response"}, 45)
    steady = analysed(bed, run).get("steady-state", {"text": ""})["text"]
    require("from the start" not in steady, f"analyze: {steady}")
    return found["text"]


@waits
def shared_brownout(bed: Bed) -> str:
    """From 25 s to 35 s 30 % fail, and all take four times as long."""
    with server(bed, "-bad-from", 25, "-bad-to", 35, "-bad-err", 0.3, "-bad-x", 4) as port:
        run = run_of(bed, "overload/brownout.yaml", port)
    found = incident_at(run, {"errors"}, 25, 35)
    said = analysed(bed, run)
    require("never-down" not in said, f"analyze: {list(said)}")
    no_warm_up(said, 25)
    return found["text"]


@waits
def shared_burst(bed: Bed) -> str:
    """Half of the answers of two seconds in thirteen fail."""
    with server(bed, "-bad-every", 13, "-bad-from", 5, "-bad-to", 7, "-bad-err", 0.5) as port:
        run = run_of(bed, "overload/burst.yaml", port)
    return "; ".join(incident_at(run, {"errors"}, begin_s, begin_s + 2)["text"] for begin_s in (5, 18, 31))


def periodic(bed: Bed, every_s: float, for_s: float) -> str:
    """Stalls of this period have a finding that names it, in the run and in its analysis."""
    with server(bed, "-stall-every", every_s, "-stall-for", for_s) as port:
        run = run_of(bed, "overload/step.yaml", port)
    found = run.finding("periodic-stall")
    require(bool(found), f"findings: {run.codes}")
    require(f"{every_s} s" in found["text"].replace(".0 s", " s"), f"no {every_s} s: {found['text']}")
    said = analysed(bed, run)
    require("periodic-stall" in said, f"analyze: {list(said)}")
    return found["text"]


@waits
def shared_short_stalls(bed: Bed) -> str:
    """No answer for 0.3 s, every 7 s."""
    return periodic(bed, 7, 0.3)


@waits
def shared_long_stalls(bed: Bed) -> str:
    """No answer for 1 s, every 10 s: it was not down once."""
    return periodic(bed, 10, 1)


@waits
def shared_ramp(bed: Bed) -> str:
    """0 to 200/s and back to 20/s: load that changes is neither steady nor an incident."""
    arrivals = "arrivals=[{ ramp: 0/s..200/s, for: 20s }, { ramp: 200/s..20/s, for: 20s }]"
    with server(bed) as port:
        run = run_of(bed, "overload/step.yaml", port, arrivals)
    require(not run.incidents, f"incidents: {[found['text'] for found in run.incidents]}")
    said = analysed(bed, run)
    require("steady-state" not in said, f"analyze: {said.get('steady-state')}")
    return ", ".join(said)


@waits
def shared_two_groups(bed: Bed) -> str:
    """Answers over connections from the hundredth on take 402 ms, the others 21 ms."""
    sets = "arrivals=[{ users: 120, for: 40s }]", "options.http_connections=user", "sessions.v=[{ get: /, as: page }, { think: 1s }]"
    with server(bed, "-mean", 20, "-conn-min", 101, "-conn-x", 20) as port:
        run = run_of(bed, "overload/step.yaml", port, *sets)
    found = run.finding("two-groups")
    require(bool(found) and "page" in found["text"], f"findings: {run.codes}")
    return found["text"]
