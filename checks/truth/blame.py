#!/usr/bin/env python3
"""Who is to blame? Situations in which the target, the network or the generator is known to be the limit, each run
several times on real sockets.

    checks/truth/blame.py [--repeat N] [--at-once N] [--json FILE] [SITUATION]...

A run is right if its first complaint - the first finding that is a warning or fatal - is one of those that are true
of the situation, and if no finding blames another side, be it only as a warning. Where nobody is to blame there is no
complaint at all. A run that blames the generator while the machine itself stopped all the time is right about that, and
not the situation that was meant: it is played again. Needs root: it makes namespaces and control groups.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from bed import Bed, Run, target
from network import SERVER, network
from stalls import Stalls

SITUATIONS = {}
NUMBERS = itertools.count()
NOTHING = "nothing"
# A machine whose sleepers wake later than this at the 99th percentile lets any generator lag; a lag of as much is a warning.
STALL_S = 0.001
TRIES = 10
# Findings that say who did it.
TARGETS = ("target-saturated", "target-stopped", "target-stalled", "target-limit")
GENERATORS = ("generator-", "connecting-limit")


# How many runs of a situation two cores bear at once: of one that takes little CPU, and of one that takes half a core.
# Precise loops keep the last core to themselves, so that runs that look at their lag alone are played one by one.
MANY, TWO = 6, 2


def situation(whose: str, *complaints: str, beside: tuple = (), at_once: int = 1):
    """`whose`: the side that is to blame, `target`, `generator` or `nobody`; `complaints`: those that name it, or all that
    may be said of nobody's; `beside`: those of the other side that may stand behind the first; `at_once`: how many runs of
    it may be played at once."""

    def add(run):
        SITUATIONS[run.__name__] = (whose, complaints, beside, run, at_once)
        return run

    return add


def scenario(port, steps: str, arrivals: str, options: str = "", address: str = "127.0.0.1") -> str:
    return f"""
name: blame
target: http://{address}:{port}/
sessions:
  visitor: [{steps}]
