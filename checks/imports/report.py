"""Tables in Markdown, and their places in docs/import-checks.md."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/import-checks.md"


def markdown(heads: list[str], rows: list[list[str]], texts: int) -> str:
    """A table whose first columns are texts, and whose others are numbers."""
    line = ["---"] * texts + ["--:"] * (len(heads) - texts)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, line, *rows])


def write(name: str, text: str) -> None:
    """Puts a table between `<!-- imports: NAME -->` and `<!-- end -->`."""
    head, mark, rest = DOCUMENT.read_text().partition(f"<!-- imports: {name} -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    if not end:
        sys.exit(f"{DOCUMENT.name} has no place for the table {name}")
    DOCUMENT.write_text(f"{head}{mark}{text}{end}{tail}")
