#!/usr/bin/env python3
"""Runs scripts of k6 by k6 and by Throng against one server, and compares what both did.

    checks/k6/run.py --k6 PROGRAM [--write] [--vus N] [--iterations N] FOLDER|SCRIPT...

All hosts of a script are one server of this machine: their URLs are replaced in a copy. Scripts whose load is a time run
`--iterations` iterations instead. Compared are requests by method and path, checks that held and failed, iterations,
thresholds, and the exit code (Throng's with --k6-exit-codes). Prints the table in Markdown; `--write` puts it into docs/k6.md.
Fails if a script differs. THRONG names another binary than the release build.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]

from docs_table import put  # noqa: E402
from site_of_scripts import Site  # noqa: E402

BUILDS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DOCUMENT = "docs/k6.md"
RUN_MAX_S = 120
# What a script may need that is not there: the words that say so, and the reason.
NEEDS = {
    r"['\"]k6/browser": "a browser",
    r"['\"]k6/x/": "an extension",
    r"from\s+['\"]https?://(?!jslib\.k6\.io/k6-(?:utils|summary)/)": "modules from the network",
    r"['\"]k6/secrets['\"]": "a source of secrets",
    r"['\"]k6/experimental/redis": "Redis",
    r"['\"]k6/net/grpc": "a gRPC server",
}
LIBRARY = re.compile(r"https?://jslib\.k6\.io/k6-(?:utils|summary)/")


@dataclasses.dataclass
class Outcome:
    """What a tool did. `problem`: why there is no more than the exit code."""

    code: int
    requests: dict
    summary: dict
    problem: str = ""

    def checks(self) -> dict:
        found: dict = {}

        def add(group: dict) -> None:
            for name, check in group.get("checks", {}).items():
                passes, fails = found.get(name, (0, 0))
                found[name] = (passes + check["passes"], fails + check["fails"])
            for inner in group.get("groups", {}).values():
                add(inner)

        add(self.summary.get("root_group", {}))
        return found

    def iterations(self) -> int:
        return self.summary.get("metrics", {}).get("iterations", {}).get("count", 0)

    def thresholds(self) -> dict:
        metrics = self.summary.get("metrics", {})
        return {
            f"{name}: {text}": crossed
            for name, metric in metrics.items() for text, crossed in metric.get("thresholds", {}).items()
        }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--k6", required=True)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--vus", type=int, default=1)
    arguments.add_argument("--iterations", type=int, default=3)
    arguments.add_argument("scripts", nargs="+", type=pathlib.Path)
    given = arguments.parse_args()
    throng = os.environ.get("THRONG", str(BUILDS / "release" / "throng"))
    version = re.search(r"v[\d.]+", subprocess.run([given.k6, "version"], capture_output=True, text=True).stdout)
    rows, differ = [], 0
    for path in scripts(given.scripts):
        row, is_equal = compare(path, given, throng)
        rows.append(row)
        differ += not is_equal
        print(row, flush=True)
    head = [
        "| script | requests | checks | iterations | thresholds | exit code | |", "|---|---|---|---|---|---|---|",
    ]
    counted = sum(not row.endswith("| not run |") for row in rows)
    text = "\n".join([
        f"Compared with k6 {version[0] if version else '?'}: {counted - differ} of {counted} scripts are equal in all.",
        "", *head, *rows,
    ])
    if given.write:
        put(DOCUMENT, "checked", "conformance", text + "\n")
    print(f"{counted - differ} of {counted} are equal", file=sys.stderr)
    return int(differ > 0)


def scripts(given: list[pathlib.Path]) -> list[pathlib.Path]:
    found = []
    for path in given:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [one for one in inside if one.suffix in {".js", ".ts"} and "export default" in one.read_text()
                  or one.suffix == ".js" and "module.exports" in one.read_text()]
    return found


def compare(path: pathlib.Path, given: argparse.Namespace, throng: str) -> tuple[str, bool]:
    """The row of a script, and whether both did the same; one that cannot be run here counts as equal."""
    text = path.read_text()
    needs = [reason for words, reason in NEEDS.items() if re.search(words, text)]
    if needs:
        return f"| {path.name} | – | – | – | – | – | needs {', '.join(needs)}: not run |", True
    site = Site()
    try:
        with tempfile.TemporaryDirectory() as folder:
            script = copied(path, pathlib.Path(folder), site.address)
            load = limits(given, script)
            by_k6 = run([given.k6, "run", "--quiet", "--no-usage-report", "--no-color", *load], script, site)
            by_throng = run([throng, "run", "--quiet", "--k6-exit-codes", *load], script, site)
    finally:
        site.shutdown()
        site.server_close()
    pairs = [
        (by_k6.requests, by_throng.requests), (by_k6.checks(), by_throng.checks()),
        (by_k6.iterations(), by_throng.iterations()), (by_k6.thresholds(), by_throng.thresholds()),
        (by_k6.code, by_throng.code),
    ]
    shown = [cell(ours, theirs) for theirs, ours in pairs]
    is_equal = all(ours == theirs for theirs, ours in pairs)
    note = "" if is_equal else by_throng.problem or difference(pairs)
    return f"| {path.name} | {' | '.join(shown)} | {note} |", is_equal


def copied(path: pathlib.Path, folder: pathlib.Path, address: str) -> pathlib.Path:
    """The script in a copy of its folder, in which all hosts are the server's."""
    copy = folder / "scripts"
    shutil.copytree(path.parent, copy)
    for one in copy.rglob("*"):
        if one.is_file() and one.suffix in {".js", ".ts", ".json"}:
            one.write_text(with_hosts(one.read_text(errors="replace"), address))
    return copy / path.name


