"""Cases of `cases.py` in which the target says what reached it: numbers, bodies, paths, handshakes."""

import json
import random
import shutil
import ssl

from bed import HERE, Bed, Cases, Run, require, scenario, serving
from limits import certificate
from peer import Peer, answer, head

CASES = Cases()
case = CASES.case
waits = CASES.waits


async def request(reader) -> tuple[str, str, dict, bytes]:
    """A request: method, path, headers by lower-case name with all of their values, body."""
    lines = (await head(reader)).rstrip().split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).append(value.strip())
    body = await reader.readexactly(int(fields.get("content-length", ["0"])[0]))
    return method, path, fields, body


def ran(run: Run) -> Run:
    """A run in which nothing failed."""
    require(bool(run.findings), f"no run: {(run.err or run.out)[-500:]}")
    failed = {m["name"]: m["errors_by_kind"] for m in run.summary["measures"] if m["errors"]}
    require(not failed, f"failed: {failed}")
    return run


@waits
def whole_numbers(bed: Bed) -> str:
    """Whole numbers around 2⁶³, 2⁶⁴ and beyond in an answer, saved and sent back in JSON, in a path, and compared."""
    draw = random.Random(1)
    edges = [2**53, 2**63, 2**64, 2**127, 10**30]
    numbers = [edge + near for edge in edges for near in (-1, 0, 1)]
    numbers += [draw.randrange(2**63, 2**64) for _ in range(85)]
    given, wrong, right = [], [], []

    async def shop(_, reader, writer):
        expected = None
        while True:
            method, path, _, body = await request(reader)
            if path == "/order":
                expected = numbers[len(given) % len(numbers)]
                given.append(expected)
                writer.write(answer(f'{{"order":{{"id":{expected},"other":{expected + 1}}}}}'.encode()))
                continue
            came = body.decode() if method == "POST" else path.rsplit("/", 1)[1]
            exact = f'{{"id":{expected}}}' if method == "POST" else str(expected)
            (right if came.replace(" ", "") == exact else wrong).append((exact, came))
            writer.write(answer(b"{}"))

    steps = (
        "{ get: /order, as: order, save: { id: /order/id, other: /order/other } }, { check: id == other, as: equal }, "
        '{ post: /pay, as: pay, json: { id: "${id}" } }, { get: "/order/${id}", as: look }'
    )
    with Peer(shop) as peer:
        run = bed.run(scenario(peer.port, steps, f"{{ constant: {len(numbers) // 2}/s, for: 2s }}"))
    require(len(given) > 0.9 * len(numbers), f"{len(given)} of {len(numbers)} numbers: {(run.err or run.out)[-500:]}")
    require(not wrong and len(right) == 2 * len(given), f"{len(wrong)} of {2 * len(given)} are wrong: {wrong[:3]}")
    equal = run.measure("equal")
    require(equal["errors"] == len(given), f"{len(given) - equal['errors']} numbers were equal to the next one")
    return f"{len(right)} times exact, of {min(numbers)} to {max(numbers)}"


@waits
def byte_order_mark(bed: Bed) -> str:
    """JSON behind a byte order mark."""
    came = []

    async def page(_, reader, writer):
        while True:
            _, path, _, body = await request(reader)
            if path == "/items":
                writer.write(answer(b'\xef\xbb\xbf{"items":[{"id":"first"},{"id":"second"}]}'))
            else:
                came.append(json.loads(body))
                writer.write(answer(b"{}"))

    steps = (
        "{ get: /items, as: items, save: { one: /items/0/id, all: '$.items[*].id' } }, "
        '{ post: /back, as: back, json: { one: "${one}", all: "${all}" } }'
    )
    with Peer(page) as peer:
        ran(bed.run(scenario(peer.port, steps, "{ constant: 10/s, for: 1s }")))
    require(len(came) == 10, f"{len(came)} of 10 came back")
    require(all(body["one"] == "first" and "second" in str(body["all"]) for body in came), f"{came[0]}")
    return f"10 times {came[0]}"


@waits
def multipart_headers(bed: Bed) -> str:
    """A `content-type` beside `multipart` would be another one, or hide the boundary: it is refused before anything is sent.
    Without it there is one, and its boundary divides the parts."""
    parts, types = [], []

    async def form(_, reader, writer):
        while True:
            _, _, fields, body = await request(reader)
            types.append(fields.get("content-type", []))
            boundary = types[-1][0].partition("boundary=")[2].strip('"') if types[-1] else ""
            parts.append(body.count(f"--{boundary}\r\n".encode()) if boundary else 0)
            writer.write(answer(b"{}"))

    form_fields = "multipart: { one: '1', two: '2' }"
    with Peer(form) as peer:
        text = lambda keys: scenario(peer.port, f"{{ post: /, as: form, {keys} }}", "{ constant: 10/s, for: 1s }")
        refused = []
        for kind in ("multipart/form-data", "multipart/form-data; boundary=mine"):
            run = bed.run(text(f"{form_fields}, headers: {{ content-type: '{kind}' }}"))
            refused.append(run)
            require(not types, f"with {kind} written, the target got {types[:1]}")
            require(run.code not in (0, 1, 2) and "content-type" in run.err, f"exit code {run.code}: {run.err[-300:]}")
        ran(bed.run(text(form_fields)))
    require(len(types) == 10 and all(len(kinds) == 1 for kinds in types), f"content-type: {types}")
    require(parts == [2] * 10, f"parts by request: {parts}")
    said = next(line.strip() for line in refused[0].err.splitlines() if "content-type" in line)
    return f"one content-type, two parts each; else {said}"


