#!/usr/bin/env python3
"""What scripts/site.sh needs besides mdbook.

    scripts/site.py DIR           makes a book's sources in DIR: the pages of docs/SUMMARY.md and what they link to;
                                  docs/welcome.md becomes the site's front page, /index.html
    scripts/site.py --check DIR   fails if a link of the site in DIR leads nowhere
"""

import html.parser
import pathlib
import re
import shutil
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The front page of the site. It stands at the root there, as the summary does.
FRONT = "docs/welcome.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def is_relative(link: str) -> bool:
    return not re.match(r"[a-z]+:|//|#", link)


def without_code(text: str) -> str:
    """The text of a page without its code blocks and code spans."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "", text)


def linked(page: pathlib.Path) -> list:
    """The files that a page links to."""
    links = LINK.findall(without_code(page.read_text()))
    paths = [link.split("#")[0] for link in links if is_relative(link)]
    return [(page.parent / path).resolve() for path in paths]


def copy(path: pathlib.Path, into: pathlib.Path) -> None:
    place = into / path.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, place)


def from_root(text: str) -> str:
    """The text of a page of `docs` with its links as they are at the root."""

    def moved(match: re.Match) -> str:
        link = match.group(1)
        if not is_relative(link):
            return match.group(0)
        return f"]({link.removeprefix('../')})" if link.startswith("../") else f"](docs/{link})"

    return LINK.sub(moved, text)


def make_sources(into: pathlib.Path) -> None:
    """Copies each page, and each file that a page links to, to the place that it has in the repository."""
    summary = ROOT / "docs/SUMMARY.md"
    pages = linked(summary)
    for page in pages:
        if page != ROOT / FRONT:
            copy(page, into)
        for path in linked(page):
            if path.suffix == ".md" and path not in pages:
                sys.exit(f"{page.relative_to(ROOT)}: docs/SUMMARY.md does not list {path.relative_to(ROOT)}")
            if path.suffix != ".md":
                copy(path, into)
    (into / "index.md").write_text(from_root((ROOT / FRONT).read_text()))
    (into / "SUMMARY.md").write_text(from_root(summary.read_text()).replace(f"]({FRONT})", "](index.md)"))
    shutil.copyfile(ROOT / "docs/book.toml", into / "book.toml")


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check(site: pathlib.Path) -> None:
    # The page for printing has all pages in one, and 404 is served from anywhere.
    paths = [path for path in site.rglob("*.html") if path.name not in ("print.html", "404.html")]
    pages = {path.resolve(): Page(path) for path in paths}
    dead, links_count = [], 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link):
                continue
            links_count += 1
            file, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            is_dead = not target.is_file()
            if anchor and target in pages:
                is_dead |= anchor not in pages[target].anchors
            if is_dead:
                dead.append(f"{path.relative_to(site.resolve())}: {link}")
    if dead or not links_count:
        sys.exit("dead links in the site:\n  " + "\n  ".join(dead))
    print(f"{len(pages)} pages, {links_count} links")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(pathlib.Path(sys.argv[2]))
    else:
        make_sources(pathlib.Path(sys.argv[1]))
