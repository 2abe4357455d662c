#!/usr/bin/env python3
"""Sums up the results of tests; the last line is `N passed, N failed, N skipped`. Fails if a test failed or none passed.

    scripts/results.py SKIPPED LOG [JUNIT]

JUNIT is nextest's report. LOG is what was printed: by nextest or cargo test, by the clients' node --test, and by
the pages' vitest. SKIPPED has a line for each test that lacked something (testkit::needs); to its runner it has passed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

SLOWEST_COUNT = 10


class Results:
    """How many tests there were, and which."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.skipped_names: set[str] = set()
        # Seconds, and the program and name of the test.
        self.times: list[tuple[float, str]] = []
        self.repeated: list[str] = []

    def add_skipped(self, path: pathlib.Path) -> None:
        for line in sorted(set(path.read_text().splitlines())):
            print(line)
            self.skipped_names.add(line.removeprefix("SKIPPED: ").split(": ")[0])

    def add_nextest(self, path: pathlib.Path) -> None:
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            name = f"{case.get('classname')} {case.get('name')}"
            self.times.append((float(case.get("time", 0)), name))
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed += 1
            elif name in self.skipped_names:
                self.skipped += 1
            else:
                self.passed += 1
            if case.find("flakyFailure") is not None:
                self.repeated.append(name)

    def add_log(self, text: str) -> None:
        # cargo test: "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …"
        for passed, failed, ignored in re.findall(r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M):
            self.add(int(passed), int(failed), int(ignored))
        succeeded = set(re.findall(r"^test (.*) \.\.\. ok$", text, re.M))
        for name in self.skipped_names:
            if any(f"::{one}".endswith(f"::{name}") for one in succeeded):
                self.add(-1, 0, 1)
        # nextest, of tests that are ignored: "Summary [ 9.1s] 12 tests run: 12 passed, 1 skipped"
        for ignored in re.findall(r"^ *Summary \[.*\] .* (\d+) skipped$", text, re.M):
            self.add(0, 0, int(ignored))
        # node --test: "ℹ pass 12", "ℹ fail 0", "ℹ cancelled 0", "ℹ skipped 0"
        for what, count in re.findall(r"^ℹ (pass|fail|cancelled|skipped) (\d+)$", text, re.M):
            self.add(int(count) * (what == "pass"), int(count) * (what in ("fail", "cancelled")),
                     int(count) * (what == "skipped"))
        # vitest: "      Tests  1 failed | 12 passed | 3 skipped (16)"
        for line in re.findall(r"^ +Tests  (.*)$", text, re.M):
            counts = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|skipped)", line)}
            self.add(counts.get("passed", 0), counts.get("failed", 0), counts.get("skipped", 0))

    def add(self, passed: int, failed: int, skipped: int) -> None:
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def say(self) -> None:
        for name in self.repeated:
            print(f"FAILED, then passed: {name}")
        if self.times:
            print(f"the {SLOWEST_COUNT} slowest tests, in seconds:")
        for seconds, name in sorted(self.times, reverse=True)[:SLOWEST_COUNT]:
            print(f"{seconds:8.1f}  {name}")
        if not self.passed:
            print("no test ran", file=sys.stderr)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)


def main() -> int:
    skipped, log, *reports = map(pathlib.Path, sys.argv[1:])
    results = Results()
    results.add_skipped(skipped)
    for report in reports:
        results.add_nextest(report)
    # Programs colour what they print if a variable says so.
    results.add_log(re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace")))
    results.say()
    return 0 if results.passed and not results.failed else 1


if __name__ == "__main__":
    sys.exit(main())
