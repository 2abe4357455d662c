"""Runs of Throng against a server, and what differs between its record and the server's count."""

import collections
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "truth"))

from bed import Bed

# A machine that stands still for longer spoils what is being tried.
STILL_MAX_S = 0.7
# A server's count may be late by this.
SETTLED_MAX_S = 3
ATTEMPTS_MAX = 5


class Clock:
    """Notices if the machine stands still, as one that is suspended does."""

    def __init__(self) -> None:
        self.stills = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            before = time.monotonic()
            time.sleep(0.1)
            if time.monotonic() - before > STILL_MAX_S:
                self.stills += 1


CLOCK = Clock()


def undisturbed(attempt):
    """What `attempt` returns, at a time in which the machine did not stand still."""
    for _ in range(ATTEMPTS_MAX):
        before = CLOCK.stills
        found = attempt()
        if CLOCK.stills == before:
            return found
        print("  the machine stood still: once more", flush=True)
    return found


class Result:
    """A finished run, by measure."""

    def __init__(self, run) -> None:
        self.run = run
        self.measures = {measure["name"]: measure for measure in run.summary.get("measures", [])}

    def count(self, name: str) -> int:
        return self.measures.get(name, {}).get("count", 0)

    def errors(self, name: str) -> dict:
        return self.measures.get(name, {}).get("errors_by_kind", {})

    @property
    def users(self) -> int:
        """Users that started: on a busy machine some that were due may not."""
        return self.run.summary.get("users", {}).get("started", 0)

    def ok(self, name: str) -> int:
        return self.count(name) - sum(self.errors(name).values())

    def texts(self) -> list:
        """What the record says about the first errors."""
        if self.run.path is None:
            lines = (self.run.out + self.run.err).splitlines()
            return [" ".join(line.split()) for line in lines if "×" in line] or lines[-1:]
        lines = (self.run.path / "events.jsonl").read_text().splitlines()
        return [text for text in (json.loads(line).get("detail") for line in lines) if text]

    def differs(self, name: str, wanted: int) -> str:
        """What is wrong with a measure that should have this many operations without an error; empty: nothing."""
        if self.ok(name) == wanted == self.count(name) and wanted > 0:
            return ""
        if self.run.path is None:
            return f"{name}: no run; {self.texts()[0]}"
        errors = ", ".join(f"{count} {kind}" for kind, count in self.errors(name).items()) or "no errors"
        return "; ".join([f"{name}: {self.ok(name)} of {wanted}, {errors}", *self.texts()[:2]])

    def fails_otherwise(self, name: str, kind: str, wanted: int) -> str:
        """What is wrong with a measure that should have this many operations, all with this error; empty: nothing."""
        if self.errors(name) == {kind: wanted} and self.count(name) == wanted > 0:
            return ""
        errors = ", ".join(f"{count} {found}" for found, count in self.errors(name).items()) or "no errors"
        return f"{name}: {wanted} {kind} wanted, {errors} of {self.count(name)}"


def play(bed: Bed, text: str, *args, while_running=None, files=()) -> Result:
    """Runs a scenario beside these files."""
    space = bed.space / str(bed.runs + 1)
    # The bed makes it; files of a scenario stand in the folder above.
    for name, content in files:
        (space.parent / name).write_text(content)
    return Result(bed.run(text, *args, while_running=while_running))


def counted(server, before: collections.Counter, wanted: dict) -> str:
    """How the server's count since `before` differs from what is wanted; empty: not at all."""
    end = time.monotonic() + SETTLED_MAX_S
    while True:
        now = server.counts()
        now.subtract(before)
        wrong = {name: now[name] for name, count in wanted.items() if now[name] != count}
        if not wrong or time.monotonic() > end:
            break
        time.sleep(0.1)
    return "; ".join(f"{name}: the server counted {count}, the record {wanted[name]}" for name, count in wrong.items())
