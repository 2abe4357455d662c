"""A tool's run of the incident: its command, what it printed, and what the target served meanwhile."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from lib import machine
from lib.install import SCRIPTS, Tool
from lib.process import BenchError, Server

SHOP = machine.ROOT / "examples" / "incident.py"
SCENARIO = machine.ROOT / "examples" / "incident.yaml"
# Of the load, of the incident in it, and in which a tool has to start and to write its report.
SECONDS, BEGIN_S, END_S = 60, 15, 25
SLACK_SECONDS = 120
# Visits a second; a tool of closed loads takes two users for each.
RATE = 30
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def throng(tool: Tool, url: str, folder: pathlib.Path) -> list[str]:
    return [*tool.command, "run", str(SCENARIO), "--set", f"target={url}/", "--runs", str(folder / "runs")]


def k6(tool: Tool, _url: str, _folder: pathlib.Path) -> list[str]:
    return [*tool.command, "run", "--quiet", "--no-usage-report", "--address", "", str(SCRIPTS / "incident.js")]


def gatling(tool: Tool, url: str, folder: pathlib.Path) -> list[str]:
    java, *rest = tool.command
    # Its text at the end alone.
    wants = {"url": url, "seconds": SECONDS, "rate": RATE, "gatling.data.console.writePeriod": 3600,
             "gatling.data.enableAnalytics": "false"}
    return [java, "-Xmx1G", "--add-opens=java.base/java.lang=ALL-UNNAMED",
            *(f"-D{name}={value}" for name, value in wants.items()), *rest,
            "-s", "bench.Incident", "-rf", str(folder)]


def locust(tool: Tool, _url: str, _folder: pathlib.Path) -> list[str]:
    users = str(2 * RATE)
    return [*tool.command, "-f", str(SCRIPTS / "incident_locust.py"), "--headless", "--only-summary",
            "--loglevel", "WARNING", "-u", users, "-r", users, "-t", f"{SECONDS}s"]


# In the order in which they are shown.
TOOLS = {"throng": throng, "k6": k6, "gatling": gatling, "locust": locust}


def one(tool: Tool, folder: pathlib.Path) -> dict:
    """A row of raw data: exit code, text, and the truth by the log of the shop."""
    log = folder / "served.jsonl"
    shop = [sys.executable, str(SHOP), "--port", "0", "--log", str(log)]
    with Server.of(shop, core=None) as server:
        variables = {"URL": server.url, "SECONDS": str(SECONDS), "RATE": str(RATE), "NO_COLOR": "1", "COLUMNS": "120"}
        command = TOOLS[tool.name](tool, server.url, folder)
        try:
            # Progress of ours goes to standard error; of the others, both are at their users' terminal.
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL if tool.name == "throng" else subprocess.STDOUT,
                                  timeout=SECONDS + SLACK_SECONDS, env={**os.environ, **variables}, cwd=folder, check=False)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{tool.name} took longer than {SECONDS + SLACK_SECONDS} s") from None
        port = server.port
    text = COLOURS.sub("", done.stdout.decode("utf-8", "replace"))
    return {"code": done.returncode, "text": tidy(text, folder, port), "served": served(log)}


def tidy(text: str, folder: pathlib.Path, port: int) -> str:
    """For readers: without places of this machine, and without lines that were written over."""
    text = text.replace(str(folder), "$TMP").replace(f"{machine.ROOT}/", "").replace(f":{port}", ":8080")
    lines = [line.rpartition("\r")[2].rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def served(log: pathlib.Path) -> dict:
    """Checkouts in the incident: how many, how many failed, and the median of the others."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [row for row in rows if row["target"] == "/checkout" and BEGIN_S <= row["at_s"] < END_S]
    took = [row["took_s"] for row in rows if row["status"] == 200]
    if not took:
        raise BenchError("the shop served no checkout in its incident")
    return {"checkouts": len(rows), "failed": len(rows) - len(took), "p50_ms": 1000 * statistics.median(took)}
