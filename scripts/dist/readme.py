#!/usr/bin/env python3
"""Writes what the README has its readers do, up to the build from source, as follow.sh and files: readme.py FOLDER

Servers run in the background until the script ends, and runs are short; limits on response times are wide.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEAD = """\
for program in cargo rustc rustup; do
    if command -v "$program" >/dev/null; then
        echo "this root has $program" >&2
        exit 1
    fi
done
began=$SECONDS
python3 -m venv venv
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
"""
# A server is there once it says where.
SERVED = """\
{command} >served 2>&1 &
for _ in {{1..150}}; do
    ! grep -q '^listening on ' served || break
    sleep 0.1
done
grep '^listening on ' served || {{ cat served >&2; exit 1; }}
"""
END = 'echo "the README was followed in $((SECONDS - began)) s"\n'


def shortened(text):
    text = re.sub(r"--duration \S+", "--duration 2s", text)
    text = re.sub(r"for: \d+s", "for: 2s", text)
    return re.sub(r"(p\d+\(\w+\)) < \S+", r"\1 < 10s", text)


def main(folder):
    text = (ROOT / "README.md").read_text().partition("\n## From source\n")[0]
    script = HEAD
    for kind, file, code in BLOCK.findall(text):
        if file:
            (folder / file).write_text(shortened(code))
            continue
        if kind != "sh":
            sys.exit(f"README.md has a block of the unknown kind {kind}")
        for line in code.splitlines():
            command = shortened(line)
            if command.startswith("throng run "):
                command += " --set options.lag_max=10s"
            script += f"echo '$ {line}'\n"
            script += SERVED.format(command=command) if command.startswith("throng serve ") else f"{command}\n"
    (folder / "follow.sh").write_text(script + END)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
