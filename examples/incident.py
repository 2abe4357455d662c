#!/usr/bin/env python3
"""A shop that breaks for ten seconds, for examples/incident.yaml. Python's standard library only.

    python3 examples/incident.py                         # on port 8080
    python3 examples/incident.py --log served.jsonl      # and writes a line for each request

    GET  /browse      3 ms
    GET  /search     12 ms
    POST /checkout    8 ms; from 0:15 to 0:25 it takes 400 ms, and 30 % of the answers are 503

Times count from the first request. They begin again with the first one after ten seconds without any, so that one shop
serves runs one after the other. At its end it prints what it answered: by run, path and status.
"""

import argparse
import asyncio
import collections
import dataclasses
import http
import json
import random
import signal
import sys
import threading
import time

IDLE_S = 10.0
USUAL_S = {"/browse": 0.003, "/search": 0.012, "/checkout": 0.008}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a script sees it."""

    method: str
    # With its query.
    target: str
    # Seconds since the first request of the run.
    at_s: float
    # The number of its connection, and its own number on it, both from 1.
    connection: int
    turn: int
    # The port at which it came.
    port: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer to a request."""

    after_s: float
    # `None`: the connection is closed instead.
    status: int | None = 200
    body: str = "{}"


class Shop:
    """The script of the example."""

    def __init__(self, begin_s: float, end_s: float, share: float, slow_s: float, seed: int) -> None:
        self.begin_s, self.end_s, self.share, self.slow_s = begin_s, end_s, share, slow_s
        self.random = random.Random(seed)

    def __call__(self, request: Request) -> Answer:
        usual_s = USUAL_S.get(request.path)
        if usual_s is None:
            return Answer(0.0, 404, '{"error":"no such page"}')
        if request.path != "/checkout" or not self.begin_s <= request.at_s < self.end_s:
            return Answer(usual_s)
        if self.random.random() < self.share:
            return Answer(self.slow_s, 503, '{"error":"no connection left in the pool"}')
        return Answer(self.slow_s)


class Server:
    """Answers as a script says, at the time that it says, and keeps what it served."""

    def __init__(self, script, log=None) -> None:
        self.script, self.log = script, log
        self.run, self.begun, self.last = 0, 0.0, float("-inf")
        self.connections = 0
        # By run and path.
        self.counts = collections.defaultdict(collections.Counter)

    def receive(self, connection: "Connection", method: str, target: str) -> None:
        now = time.monotonic()
        if now - self.last > IDLE_S:
            self.run, self.begun = self.run + 1, now
        self.last = now
        request = Request(method, target, now - self.begun, connection.number, connection.turn, connection.port)
        answer = self.script(request)
        reply = lambda: self.reply(connection, request, answer, now, self.run)
        if answer.after_s <= 0:
            reply()
        else:
            asyncio.get_running_loop().call_later(answer.after_s, reply)

    def reply(self, connection: "Connection", request: Request, answer: Answer, received: float, run: int) -> None:
        connection.reply(answer)
        self.counts[run, request.path][str(answer.status or "closed")] += 1
        if self.log:
            line = {
                "run": run,
                "at_s": round(request.at_s, 6),
                "took_s": round(time.monotonic() - received, 6),
                "target": request.target,
                "status": answer.status,
                "connection": request.connection,
            }
            self.log.write(json.dumps(line) + "\n")

    def summary(self) -> list[dict]:
        rows = self.counts.items()
        return [{"run": run, "path": path, "statuses": statuses} for (run, path), statuses in rows]


class Connection(asyncio.Protocol):
    """A connection of HTTP/1.1, which carries one request at a time."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""
        self.turn = 0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]
        self.server.connections += 1
        self.number = self.server.connections

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1")
            length = 0
            for line in head.split("\r\n")[1:]:
                name, _, value = line.partition(":")
                if name.lower() == "content-length":
                    length = int(value)
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length :]
            method, target = head.split(" ", 2)[:2]
            self.turn += 1
            self.server.receive(self, method, target)

    def reply(self, answer: Answer) -> None:
        if self.transport.is_closing():
            return
        if answer.status is None:
            self.transport.close()
            return
        phrase = http.HTTPStatus(answer.status).phrase
        body = answer.body.encode()
        head = f"HTTP/1.1 {answer.status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


async def serve(server: Server, host: str, ports: list[int], until_stdin_closes: bool) -> None:
    """Serves until it is interrupted. The first line that it prints says where."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    if until_stdin_closes:

        def wait() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=wait, daemon=True).start()
    urls = []
    for port in ports:
        listener = await loop.create_server(lambda: Connection(server), host, port, backlog=1024)
        urls.append("http://{}:{}".format(*listener.sockets[0].getsockname()[:2]))
    print("listening on", *urls, flush=True)
    await ended.wait()
    print(json.dumps(server.summary()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: a free one")
    parser.add_argument("--begin", type=float, default=15.0, help="of the incident, in seconds")
    parser.add_argument("--end", type=float, default=25.0, help="of the incident, in seconds")
    parser.add_argument("--share", type=float, default=0.3, help="of answers that are 503 meanwhile")
    parser.add_argument("--slow", type=float, default=0.4, help="seconds that a checkout takes meanwhile")
    parser.add_argument("--seed", type=int, default=1, help="of which answers are 503")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each request")
    parser.add_argument("--until-stdin-closes", action="store_true", help="ends with its standard input")
    args = parser.parse_args()
    shop = Shop(args.begin, args.end, args.share, args.slow, args.seed)
    log = open(args.log, "w") if args.log else None
    try:
        asyncio.run(serve(Server(shop, log), args.host, [args.port], args.until_stdin_closes))
    finally:
        if log:
            log.close()


if __name__ == "__main__":
    main()