def with_hosts(text: str, address: str) -> str:
    def replaced(found: re.Match) -> str:
        if LIBRARY.match(text, found.start()):
            return found[0]
        scheme = "ws" if found[1].startswith("ws") else "http"
        return f"{scheme}://{found[2] or ''}{address}"

    return re.sub(r"\b(https?|wss?)://([\w.%-]+:[\w.%-]+@)?[A-Za-z0-9][\w.-]*(?::\d+)?(?![\w.-]*\$)", replaced, text)


def limits(given: argparse.Namespace, script: pathlib.Path) -> list[str]:
    """Flags for a load of a few iterations, if the script's own is a time."""
    shown = subprocess.run([given.k6, "inspect", script.name], cwd=script.parent, capture_output=True, text=True)
    try:
        options = json.loads(shown.stdout)
    except ValueError:
        return []
    scenarios = options.get("scenarios") or {}
    counted = all(str(one.get("executor", "")).endswith("-iterations") for one in scenarios.values())
    if not options.get("duration") and not options.get("stages") and counted:
        return []
    return ["--vus", str(given.vus), "--iterations", str(given.iterations)]


def run(command: list[str], script: pathlib.Path, site: Site) -> Outcome:
    site.take()
    written = script.parent / "summary-of-the-run.json"
    written.unlink(missing_ok=True)
    whole = [*command, "--summary-export", written.name, script.name]
    try:
        ended = subprocess.run(whole, cwd=script.parent, capture_output=True, text=True, timeout=RUN_MAX_S)
    except subprocess.TimeoutExpired:
        return Outcome(-1, dict(site.take()), {}, f"it did not end in {RUN_MAX_S} s")
    summary = json.loads(written.read_text()) if written.exists() else {}
    said = [line.strip(" ×") for line in ended.stderr.splitlines() if "×" in line]
    return Outcome(ended.returncode, dict(site.take()), summary, "" if summary else "; ".join(said[:1]))


def cell(ours, theirs) -> str:
    if ours == theirs:
        return "=" if ours or ours == 0 else "–"
    return "≠"


def difference(pairs: list) -> str:
    """What is different first, in short."""
    for theirs, ours in pairs:
        if ours == theirs:
            continue
        if not isinstance(theirs, dict):
            return f"{ours}, k6 {theirs}"
        keys = [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]
        return f"`{keys[0]}`: {ours.get(keys[0], 'none')}, k6 {theirs.get(keys[0], 'none')}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
