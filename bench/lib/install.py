"""Installs the peers, each in the version that bench/peers.json names.

Programs come by their name from their own package manager: apt, go, cargo, npm, pip and maven. All
but apt's land in bench/.tools/. A peer that cannot be had here is no reason to stop and none to be
silent: it keeps its row in the tables, with the reason.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
TOOLS = BENCH / ".tools"
SCRIPTS = BENCH / "peer-scripts"
TABLE = BENCH / "peers.json"

# A compiler on a busy machine takes its time; one that hangs must not hold the bench for ever.
INSTALL_SECONDS_MAX = 1_800
REASON_CHARACTERS_MAX = 160


@dataclasses.dataclass(frozen=True)
class Tool:
    """One peer on this machine: how it is called, or why it cannot be."""

    name: str
    version: str
    command: tuple[str, ...]
    reason: str = ""

    @property
    def ready(self) -> bool:
        return bool(self.command)


class CannotInstall(Exception):
    """Why a peer is not to be had here."""


def table() -> dict[str, dict]:
    """The peers that are known, in the order in which they are shown."""
    return json.loads(TABLE.read_text())


def find(program: str) -> str | None:
    """Where a program is; Debian keeps some outside the path of ordinary users."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def call(command: list[str], **more) -> str:
    """Runs an installer to its end, and gives what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX,
                              stdin=subprocess.DEVNULL, **more)
    except FileNotFoundError:
        raise CannotInstall(f"{command[0]} is missing") from None
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{command[0]} took longer than {INSTALL_SECONDS_MAX} s") from None
    if done.returncode != 0:
        raise CannotInstall(f"{command[0]}: {reason(done.stdout + done.stderr)}")
    return done.stdout


def reason(printed: str) -> str:
    """The line of an installer's output that most likely says what was wrong."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    lines = [line.strip() for line in plain.splitlines() if line.strip()] or ["no message"]
    blamed = [line for line in lines if re.search("error", line, re.IGNORECASE)]
    return (blamed or lines)[-1][:REASON_CHARACTERS_MAX]


def apt(entry: dict, _home: pathlib.Path) -> list[str]:
    """The requested version, or, if the archive has moved on, the one that it has."""
    if not find(entry["program"]):
        if os.geteuid() != 0:
            raise CannotInstall(f"needs root: apt-get install {entry['package']}")
        call(["apt-get", "update", "-qq"])
        # Packages of servers would start them.
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        try:
            call([*install, f"{entry['package']}={entry['version']}"], env=quiet)
        except CannotInstall:
            call([*install, entry["package"]], env=quiet)
    return [find(entry["program"]) or ""]


def go(entry: dict, home: pathlib.Path) -> list[str]:
    """Built from its module; nothing of it stands outside `home` but Go's own cache."""
    call(["go", "install", f"{entry['package']}@{entry['version']}"],
         env={**os.environ, "GOBIN": str(home)})
    return [str(home / entry["program"])]


def cargo(entry: dict, home: pathlib.Path) -> list[str]:
    """Built with the lock file that it was published with."""
    call(["cargo", "install", "--quiet", "--locked", "--root", str(home),
          "--version", entry["version"], entry["package"]],
         env={**os.environ, "CARGO_TARGET_DIR": str(home / "target")})
    shutil.rmtree(home / "target", ignore_errors=True)
    return [str(home / "bin" / entry["program"])]


def npm(entry: dict, home: pathlib.Path) -> list[str]:
    """Installed without running what its packages would like to run."""
    call(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts",
          "--prefix", str(home), f"{entry['package']}@{entry['version']}"])
    return [str(home / "node_modules" / ".bin" / entry["program"])]


def pip(entry: dict, home: pathlib.Path) -> list[str]:
    """In an environment of its own."""
    call([sys.executable, "-m", "venv", str(home)])
    call([str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check",
          f"{entry['package']}=={entry['version']}", *entry.get("with", [])])
    return [str(home / "bin" / entry["program"])]


def maven(entry: dict, home: pathlib.Path) -> list[str]:
    """The simulations are compiled with it, so that a measured run starts a JVM and no compiler."""
    project = home / "project"
    shutil.copytree(SCRIPTS / "gatling", project, dirs_exist_ok=True)
    call(["mvn", "-q", "-B", f"-Dgatling.version={entry['version']}", "compile",
          "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"], cwd=project)
    path = (project / "classpath.txt").read_text().strip()
    return [find("java") or "", "-cp", f"{project / 'target' / 'classes'}:{path}",
            "io.gatling.app.Gatling"]


MANAGERS = {"apt": apt, "go": go, "cargo": cargo, "npm": npm, "pip": pip, "maven": maven}


def version_of(entry: dict) -> str:
    """The version in apt may differ from the requested one; the others install the requested version."""
    if entry["from"] == "apt" and shutil.which("dpkg-query"):
        return call(["dpkg-query", "-W", "-f", "${Version}", entry["package"]]).strip()
    return entry["version"]


def install(name: str) -> Tool:
    """Makes one peer ready. What was installed before in the same version is taken as it is."""
    entry = table()[name]
    home = TOOLS / name
    # The stamp is written last, so a broken install is done again.
    stamp = home / "installed.json"
    source = sorted((SCRIPTS / "gatling").rglob("*.*")) if entry["from"] == "maven" else []
    requested = {**entry, "source": [path.read_text() for path in source if path.is_file()]}
    if stamp.exists():
        known = json.loads(stamp.read_text())
        if known["requested"] == requested and os.access(known["command"][0], os.X_OK):
            return Tool(name, known["version"], tuple(known["command"]))
    home.mkdir(parents=True, exist_ok=True)
    try:
        command = MANAGERS[entry["from"]](entry, home)
        if not os.access(command[0], os.X_OK):
            raise CannotInstall(f"{entry['package']} brought no {entry['program']}")
        version = version_of(entry)
    except CannotInstall as error:
        return Tool(name, entry["version"], (), str(error))
    stamp.write_text(json.dumps({"requested": requested, "command": command, "version": version}) + "\n")
    return Tool(name, version, tuple(command))


def install_all(names: list[str]) -> dict[str, Tool]:
    """All peers, one after the other, each printed as it comes."""
    tools = {}
    for name in names:
        print(f"  {name:<11}", end=" ", flush=True)
        tools[name] = install(name)
        print(tools[name].version if tools[name].ready else f"not here: {tools[name].reason}")
    return tools