arrivals: [{arrivals}]
options: {{ drain: 1s{options} }}
"""


def at_target(bed: Bed, *options, steps="{ get: / }", rate="100/s", time="8s", more="", **how) -> Run:
    """A run of a constant rate against a target of these options."""
    with target(*options) as server:
        return bed.run(scenario(server.port, steps, f"{{ constant: {rate}, for: {time} }}", more), **how)


# The target.

# It answers after 100 ms. A shared machine stops for some milliseconds now and then; against answers that take less than
# one that is a lag of the generator, and Throng says so.
FAR = ("--delay", 0.1)

# A target that accepts nobody for some time keeps users waiting for connections, and they start late.
HELD = ("connecting-limit",)


@situation("target", "target-saturated", beside=HELD)
def cpu_bound(bed):
    return at_target(bed, "--spin", 0.003, rate="600/s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def single_threaded(bed):
    return at_target(bed, "--block", 1 / 480, rate="1000/s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def far_overloaded(bed):
    return at_target(bed, "--block", 1 / 480, rate="2000/s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def short_overload(bed):
    return at_target(bed, "--block", 1 / 480, rate="1000/s", time="4s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def overload_timeouts(bed):
    """It works on for users that have given up: after two seconds most answers are too late."""
    return at_target(bed, "--block", 1 / 480, rate="1000/s", more=", timeout: 1s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def far_overload_timeouts(bed):
    return at_target(bed, "--block", 1 / 480, rate="2000/s", more=", timeout: 1s")


@situation("target", "target-saturated", beside=HELD, at_once=TWO)
def short_overload_timeouts(bed):
    return at_target(bed, "--block", 1 / 480, rate="1000/s", time="4s", more=", timeout: 1s")


@situation("target", "target-saturated", beside=HELD, at_once=MANY)
def slow_to_accept(bed):
    """A hundred connections a second, from the first one on."""
    more = ", timeout: 30s, connect_timeout: 30s, connecting_max: 50"
    return at_target(bed, "--accept-every", 0.01, "--backlog", 4, rate="200/s", more=more)


@situation("target", "target-stalled", at_once=MANY)
def stalling(bed):
    return at_target(bed, *FAR, "--freeze-at", 3, "--freeze-for", 3, time="10s")


@situation("target", "target-stopped", at_once=TWO)
def frozen(bed):
    return at_target(bed, *FAR, "--freeze-at", 3, time="10s")


@situation("target", "errors", at_once=MANY)
def leaking(bed):
    return at_target(bed, *FAR, "--leak", 0.05, rate="200/s", more=", timeout: 1s")


@situation("target", "errors", "sessions-cut-off", at_once=MANY)
def leaking_long(bed):
    """They wait to the end of the run."""
    return at_target(bed, *FAR, "--leak", 0.1, rate="200/s", more=", timeout: 30s")


@situation("target", "errors", at_once=MANY)
def late(bed):
    return at_target(bed, *FAR, "--late", 0.46, "--late-by", 3, more=", timeout: 1s")


@situation("target", "errors", at_once=MANY)
def failing(bed):
    return at_target(bed, *FAR, "--fail", 0.5)


@situation("target", "errors", at_once=MANY)
def resetting(bed):
    return at_target(bed, *FAR, "--reset", 0.3)


@situation("target", "nothing-succeeded", at_once=MANY)
def refusing(bed):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return bed.run(scenario(probe.getsockname()[1], "{ get: / }", "{ constant: 200/s, for: 4s }"))


@situation("target", "target-saturated", "target-stopped", "nothing-succeeded", "steps-never-succeeded", at_once=MANY)
def accept_queue_full(bed):
    return at_target(bed, "--accept-nobody", "--backlog", 16, more=", connect_timeout: 2s, timeout: 4s")


@situation("target", "steps-never-succeeded", "target-saturated", at_once=MANY)
def slow_reader(bed):
    """4 KiB a second of a body of 60 KB, and five seconds to answer."""
    steps = "{ post: /, body: '${random_string(60000)}' }"
    return at_target(bed, "--slow-reader", steps=steps, rate="20/s", time="10s", more=", timeout: 5s")


@situation("target", "errors", "target-stopped", at_once=MANY)
def killed(bed):
    with target(*FAR) as server:

        def kill(_):
            time.sleep(4)
            server.process.kill()

        text = scenario(server.port, "{ get: / }", "{ constant: 200/s, for: 8s }")
        return bed.run(text, while_running=kill)


def slow_step(bed, timeout: str) -> Run:
    """Three steps, of which the second has a server of its own that does 50 a second. It has to be named."""
    steps = "{ get: /a }, { get: /slow }, { get: /b }"
    options = [*FAR, "--servers", 1, "--service", 0.02, "--queue-path", "/slow"]
    run = at_target(bed, *options, steps=steps, rate="100/s", time="10s", more=f", timeout: {timeout}")
    saturated = run.finding("target-saturated")
    if saturated and "GET /slow" not in saturated["text"]:
        raise ValueError(f"the step is not named: {saturated['text']}")
    return run


@situation("target", "target-saturated", at_once=MANY)
def one_slow_step(bed):
    return slow_step(bed, "30s")


@situation("target", "target-saturated", at_once=MANY)
def slow_step_timeouts(bed):
    return slow_step(bed, "1s")


@situation("nobody", at_once=TWO)
def closed_on_saturated(bed):
    """A closed load waits for its target: that is what it is for."""
    with target("--block", 1 / 480) as server:
        return bed.run(scenario(server.port, "{ get: / }", "{ users: 64, for: 8s }"))


# The network.


@situation("target", "target-saturated", at_once=MANY)
def slow_network(bed):
    with network(delay=0.005, bytes_per_s=125_000) as net:
        with target("--size", 10_000, "--address", SERVER, before=net.server) as server:
            text = scenario(server.port, "{ get: / }", "{ constant: 50/s, for: 8s }", ", timeout: 30s", SERVER)
            return bed.run(text, before=net.client)


@situation("target", "retransmits", "host-syn-retransmits", at_once=MANY)
def lossy_network(bed):
    with network(loss=0.05, delay=0.05) as net:
        with target("--address", SERVER, before=net.server) as server:
            text = scenario(server.port, "{ get: / }", "{ constant: 50/s, for: 8s }", ", timeout: 30s", SERVER)
            return bed.run(text, before=net.client)


@contextlib.contextmanager
def name_server(*options):
    """A namespace whose name server takes three seconds to answer: a command that runs others in it."""
    name = f"throng-dns-{os.getpid()}-{next(NUMBERS)}"
    etc = pathlib.Path("/etc/netns") / name
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        etc.mkdir(parents=True)
        (etc / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:10\n")
        inside = ["ip", "netns", "exec", name]
        names = [*inside, sys.executable, str(pathlib.Path(__file__).parent / "slow_names.py"), *map(str, options)]
        dns = subprocess.Popen(names, stdout=subprocess.PIPE)
        try:
            dns.stdout.readline()
            yield inside
        finally:
            dns.kill()
            dns.wait()
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)
        (etc / "resolv.conf").unlink(missing_ok=True)
        etc.rmdir()


def named(bed, inside, seconds: int) -> Run:
    with target(*FAR, before=inside) as server:
        arrivals = f"{{ constant: 100/s, for: {seconds}s }}"
        return bed.run(scenario(server.port, "{ get: / }", arrivals, address="slow.test"), before=inside)


@situation("nobody", at_once=MANY)
def slow_names(bed):
    """Names are resolved before the run."""
    with name_server() as inside:
        return named(bed, inside, 5)


@situation("nobody", at_once=MANY)
def slow_names_again(bed):
    """The name is good for a second, and is resolved again all the time. The run uses the known address."""
    with name_server(1) as inside:
        return named(bed, inside, 10)


# The generator.


@contextlib.contextmanager
def hello(bed: Bed, cores: str = ""):
    """The fastest target there is: its port."""
    before = ["taskset", "-c", cores] if cores else []
    command = [*before, str(bed.throng), "serve", "hello", "--listen", "127.0.0.1:0", "--until-stdin-closes"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        yield int(line.rsplit(":", 1)[1].split()[0].strip("/"))
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def cgroup(controller: str, **limits):
    """A control group of version 1: a command that runs others in it."""
    group = pathlib.Path("/sys/fs/cgroup") / controller / f"throng-{os.getpid()}-{next(NUMBERS)}"
    group.mkdir()
    try:
        for name, value in limits.items():
            (group / f"{controller}.{name}").write_text(str(value))
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


KEEP = "{ get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }"


@situation("generator", "generator-limited")
def fifth_of_a_core(bed):
    with hello(bed) as port, cgroup("cpu", cfs_period_us=100_000, cfs_quota_us=20_000) as before:
        return bed.run(scenario(port, KEEP, "{ constant: 8000/s, for: 6s }"), before=before)


@situation("generator", "generator-starved", "generator-lag", "generator-cpu")
def busy_neighbour(bed):
    spin = "while True: pass"
    neighbours = [
        subprocess.Popen(["taskset", "-c", "1", "nice", "-n", "-15", sys.executable, "-c", spin]) for _ in range(3)
    ]
    try:
        with hello(bed, "0") as port:
            text = scenario(port, KEEP, "{ constant: 500/s, for: 6s }")
            return bed.run(text, before=["taskset", "-c", "1"])
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


@situation("generator", "generator-files", at_once=TWO)
def out_of_files(bed):
    with hello(bed) as port:
        steps = "{ get: / }, { think: 5s }, { get: / }"
        text = scenario(port, steps, "{ constant: 200/s, for: 6s }", ", mode: precise, loops: 1")
        # Root without this capability cannot raise its limits.
        before = ["setpriv", "--bounding-set=-sys_resource", "prlimit", "--nofile=200:200", "--"]
        return bed.run(text, "--force", before=before)


@situation("generator", "generator-ports", at_once=TWO)
def out_of_ports(bed):
    with network() as net, target("--address", SERVER, before=net.server) as server:
        subprocess.run([*net.client, "sysctl", "-qw", "net.ipv4.ip_local_port_range=50000 50200"], check=True)
        steps = "{ get: / }, { think: 5s }, { get: / }"
        text = scenario(server.port, steps, "{ constant: 200/s, for: 6s }", address=SERVER)
        return bed.run(text, "--force", before=net.client)


@situation("generator", "generator-memory")
def out_of_memory(bed):
    with cgroup("memory", limit_in_bytes=100 << 20) as before:
        text = scenario(1, "{ think: 60s }, { get: / }", "{ constant: 100000/s, for: 6s }")
        return bed.run(text, "--force", before=before)


@situation("generator", NOTHING, "generator-lag")
def slow_disk(bed):
    """Every write of the record takes 300 ms."""
    shim = pathlib.Path(bed.space) / "slow_disk.so"
    source = pathlib.Path(__file__).parent / "slow_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
    with hello(bed) as port:
        text = scenario(port, "{ get: / }", "{ constant: 1000/s, for: 6s }")
        return bed.run(text, env={"LD_PRELOAD": str(shim)})


@situation("nobody")
def page_that_blocks(bed):
    """A viewer who reads nothing of the live page."""
    sockets = []

    def view(process):
        url = process.stderr.readline().split()[-1]
        request = urllib.request.Request(url)
        with contextlib.suppress(OSError):
            host, port = request.host.split(":")
            for _ in range(8):
                viewer = socket.create_connection((host, int(port)))
                path = request.selector.replace("/?", "/events?", 1)
                viewer.sendall(f"GET {path} HTTP/1.1\r\nhost: {request.host}\r\n\r\n".encode())
                sockets.append(viewer)

    with target(*FAR) as server:
        text = scenario(server.port, "{ get: / }", "{ constant: 1000/s, for: 6s }")
        try:
            return bed.run(text, "--ui", while_running=view)
        finally:
            for viewer in sockets:
                viewer.close()


@situation("generator", "generator-lag", "generator-starved", "generator-cpu")
def generator_stopped(bed):
    """SIGSTOP for three seconds."""

    def stop(process):
        time.sleep(3)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(process.pid, signal.SIGCONT)

    with hello(bed) as port:
        return bed.run(scenario(port, "{ get: / }", "{ constant: 500/s, for: 10s }"), while_running=stop)


@situation("generator", "connecting-limit", "generator-cpu", "generator-lag", "generator-starved")
def million_arrivals(bed):
    """The target shares the generator's cores, and may take what the loops want."""
    with hello(bed) as port:
        text = scenario(port, "{ get: / }", "{ constant: 1500000/s, for: 2s }")
        return bed.run(text, "--force")


