"""Cases of `cases.py` about load that is more than the target does, and about figures of runs at its limit."""

import contextlib
import json
import socket
import threading

from bed import Bed, Cases, Run, near, require, scenario, target

CASES = Cases()
waits = CASES.waits
# A server of 100 a second, first come, first served.
HUNDRED = "--service", 0.010, "--distribution", "deterministic"
LIMIT, OFFERED, SECONDS = 100, 112, 60


def fell_behind(run: Run) -> str:
    """The finding: its rate is that of the target."""
    require((run.verdict, run.code) == ("failed", 1), f"{run.verdict}, exit code {run.code}: {run.codes}")
    require(run.codes[0] == "target-saturated", f"findings: {run.codes}")
    found = run.finding("target-saturated")
    answered = found["evidence"]["answered_per_s"]
    require(near(answered, LIMIT, 0.05), f"{answered:.0f}/s, and the target answers {LIMIT}/s: {found['text']}")
    return found["text"]


def offered(port: int, drain: str, thresholds: str) -> str:
    options = f"{{ drain: {drain}, http_connections: shared }}"
    arrivals = f"{{ poisson: {OFFERED}/s, for: {SECONDS}s }}"
    return "seed: 7\n" + scenario(port, "{ get: /, as: page }", arrivals, thresholds, options)


@waits
def overload_by_little(bed: Bed) -> str:
    """12 % too much, and thresholds that hold: it fails, whether the drain is as long as the backlog or shorter. What a
    short one cuts off is longer than all that was answered, so that p95 is a lower bound."""
    p95 = "p95(page) < 8s"
    thresholds = f"['{p95}', 'error_rate < 1%']"
    short, full = {}, {}
    for drain, results in [("2s", short), ("30s", full)]:
        with target(*HUNDRED) as server:
            results["run"] = bed.run(offered(server.port, drain, thresholds))
            results["counts"] = server.stop()
        results["text"] = fell_behind(results["run"])
        results["p95"] = results["run"].threshold(p95)
    waiting = short["run"].measure("page")["begun"] - short["run"].measure("page")["count"]
    require(waiting > 0, "the short drain cut nothing off")
    bound, exact = short["p95"], full["p95"]
    require(bound["is_bound"] and bound["shown"].startswith("≥"), f"with {waiting} cut off p95 is {bound['shown']}")
    require(not exact.get("is_bound"), f"with all answers p95 is {exact['shown']}")
    require(bound["value"] <= 1.1 * exact["value"], f"p95 is {bound['shown']}, and with all answers {exact['shown']}")
    # The last one waits for what is too much.
    last_s = (OFFERED / LIMIT - 1) * SECONDS
    require(near(exact["value"] / 1e9, 0.95 * last_s, 0.35), f"p95 is {exact['shown']}, and the last takes {last_s:.1f} s")
    return f"p95 {bound['shown']}, in full {exact['shown']}; {short['text']}"


@waits
def overload_on_a_backlog(bed: Bed) -> str:
    """The same on a target that still has five seconds of other work when the run begins."""
    with target(*HUNDRED) as server, socket.create_connection(("127.0.0.1", server.port)) as other:
        other.sendall(b"GET /before HTTP/1.1\r\nhost: truth\r\n\r\n" * (5 * LIMIT))
        reading = threading.Thread(target=drained, args=(other,), daemon=True)
        reading.start()
        run = bed.run(offered(server.port, "30s", "['error_rate < 1%']"))
        other.shutdown(socket.SHUT_WR)
        counts = server.stop()
    require(counts["by_path"]["/before"] == 5 * LIMIT, f"the target counted {counts['by_path']}")
    page = run.measure("page")
    require(page["response"]["min_ns"] > 1e9, f"the target was idle: the fastest took {page['response']['min_ns'] / 1e6:.0f} ms")
    return fell_behind(run)


