#!/usr/bin/env python3
"""Runs in which a load tool is easily wrong, each against what is known of its target, or what the target counted.

    checks/truth/cases.py [CASE]...    all of them, or these; THRONG names another binary

Prints a line for each, with what Throng said, and fails if one is wrong. Most take a minute or less. Those that only wait
are played at once, before the others.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from bed import Bed, Cases, Run, near, require, scenario, target
from early import CASES as EARLY
from failures import CASES as FAILURES
from overload import CASES as OVERLOAD
from own_work import CASES as OWN_WORK
from said import CASES as SAID
from shared import CASES as SHARED
from troubles import CASES as TROUBLES
from wire import CASES as WIRE

CASES = Cases()
case = CASES.case
waits = CASES.waits


@waits
def cut_off(bed: Bed) -> str:
    """Nobody reaches the last step: its row is there with 0, and all 25 are cut off while they think."""
    with target() as server:
        steps = "{ get: /a }, { think: 8s }, { get: /b }"
        run = bed.run(scenario(server.port, steps, "{ constant: 5/s, for: 5s }", options="{ drain: 0s }"))
        counts = server.stop()
    require(run.verdict == "measured", f"the verdict is {run.verdict}")
    require(counts["by_path"] == {"/a": 25}, f"the target counted {counts['by_path']}")
    require(run.measure("GET /b").get("count") == 0, "the step that nobody reached has no row with 0")
    users = run.summary["users"]
    require(users["finished"] == 0 and users["cut_off"] == 25, f"users: {users}")
    require("steps-not-reached" in run.codes and "sessions-cut-off" in run.codes, f"findings: {run.codes}")
    return run.finding("sessions-cut-off")["text"]


def overloaded(bed: Bed, rate: int, timeout: str = "30s") -> tuple[Run, dict]:
    """A server of 480/s at a rate beyond it for 8 s, cut off at the end. No rate is above what it answered."""
    with target("--block", 1 / 480) as server:
        arrivals = f"{{ constant: {rate}/s, for: 8s }}"
        options = f"{{ drain: 0s, timeout: {timeout} }}"
        # The threshold holds, so that the target alone decides.
        run = bed.run(scenario(server.port, "{ get: / }", arrivals, "[error_rate <= 100%]", options))
        counts = server.stop()
    require(run.verdict == "failed", f"the verdict is {run.verdict}; findings: {run.codes}")
    require(run.codes[0] == "target-saturated", f"findings: {run.codes}")
    fatal = [f["code"] for f in run.findings if f["severity"] == "fatal"]
    require(not fatal, f"fatal findings: {fatal}")
    true = sum(counts["answered_by_second"][:8]) / 8
    rate = run.measure("GET /")["rate_per_s"]
    require(rate <= 1.05 * true, f"a rate of {rate:.0f}/s, and the target answered {true:.0f}/s")
    return run, counts


def answers(run: Run, counts: dict, tolerance: float) -> str:
    """The finding, whose rate is that of the target."""
    answered = run.finding("target-saturated")["evidence"]["answered_per_s"]
    true = sum(counts["answered_by_second"][:8]) / 8
    require(near(answered, true, tolerance), f"{answered:.0f}/s, and the target answered {true:.0f}/s")
    return run.finding("target-saturated")["text"]


def in_time(run: Run, counts: dict) -> str:
    """The finding, of a run with a time limit: many answers come to nobody, so that the target sent more."""
    answered = run.finding("target-saturated")["evidence"]["answered_per_s"]
    most = max(counts["answered_by_second"][:8])
    require(answered <= 1.05 * most, f"{answered:.0f}/s, and the target answered {most:.0f}/s at most")
    return run.finding("target-saturated")["text"]


@case
def overload(bed: Bed) -> str:
    """1,000/s at a server of about 480/s: it fell behind."""
    return answers(*overloaded(bed, 1000), 0.10)


@case
def overload_in_time(bed: Bed) -> str:
    """The same with a time limit of a second."""
    return in_time(*overloaded(bed, 1000, "1s"))


@case
def overload_far(bed: Bed) -> str:
    """The same at 2,000/s: the target is the limit, not the generator."""
    return answers(*overloaded(bed, 2000), 0.15)


@case
def overload_far_in_time(bed: Bed) -> str:
    """The same with a time limit of a second."""
    return in_time(*overloaded(bed, 2000, "1s"))


@waits
def nobody(bed: Bed) -> str:
    """Nobody listens: the run failed, without any threshold."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = bed.run(scenario(port, "{ get: / }", "{ constant: 50/s, for: 3s }"))
    require((run.verdict, run.code) == ("failed", 1), f"{run.verdict}, exit code {run.code}")
    return run.finding("nothing-succeeded")["text"]


