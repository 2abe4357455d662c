"""Tables of documents that are the output of a program, such as an example of the crate `stats`."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def example(name: str) -> pathlib.Path:
    """The program of an example, built."""
    build = ["cargo", "build", "--release", "--locked", "--package", "stats", "--example", name]
    subprocess.run(build, cwd=ROOT, check=True)
    return TARGET / "release/examples" / name


def write(document: str, table: str, command: list, kind: str = "truth") -> None:
    """Puts what a command prints between `<!-- KIND: TABLE -->` and `<!-- end -->`."""
    found = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    put(document, kind, table, found.stdout)
    print(f"wrote {table}", flush=True)


def put(document: str, kind: str, table: str, text: str) -> None:
    """Puts a text between `<!-- KIND: TABLE -->` and `<!-- end -->`."""
    path = ROOT / document
    head, mark, rest = path.read_text().partition(f"<!-- {kind}: {table} -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    if not end:
        sys.exit(f"{path.name} has no place for the table {table}")
    temporary = path.with_suffix(".tmp")
    temporary.write_text(f"{head}{mark}{text}{end}{tail}")
    temporary.rename(path)
