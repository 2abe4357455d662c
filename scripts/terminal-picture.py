#!/usr/bin/env python3
"""Runs a command in a terminal and draws what stands there at its end.

    make picture
    scripts/terminal-picture.py --status 1 docs/images/verdict.svg -- target/release/throng run examples/incident.yaml

Nothing in a picture is made up: it is the screen that the program itself drew. The emulator knows
the control sequences that Throng uses and refuses all others. Needs Python alone.

Browsers collapse blanks in an SVG, and viewers remove the attribute that forbids it. So no text has two blanks in a row:
what stands apart is a text of its own, at its column and of its length. web/tests/pictures.test.ts looks at it in browsers.
"""

import argparse
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
from xml.sax.saxutils import escape

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN, TITLE_HEIGHT = 8.4, 19, 14, 16, 30
BACKGROUND, BAR, TEXT = "#12161c", "#1c222b", "#d5dbe3"
COLOURS = {31: "#ff7b72", 32: "#6fd08c", 33: "#e3b341"}
# Words with single blanks between them.
WORDS = re.compile(r"\S+(?: \S+)*")
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Terminal:
    """The lines of a terminal that never scrolls: it is as long as what is written to it."""

    def __init__(self):
        self.lines, self.row, self.column, self.rendition = [[]], 0, 0, ()
        self.rest, self.decoder = "", codecs.getincrementaldecoder("utf-8")()

    def feed(self, data):
        text = self.rest + self.decoder.decode(data)
        self.rest, at = "", 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
            elif found := SEQUENCE.match(text, at):
                self.control(found[1], found[2])
                at = found.end()
            else:
                self.rest = text[at:]
                if len(self.rest) > 32:
                    sys.exit(f"not a sequence this script knows: {self.rest[:32]!r}")
                return

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
            while len(self.lines) <= self.row:
                self.lines.append([])
        else:
            line = self.lines[self.row]
            line.extend([(" ", ())] * (self.column + 1 - len(line)))
            line[self.column] = (char, self.rendition)
            self.column += 1

    def control(self, parameters, final):
        number = int(parameters) if parameters.isdigit() else 0
        if final == "m":
            codes = [int(code or 0) for code in parameters.split(";")]
            for code in codes:
                self.rendition = () if code == 0 else (*self.rendition, code)
        elif final == "A":
            self.row = max(0, self.row - max(number, 1))
        elif final == "G":
            self.column = max(number, 1) - 1
        elif final == "K" and number == 0:
            del self.lines[self.row][self.column :]
        elif final == "J" and number == 0:
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        elif not (final in "hl" and parameters == "?2026"):
            sys.exit(f"not a sequence this script knows: ESC[{parameters}{final}")

    def snapshot(self):
        lines = [list(line) for line in self.lines]
        while lines and not any(char.strip() for char, _ in lines[-1]):
            lines.pop()
        return lines


def pieces(line):
    """The line as (column, text, rendition), cut where the rendition changes and where there are several blanks."""
    runs = []
    for column, (char, rendition) in enumerate(line):
        if runs and runs[-1][2] == rendition:
            runs[-1][1] += char
        else:
            runs.append([column, char, rendition])
    return [
        (column + word.start(), word[0], rendition)
        for column, text, rendition in runs
        for word in WORDS.finditer(text)
    ]


def svg(title, lines, columns):
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = TITLE_HEIGHT + len(lines) * LINE_HEIGHT + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        f'<path d="M0 {TITLE_HEIGHT}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{TITLE_HEIGHT}z" '
        f'fill="{BAR}"/>',
        f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" '
        f'font-size="{FONT_SIZE}" fill="{TEXT}">',
        f'<text x="{MARGIN}" y="20" opacity="0.7">{escape(title)}</text>',
    ]
    for row, line in enumerate(lines):
        y = TITLE_HEIGHT + MARGIN + row * LINE_HEIGHT + FONT_SIZE
        for column, text, rendition in pieces(line):
            style = "".join(f' fill="{COLOURS[c]}"' for c in rendition if c in COLOURS)
            style += ' font-weight="bold"' if 1 in rendition else ""
            style += ' opacity="0.6"' if 2 in rendition else ""
            # The length keeps columns straight whatever font there is.
            out.append(
                f'<text x="{MARGIN + column * CELL_WIDTH:.1f}" y="{y}"{style} '
                f'textLength="{len(text) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">'
                f"{escape(text)}</text>"
            )
    return "\n".join([*out, "</g>", "</svg>", ""])


def play(command, columns, rows):
    """Runs the command; returns its screen at the end, and its status."""
    child, master = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    terminal = Terminal()
    while True:
        if select.select([master], [], [], 0.1)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            terminal.feed(data)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return terminal.snapshot(), status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=118)
    parser.add_argument("--rows", type=int, default=34)
    parser.add_argument("--status", type=int, default=0, help="with which the command has to end")
    parser.add_argument("picture", metavar="SVG")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    lines, status = play(args.command, args.columns, args.rows)
    if status != args.status:
        sys.exit(f"no picture: the command ended with {status}")
    shown = " ".join([os.path.basename(args.command[0]), *args.command[1:]])
    shown = " ".join(shown.split())
    with open(args.picture, "w", encoding="utf-8") as file:
        file.write(svg(f"$ {shown}", lines, args.columns))


if __name__ == "__main__":
    main()
