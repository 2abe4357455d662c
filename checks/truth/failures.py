"""Cases of `cases.py` in which sessions fail for reasons of the scenario: the target answers all that it is sent, and the
run has failed nevertheless."""

import xml.etree.ElementTree as xml

from bed import Bed, Cases, Run, near, require, scenario, target

CASES = Cases()
waits = CASES.waits
RATE, SECONDS = 20, 3
ALL = RATE * SECONDS


def failed(bed: Bed, steps: str, thresholds: str, more: str = "", files=None) -> tuple[Run, dict]:
    """A run of 60 users and what the target counted. It has failed, for reasons of our own, and its JUnit report says
    so."""
    with target() as server:
        text = scenario(server.port, steps, f"{{ constant: {RATE}/s, for: {SECONDS}s }}", thresholds, more=more)
        run = bed.run(text, "--junit", bed.space / "junit.xml", files=files)
        counts = server.stop()
    require(counts["statuses"].get("200", 0) == counts["received"], f"the target answered {counts['statuses']}")
    require((run.verdict, run.code) == ("failed", 1), f"{run.verdict}, exit code {run.code}: {run.codes}")
    require(run.codes[0] == "own-failures", f"findings: {run.codes}")
    report = xml.parse(bed.space / "junit.xml").getroot()
    require(int(report.get("failures")) > 0, f"JUnit: {report.attrib}")
    cases = [case.get("name") for case in report.iter("testcase") if case.find("failure") is not None]
    require(any("sessions" in name or "own-failures" in name for name in cases), f"JUnit failures: {cases}")
    properties = {item.get("name"): item.get("value") for item in report.iter("property")}
    require(properties.get("sessions.failed") == str(run.summary["users"]["failed"]), f"JUnit: {properties}")
    return run, counts


def said(run: Run, step: str, what: str, users: int) -> str:
    """The finding, which names step, what, and how many."""
    found = run.finding("own-failures")
    require(found["evidence"]["sessions"] == users, f"{found['text']}; it was {users}")
    require(run.summary["users"]["failed"] == users, f"users: {run.summary['users']}")
    named = f"{users} at {step}"
    require(named in found["text"] and what in found["text"], f"no {named!r} or no {what!r}: {found['text']}")
    return found["text"]


@waits
def set_for_nobody(bed: Bed) -> str:
    """A `set` that cannot be computed for anybody: no step before it fails, and nobody comes to the one behind it."""
    steps = "{ get: /login, as: login, save: { token: body } }, { set: { code: '${token / 2}' } }, { get: /pay, as: pay }"
    run, counts = failed(bed, steps, "[error_rate < 1%, p95(login) < 5s]")
    require(counts["by_path"] == {"/login": ALL}, f"the target counted {counts['by_path']}")
    require(not run.threshold("error_rate < 1%")["passed"], "error_rate < 1 % passed")
    require(run.threshold("p95(login) < 5s")["passed"], "the login was fast, and its threshold failed")
    return said(run, "`set` of `code`", "which cannot be done", ALL)


@waits
def errors_of_sessions(bed: Bed) -> str:
    """Nine in ten users fail in a step that sends nothing: `errors == 0` does not hold."""
    steps = (
        "{ get: /news, as: news, save: { text: body } }, "
        "{ if: user % 10 != 0, then: [ { set: { double: '${text * 2}' } } ] }, { get: /pay, as: pay }"
    )
    run, counts = failed(bed, steps, "['errors == 0', 'errors(news) == 0', 'errors(pay) == 0', 'failed(sessions) == 0']")
    require(counts["by_path"] == {"/news": ALL, "/pay": ALL // 10}, f"the target counted {counts['by_path']}")
    results = {text: run.threshold(text)["passed"] for text in ("errors == 0", "errors(news) == 0", "errors(pay) == 0")}
    require([*results.values()] == [False, True, True], f"{results}")
    sessions = run.threshold("failed(sessions) == 0")
    missing = ALL - counts["by_path"]["/pay"]
    require(not sessions["passed"] and sessions["value"] == missing, f"failed(sessions): {sessions['shown']}")
    return said(run, "`set` of `double`", "which cannot be done", missing)


@waits
def data_ran_out(bed: Bed) -> str:
    """Three rows of data for 60 users."""
    rows = 3
    more = "data: { accounts: { file: accounts.csv, order: unique, end: error } }"
    files = {"accounts.csv": "name\n" + "".join(f"name-{row}\n" for row in range(rows))}
    steps = "{ get: /, as: page }, { feed: accounts }, { get: '/account/${name}', as: account }"
    run, counts = failed(bed, steps, "['error_rate(account) < 1%']", more, files)
    served = sum(number for path, number in counts["by_path"].items() if path.startswith("/account/"))
    require(served == rows, f"the target counted {counts['by_path']}")
    return said(run, "`feed` of `accounts`", "which has no further row", ALL - rows)


@waits
def script_throws(bed: Bed) -> str:
    """A script that throws for all."""
    steps = "{ get: /, as: page }, { js: 'return { sum: vars.basket.total.net };', sets: [sum] }, { get: /pay, as: pay }"
    run, counts = failed(bed, "{ set: { basket: 'null' } }, " + steps, "['error_rate(page) < 1%', 'errors == 0']")
    require(counts["by_path"] == {"/": ALL}, f"the target counted {counts['by_path']}")
    require(not run.threshold("errors == 0")["passed"], "errors == 0 passed")
    return said(run, "`js`", "where a script failed", ALL)


@waits
def nobody_came(bed: Bed) -> str:
    """Thresholds on steps that nobody came to fail: nothing was measured."""
    steps = (
        "{ get: /, as: page, save: { text: body } }, { set: { n: '${text + 1 - 1}' } }, "
        "{ get: /pay, as: pay }, { check: 'n == 1', as: whole }"
    )
    thresholds = ["p95(pay) < 10s", "error_rate(pay) < 1%", "error_rate(whole) < 1%"]
    run, counts = failed(bed, steps, str(thresholds))
    require("/pay" not in counts["by_path"], f"the target counted {counts['by_path']}")
    passed = [text for text in thresholds if run.threshold(text)["passed"]]
    require(not passed, f"passed, and nobody came to it: {passed}")
    shown = {run.threshold(text)["shown"] for text in thresholds}
    require(all(run.threshold(text)["value"] is None for text in thresholds), f"{shown}")
    share = run.finding("own-failures")["evidence"]["share"]
    require(near(share, 1.0, 0.001), f"a share of {share}")
    return f"{', '.join(shown)}: {run.threshold(thresholds[0])['text']}"
