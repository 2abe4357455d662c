#!/usr/bin/env python3
"""An HTTP server whose faults are known, to hold what Throng says of a target against.

    target.py [--servers N --service S --distribution D] [--spin S | --block S] [--delay S] [--leak SHARE] …

Prints its port, serves until its standard input closes, then prints what it counted as one line of JSON: by
path, and in all. It stamps each request when its first byte is read and when its answer is written. One thread: what it
spins for one request, all others wait.
"""

import argparse
import asyncio
import collections
import heapq
import http
import json
import math
import mimetypes
import pathlib
import random
import select
import selectors
import socket
import statistics
import struct
import sys
import time


class Queue:
    """G/G/c, first come, first served: says when a request that arrives now is done."""

    def __init__(self, servers: int, draw) -> None:
        self.free = [0.0] * servers
        self.draw = draw

    def done(self, now: float) -> float:
        start = max(now, heapq.heappop(self.free))
        done = start + self.draw()
        heapq.heappush(self.free, done)
        return done


class File:
    """A body, whose headers follow from the file's name."""

    def __init__(self, name: str) -> None:
        self.body = pathlib.Path(name).read_bytes()
        kind, coding = mimetypes.guess_type(name)
        self.head = f"content-type: {kind}\r\n".encode()
        if coding:
            self.head += f"content-encoding: {coding}\r\n".encode()


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.random = random.Random(options.seed)
        self.received = collections.Counter()
        self.connections = 0
        self.answered = 0
        self.statuses = collections.Counter()
        self.answered_by_second = collections.Counter()
        self.begun = time.monotonic()
        self.queue = None
        if options.service > 0:
            mean = options.service
            draws = {
                "exponential": lambda: self.cold() * self.random.expovariate(1 / mean),
                "deterministic": lambda: self.cold() * mean,
            }
            self.queue = Queue(options.servers, draws[options.distribution])
        self.files = {path: File(name) for path, name in (file.split("=", 1) for file in options.file)}
        self.times = collections.defaultdict(list)
        self.seconds = collections.Counter()
        self.tokens, self.filled = options.burst, time.monotonic()
        # How late answers were written after the time at which they were due, in seconds.
        self.late = []

    def elapsed(self) -> float:
        """Since the first request."""
        return time.monotonic() - self.begun

    def cold(self) -> float:
        """By how much service times are longer than they will be once it is warm."""
        warm_up = self.options.warm_up
        return 1 + math.exp(-self.elapsed() / warm_up) if warm_up else 1.0

    def request(self, connection: "Connection", path: str, close: bool) -> None:
        if not self.received:
            self.begun = time.monotonic()
        self.received[path] += 1
        options = self.options
        now = time.monotonic()
        self.seconds[int(self.elapsed())] += 1
        if options.die_above and self.seconds[int(self.elapsed())] > options.die_above:
            # Takes requests and never answers again.
            options.freeze_at = min(options.freeze_at, self.elapsed())
        if options.spin:
            until = now + options.spin
            while time.monotonic() < until:
                pass
        if options.block:
            time.sleep(options.block)
        if options.leak and self.random.random() < options.leak:
            return
        if options.reset and self.random.random() < options.reset:
            connection.reset()
            return
        if options.late and self.random.random() < options.late:
            self.at(now + options.late_by, connection, path, 200, close)
            return
        if options.bucket and not self.take_token(now):
            self.at(now, connection, path, 429, close)
            return
        status = 500 if options.fail and self.random.random() < options.fail else 200
        if self.received[path] <= options.fail_first:
            self.at(now, connection, path, 503, close)
            return
        queued = self.queue and options.queue_path in (None, path)
        done = (self.queue.done(now) if queued else now) + options.delay
        self.at(done, connection, path, status, close)

    def take_token(self, now: float) -> bool:
        """From the bucket, which is filled evenly."""
        self.tokens = min(self.options.burst, self.tokens + (now - self.filled) * self.options.bucket)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def at(self, done: float, connection: "Connection", path: str, status: int, close: bool) -> None:
        """Answers when it is time. While the server is frozen nothing is."""
        loop = asyncio.get_running_loop()
        thaw = self.begun + self.options.freeze_at + self.options.freeze_for
        frozen = self.begun + self.options.freeze_at <= done < thaw
        if frozen:
            if self.options.freeze_for == float("inf"):
                return
            done = thaw
        if self.options.stall_every:
            since = (done - self.begun) % self.options.stall_every
            done += max(0.0, self.options.stall_for - since)
        if done <= time.monotonic():
            connection.answer(path, status, close)
        else:
            loop.call_at(loop.time() + done - time.monotonic(), self.answer_due, done, connection, path, status, close)

    def answer_due(self, done: float, connection: "Connection", path: str, status: int, close: bool) -> None:
        self.late.append(time.monotonic() - done)
        connection.answer(path, status, close)


class Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""
        self.transport = None
        # When the first byte of the request was read that waits for its answer.
        self.begun = 0.0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.server.connections += 1
        if self.server.options.slow_reader:
            self.transport.pause_reading()
            self.read_slowly()

    def read_slowly(self) -> None:
        """One read of the receive buffer a second."""
        if self.transport.is_closing():
            return
        self.transport.resume_reading()
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, self.read_slowly)

    def data_received(self, data: bytes) -> None:
        if not self.buffer:
            self.begun = time.monotonic()
        if self.server.options.slow_reader:
            self.transport.pause_reading()
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = 0
            at = head.find(b"content-length:")
            if at >= 0:
                length = int(head[at + 15 :].split(b"\r\n", 1)[0])
            if len(self.buffer) < end + 4 + length:
                return
            path = self.buffer.split(b" ", 2)[1].decode("latin-1")
            self.buffer = self.buffer[end + 4 + length :]
            self.server.request(self, path, b"connection: close" in head)

    def answer(self, path: str, status: int, close: bool) -> None:
        if self.transport.is_closing():
            return
        self.server.answered += 1
        self.server.answered_by_second[int(self.server.elapsed())] += 1
        self.server.statuses[status] += 1
        reason = http.HTTPStatus(status).phrase.encode()
        file = self.server.files.get(path)
        head, body = (file.head, file.body) if file else (b"", b"x" * self.server.options.size)
        self.server.times[path].append(time.monotonic() - self.begun)
        head = b"HTTP/1.1 %d %s\r\n%scontent-length: %d\r\n\r\n" % (status, reason, head, len(body))
        self.transport.write(head + body)
        if close:
            self.transport.close()

    def reset(self) -> None:
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


async def accept_slowly(listener: socket.socket, server: Server) -> None:
    """One connection in each interval."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    at = loop.time()
    while True:
        connection, _ = await loop.sock_accept(listener)
        await loop.connect_accepted_socket(lambda: Connection(server), connection)
        at = max(at + server.options.accept_every, loop.time() - 1.0)
        await asyncio.sleep(max(0.0, at - loop.time()))


async def serve(options: argparse.Namespace) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if options.slow_reader:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind((options.address, options.port))
    listener.listen(options.backlog)
    print(listener.getsockname()[1], flush=True)
    server = Server(options)
    loop = asyncio.get_running_loop()
    closed = loop.run_in_executor(None, sys.stdin.buffer.read)
    if options.accept_every:
        server.accepting = loop.create_task(accept_slowly(listener, server))
    elif not options.accept_nobody:
        await loop.create_server(lambda: Connection(server), sock=listener, backlog=options.backlog)
    await closed
    counts = {
        "received": sum(server.received.values()),
        "answered": server.answered,
        "connections": server.connections,
        "statuses": server.statuses,
        "answered_by_second": [server.answered_by_second[s] for s in range(int(server.elapsed()) + 1)],
        "by_path": dict(server.received),
        "median_s": {path: statistics.median(times) for path, times in server.times.items()},
        "late_mean_s": statistics.mean(server.late) if server.late else 0.0,
    }
    print(json.dumps(counts), flush=True)


class PreciseSelector(selectors.EpollSelector):
    """epoll counts its timeouts in milliseconds, select in microseconds: the one waits for the other."""

    def select(self, timeout=None):
        select.select([self.fileno()], [], [], None if timeout is None else max(timeout, 0))
        return super().select(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--backlog", type=int, default=1024)
    parser.add_argument("--accept-nobody", action="store_true")
    parser.add_argument("--accept-every", type=float, default=0.0, help="seconds from one accepted connection to the next")
    parser.add_argument("--servers", type=int, default=1, help="of the queue")
    parser.add_argument("--service", type=float, default=0.0, help="mean service time in seconds; no work")
    parser.add_argument("--warm-up", type=float, default=0.0, help="twice as long at first: the time constant in seconds")
    parser.add_argument("--queue-path", help="only requests of this path go through it")
    parser.add_argument("--distribution", choices=["exponential", "deterministic"], default="exponential")
    parser.add_argument("--spin", type=float, default=0.0, help="CPU time of a request, in seconds")
    parser.add_argument("--block", type=float, default=0.0, help="time the thread sleeps for a request")
    parser.add_argument("--delay", type=float, default=0.0, help="of every answer, in seconds: a target that is far away")
    parser.add_argument("--freeze-at", type=float, default=float("inf"), help="seconds after the first request")
    parser.add_argument("--freeze-for", type=float, default=float("inf"))
    parser.add_argument("--stall-every", type=float, default=0.0, help="seconds from one time without answers to the next")
    parser.add_argument("--stall-for", type=float, default=0.0)
    parser.add_argument("--bucket", type=float, default=0.0, help="requests a second; more are answered with status 429")
    parser.add_argument("--burst", type=float, default=0.0, help="requests beyond that at once")
    parser.add_argument("--die-above", type=int, default=0, help="requests in a second")
    parser.add_argument("--leak", type=float, default=0.0, help="share never answered")
    parser.add_argument("--late", type=float, default=0.0, help="share answered late")
    parser.add_argument("--late-by", type=float, default=0.0)
    parser.add_argument("--fail", type=float, default=0.0, help="share answered with status 500")
    parser.add_argument("--fail-first", type=int, default=0, help="this number of requests of each path are answered with status 503")
    parser.add_argument("--file", action="append", default=[], help="PATH=FILE: the body of this path's answers")
    parser.add_argument("--reset", type=float, default=0.0, help="share answered with a reset")
    parser.add_argument("--slow-reader", action="store_true")
    parser.add_argument("--size", type=int, default=2, help="of the response body")
    parser.add_argument("--precise", action="store_true", help="timers to the microsecond")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    selector = PreciseSelector() if options.precise else selectors.DefaultSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(serve(options))


if __name__ == "__main__":
    main()
