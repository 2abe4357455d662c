#!/usr/bin/env python3
"""Plays small scenarios against servers of others, and compares the record with what these counted.

    checks/interop/run.py [--write] [http] [grpc] [SERVER]...

Prints tables in Markdown, of all or of those named; fails if something differs. `--write` puts the tables into
docs/interop.md. THRONG names another binary than the release build. Needs Go, Node and Python with venv; nginx, Apache,
h2o and HAProxy are installed from Debian's packages if that is possible, and left out if they are not there.
"""

import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]

import daemons  # noqa: E402
import grpc_cases  # noqa: E402
import http_cases  # noqa: E402
import servers  # noqa: E402
from docs_table import put  # noqa: E402
from play import Bed  # noqa: E402

BUILDS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DOCUMENT = "docs/interop.md"
COLUMNS = {
    "requests": "requests", "bodies": "large bodies", "trailers": "trailers", "compressed": "compressed",
    "streams": f"{http_cases.STREAMS} streams", "reload": "replaced under load", "ends": "idle ends",
    "WebSocket": "WebSocket",
}
GO = "/usr/local/go/bin"


class Table:
    """Results by row and case, with a list of what differs below."""

    def __init__(self) -> None:
        self.rows, self.notes = {}, []

    def report(self, row: tuple, case: str, found) -> None:
        """`found`: what differs; empty: nothing; `None`: the server does not do this."""
        if found is None:
            cell = "–"
        elif found == "":
            cell = "✓"
        else:
            self.notes.append(found)
            cell = f"differs ({len(self.notes)})"
        self.rows.setdefault(row, {})[case] = cell
        print(f"{'  '.join(row)}  {case}: {found or cell}", flush=True)

    def markdown(self, lead: list, columns: dict) -> str:
        lines = [f"| {' | '.join([*lead, *columns.values()])} |"]
        lines.append("|" + "---|" * len(lead) + ":-:|" * len(columns))
        for row, cells in self.rows.items():
            lines.append(f"| {' | '.join([*row, *(cells.get(case, '–') for case in columns)])} |")
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(self.notes, 1))] if self.notes else []
        return "\n".join(lines) + "\n"


def http(bed: Bed, folder: pathlib.Path, tls: dict, names: list) -> Table:
    table = Table()

    def report(server, row: tuple, case: str, found) -> None:
        version, is_secure = row
        lead = (f"{server.name} {server.version()}", f"HTTP/{version}", "TLS" if is_secure else "plain")
        table.report(lead, case, found)

    with servers.running(servers.Go(folder / "backend", tls, False)) as backend:
        for kind in daemons.PROXIES:
            if names and kind.name.lower() not in names:
                continue
            if servers.program(kind.program) is None:
                print(f"{kind.name} is not installed", file=sys.stderr)
                continue

            def make(is_short: bool, kind=kind):
                return kind(folder / f"{kind.name}-{is_short}", tls, is_short, backend.port)

            http_cases.table(bed, make, backend, report)
        for kind in (servers.Node, servers.Go):
            if not names or kind.name.lower() in names:
                def make(is_short: bool, kind=kind):
                    return kind(folder / f"{kind.name}-{is_short}", tls, is_short)

                http_cases.table(bed, make, None, report)
    return table


def main(arguments: list) -> int:
    os.environ["PATH"] = f"{os.environ['PATH']}:{GO}"
    writes = "--write" in arguments
    parts = [part for part in arguments if part in ("http", "grpc")] or ["http", "grpc"]
    names = [name.lower() for name in arguments if name not in ("--write", "http", "grpc")]
    for needed in ("go", "node", "openssl"):
        if shutil.which(needed) is None:
            sys.exit(f"{needed} is not installed")
    daemons.install()
    home = BUILDS / "interop"
    home.mkdir(parents=True, exist_ok=True)
    servers.Go.binary = servers.build_go(home)
    tables = {}
    with tempfile.TemporaryDirectory(prefix="throng-interop-") as space:
        os.chmod(space, 0o755)
        tls = servers.certificate(pathlib.Path(space))
        bed = Bed(space)
        if "http" in parts:
            found = http(bed, pathlib.Path(space) / "servers", tls, names)
            tables["http"] = (found, found.markdown(["server", "speaks", "over"], COLUMNS))
        if "grpc" in parts:
            tables["grpc"] = grpc_cases.table(bed, pathlib.Path(space) / "grpc", tls, home, names, Table)
    wrong = 0
    for name, (found, text) in tables.items():
        print(f"\n{text}", flush=True)
        wrong += len(found.notes)
        if writes:
            put(DOCUMENT, "interop", name, text)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