@waits
def odd_locations(bed: Bed) -> str:
    """A `Location` with what no URL may contain: it is encoded, and the request is one that the target can read."""
    places = ['/to/a"<b>^`{c}|d', "/to/with blank", "/to/100%25", '/to/q?a="<>^&b=%41']
    encoded = ["/to/a%22%3Cb%3E%5E%60%7Bc%7D%7Cd", "/to/with%20blank", "/to/100%25", "/to/q?a=%22%3C%3E%5E&b=%41"]
    lines = []

    async def page(_, reader, writer):
        while True:
            line = (await head(reader)).split("\r\n", 1)[0]
            path = line.split(" ")[1]
            if path.startswith("/from/"):
                place = places[int(path.rsplit("/", 1)[1])]
                moved = f"HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"
                writer.write(moved.encode())
                continue
            lines.append(line)
            writer.write(answer(b"{}"))

    steps = ", ".join(f"{{ get: /from/{number}, as: moved }}" for number in range(len(places)))
    with Peer(page) as peer:
        ran(bed.run(scenario(peer.port, steps, "{ constant: 5/s, for: 1s }")))
    came = sorted(set(lines))
    require(came == sorted(f"GET {path} HTTP/1.1" for path in encoded), f"the target got {came}")
    require(len(lines) == 5 * len(places), f"{len(lines)} requests")
    return came[0]


@waits
def tls_sessions(bed: Bed) -> str:
    """Two connections of each user: the first handshake is full, unless users share their sessions, and the second resumes,
    unless nobody does. The target counts both."""
    certificate(bed.space, "sessions")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bed.space / "sessions.pem", bed.space / "sessions.key")
    counts = {}

    async def page(_, reader, writer):
        kind = "resumed" if writer.get_extra_info("ssl_object").session_reused else "full"
        counts[kind] = counts.get(kind, 0) + 1
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()

    said = []
    with Peer(page, tls=context) as peer:
        for resumption in ("", "own", "shared", "off"):
            counts.clear()
            written = f", resumption: {resumption}" if resumption else ""
            run = ran(
                bed.run(
                    f"target: {{ url: 'https://127.0.0.1:{peer.port}/', tls: {{ verify: false{written} }} }}\n"
                    "sessions: { a: [ { get: /, as: page }, { think: 300ms }, { get: /, as: page } ] }\n"
                    f"arrivals: [ {{ constant: 15/s, for: 2s }} ]\n"
                )
            )
            stated = {kind: number for kind, number in run.summary["tls_handshakes"].items() if number}
            require(stated == counts, f"{resumption or 'default'}: {stated}, and the target counted {counts}")
            full, users = counts.get("full", 0), run.summary["users"]["started"]
            right = {"shared": full < users, "off": full == 2 * users}.get(resumption, full == users)
            require(right and sum(counts.values()) == 2 * users, f"{resumption or 'default'}: {counts} of {users} users")
            said.append(f"{resumption or 'default'} {full} full of {2 * users}")
    return ", ".join(said)


@waits
def goaway(bed: Bed) -> str:
    """A server of HTTP/2 processes 20 requests of each connection and says so later (GOAWAY): what came after them is sent
    again, is no error, and is not reported as a connection that was idle."""
    if not shutil.which("node"):
        return "skipped: there is no node"
    with serving("node", HERE / "calls.mjs", 20) as server:
        text = f"""
name: truth
target: {{ url: 'http://127.0.0.1:{server.port}/', http: 2 }}
sessions:
  visitor: [{{ get: /a, as: look }}, {{ post: /b, as: buy, body: "${{random_string(20000)}}" }}]
arrivals: [{{ constant: 100/s, for: 4s }}]
options: {{ http_connections: shared, timeout: 5s }}
"""
        run = ran(bed.run(text))
        counts = server.stop()
    require(counts["connections"] > 10, f"the server ended {counts['connections']} connections")
    requests = sum(run.measure(name)["count"] for name in ("look", "buy"))
    due = 2 * run.summary["users"]["started"]
    require(requests == counts["answered"] == due, f"{requests} of {due} requests; the server answered {counts['answered']}")
    again = run.finding("requests-goaway")
    # What came behind the announcement is no request to the server.
    require(bool(again) and again["evidence"]["retries"] >= counts["ignored"] > 0, f"{again}; ignored {counts['ignored']}")
    require("requests-retried" not in run.codes, f"findings: {run.codes}")
    return f"{again['text']}; {counts['connections']} connections"


@waits
def enum_aliases(bed: Bed) -> str:
    """Of several names of a number of an enumeration the first is shown; any of them can be sent."""
    if not shutil.which("node"):
        return "skipped: there is no node"
    with serving("node", HERE / "calls.mjs") as server:
        steps = [
            f"{{ grpc: truth.Push/Echo, as: echo, message: {{ mark: '{name}', mood: {name} }}, save: {{ mood: /mood }} }}, "
            f"{{ get: '/{name}/${{mood}}', as: seen }}"
            for name in ("LOUD", "NOISY", "STRIDENT", "CALM")
        ]
        more = "grpc: { protos: [calls.proto] }"
        files = {"calls.proto": (HERE / "calls.proto").read_bytes()}
        ran(bed.run(scenario(server.port, ", ".join(steps), "{ constant: 5/s, for: 1s }", more=more), files=files))
        counts = server.stop()
    shown = sorted(path for path in counts["by_path"] if not path.startswith("/truth."))
    require(shown == ["/CALM/CALM", "/LOUD/LOUD", "/NOISY/LOUD", "/STRIDENT/LOUD"], f"shown: {shown}")
    return ", ".join(shown)
