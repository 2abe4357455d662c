"""Cases of `hostile.py` in which memory, files, certificates or time are short."""

import asyncio
import contextlib
import json
import os
import pathlib
import resource
import signal
import ssl
import subprocess
import time

from bed import Bed, Cases, require, scenario, target
from peer import Peer, answer, head, receive, upgrade

CASES = Cases()
case = CASES.case
MIB = 1 << 20


def errors_of(run, name: str) -> dict:
    return run.measure(name).get("errors_by_kind", {})


def error_texts(run) -> list:
    """Details of the errors in the record."""
    lines = (run.path / "events.jsonl").read_text().splitlines()
    return [text for text in (json.loads(line).get("detail") for line in lines) if text]


@contextlib.contextmanager
def small_group(limit: int):
    """A control group with this much memory, of either version; `None` where none can be made."""
    for root, file in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]:
        group = pathlib.Path(root) / f"throng-hostile-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / file).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    yield None


@case
def small_container(bed: Bed) -> str:
    """300 MiB of memory, and 40 users who save 15 MiB each: `doctor` sees the limit, nobody is killed, all is counted."""
    body = b"x" * (15 * MIB)

    async def large(_, reader, writer):
        while True:
            await head(reader)
            writer.write(answer(body))
            await writer.drain()

    with small_group(300 * MIB) as group:
        if group is None:
            return "skipped: no control group with a memory limit can be made"
        into = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"']
        doctor = subprocess.run([*into, str(bed.throng), "doctor"], capture_output=True, text=True, timeout=60)
        require("of the 300 MiB that the control group" in doctor.stdout, doctor.stdout[-500:])
        with Peer(large) as peer:
            steps = "{ get: /, as: page, save: { all: body } }, { think: 20s }"
            run = bed.run(scenario(peer.port, steps, "{ constant: 20/s, for: 2s }", options="{ drain: 25s }"), before=into)
    require(run.code >= 0, f"it was killed: {run.code}")
    page, failed = run.measure("page"), errors_of(run, "page")
    require(failed.get("no-memory", 0) > 0, f"exit code {run.code}, {page}, {run.codes}")
    return f"exit code {run.code}, {failed['no-memory']} of {page['count']} answers had no room"


@case
def lost_websockets(bed: Bed) -> str:
    """60 users connect, and 33 connections are cut while the users think: none of them is a failed `connect`."""
    opened = []

    async def cut(_, reader, writer):
        await upgrade(reader, writer)
        opened.append(writer)
        number = len(opened)
        if number <= 33:
            await asyncio.sleep(1)
            writer.transport.abort()
            return
        await receive(reader)

    with Peer(cut) as peer:
        steps = "{ ws: /, as: open }, { think: 4s }, { close: }"
        run = bed.run(scenario(peer.port, steps, "{ constant: 60/s, for: 1s }"))
    connect, opening = run.measure("connect"), run.measure("open")
    require(connect["count"] == 60 and not connect["errors"], f"connect: {connect['errors_by_kind']}")
    require(opening["count"] == 60 and not opening["errors"], f"open: {opening['errors_by_kind']}")
    lost = sum(errors_of(run, "steps").values())
    require(lost == 33, f"steps: {errors_of(run, 'steps')}")
    return f"60 connected, {lost} lost in their steps"


@case
def black_hole(bed: Bed) -> str:
    """A server that accepts nobody: the limit of connection attempts is named, and the generator is not blamed."""
    with target("--accept-nobody", "--backlog", 1) as server:
        options = "{ connecting_max: 50, connect_timeout: 4s, drain: 0s }"
        run = bed.run(scenario(server.port, "{ get: /, as: page }", "{ constant: 100/s, for: 8s }", options=options))
    require("connecting-limit" in run.codes, f"findings: {run.codes}")
    blamed = [finding["text"] for finding in run.findings if "generator fell behind" in finding["text"]]
    require(not blamed, f"{blamed}")
    return run.finding("connecting-limit")["text"][:120]