def drained(connection: socket.socket) -> None:
    """Reads what is answered, until the connection is closed."""
    with contextlib.suppress(OSError):
        while connection.recv(1 << 16):
            pass


@waits
def rate_without_drain(bed: Bed) -> str:
    """A closed load of which a few requests take long: the time in which they are waited for is in no rate, nor what is
    answered then."""
    seconds = 6
    options = "--queue-path", "/slow", "--servers", 8, "--service", 4, "--distribution", "deterministic", "--delay", 0.02
    with target(*options) as server:
        text = f"""
name: truth
target: http://127.0.0.1:{server.port}/
sessions:
  visitor: {{ weight: 95, steps: [{{ get: /, as: page }}, {{ think: 100ms }}] }}
  slow: {{ weight: 5, steps: [{{ get: /slow, as: slow }}] }}
arrivals: [{{ users: 20, for: {seconds}s }}]
options: {{ drain: 10s }}
"""
        run = bed.run(text)
        counts = server.stop()
    true = sum(counts["answered_by_second"][:seconds]) / seconds
    rates = {name: run.measure(name)["rate_per_s"] for name in ("page", "slow")}
    later = sum(counts["answered_by_second"][seconds:])
    require(later > 0, "nothing was answered in the drain")
    require(near(sum(rates.values()), true, 0.05), f"{rates}, and the target answered {true:.1f}/s under load")
    found = run.finding("throughput")
    require(near(found["evidence"]["per_s"], true, 0.05), f"{found['text']}; the target answered {true:.1f}/s")
    return f"{found['text']}; the target answered {true:.1f}/s under load, {later} requests later"


@waits
def retried(bed: Bed) -> str:
    """A server that refuses the first 30 requests: each attempt is counted once, and a block of attempts is none of them."""
    refused, seconds = 30, 4
    with target("--fail-first", refused) as server:
        steps = "{ retry: 6, pause: 100ms, as: payment, steps: [ { get: /pay, as: pay } ] }"
        run = bed.run(scenario(server.port, steps, f"{{ constant: 20/s, for: {seconds}s }}", "['errors(payment) == 0']"))
        counts = server.stop()
    require(counts["statuses"] == {"503": refused, "200": 20 * seconds}, f"the target answered {counts['statuses']}")
    pay, payment = run.measure("pay"), run.measure("payment")
    said = {"attempts": pay["count"], "refused": pay["errors_by_kind"], "retried": pay["retried"], "payments": payment["count"]}
    true = {"attempts": counts["received"], "refused": {"status": refused}, "retried": refused, "payments": 20 * seconds}
    require(said == true, f"{said}; it was {true}")
    require(payment["errors"] == 0 and run.threshold("errors(payment) == 0")["passed"], f"payments failed: {payment}")
    operations = run.finding("throughput")["evidence"]["operations"]
    # Those answered before the drain.
    least = counts["received"] - 3
    require(least <= operations <= counts["received"], f"{operations} operations; the target counted {counts['received']}")
    return f"{run.finding('attempts-retried')['text']}; {run.finding('throughput')['text']}"


@waits
def shared_pool(bed: Bed) -> str:
    """Connections that users share grow by their peaks alone: `analyze` sees no leak."""
    with target("--servers", 64, "--service", 0.05) as server:
        options = "{ http_connections: shared }"
        run = bed.run("seed: 3\n" + scenario(server.port, "{ get: / }", "{ poisson: 80/s, for: 50s }", options=options))
        counts = server.stop()
    opened = counts["connections"]
    found = json.loads(bed.throng_out("analyze", "--json", run.path))
    trend = next((trend for trend in found["trends"] if trend["name"] == "connections"), None)
    require(opened < 40, f"{opened} connections, and four are busy on average")
    require(trend is None or not trend["is_shown"], f"the target counted {opened} connections: {trend}")
    shown = f"{trend['change']:+.1f}, p {trend['p_adjusted']:.2f}" if trend else "none"
    return f"{opened} connections, a trend of theirs: {shown}"