# Both, and neither.


@situation("generator", "generator-limited")
def both(bed):
    """With both at once only the generator's limit is known."""
    with cgroup("cpu", cfs_period_us=100_000, cfs_quota_us=5_000) as before:
        return at_target(bed, "--block", 1 / 480, rate="6000/s", time="6s", before=before)


@situation("nobody")
def all_well(bed):
    with hello(bed) as port:
        return bed.run(scenario(port, KEEP, "{ constant: 500/s, for: 6s }"))


def judged(whose: str, complaints: tuple, beside: tuple, run: Run) -> tuple[bool, str]:
    """Whether the run is right, and its first complaint."""
    if not run.findings:
        return False, f"no run: {run.err.strip() or run.out.strip()}"[:300]
    grave = [f["code"] for f in run.findings if f["severity"] in ("warning", "fatal")]
    first = grave[0] if grave else NOTHING
    blames_other = {
        "target": lambda code: code.startswith(GENERATORS),
        "generator": lambda code: code in TARGETS,
        "nobody": lambda code: True,
    }[whose]
    strange = [code for code in grave if blames_other(code) and code not in (*complaints, *beside)]
    right = not strange and (whose == "nobody" or first in complaints)
    return right, first if right else ", ".join(grave) or NOTHING


def once(name: str) -> tuple[bool, str]:
    """One run of a situation: whether it was judged rightly, and its first complaint."""
    whose, complaints, beside, make, _ = SITUATIONS[name]
    with tempfile.TemporaryDirectory(prefix="throng-blame-") as space:
        try:
            return judged(whose, complaints, beside, make(Bed(space)))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return False, f"no run: {error!r}"


