"""The case of `cases.py` about work of the generator's own: what it parses, computes, signs and encodes is no time of the
target.

The target stamps each request when its first byte is read and when its answer is written. What Throng reports as its
service may be longer by the way between the two, and by nothing else. The way is that of a session with the same
requests without the work, and pauses where the work would be: a request after a pause, the first of a user, and a large one are longer
on their way, since processes wake and caches are cold, whatever is computed.
"""

import gzip
import json
import pathlib
import shutil
import subprocess

from bed import HERE, Bed, Cases, Run, require, serving, target

CASES = Cases()
case = CASES.case
# Beyond the way of a request, in milliseconds: the service is wrong by no more.
WRONG_MS = 0.2
# Users a second, so few that work for one delays no other.
RATE = 25
# Each way, a loopback and two processes that wake; above that the machine is too busy for this case.
WAY_MS = 1.0
FAST = "{ get: /fast, as: fast }"


class Work:
    """`steps` of a session, the last of which is `fast`; `of`: the step of the work, none if there is none; `like`: the name
    of the session without work; `http`: its version, of HTTP/2 with a server of its own, which has calls of gRPC."""

    def __init__(self, steps: str, of: str = "", like: str = "", http: str = "1.1", options: str = "") -> None:
        self.steps, self.of, self.like, self.http, self.options = steps, of, like, http, options


def after(step: str, of: str, like: str = "a page", **how) -> Work:
    """Work on an answer, or a script, before the request that is measured."""
    return Work(f"{step}, {FAST}", of, like, **how)


def posted(keys: str) -> str:
    return f"{{ post: /fast, as: fast, {keys} }}"


def within(step: str, like: str) -> Work:
    """Work for the request that is measured."""
    return Work(step, "fast", like)


SIGNED = "sign: { aws: { service: sqs, region: eu-west-1, access_key: AKIA, secret_key: nobodys } }"
SCRIPT = "let s = 0; for (let i = 0; i < 60000; i++) { s += i % 7 } return { sum: s };"
LINES = json.dumps(["a line of some length"] * 3000)
QUERY = "query Items { items { " + " ".join(f"field{number}" for number in range(2000)) + " } }"
PAUSE = "{ think: 5ms }"
ITEMS = "${file('items.json')}"
WITHOUT = {
    "a page": Work(f"{{ get: /page, as: page }}, {PAUSE}, {FAST}"),
    "first": Work(f"{PAUSE}, {FAST}"),
    "one file": Work(posted(f'body: "${{user}}{ITEMS}"')),
    "two files": Work(posted(f'body: "${{user}}{ITEMS}{ITEMS}"')),
    "HTTP/2": Work(f"{{ get: /page, as: page }}, {PAUSE}, {FAST}", http="2"),
}
WORKS = {
    "css": after("{ get: /page, as: page, save: { t: { css: 'input[name=csrf]', attr: value } } }", "page"),
    "json": after("{ get: /items, as: items, save: { last: /items/4999/name } }", "items"),
    "jsonpath": after("{ get: /items, as: items, save: { dear: '$.items[?(@.price > 99)].name' } }", "items"),
    "gzip": after(
        "{ get: /packed, as: packed, save: { last: { regex: 'name-4999' , group: 0 } } }",
        "packed",
        options="accept_encoding: [gzip]",
    ),
    "js": after(f"{{ js: '{SCRIPT}', sets: [sum] }}", "js", "first", options="script_time_max: 1s"),
    "jwt RS256": within(
        "{ get: /fast, as: fast, "
        "headers: { authorization: \"Bearer ${jwt('{\\\"sub\\\":' + user + '}', file('user.key'), 'RS256')}\" } }",
        "first",
    ),
    "sigv4": within(posted(f'body: "${{user}}{ITEMS}", {SIGNED}'), "one file"),
    "multipart": within(
        posted(f"multipart: {{ note: '${{user}}', one: \"{ITEMS}\", all: {{ file: items.json }} }}"), "two files"
    ),
    "graphql": after(
        f"{{ graphql: {{ query: '{QUERY}', path: /answer }}, as: Items, save: {{ last: /data/items/4999/name }} }}", "Items"
    ),
    "gRPC": after(
        f"{{ grpc: truth.Push/Echo, as: echo, message: {{ mark: '${{user}}', lines: {LINES} }}, save: {{ n: /lines/2999 }} }}",
        "echo",
        "HTTP/2",
        http="2",
    ),
}