@case
def shop(bed: Bed) -> str:
    """A shop whose login is the limit, at 200/s. Its cart is fast for the few who reach it."""
    with target("--servers", 1, "--service", 0.005, "--distribution", "deterministic") as server:
        steps = "{ get: /login, as: login }, { think: 1s }, { get: /cart, as: cart }"
        text = scenario(
            server.port,
            steps,
            "{ poisson: 25/s, for: 8s }",
            "[p99(cart) < 100ms]",
            "{ drain: 5s }",
        )
        args = ["--from", "25/s", "--at-most", "400/s", "--repeat", 2, "--pause", "100ms", "--json"]
        # The last run is four times as long.
        run = bed.run(text, *args, verb="capacity", limit_s=600)
    found = json.loads(run.out)
    holds, breaks = found["holds"] or 0.0, found["breaks"]
    # A session makes two requests, and the target does 200 a second.
    require(holds <= 100 * 1.05, f"holds {holds}/s; the target can do 100/s")
    return f"holds {holds}/s, breaks at {breaks}/s; the target can do 100/s"


@waits
def timeouts(bed: Bed) -> str:
    """46 % of the requests take longer than their timeout of 1 s: no percentile above p54 is below 1 s."""
    with target("--late", 0.46, "--late-by", 3) as server:
        text = scenario(
            server.port,
            "{ get: /, as: page }",
            "{ poisson: 100/s, for: 8s }",
            "[p99(page) < 1100ms, p99(page.succeeded) < 1100ms]",
            "{ timeout: 1s, connect_timeout: 1s }",
        )
        run = bed.run(text)
    page = run.measure("page")
    share = page["errors"] / page["count"]
    require(0.40 < share < 0.52, f"{share:.3f} timed out")
    require(not run.threshold("p99(page) < 1100ms")["passed"], "a bound of 1 s passed for a p99 below 1.1 s")
    require(run.threshold("p99(page.succeeded) < 1100ms")["passed"], "those that succeeded were fast")
    above = page["response"]["bound_above"]
    require(abs(above - (1 - share)) < 0.02, f"lower bounds above {above}, and {share:.3f} timed out")
    return run.threshold("p99(page) < 1100ms")["shown"]


@case
def lag_of_a_step(bed: Bed) -> str:
    """Lag of one step of two: the finding names that step (a run made by hand, by the unit test)."""
    return unit_test("lag_names_the_step_that_is_late")


@case
def lag_of_others(bed: Bed) -> str:
    """One answer takes a second. The generator is stopped for 200 ms when others are in flight: it is the target's."""

    def stop(process: subprocess.Popen) -> None:
        time.sleep(10)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        process.send_signal(signal.SIGCONT)

    options = "--queue-path", "/slow", "--service", 1, "--distribution", "deterministic", "--delay", 0.01
    with target(*options) as server:
        text = f"""
name: truth
target: http://127.0.0.1:{server.port}/
sessions:
  visitor: [{{ get: /, as: page }}]
  slow: {{ weight: 0, steps: [{{ get: /slow, as: page }}] }}
arrivals:
  - {{ at: 100ms, session: slow }}
  - {{ constant: 25/s, for: 20s }}
thresholds: ["max(page) < 900ms"]
options: {{ http_connections: shared, lag_max: 1s }}
"""
        run = bed.run(text, while_running=stop)
    slowest = run.threshold("max(page) < 900ms")
    require(slowest["value"] >= 1e9, f"the slowest took {slowest['shown']}")
    lag_max = run.summary["health"]["lag_max_ns"]
    require(lag_max >= 50e6, f"the stop made a lag of {lag_max / 1e6:.0f} ms")
    require((run.verdict, run.code) == ("failed", 1), f"{run.verdict}, exit code {run.code}: {run.codes}")
    return slowest["shown"]


