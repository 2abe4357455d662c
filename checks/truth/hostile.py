#!/usr/bin/env python3
"""Targets, kills and files that once hurt a run or its record, each against what is known of it.

    checks/truth/hostile.py [CASE]...    all of them, or these; THRONG names another binary

Prints a line for each, with what Throng said, and fails if one is wrong. With an older binary it shows what was wrong
then.
"""

import asyncio
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time

from bed import Bed, Cases, near, require, scenario, target
from limits import CASES as LIMITS
from limits import certificate
from peer import Peer, answer, head, receive, text, upgrade

CASES = Cases()
case = CASES.case


def errors(run) -> dict:
    """How many operations of each kind failed."""
    found = {}
    for measure in run.summary["measures"]:
        for kind, count in measure["errors_by_kind"].items():
            found[kind] = found.get(kind, 0) + count
    return found


@case
def deep_json(bed: Bed) -> str:
    """A body nested 20,000 deep, from which a step saves a value: the step fails, not the generator."""
    body = b'{"a":' * 20_000

    async def nested(_, reader, writer):
        while True:
            await head(reader)
            writer.write(answer(body))

    with Peer(nested) as peer:
        steps = "{ get: /, as: page, save: { x: /a/b } }"
        run = bed.run(scenario(peer.port, steps, "{ constant: 10/s, for: 1s }"))
        workers = bed.run(scenario(peer.port, steps, "{ constant: 10/s, for: 1s }"), "--workers", 2)
    for one in [run, workers]:
        require(one.code == 1, f"exit code {one.code}: {one.err[-300:]}")
        page = one.measure("page")
        require(page["errors"] == page["count"] == 10, f"{page['errors']} of {page['count']} failed")
    return f"exit code {run.code}: {errors(run)}"


@case
def killed(bed: Bed) -> str:
    """SIGKILL after 12 s at 500/s: all that is older than five seconds is there. `make kill` counts the rows."""
    with target() as server:
        ended = []

        def kill(process):
            time.sleep(12)
            process.send_signal(signal.SIGKILL)
            ended.append(time.monotonic())

        bed.run(scenario(server.port, "{ get: /, as: page }", "{ constant: 500/s, for: 60s }"), while_running=kill)
        counts = server.stop()
    directory = next((bed.space / str(bed.runs) / "runs").iterdir())
    shown = json.loads(bed.throng_out("show", "--json", directory))
    page = next((m for m in shown["measures"] if m["name"] == "page"), {"count": 0, "rate_per_s": 0})
    segments = list((directory / "requests.parquet.parts").glob("*.parquet"))
    answered = counts["answered"]
    require(bool(segments), "there are no rows")
    require(page["count"] >= answered - 5 * 500, f"{page['count']} of {answered} answers")
    require(near(page["rate_per_s"], 500, 0.05), f"a rate of {page['rate_per_s']}/s")
    return f"{page['count']} of {answered} answers in {len(segments)} segments, {page['rate_per_s']:.0f}/s"