def inputs(folder: pathlib.Path) -> dict:
    """Bodies that take milliseconds to read, by name; also in this folder, for the target."""
    items = [{"name": f"name-{number}", "price": number * 7 % 101} for number in range(5000)]
    rows = "".join(f'<tr><td><a href="/item/{n}?a=1&amp;b=2">Item {n}</a></td><td>{n}.99</td></tr>' for n in range(1200))
    form = "<form><input name=csrf value=token></form>"
    files = {
        "page.html": f"<!doctype html><html><body>{form}<table>{rows}</table></body></html>".encode(),
        "items.json": json.dumps({"items": items}).encode(),
        "answer.json": json.dumps({"data": {"items": items}}).encode(),
        "calls.proto": (HERE / "calls.proto").read_bytes(),
    }
    files["packed.json.gz"] = gzip.compress(files["items.json"] * 4)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    command = ["openssl", "genrsa", "-out", "user.key", "4096"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    files["user.key"] = (folder / "user.key").read_bytes()
    return files


def measured(bed: Bed, work: Work, folder: pathlib.Path, files: dict) -> tuple[Run, float]:
    """A run of this work at a low rate, and the target's own median of `fast` in milliseconds."""
    bodies = {"/page": "page.html", "/items": "items.json", "/packed": "packed.json.gz", "/answer": "answer.json"}
    options = [f"--file={path}={folder / name}" for path, name in bodies.items()]
    is_http2 = work.http == "2"
    with serving("node", HERE / "calls.mjs") if is_http2 else target("--precise", *options) as server:
        text = f"""
name: own work
target: {{ url: 'http://127.0.0.1:{server.port}/', http: {work.http} }}
sessions:
  visitor: [{work.steps}]
arrivals: [ {{ constant: {RATE}/s, for: 2s }} ]
options: {{ http_connections: shared, {work.options} }}
{"grpc: { protos: [calls.proto] }" if is_http2 else ""}
"""
        run = bed.run(text, files=files)
        counts = server.stop()
    require(bool(run.findings), f"no run: {(run.err or run.out)[-500:]}")
    failed = {m["name"]: m["errors_by_kind"] for m in run.summary["measures"] if m["errors"]}
    require(not failed, f"failed: {failed}")
    count = run.measure("fast").get("count", 0)
    require(count > RATE, f"{count} of {2 * RATE} came to the request: {run.codes}")
    return run, counts["median_s"]["/fast"] * 1e3


def booked(run: Run, step: str) -> str:
    """What Throng says of its own work for a step; it has to be there where a summary knows of such work at all."""
    if "own_work" not in run.summary:
        return "-"
    works = [work for work in run.summary["own_work"] if step in work["step"]]
    require(bool(works), f"no own work of {step}: {run.summary['own_work']}")
    return f"{sum(work['total_ns'] for work in works) / max(work['count'] for work in works) / 1e6:.2f}"


@case
def own_work(bed: Bed) -> str:
    """What the generator parses, signs or encodes for a request, or did before it, is not in the request's service."""
    folder = bed.space / "files"
    folder.mkdir()
    files = inputs(folder)
    lines = [f"{'work':10} {'service':>9} {'target':>9} {'way':>7} {'without':>7} {'own':>7}   in ms, medians; own: on average"]
    wrong, ways = [], {}
    for name, work in [*WITHOUT.items(), *WORKS.items()]:
        if work.http == "2" and not shutil.which("node"):
            lines.append(f"{name:10} skipped: there is no node")
            continue
        run, true = measured(bed, work, folder, files)
        service = run.measure("fast")["service"]["p50_ns"] / 1e6
        way = service - true
        row = f"{name:10} {service:9.3f} {true:9.3f} {way:7.3f}"
        if not work.of:
            ways[name] = way
            require(way < WAY_MS, f"without any work a request is {way:.2f} ms on its way")
            lines.append(row)
            continue
        lines.append(f"{row} {ways[work.like]:7.3f} {booked(run, work.of):>7}")
        if way > ways[work.like] + WRONG_MS:
            wrong.append(name)
    require(not wrong, "\n       ".join([f"own work in the service of {', '.join(wrong)}:", *lines]))
    return "\n       ".join(["the service is the target's own, whatever the generator does", *lines])
