#!/usr/bin/env python3
"""Runs other people's files with the tool they are of and with Throng, and compares what a server was sent.

    checks/imports/counted.py [--write] FILE...

A test plan of JMeter is run by JMeter, a collection of Postman by newman, which are installed from Maven Central and the
npm registry. A description in OpenAPI has no such tool: its operations are compared with the requests of one user. All
addresses in a file are replaced by that of a server on loopback, which counts requests by method, target, and type and
text of the body. Prints a table, and what differs; fails if anything does. `--write` puts the table into
docs/import-checks.md. THRONG names another binary than the release build. Needs Java, Maven, Node and PyYAML.
"""

import collections
import json
import os
import pathlib
import re
import sys
import tempfile

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tools  # noqa: E402
from counting import Server  # noqa: E402
from elements import METHODS  # noqa: E402
from report import ROOT, markdown, write  # noqa: E402

THRONG = os.environ.get("THRONG", str(ROOT / "target/release/throng"))
SHOWN_MAX = 10
SHOWN_CHARACTERS = 300


def plan(text: str, port: int) -> str:
    """A test plan whose samplers and defaults go to the server."""
    def address(found: re.Match) -> str:
        name, value = found[1], found[2]
        new = {"domain": "127.0.0.1", "port": str(port), "protocol": "http"}[name]
        return found[0].replace(f">{value}<", f">{new}<") if value.strip() else found[0]

    text = re.sub(r'<stringProp name="HTTPSampler\.(domain|port|protocol)">([^<]*)</stringProp>', address, text)
    # A domain without a port is one of port 80.
    return re.sub(r'(<stringProp name="HTTPSampler\.domain">127\.0\.0\.1</stringProp>\s*<stringProp '
                  r'name="HTTPSampler\.port">)\s*(</stringProp>)', rf"\g<1>{port}\2", text)


def collection(text: str, port: int) -> str:
    """A collection whose addresses are the server's, those in parts as well."""
    def parts(value) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("host"), list) and not re.search(r"\{\{", ".".join(value["host"])):
                value |= {"protocol": "http", "host": ["127", "0", "0", "1"], "port": str(port)}
            for inner in value.values():
                parts(inner)
        elif isinstance(value, list):
            for inner in value:
                parts(inner)

    document = json.loads(re.sub(r"https?://[A-Za-z0-9.-]+(:\d+)?", f"http://127.0.0.1:{port}", text))
    parts(document)
    return json.dumps(document, indent=1)


def description(text: str, port: int) -> str:
    document = yaml.safe_load(text)
    first = (document.get("servers") or [{"url": ""}])[0]["url"]
    path = re.sub(r"^https?://[^/]*", "", first)
    document["servers"] = [{"url": f"http://127.0.0.1:{port}{path}"}]
    return yaml.safe_dump(document, sort_keys=False)


def operations(text: str) -> collections.Counter:
    """What one user of a description sends: method and path, with its parameters as a pattern."""
    document = yaml.safe_load(text)
    base = re.sub(r"^https?://[^/]*", "", document["servers"][0]["url"]).rstrip("/")
    return collections.Counter(
        (method.upper(), base + path)
        for path, item in document["paths"].items() for method in METHODS if method in item
    )


def by_operation(sent: collections.Counter, known: collections.Counter) -> collections.Counter:
    """Requests by the operation they are of; others keep their own target."""
    patterns = [(method, path, re.compile(re.sub(r"\\\{[^/]*?\\\}", "[^/]+", re.escape(path))))
                for method, path in known]
    patterns.sort(key=lambda pattern: pattern[1].count("{"))
    found: collections.Counter = collections.Counter()
    for (method, target, *_body), count in sent.items():
        bare = target.partition("?")[0]
        name = next((path for own, path, pattern in patterns if own == method and pattern.fullmatch(bare)), target)
        found[(method, name)] += count
    return found


class Case:
    """One file, rewritten for a server."""

    def __init__(self, path: pathlib.Path, server: Server, space: pathlib.Path) -> None:
        text = path.read_text(encoding="utf-8-sig")
        rewrite, self.tool = (
            (plan, "JMeter") if "<jmeterTestPlan" in text
            else (collection, "newman") if re.search(r'"item"\s*:\s*\[', text)
            else (description, "–"))
        self.server, self.space, self.name = server, space, path.name
        self.path = path.parent / f".{path.stem}.counted{path.suffix}"
        self.path.write_text(rewrite(text, server.port))

    def by_tool(self) -> collections.Counter:
        if self.tool == "JMeter":
            tools.call([*tools.jmeter(), "-n", "-t", str(self.path), "-l", str(self.space / "results.jtl"),
                        "-j", str(self.space / "jmeter.log")], cwd=self.space)
        elif self.tool == "newman":
            tools.call([*tools.newman(), "run", str(self.path)], cwd=self.path.parent)
        else:
            return operations(self.path.read_text())
        return self.server.take()

    def by_throng(self) -> collections.Counter:
        scenario = self.space / "scenario.yaml"
        more = ["--all-methods", "--sessions", "one"] if self.tool == "–" else []
        done = tools.call([THRONG, "import", "--lenient", *more, "--output", str(scenario), str(self.path)])
        if done.returncode != 0:
            raise RuntimeError(f"{self.name} cannot be imported: {done.stderr[-500:]}")
        names = re.findall(r"env\('([^']+)'\)", scenario.read_text())
        environment = {**os.environ, **dict.fromkeys(names, "x")}
        command = ["run", "--runs", str(self.space / "runs")] if self.tool == "JMeter" else ["try"]
        tools.call([THRONG, command[0], str(scenario), *command[1:]], env=environment, cwd=self.space)
        sent = self.server.take()
        return by_operation(sent, operations(self.path.read_text())) if self.tool == "–" else sent


def main(arguments: list[str]) -> int:
    files = [pathlib.Path(argument).resolve() for argument in arguments if not argument.startswith("--")]
    if not files:
        sys.exit(__doc__)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory(prefix="throng-counted-") as space, Server() as server:
        for place, path in enumerate(files):
            own = pathlib.Path(space) / str(place)
            own.mkdir()
            case = Case(path, server, own)
            try:
                theirs, ours = case.by_tool(), case.by_throng()
            finally:
                case.path.unlink()
            missing, added = theirs - ours, ours - theirs
            differ = max(missing.total(), added.total())
            wrong += differ > 0
            version = {"JMeter": tools.JMETER, "newman": tools.NEWMAN}.get(case.tool, "")
            rows.append([f"`{path.name}`", f"{case.tool} {version}".strip(), str(theirs.total()), str(ours.total()),
                         str(differ)])
            print("  ".join(rows[-1]), flush=True)
            for sign, requests in (("-", missing), ("+", added)):
                for request, count in list(requests.items())[:SHOWN_MAX]:
                    print(f"    {sign}{count} {repr(request)[:SHOWN_CHARACTERS]}")
    text = markdown(["file", "tool", "its requests", "Throng's", "differ"], rows, texts=2)
    print(f"\n{text}")
    if "--write" in arguments:
        write("counted", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
