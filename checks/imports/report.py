"""Tables in Markdown, and their places in docs/import-checks.md."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from docs_table import put  # noqa: E402

DOCUMENT = "docs/import-checks.md"


def markdown(heads: list[str], rows: list[list[str]], texts: int) -> str:
    """A table whose first columns are texts, and whose others are numbers."""
    line = ["---"] * texts + ["--:"] * (len(heads) - texts)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, line, *rows])


def write(name: str, text: str) -> None:
    """Puts a table between `<!-- imports: NAME -->` and `<!-- end -->`."""
    put(DOCUMENT, "imports", name, text)