@case
def killed_at_a_high_rate(bed: Bed) -> str:
    """SIGKILL after 12 s at 20,000/s: the newest segment of rows was closed less than five seconds before. `make test`
    counts the rows at such a rate."""
    hello = subprocess.Popen(
        [str(bed.throng), "serve", "hello", "--listen", "127.0.0.1:0", "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    ended = []

    def kill(process):
        time.sleep(12)
        process.send_signal(signal.SIGKILL)
        ended.append(time.time())

    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", hello.stdout.readline()).group(1))
        options = "{ http_connections: shared }"
        text_ = scenario(port, "{ get: /, as: page }", "{ constant: 20000/s, for: 60s }", options=options)
        bed.run(text_, while_running=kill)
    finally:
        hello.kill()
        hello.wait()
    directory = next((bed.space / str(bed.runs) / "runs").iterdir())
    segments = list((directory / "requests.parquet.parts").glob("*.parquet"))
    require(bool(segments), "there are no rows")
    age = ended[0] - max(segment.stat().st_mtime for segment in segments)
    shown = json.loads(bed.throng_out("show", "--json", directory))
    page = next((m for m in shown["measures"] if m["name"] == "page"), {"count": 0})
    require(age < 5, f"the newest of {len(segments)} segments was closed {age:.1f} s before")
    return f"{page['count']} requests, {len(segments)} segments, the newest closed {age:.1f} s before"


@case
def channel_closed(bed: Bed) -> str:
    """A server ends the channel of 100 of 100 users, by Socket.IO and Phoenix: each is counted, and is a finding."""

    async def socketio(_, reader, writer):
        await upgrade(reader, writer)
        writer.write(text('0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}'))
        await receive(reader)
        writer.write(text('40{"sid":"y"}'))
        await asyncio.sleep(0.3)
        writer.write(text("41"))
        await receive(reader)

    async def phoenix(_, reader, writer):
        await upgrade(reader, writer)
        joined, number, topic, _, _ = json.loads(await receive(reader))
        writer.write(text([joined, number, topic, "phx_reply", {"status": "ok", "response": {}}]))
        await asyncio.sleep(0.3)
        writer.write(text([joined, joined, topic, "phx_error", {}]))
        await receive(reader)

    said = []
    for name, script, protocol, join in [
        ("socket.io", socketio, "socket.io", "{ join: / }"),
        ("phoenix", phoenix, "phoenix", "{ join: room }"),
    ]:
        with Peer(script) as peer:
            steps = f"{{ ws: /socket, protocol: {protocol} }}, {join}, {{ think: 2s }}"
            run = bed.run(scenario(peer.port, steps, "{ constant: 100/s, for: 1s }"))
        closed = errors(run).get("channel-closed", 0)
        require(closed == 100, f"{name}: {errors(run)}, findings {run.codes}")
        require(run.verdict != "passed" and "channels-ended" in run.codes, f"{name}: {run.verdict}, {run.codes}")
        said.append(f"{name} {closed}")
    return ", ".join(said)


@case
def unknown_event(bed: Bed) -> str:
    """A push to an event that the channel does not know crashes it: 20 of 20 users see it, without a word of theirs."""

    async def phoenix(_, reader, writer):
        await upgrade(reader, writer)
        joined, number, topic, _, _ = json.loads(await receive(reader))
        writer.write(text([joined, number, topic, "phx_reply", {"status": "ok", "response": {}}]))
        # The push, and what becomes of the process that gets it.
        await receive(reader)
        writer.write(text([joined, joined, topic, "phx_error", {}]))
        await receive(reader)

    with Peer(phoenix) as peer:
        steps = "{ ws: /socket, protocol: phoenix }, { join: room }, { push: { event: nope }, as: said }, { think: 2s }"
        run = bed.run(scenario(peer.port, steps, "{ constant: 20/s, for: 1s }"))
    closed = errors(run).get("channel-closed", 0)
    require(closed == 20 and "channels-ended" in run.codes, f"{errors(run)}, findings {run.codes}")
    return run.finding("channels-ended")["text"]


def numbered(bed: Bed, sent) -> object:
    """20 users of a broadcast of 20 messages, 100 ms apart; `sent(user, number)` is what a user gets of one."""
    writers = []

    async def push(_, reader, writer):
        await upgrade(reader, writer)
        user = len(writers)
        writers.append(writer)
        # All are there when the first message comes.
        await asyncio.sleep(2 - user * 0.025)
        for number in range(1, 21):
            for message in sent(user, number):
                writer.write(text({"type": "news", "n": message}))
            await asyncio.sleep(0.1)
        await receive(reader)

    with Peer(push) as peer:
        steps = "{ ws: /news, as: open }, { think: 7s }"
        more = "messages:\n  news: { when: { /type: news }, seq: /n }"
        return bed.run(
            scenario(peer.port, steps, "{ constant: 40/s, for: 500ms }", "[count(news.lost) == 0]", more=more)
        )


@case
def pushes_lost(bed: Bed) -> str:
    """Of 20 users 10 lack the last message, or all of them, or numbers cannot be read: no `lost == 0` holds."""
    said = []
    for name, sent, lost in [
        ("tail", lambda user, n: [n] if user % 2 or n < 20 else [], 10),
        ("never", lambda user, n: [n] if user % 2 else [], 200),
        ("unreadable", lambda user, n: [{"x": n}], None),
    ]:
        run = numbered(bed, sent)
        require(not run.threshold("count(news.lost) == 0")["passed"], f"{name}: the threshold holds")
        found = run.measure("news.lost").get("count", 0)
        require(lost is None or found == lost, f"{name}: {found} lost")
        said.append(f"{name}: {found} lost")
    order = {1: [2], 2: [1]}
    run = numbered(bed, lambda user, n: order.get(n, [n]))
    require(run.threshold("count(news.lost) == 0")["passed"], "out of order counts as lost")
    doubled = run.measure("news.duplicated").get("count", 0)
    require(doubled == 0, f"out of order: {doubled} duplicated")
    return "; ".join(said)


@case
def model_hangs(bed: Bed) -> str:
    """Two lines of a log, `/a` and `//a`."""
    log = bed.space / "access.log"
    line = '127.0.0.1 - - [05/Aug/2015:10:00:0{} +0000] "GET {} HTTP/1.1" 200 5 "-" "-"\n'
    log.write_text(line.format(0, "/a") + line.format(1, "//a"))
    command = [str(bed.throng), "model", str(log), "--out", str(bed.space / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    require(done.returncode in (0, 1, 2, 65), f"exit code {done.returncode}: {done.stderr[-200:]}")
    return f"exit code {done.returncode}"


@case
def dripping_bodies(bed: Bed) -> str:
    """200 connections that send a body byte by byte to `throng serve chat`, for 15 s: its memory stays small."""
    chat = subprocess.Popen(
        [str(bed.throng), "serve", "chat", "--listen", "127.0.0.1:0", "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", chat.stdout.readline()).group(1))
        connections = []
        for _ in range(200):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(b"POST /rooms/a/messages HTTP/1.1\r\nhost: h\r\ncontent-length: 60000\r\n\r\n")
            connections.append(connection)
        end = time.monotonic() + 15
        while time.monotonic() < end:
            for connection in connections:
                try:
                    connection.send(b"x")
                except OSError:
                    pass
            time.sleep(0.002)
        status = pathlib.Path(f"/proc/{chat.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024
    finally:
        chat.kill()
        chat.wait()
    require(peak < 200, f"{peak:.0f} MiB")
    return f"{peak:.0f} MiB"


@case
def stopped_generator(bed: Bed) -> str:
    """SIGSTOP for 0.5 s of 60 s, and a threshold of p99.9: the generator is to blame, not the target."""

    def stop(process):
        time.sleep(30)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)

    with target() as server:
        text_ = scenario(server.port, "{ get: /, as: page }", "{ constant: 200/s, for: 60s }", "[p99.9(page) < 100ms]")
        run = bed.run(text_, while_running=stop)
    require(run.verdict == "untrusted", f"{run.verdict}: {run.codes}")
    return f"{run.verdict}: {run.findings[0]['text']}"


@case
def skewed_clock(bed: Bed) -> str:
    """Broadcasts of a target whose clock is 0.4 s ahead: no latency of 0 is printed, and the skew is a finding."""

    async def push(_, reader, writer):
        await upgrade(reader, writer)
        for _ in range(20):
            await asyncio.sleep(0.1)
            writer.write(text({"type": "news", "at": int((time.time() + 0.4) * 1000)}))
        await receive(reader)

    with Peer(push) as peer:
        steps = "{ ws: /news, as: open }, { think: 3s }"
        more = "messages:\n  news: { when: { /type: news }, sent_at: /at }"
        run = bed.run(scenario(peer.port, steps, "{ constant: 40/s, for: 500ms }", more=more))
    p50 = (run.measure("news").get("response") or {}).get("p50_ns")
    require("clock-skew" in run.codes, f"findings {run.codes}, p50 {p50}")
    require(p50 != 0, "a p50 of 0")
    return run.finding("clock-skew")["text"]


@case
def secrets(bed: Bed) -> str:
    """A token of `--set` in every secret header and a cookie, and one of `-H`, are nowhere in the run directories."""
    secret = "hush-4711-hush"
    with target() as server:
        names = ["authorization", "proxy-authorization", "x-api-key", "cookie"]
        headers = ", ".join(f'{name}: "Bearer ${{tok}}"' for name in names[:3])
        steps = f'{{ get: /, as: page, headers: {{ {headers} }}, cookies: {{ sid: "${{tok}}" }} }}'
        text_ = scenario(server.port, steps, "{ constant: 10/s, for: 1s }", more="params: { tok: none }")
        run = bed.run(text_, "--set", f"tok={secret}")
        given = [option for name in names for option in ["-H", f"{name}: Bearer {secret}"]]
        load = ["--rate", "10/s", "--duration", "1s", *given, "--runs", bed.space / "url"]
        url = bed.throng_out("run", f"http://127.0.0.1:{server.port}/", *load)
    require(run.code == 0 and secret not in run.out + run.err + url, "it is printed")
    files = [path for path in bed.space.rglob("*") if path.is_file()]
    holding = [str(path) for path in files if secret.encode() in path.read_bytes()]
    require(not holding, f"it is in {holding}")
    return f"in none of {len(files)} files"


@case
def long_line(bed: Bed) -> str:
    """A fault beyond column 65,530."""
    file = bed.space / "long.yaml"
    file.write_text("target: http://h/\nsessions: { s: [ " + "{ get: / }, " * 8_000 + "{ gett: / } ] }\narrivals: []\n")
    done = subprocess.run([str(bed.throng), "check", str(file)], capture_output=True, text=True, timeout=60)
    require(done.returncode == 65, f"exit code {done.returncode}: {done.stderr[-300:]}")
    require("gett" in done.stderr, done.stderr[-300:])
    return f"exit code {done.returncode}"


@case
def keep_alive_race(bed: Bed) -> str:
    """A server that closes an idle connection just when the next request comes, with TLS and without: the request is
    retried, not failed."""

    async def hasty(_, reader, writer):
        await head(reader)
        writer.write(answer(b"{}"))
        # The next request comes, and nothing of an answer.
        await head(reader)

    certificate(bed.space, "race")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bed.space / "race.pem", bed.space / "race.key")
    said = []
    for scheme, tls in [("http", None), ("https", context)]:
        with Peer(hasty, tls=tls) as peer:
            steps = "{ get: /, as: page }, { get: /, as: page }"
            text_ = scenario(peer.port, steps, "{ constant: 50/s, for: 2s }", options="{ tls: { verify: false } }")
            run = bed.run(text_.replace("http:", f"{scheme}:"))
        page = run.measure("page")
        require(page["count"] == 200 and not errors(run), f"{scheme}: {page['count']} of 200: {errors(run)}")
        said.append(f"{scheme} {page['count']}")
    return f"{', '.join(said)} of 200 succeeded"


@case
def file_size_limit(bed: Bed) -> str:
    """`ulimit -f`: the run ends with a message, not by a signal."""
    limit = 64 << 10

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with target() as server:
        file = bed.space / "limited.yaml"
        file.write_text(scenario(server.port, "{ get: /, as: page }", "{ constant: 500/s, for: 15s }"))
        command = [str(bed.throng), "run", "--runs", str(bed.space / "limited"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limited)
    require(done.returncode == 74, f"exit code {done.returncode}: {done.stderr[-300:]}")
    return " ".join(done.stderr.split())[:120]


def ended_at_once(bed: Bed, *args) -> subprocess.CompletedProcess:
    """What ends within ten seconds, and neither by a signal nor by a panic."""
    command = [str(bed.throng), *map(str, args)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        require(False, f"{' '.join(map(str, args))} waits")
    require(0 <= done.returncode < 100, f"{args}: exit code {done.returncode}: {done.stderr[-300:]}")
    return done


@case
def named_pipes(bed: Bed) -> str:
    """A pipe that nobody writes to, a directory, a device and 10 GiB of nothing, in place of a file that is named: refused."""
    pipe, sparse, named = bed.space / "pipe", bed.space / "sparse", bed.space / "named"
    os.mkfifo(pipe)
    with sparse.open("wb") as file:
        file.truncate(10 << 30)
    texts = {
        "data": scenario(1, "{ get: / }", "{ constant: 1/s, for: 1s }", more="data: { rows: { file: named } }"),
        "body": scenario(1, "{ post: /, body: \"${file('named')}\" }", "{ constant: 1/s, for: 1s }"),
        "proto": scenario(1, "{ get: / }", "{ constant: 1/s, for: 1s }", more="grpc: { protos: [named] }"),
        "script": scenario(1, "{ get: / }", "{ constant: 1/s, for: 1s }", more="script: named"),
    }
    refused = 0
    for place in [pipe, bed.space, pathlib.Path("/dev/zero"), sparse]:
        verbs = [["check"], ["run"], ["try"], ["import"], ["experiment"], ["lab", "check"]]
        for verb in verbs:
            done = ended_at_once(bed, *verb, place)
            require(done.returncode != 0, f"{verb} takes {place}")
            refused += 1
        named.symlink_to(place)
        for name, text_ in texts.items():
            file = bed.space / f"{name}.yaml"
            file.write_text(text_)
            done = ended_at_once(bed, "check", file)
            require(done.returncode == 65, f"{name}: exit code {done.returncode}: {done.stderr[-300:]}")
            refused += 1
        named.unlink()
    for place in [pipe, pathlib.Path("/dev/zero")]:
        for verb in [["model", "--out", bed.space / "model"], ["experiment", "--analyze"], ["show"], ["compare", place]]:
            done = ended_at_once(bed, *verb, place)
            require(done.returncode != 0, f"{verb} takes {place}")
            refused += 1
    return f"{refused} of {refused} refused"


@case
def large_numbers(bed: Bed) -> str:
    """A table of an experiment with 1e200: refused with its place."""
    rows = (pathlib.Path(__file__).parents[2] / "examples/experiments/queue-throughput.csv").read_text()
    lines = rows.rstrip("\n").split("\n")
    lines[-1] = lines[-1].rsplit(",", 1)[0] + ",1e200"
    table = bed.space / "table.csv"
    table.write_text("\n".join(lines) + "\n")
    done = ended_at_once(bed, "experiment", "--analyze", table)
    require(done.returncode == 65, f"exit code {done.returncode}: {done.stderr[-300:]}")
    return " ".join(done.stderr.split())[:120]


@case
def large_integers_of_scripts(bed: Bed) -> str:
    """A script that squares a `BigInt` again and again, of which one operation takes longer than a call: it is not loaded."""
    (bed.space / "big.js").write_text("function f() { let x = 3n; for (;;) x = (x * x) % 2n ** 900000n; }\n")
    file = bed.space / "big.yaml"
    file.write_text(scenario(1, "{ get: \"/${f()}\" }", "{ constant: 1/s, for: 1s }", more="script: big.js"))
    done = ended_at_once(bed, "check", file)
    require(done.returncode == 65 and "BigInt" in done.stderr, f"exit code {done.returncode}: {done.stderr[-300:]}")
    return " ".join(done.stderr.split())[:120]


CASES.add(LIMITS)

if __name__ == "__main__":
    sys.exit(CASES.main("throng-hostile-"))