def played(name: str, stalls: Stalls) -> tuple[bool, str, int]:
    """A run of a situation, and how many were left out before it because the machine stopped."""
    for tried in range(TRIES):  # noqa: B007 (also used behind the loop)
        begun = time.monotonic()
        is_right, words = once(name)
        blames = not is_right and any(code in words for code in GENERATORS)
        if not blames or stalls.p99_s(begun, time.monotonic()) <= STALL_S:
            break
    return is_right, words, tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=MANY, help="the most runs of a situation at a time")
    parser.add_argument("--json", type=pathlib.Path, help="writes what was found")
    parser.add_argument("situations", nargs="*", choices=[*SITUATIONS, []], metavar="SITUATION")
    args = parser.parse_args()
    wrong, table, stalls = 0, [], Stalls()
    for name in args.situations or SITUATIONS:
        whose, *_, at_once = SITUATIONS[name]
        with concurrent.futures.ThreadPoolExecutor(min(args.at_once, at_once)) as pool:
            runs = list(pool.map(lambda name: played(name, stalls), [name] * args.repeat))
        right = sum(is_right for is_right, *_ in runs)
        said = collections.Counter(words for _, words, _ in runs)
        again = sum(tried for *_, tried in runs)
        wrong += args.repeat - right
        words = ", ".join(f"{text} ({n})" for text, n in said.most_common())
        words += f"; played again {again} times: the machine stopped" if again else ""
        print(f"{'ok   ' if right == args.repeat else 'WRONG'}  {name:20} {whose:9}  {right} of {args.repeat}: {words}", flush=True)
        table.append({"situation": name, "whose": whose, "right": right, "of": args.repeat, "said": said, "again": again})
    if args.json:
        args.json.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{args.repeat * len(table) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
