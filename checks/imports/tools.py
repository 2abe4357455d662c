"""JMeter and newman, from Maven Central and the npm registry."""

import os
import pathlib
import shutil
import subprocess
import zipfile

from report import ROOT

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "imports"
JMETER, NEWMAN = "5.6.3", "6.2.2"
INSTALL_SECONDS_MAX = 1_800
RUN_SECONDS_MAX = 300


def call(command: list[str], **more) -> subprocess.CompletedProcess:
    """Runs a program to its end, whatever it returns."""
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"{command[0]} is not installed")
    more = {"timeout": RUN_SECONDS_MAX, "stdin": subprocess.DEVNULL, **more}
    return subprocess.run(command, capture_output=True, text=True, **more)


def install(command: list[str]) -> None:
    done = call(command, timeout=INSTALL_SECONDS_MAX)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stdout + done.stderr)[-500:]}")


def jmeter() -> list[str]:
    """The command of JMeter; its folder has the libraries, and the settings that its own archive brings."""
    home = HOME / f"jmeter-{JMETER}"
    if not (home / "bin/jmeter.properties").exists():
        (home / "lib/ext").mkdir(parents=True, exist_ok=True)
        install(["mvn", "-q", "-B", "-f", str(HERE / "jmeter/pom.xml"), f"-Djmeter.version={JMETER}",
                 "dependency:copy-dependencies", f"-DoutputDirectory={home / 'lib'}"])
        for jar in (home / "lib").glob("ApacheJMeter_*.jar"):
            jar.rename(home / "lib/ext" / jar.name)
        with zipfile.ZipFile(home / f"lib/ext/ApacheJMeter_config-{JMETER}.jar") as archive:
            archive.extractall(home, [name for name in archive.namelist() if name.startswith("bin/")])
    return ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true", f"-Djmeter.home={home}",
            "-cp", f"{home}/lib/*:{home}/lib/ext/*", "org.apache.jmeter.NewDriver"]


def newman() -> list[str]:
    """The command of newman."""
    home = HOME / f"newman-{NEWMAN}"
    program = home / "node_modules/.bin/newman"
    if not program.exists():
        install(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home),
                 f"newman@{NEWMAN}"])
    return [str(program)]
