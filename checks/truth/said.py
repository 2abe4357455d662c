"""Cases of `cases.py` about what is said of the generator, of the plan and of faults in a scenario."""

import os
import pathlib
import re
import signal
import subprocess
import time

from bed import Bed, Cases, near, require, scenario, target

CASES = Cases()
waits = CASES.waits


def cpu_s(pid: int) -> float:
    """CPU time that a process has taken."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@waits
def idle_loop(bed: Bed) -> str:
    """Three users who think for seconds: no loop is busy in any second, as the kernel's account of the process says."""
    seen = {}

    def watch(process: subprocess.Popen) -> None:
        time.sleep(3)
        seen["cpu_s"], begun = cpu_s(process.pid), time.monotonic()
        time.sleep(5)
        seen["share"] = (cpu_s(process.pid) - seen["cpu_s"]) / (time.monotonic() - begun)

    with target() as server:
        steps = "{ get: / }, { think: 7s }, { get: / }"
        run = bed.run(scenario(server.port, steps, "{ constant: 3/s, for: 1s }, { hold: 9s, until: done }"), while_running=watch)
    health = run.summary["health"]
    mean, most = health["loop_busy_mean"], health["loop_busy_max"]
    require(seen["share"] < 0.2, f"the process took {seen['share']:.0%} of a core")
    require(most < 0.5, f"a loop of a process that took {seen['share']:.1%} of a core was busy with {most:.0%} of one")
    require("generator-cpu" not in run.codes, f"findings: {run.codes}")
    return f"mean {mean:.1%}, at most {most:.1%} of a core; the kernel says {seen['share']:.1%}"


@waits
def interrupted(bed: Bed) -> str:
    """Ctrl-C in the middle of a run: the generator did all that was due until then, and is not blamed."""

    def stop(process: subprocess.Popen) -> None:
        time.sleep(5)
        process.send_signal(signal.SIGINT)

    with target("--delay", 0.5) as server:
        run = bed.run(scenario(server.port, "{ get: / }", "{ constant: 50/s, for: 60s }"), while_running=stop)
        counts = server.stop()
    blamed = [finding["text"] for finding in run.findings if finding["code"].startswith("generator-")]
    blamed = [text for text in blamed if "fell behind" in text]
    require(not blamed, f"{blamed}")
    users = run.summary["users"]
    require(users["started"] >= 0.95 * users["due"], f"{users['due']} were due, {users['started']} started")
    require(users["started"] == counts["received"], f"{users['started']} started; the target counted {counts['received']}")
    require("run-incomplete" in run.codes, f"findings: {run.codes}")
    return f"{users['due']} due, {users['started']} started, {counts['received']} requests; exit code {run.code}"


@waits
def planned_users(bed: Bed) -> str:
    """An even phase plans as many users as it starts, and as many come."""
    said = []
    for arrivals in ("{ ramp: 0/s..7/s, for: 3s }", "{ constant: 2.5/s, for: 1s }", "{ constant: 7/s, for: 1500ms }"):
        with target() as server:
            run = bed.run(scenario(server.port, "{ get: / }", arrivals))
            counts = server.stop()
        users = run.summary["users"]
        three = users["planned"], users["started"], counts["received"]
        require(len(set(three)) == 1, f"{arrivals}: {three[0]} planned, {three[1]} started, {three[2]} requests")
        said.append(f"{users['planned']:.0f}")
    require(said[0] == "11", f"{said[0]} users; the ramp's 10.5 are 11")
    return f"{', '.join(said)} users"


@waits
def line_of_an_error(bed: Bed) -> str:
    """What cannot be computed is named by the line of the scenario in which it stands."""
    with target() as server:
        text = f"""name: truth
target: http://127.0.0.1:{server.port}/
sessions:
  visitor:
    - get: /
      save: {{ text: body }}
    - loop: 2
      steps:
        - set: {{ seen: 1 }}
        # It stands below.
        - set:
            half: "${{text / 2}}"
arrivals: [ {{ constant: 10/s, for: 1s }} ]
"""
        run = bed.run(text)
    line = next(number for number, words in enumerate(text.splitlines(), 1) if "half:" in words)
    found = run.finding("own-failures")["text"]
    named = re.search(r"line (\d+)", found)
    require(bool(named) and int(named.group(1)) == line, f"it is line {line}: {found}")
    return found


METERS = """
meters:
  CRUM:
    states: moments
    inputs:
      - { name: machine, probe: memory_used }
      - { name: cpu, probe: cpu_busy }
      - { name: server, probe: memory_resident, unit: MiB }
"""


@waits
def meters_of_two_probes(bed: Bed) -> str:
    """A meter of the host and of the target's process, which are read at different times: it has moments, and the server's
    memory is what the kernel says."""
    seen = {}

    def watch(_) -> None:
        time.sleep(5)
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        seen["mib"] = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    with target() as server:
        probes = f"probes: [ host, {{ process: {{ pid: {server.process.pid} }}, role: servers }} ]"
        text = scenario(server.port, "{ get: / }", "{ constant: 20/s, for: 8s }", more=probes)
        run = bed.run(text, while_running=watch)
    require(bool(run.findings), f"no run: {(run.err or run.out)[-500:]}")
    file = bed.space / "meters.yaml"
    file.write_text(METERS)
    said = bed.throng_out("meters", run.path, "--meters", file)
    moments = re.search(r"CRUM \((\d+) moments\)", said)
    require(bool(moments) and int(moments.group(1)) >= 4, f"{said}")
    require("interpolated" in said or "carried" in said, f"nothing of how the two were joined: {said}")
    server_line = next(line for line in said.splitlines() if re.match(r"\s+server\b", line))
    values = [float(value) for value in re.findall(r"\d+\.?\d*", server_line)]
    require(any(near(value, seen["mib"], 0.05) for value in values), f"{seen['mib']:.1f} MiB; {server_line}")
    return f"{moments.group(0)}; {' '.join(server_line.split())}, {seen['mib']:.1f} MiB in truth"
