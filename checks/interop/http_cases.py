"""Cases of HTTP and WebSocket. Each returns what differs from what is right; nothing if all is right."""

import hashlib
import time

from play import counted, play, undisturbed
from servers import running

PATHS = {"1.1": "HTTP/1.1", "2": "HTTP/2.0"}
BODY = "".join(f"line {number}\n" for number in range(30_000))
DIGEST = hashlib.sha256(BODY.encode()).hexdigest()
USERS = 20
STREAMS = 150
# When a server under load is reloaded, in seconds after the start.
RELOADS_S = (1.0, 2.5, 4.0)


def scenario(server, version: str, tls: bool, steps: str, arrivals: str, options: str = "") -> str:
    # By ALPN, if there is TLS: the server's count says what was spoken.
    http = "auto" if tls and version == "2" else version
    return f"""
name: interop
target: {{ url: "{server.urls[version, tls]}", http: {http}, tls: {{ ca: "{server.tls['ca']}" }} }}
options: {{ timeout: 60s, connect_timeout: 60s, lag_max: 60s{options} }}
sessions:
  user:
{steps}
arrivals: [ {arrivals} ]
"""


def first(*found: str) -> str:
    return "; ".join(text for text in found if text)


def requests(bed, server, version: str, tls: bool) -> dict:
    """Small requests, large bodies both ways, trailers and compressed bodies, by one scenario."""
    steps = f"""
    - loop: 3
      steps: [ {{ get: /hello, as: hello, save: {{ word: /word }}, check: word == 'moon' }} ]
    - get: /large
      as: large
      save: {{ end: {{ regex: "x(END)$" }} }}
    - post: /echo
      as: echo
      headers: {{ content-type: application/octet-stream }}
      body: "${{file('body')}}"
      save: {{ back: body }}
      check: sha256(back) == '{DIGEST}'
"""
    if "trailers" not in server.lacks:
        steps += "    - { get: /trailers, as: trailers, save: { word: /word }, check: word == 'moon' }\n"
    for coding in server.codings:
        steps += (
            f"    - {{ get: /packed, as: {coding}, headers: {{ accept-encoding: {coding} }}, "
            "save: { word: /word, coding: { header: content-encoding } }, "
            f"check: [ word == 'moon', coding == '{coding}' ] }}\n"
        )
    text = scenario(server, version, tls, steps, f"{{ constant: {USERS}/s, for: 1s }}, {{ hold: 500ms }}")
    before = server.counts()
    result = play(bed, text.replace("'body'", f"'{bed.space}/body'"), files=[("body", BODY)])
    spoken, users = PATHS[version], result.users
    wanted = {"/hello": 3 * users, "/large": users, "/echo": users, "/packed": users * len(server.codings)}
    names = {"/hello": ["hello"], "/large": ["large"], "/echo": ["echo"], "/packed": list(server.codings)}
    if "trailers" not in server.lacks:
        wanted["/trailers"], names["/trailers"] = users, ["trailers"]

    def found(path: str) -> str:
        own = wanted[path] // len(names[path])
        return first(*(result.differs(name, own) for name in names[path]),
                     counted(server, before, {f"{spoken} {path}": wanted[path]}))

    return {
        "requests": found("/hello"),
        "bodies": first(found("/large"), found("/echo")),
        "trailers": found("/trailers") if "/trailers" in names else None,
        "compressed": found("/packed"),
    }


def streams(bed, server, tls: bool) -> str:
    """Requests of many users at once, each answered after half a second, over few connections."""
    steps = "    - { get: /hello, as: hello }\n    - { get: /slow, as: slow }\n"
    options = ", http_connections: shared, loops: 1"
    text = scenario(server, "2", tls, steps, f"{{ constant: {3 * STREAMS}/s, for: 333ms }}, {{ hold: 500ms }}", options)
    before = server.counts()
    result = play(bed, text)
    users = result.users
    connections = result.count("connect")
    few = "" if connections <= STREAMS / 10 else f"{connections} connections"
    count = counted(server, before, {"HTTP/2.0 /slow": users, "HTTP/2.0 /hello": users})
    return first(result.differs("slow", users), result.differs("hello", users), few, count)