@waits
def law(bed: Bed) -> str:
    """The data of one user cannot contradict Little's law: it is not testable."""
    with target("--service", 0.05, "--distribution", "deterministic") as server:
        run = bed.run(scenario(server.port, "{ get: / }, { think: 200ms }", "{ users: 1, for: 25s }"))
    said = bed.throng_out("analyze", run.path)
    line = next((line for line in said.splitlines() if "Little" in line), "")
    require("not testable" in line, f"analyze says: {line or said}")
    return line.strip()


@waits
def freeze(bed: Bed) -> str:
    """100/s for 50 s at a server that freezes at 30 s: 2,000 of 5,000 are never answered."""
    with target("--freeze-at", 30) as server:
        text = scenario(
            server.port,
            "{ get: /, as: page }",
            "{ constant: 100/s, for: 50s }",
            "['p99(page) < 100ms', 'error_rate < 1%']",
            "{ timeout: 30s, drain: 10s }",
        )
        run = bed.run(text)
        counts = server.stop()
    unanswered = counts["received"] - counts["answered"]
    require(near(unanswered, 2000, 0.02), f"the target left {unanswered} without an answer")
    page = run.measure("page")
    require(page["response"]["unanswered"] == unanswered, f"unanswered: {page['response']['unanswered']}")
    require(not run.threshold("p99(page) < 100ms")["passed"], "p99 < 100 ms passed")
    rate = run.threshold("error_rate < 1%")
    require(not rate["passed"], "error_rate < 1 % passed")
    require(near(rate["value"], unanswered / counts["received"], 0.02), f"an error rate of {rate['shown']}")
    require(run.verdict == "failed" and run.codes[0] == "target-stopped", f"{run.verdict}: {run.codes}")
    return run.finding("target-stopped")["text"]


@waits
def frozen_market(bed: Bed) -> str:
    """A market frozen at 12 s of 30 s under a closed load of 64 users."""
    command = [str(bed.throng), "serve", "market", "--listen", "127.0.0.1:0", "--until-stdin-closes"]
    market = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", market.stdout.readline()).group(1))
        text = scenario(
            port,
            "{ get: /v1/games, as: games }",
            "{ users: 64, for: 30s }",
            "['error_rate < 1%', 'p99(games) < 100ms']",
            "{ drain: 5s }",
        )

        def stop(process: subprocess.Popen) -> None:
            time.sleep(12)
            os.kill(market.pid, signal.SIGSTOP)

        run = bed.run(text, while_running=stop)
    finally:
        market.kill()
        market.wait()
    stopped = run.finding("target-stopped")
    require(bool(stopped) and run.codes[0] == "target-stopped", f"findings: {run.codes}")
    since = stopped["evidence"]["since_s"]
    require(11 <= since <= 14, f"stopped after {since} s, and it was frozen after 12 s")
    require(run.verdict == "failed", f"the verdict is {run.verdict}")
    return stopped["text"]


@case
def dies(bed: Bed) -> str:
    """A server that stops answering for good above 900/s: no load above that holds."""
    with target("--die-above", 900) as server:
        text = scenario(
            server.port,
            "{ get: /, as: page }",
            "{ constant: 200/s, for: 5s }",
            "['p95(page) < 500ms']",
            "{ drain: 1s, timeout: 5s }",
        )
        args = ["--from", "200/s", "--at-most", "3200/s", "--repeat", 1, "--pause", "100ms", "--json"]
        # The last run is four times as long.
        run = bed.run(text, *args, verb="capacity", limit_s=600)
    found = json.loads(run.out)
    holds, breaks = found["holds"], found["breaks"]
    require((holds, breaks, found["ending"]) == (800, 1600, "down"), f"{holds}/s to {breaks}/s, {found['ending']}")
    return f"holds {holds}/s, breaks at {breaks}/s; the target dies above 900/s"


def unit_test(name: str) -> str:
    command = ["cargo", "test", "--quiet", "--locked", "--package", "judge", "--lib", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.dirname(__file__) or ".")
    require("1 passed" in done.stdout, done.stdout + done.stderr)
    return "1 passed"


# The longest of those that wait come first.
ALL = Cases()
for cases in (TROUBLES, SHARED, OVERLOAD, CASES, FAILURES, WIRE, SAID, EARLY, OWN_WORK):
    ALL.add(cases)

if __name__ == "__main__":
    sys.exit(ALL.main("throng-truth-"))