def certificate(folder: pathlib.Path, name: str) -> None:
    """`NAME.pem` and `NAME.key` of nobody but itself, for 127.0.0.1."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@case
def certificates(bed: Bed) -> str:
    """Users present a certificate; it, its key and the server's stand beside the scenario, not where Throng runs."""
    folder = bed.space / "certificates"
    folder.mkdir()
    certificate(folder, "server")
    certificate(folder, "user")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(folder / "user.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    async def page(_, reader, writer):
        while True:
            await head(reader)
            writer.write(answer(b"{}"))

    with Peer(page, tls=context) as peer:
        file = folder / "scenario.yaml"
        tls = "{ ca: server.pem, cert: user.pem, key: user.key }"
        file.write_text(
            f"target: {{ url: 'https://127.0.0.1:{peer.port}/', tls: {tls} }}\n"
            "sessions: { a: [ { get: /, as: page } ] }\narrivals: [ { constant: 20/s, for: 1s } ]\n"
            "thresholds: [ errors == 0 ]\n"
        )
        command = [str(bed.throng), "run", "--runs", str(folder / "runs"), str(file)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)
    require(done.returncode == 0, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
    return f"exit code {done.returncode}"


@case
def many_headers(bed: Bed) -> str:
    """129 headers in an answer: one more than the limit, which the error names."""
    fields = "".join(f"x-{number}: y\r\n" for number in range(128))

    async def page(_, reader, writer):
        await head(reader)
        writer.write(f"HTTP/1.1 200 OK\r\n{fields}content-length: 0\r\n\r\n".encode())
        await reader.read()

    with Peer(page) as peer:
        run = bed.run(scenario(peer.port, "{ get: /, as: page }", "{ constant: 10/s, for: 1s }"))
    texts = error_texts(run)
    require(run.measure("page")["errors"] == 10, f"{errors_of(run, 'page')}")
    require(any("128" in text for text in texts), f"{texts}")
    return texts[0]


@case
def regex_errors(bed: Bed) -> str:
    """What a regular expression does not find is said in words, not as a structure of the program."""
    with target() as server:
        steps = "{ get: /, as: page, save: { id: { regex: 'id=([0-9]+)' } } }"
        run = bed.run(scenario(server.port, steps, "{ constant: 10/s, for: 1s }"))
    texts = error_texts(run)
    require(run.measure("page")["errors"] == 10, f"{errors_of(run, 'page')}")
    debug = [text for text in texts if "Regex" in text or "group:" in text]
    require(texts and not debug, f"{texts}")
    return texts[0]


@case
def little_address_space(bed: Bed) -> str:
    """`ulimit -v` for each built-in target, from little to enough: it serves or says why not, and never panics."""
    said = []
    for system in ["hello", "echo", "chat", "market", "queue"]:
        codes = set()
        for mib in [64, 128, 192, 256, 384, 512]:

            def limited(limit=mib * MIB):
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

            command = [str(bed.throng), "serve", system, "--listen", "127.0.0.1:0", "--until-stdin-closes"]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, preexec_fn=limited
            )
            # Without memory for itself it may be ended by the allocator, which says so.
            aborted = done.returncode == -signal.SIGABRT and "memory allocation" in done.stderr
            panicked = done.returncode == 101 or "panicked" in done.stderr
            require(not panicked and (done.returncode >= 0 or aborted), f"{system}, {mib} MiB: {done.stderr[-300:]}")
            codes.add(done.returncode)
        said.append(f"{system} {sorted(codes)}")
    return ", ".join(said)


@case
def quiet(bed: Bed) -> str:
    """`--quiet` prints no warning."""
    with target() as server:
        steps = "{ get: /, as: page, headers: { authorization: 'Bearer of-the-text' } }"
        text = scenario(server.port, steps, "{ constant: 10/s, for: 1s }")
        loud, still = bed.run(text), bed.run(text, "--quiet")
    require("plain-secret" in loud.err, "the scenario causes no warning")
    require(still.out + still.err == "", still.out + still.err)
    return f"{len(loud.err)} bytes without it, none with it"


def children(pid: int) -> list:
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@case
def frozen_worker(bed: Bed) -> str:
    """One of two workers is stopped: it is lost after 11 s, and its connections are closed then."""
    opened, seen = set(), {}

    async def page(_, reader, writer):
        opened.add(writer)
        try:
            while True:
                await head(reader)
                writer.write(answer(b"{}"))
        finally:
            opened.discard(writer)

    def stop(process):
        time.sleep(3)
        seen["before"] = len(opened)
        os.kill(children(process.pid)[0], signal.SIGSTOP)
        began = time.monotonic()
        while len(opened) == seen["before"] and time.monotonic() < began + 30:
            time.sleep(0.1)
        seen["after"], seen["s"] = len(opened), time.monotonic() - began

    with Peer(page) as peer:
        steps = "{ loop: 20, steps: [ { get: /, as: page }, { think: 1s } ] }"
        text = scenario(peer.port, steps, "{ constant: 20/s, for: 1s }", options="{ loops: 2 }")
        run = bed.run(text, "--workers", 2, "--allow-lost-workers", while_running=stop)
    require(seen["before"] == 20, f"{seen['before']} connections")
    require(0 < seen["after"] < 20 and seen["s"] < 15, f"{seen}")
    lost = run.summary["users"]["lost"]
    require(lost > 0, f"users: {run.summary['users']}")
    return f"{lost} users lost, their connections closed after {seen['s']:.0f} s"


@case
def full_disk(bed: Bed) -> str:
    """A disk of 200 KiB at 2,000/s: the run ends with 74, and the rows that found room stay."""
    space = bed.space / "disk"
    space.mkdir()
    script = (
        'mount -t tmpfs -o size=200k tmpfs "$1" && cd "$1" || exit 99; '
        '"$0" run --quiet --rate 2000/s --duration 20s --runs . "$2"; echo "ended $?"; '
        'ls ./*/requests.parquet.parts 2>/dev/null | grep -c "[.]parquet$"; "$0" show --json ./*/'
    )
    hello = subprocess.Popen(
        [str(bed.throng), "serve", "hello", "--listen", "127.0.0.1:0", "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = hello.stdout.readline().split("listening on ")[1].strip()
        command = ["unshare", "-m", "sh", "-c", script, str(bed.throng), str(space), url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    finally:
        hello.kill()
        hello.wait()
    if done.returncode == 99 or "unshare" in done.stderr:
        return "skipped: no file system can be mounted"
    ended, segments, shown = done.stdout.split("\n", 2)
    require(ended == "ended 74", f"{ended}: {done.stderr[-300:]}")
    require(int(segments) > 0, "no rows are left")
    request = next(m for m in json.loads(shown)["measures"] if m["kind"] == "request")
    return f"{ended}, {segments} segments of rows stayed, {request['count']} requests"
