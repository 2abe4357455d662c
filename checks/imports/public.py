#!/usr/bin/env python3
"""Imports files that other people wrote, and says of each of their elements whether it was carried over.

    checks/imports/public.py [--write] [--verbose] DIRECTORY

The directory has folders `jmx`, `postman` and `openapi` with test plans of JMeter, collections of Postman and
descriptions in OpenAPI; none comes with Throng. Each file is imported with `--lenient`, and `throng check` reads what is
written. Then the file is imported again without each of its elements in turn:

  carried   the scenario is another one without it
  named     only the messages are others, without it or without all of its kind
  lost      nothing is

Fails if anything is lost or refused. `--write` puts the table into docs/import-checks.md; `--verbose` prints what is
lost. THRONG names another binary than the release build. Needs PyYAML.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from elements import KINDS, Element, without  # noqa: E402
from report import ROOT, markdown, write  # noqa: E402

THRONG = os.environ.get("THRONG", str(ROOT / "target/release/throng"))
SECONDS_MAX = 60
TITLES = {"jmx": "JMeter", "postman": "Postman", "openapi": "OpenAPI"}


class Importer:
    """Imports texts under the name of one file, beside the files that this one names."""

    def __init__(self, kind: str, path: pathlib.Path, space: pathlib.Path) -> None:
        self.kind, self.path, self.output = kind, path, space / "scenario.yaml"
        self.input = path.parent / f".{path.stem}.checked{'.json' if kind != 'jmx' else path.suffix}"

    def run(self, text: bytes) -> tuple[str | None, tuple]:
        """The scenario, if there is one, and what was said, without places."""
        self.input.write_bytes(text)
        self.output.unlink(missing_ok=True)
        command = [THRONG, "import", "--lenient", *(["--all-methods"] if self.kind == "openapi" else []),
                   "--output", str(self.output), str(self.input)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        finally:
            self.input.unlink()
        if done.returncode in (101, 134, 139):
            raise RuntimeError(f"{self.path.name}: {done.stderr[-500:]}")
        said = collections.Counter(
            re.sub(r"\d+", "…", line) for line in done.stderr.splitlines() if re.match(r"\s*[×⚠☞]|\w+:", line)
        )
        scenario = self.output.read_text() if self.output.exists() else None
        return scenario, tuple(sorted(said.items()))

    def check(self) -> str:
        """What `throng check` says against the scenario; empty: nothing."""
        names = set(re.findall(r"env\('([^']+)'\)", self.output.read_text()))
        # What a variable is for, a URL or not, the scenario does not say.
        for value in ("x", "http://127.0.0.1:1"):
            done = subprocess.run([THRONG, "check", str(self.output)], capture_output=True, text=True,
                                  env={**os.environ, **dict.fromkeys(names, value)}, timeout=SECONDS_MAX)
            if done.returncode == 0:
                return ""
        return done.stderr


def judged(importer: Importer, text: bytes) -> tuple[str, dict[str, list[Element]]]:
    """What became of the file, and its elements by what became of them."""
    def gone(*elements: Element) -> tuple[str | None, tuple]:
        return importer.run(without(importer.kind, text, list(elements)))

    scenario, said = gone()
    if scenario is None:
        return "refused", {}
    state = importer.check() and "check fails"

    def fate(*elements: Element) -> str:
        found, others = gone(*elements)
        return "carried" if found != scenario else "named" if others != said else "lost"

    fates: dict[Element, str] = {}
    for element in KINDS[importer.kind](text):
        fates[element] = fate(element)
        # What stands in or below something that is named goes with it.
        if fates[element] == "lost" and fates.get(element.owner) == "named":
            fates[element] = "named"
    # What is said once of several is not unsaid without one of them.
    lost = [element for element in fates if fates[element] == "lost"]
    for kind in {element.kind for element in lost}:
        alike = [element for element in lost if element.kind == kind]
        if len(alike) > 1:
            fates |= dict.fromkeys(alike, fate(*alike))
    by_fate: dict[str, list[Element]] = {}
    for element, found in fates.items():
        by_fate.setdefault(found, []).append(element)
    return state, by_fate


def main(arguments: list[str]) -> int:
    directories = [argument for argument in arguments if not argument.startswith("--")]
    if len(directories) != 1:
        sys.exit(__doc__)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory(prefix="throng-imports-") as space:
        for kind in KINDS:
            files = sorted(path for path in (pathlib.Path(directories[0]) / kind).glob("[!.]*") if path.is_file())
            for path in files:
                importer = Importer(kind, path, pathlib.Path(space))
                state, fates = judged(importer, path.read_bytes())
                counts = [len(fates.get(fate, [])) for fate in ("carried", "named", "lost")]
                wrong += counts[2] + bool(state)
                rows.append([f"`{path.name}`", TITLES[kind], state or "✓", str(sum(counts)), *map(str, counts)])
                print("  ".join(rows[-1]), flush=True)
                if "--verbose" in arguments:
                    for element in fates.get("lost", []):
                        print(f"    lost: {element.kind} {element.name!r}")
    heads = ["file", "of", "`throng check`", "elements", "carried", "named", "lost"]
    text = markdown(heads, rows, texts=3)
    print(f"\n{text}")
    if "--write" in arguments:
        write("public", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
