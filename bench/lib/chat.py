"""The chat under load: four transports beside each other, a crowd of one server, and its capacity."""

import json
import pathlib
import statistics
import subprocess
import tempfile

from lib import machine
from lib.held import free_port
from lib.process import THRONG, BenchError, Server, errors, measure, throng

EXAMPLES = machine.ROOT / "examples" / "chat"
SCENARIO = machine.BENCH / "scenarios" / "chat.yaml"
# Listeners come at this rate, and then have as long again and a little more.
RATE = 20_000
BROADCASTS = 5
WINDOW_S = 2
SLACK_SECONDS = 120
FEW_SOCKETS = 200
SETTLE_SECONDS = 60
MINUTES_MAX = 30
# The kernel's counters of a network namespace, and a command in a namespace of its own.
KERNEL = ("/proc/net/snmp", "/proc/net/netstat")
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def ours(*command: str, alone: bool = False) -> str:
    """What a verb of Throng printed; thresholds may fail, for the bench to judge."""
    done = subprocess.run([*(ALONE if alone else []), str(THRONG), *command], cwd=machine.ROOT,
                          text=True, check=False, capture_output=True, timeout=60 * MINUTES_MAX)
    if done.returncode not in (0, 1, 2):
        raise BenchError(f"throng {' '.join(command)}: {done.returncode} {done.stderr[-300:]}")
    return done.stdout


def transports() -> list[dict]:
    """The experiment of examples/chat/transports.yaml: a row a run.

    In a network namespace of its own (which takes root): there the kernel's own counters tell every
    packet and byte of a run, of both ends, and nothing else.
    """
    with tempfile.TemporaryDirectory() as folder:
        place, counters = pathlib.Path(folder, "experiment"), pathlib.Path(folder, "counters")
        counters.mkdir()
        file = pathlib.Path(folder, "transports.yaml")
        text = (EXAMPLES / "transports.yaml").read_text()
        text = text.replace("scenario: ", f"scenario: {EXAMPLES}/")
        for when in ("before", "after"):
            text += f"{when}: cat {' '.join(KERNEL)} > {counters}/$THRONG_RUN.{when}\n"
        file.write_text(text)
        ours("experiment", str(file), "--dir", str(place), "--quiet", alone=True)
        state = json.loads((place / "experiment.json").read_text())
        rows = []
        for run in state["runs"]:
            if run["stage"] != "done":
                raise BenchError(f"run {run['number']} is missing: {run.get('why')}")
            summary = json.loads((place / run["directory"] / "summary.json").read_text())
            if errors(summary):
                raise BenchError(f"{run['levels']}: {errors(summary)} errors")
            before, after = (kernel(counters / f"{run['number']}.{when}")
                             for when in ("before", "after"))
            transport, cookie = run["levels"]
            rows.append({"transport": transport, "cookie": int(cookie),
                         "kernel": {name: after[name] - before[name] for name in after},
                         "summary": summary})
    return rows


def kernel(path: pathlib.Path) -> dict[str, int]:
    """Segments that were sent, again or for the first time, and bytes of IP packets."""
    names: dict[str, int] = {}
    lines = path.read_text().splitlines()
    for heads, values in zip(lines[::2], lines[1::2]):
        kind, *keys = heads.split()
        names |= {kind + key: int(value) for key, value in zip(keys, values.split()[1:])}
    return {"packets": names["Tcp:OutSegs"] + names["Tcp:RetransSegs"],
            "retransmits": names["Tcp:RetransSegs"], "ip_bytes": names["IpExt:OutOctets"]}


def capacity(framings: list[str]) -> list[dict]:
    """The search of examples/chat/capacity.yaml, once for each framing: a row a run."""
    rows = []
    for framing in framings:
        with tempfile.TemporaryDirectory() as folder:
            ours("capacity", str(EXAMPLES / "capacity.yaml"), "--of", "rate", "--aim", "present", "--within", "100%",
                 "--repeat", "1", "--set", f"framing={framing}", "--runs", folder, "--quiet")
            [place] = pathlib.Path(folder).iterdir()
            search = json.loads((place / "search.json").read_text())
            for trial in search["trials"]:
                rows.append({"framing": framing} | tried(place / "runs", trial))
    return rows


def tried(runs: pathlib.Path, trial: dict) -> dict:
    """One rate: who came, who heard, and when the server was down."""
    run = runs / trial["run"]
    summary = json.loads((run / "summary.json").read_text())
    analysis = json.loads(ours("analyze", str(run), "--skip", "0s", "--json"))
    full = next(phase for phase in summary["phases"] if phase["name"] == "full")
    return {"rate": trial["load"], "outcome": trial["outcome"], "why": trial["why"],
            "verdict": summary["verdict"], "users": summary["users"], "errors": errors(summary),
            "joined": measure(summary, "join"),
            "said": measure(full, "said"), "availability": analysis["availability"]}


def crowd(transport: str, users: int) -> dict:
    """So many listeners: seconds of each broadcast until the last of them had it."""
    machine.settle(FEW_SOCKETS, SETTLE_SECONDS)
    connecting_s = users / RATE
    settle_s = connecting_s + 4
    listen = f"127.0.0.1:{free_port()}"
    server = Server("chat", "--connections", str(users + BROADCASTS), "--heartbeat", "0s",
                    "--phoenix-timeout", "0s", listen=listen, core=None)
    with server, tempfile.TemporaryDirectory() as folder:
        sets = [f"chat={server.url}", f"transport={transport}", f"rate={RATE}/s",
                f"connecting={round(connecting_s * 1e6)}us", f"settle={round(settle_s * 1e6)}us",
                f"speakers={60 // WINDOW_S}/min", f"window={WINDOW_S}s"]
        planned_s = connecting_s + settle_s + BROADCASTS * WINDOW_S
        summary, _ = throng(pathlib.Path(folder, "runs"), str(SCENARIO),
                            *(part for one in sets for part in ("--set", one)),
                            seconds_max=planned_s + SLACK_SECONDS)
    phases = {phase["name"]: phase for phase in summary["phases"]}
    heard = [measure(phases[f"broadcast-{n}"], "said") for n in range(1, BROADCASTS + 1)]
    row = {"transport": transport, "users": users, "connected": summary["users"]["connected"],
           "errors": errors(summary), "verdict": summary["verdict"],
           "lag_p99_ns": summary["health"]["lag_p99_ns"],
           "heard": [one["count"] for one in heard],
           "last_s": [one["response"]["max_ns"] / 1e9 for one in heard if one["response"]]}
    reported = f"{statistics.median(row['last_s']):.3f} s" if row["last_s"] else "nothing received"
    print(f"  {users:,} by {transport}: {reported}", flush=True)
    return row