def reload(bed, server, version: str, tls: bool, shared: bool) -> str:
    """A server that is replaced three times under load: nothing is lost, and nothing is counted twice."""
    steps = "    - forever:\n      - { get: /hello, as: hello }\n"
    if version == "2":
        # Over HTTP/2 the server says which requests it did not process, so that any can be sent again.
        steps += "      - { post: /echo, as: echo, body: again }\n"
    steps += "      - think: 20ms..40ms\n"
    options = ", http_connections: shared, loops: 1" if shared else ""
    text = scenario(server, version, tls, steps, f"{{ users: {USERS}, for: 6s }}", options)
    before = server.counts()

    def reloads(process) -> None:
        began = time.monotonic()
        for at in RELOADS_S:
            time.sleep(max(0.0, began + at - time.monotonic()))
            server.reload()

    result = play(bed, text, while_running=reloads)
    names = ["hello", "echo"] if version == "2" else ["hello"]
    spoken = PATHS[version]
    wanted = {f"{spoken} /{name}": result.count(name) for name in names}
    connections = result.count("connect")
    replaced = "" if connections > (1 if shared else USERS) else "no connection ended"
    few = "" if result.count("hello") > 10 * USERS else f"{result.count('hello')} requests only"
    errors = (result.differs(name, result.count(name)) for name in names)
    return first(*errors, counted(server, before, wanted), replaced, few)


def ends(bed, server, version: str, tls: bool) -> str:
    """Connections that their server ends as idle, at the time at which a request is due."""
    steps = "    - loop: 5\n      steps: [ { get: /hello, as: hello }, { think: 950ms..1050ms } ]\n"
    text = scenario(server, version, tls, steps, f"{{ constant: {3 * USERS}/s, for: 1s }}, {{ hold: 500ms }}")
    before = server.counts()
    result = play(bed, text)
    wanted = 5 * result.users
    ended = "" if result.count("connect") > result.users else "no connection ended"
    count = counted(server, before, {f"{PATHS[version]} /hello": wanted})
    return first(result.differs("hello", wanted), count, ended)


def websocket(bed, server, version: str, tls: bool, backend) -> str:
    """Messages, plain and compressed, and a large one, each echoed by `backend`: over HTTP/2 as streams (RFC 8441)."""
    found = []
    options = ", websockets: streams" if version == "2" else ""
    for compress in ("none", "shared"):
        steps = f"""
    - ws: /ws
      as: open
      compress: {compress}
    - loop: 5
      steps:
        - send: {{ n: "${{user}}" }}
          as: message
          reply: {{ when: {{ /n: "${{user}}" }} }}
    - send: "${{file('{bed.space}/body')}}"
      as: large
      reply: {{ save: {{ back: body }}, check: "sha256(back) == '{DIGEST}'" }}
    - close: 1000
"""
        text = scenario(server, version, tls, steps, f"{{ constant: {USERS}/s, for: 1s }}, {{ hold: 500ms }}", options)
        before = backend.counts()
        # Not one that falls back to HTTP/1.1.
        result = play(bed, text.replace("http: auto", "http: 2"), files=[("body", BODY)])
        users = result.users
        found += [result.differs("open", users), result.differs("message", 5 * users), result.differs("large", users)]
        found.append(counted(backend, before, {"message": 6 * users}))
    return first(*found)


def table(bed, make, backend, report) -> None:
    """Plays all cases against a server, which `make(is_short)` makes. `backend`: what serves WebSockets behind it."""
    with running(make(False)) as server:
        for (version, tls) in server.urls:
            row = (version, tls)
            for case, found in undisturbed(lambda: requests(bed, server, version, tls)).items():
                report(server, row, case, found)
            if version == "2":
                report(server, row, "streams", undisturbed(lambda: streams(bed, server, tls)))
            own = backend or server
            lacks = f"WebSocket {version}" in server.lacks
            report(server, row, "WebSocket",
                   None if lacks else undisturbed(lambda: websocket(bed, server, version, tls, own)))
            found = undisturbed(lambda: reload(bed, server, version, tls, False))
            if version == "2":
                found = first(found, undisturbed(lambda: reload(bed, server, version, tls, True)))
            report(server, row, "reload", found)
    with running(make(True)) as server:
        for (version, tls) in server.urls:
            report(server, (version, tls), "ends", undisturbed(lambda: ends(bed, server, version, tls)))
