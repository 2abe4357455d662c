#!/usr/bin/env python3
"""Watches the live page of a run until it ends, as browsers do, and reports what each viewer received.

Usage: viewers.py PORT READERS DEAD SECONDS_MAX

Readers read everything at once. Dead viewers request the same and never read.
"""

import json
import socket
import sys
import threading
import time

RETRY_SECONDS = 0.05
# What the kernel keeps for who never reads; little, so that the server is the one to notice.
DEAD_BYTES = 4_096
PIECE = 256 << 10


def ask(port: int, until: float, receive: int = 0) -> socket.socket:
    """A connection that follows the run; the page may take a moment to be there."""
    while True:
        stream = socket.socket()
        if receive:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        try:
            stream.connect(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            stream.close()
            if time.monotonic() > until:
                raise
            time.sleep(RETRY_SECONDS)
    stream.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    stream.settimeout(max(1.0, until - time.monotonic()))
    return stream


def read(port: int, until: float, reported: list[dict]) -> None:
    """Everything, to the end; events end with an empty line."""
    events, size, last = 0, 0, b""
    with ask(port, until) as stream:
        while piece := stream.recv(PIECE):
            size += len(piece)
            # A document has no line breaks, so an empty line is an event's end.
            events += (last + piece).count(b"\n\n")
            last = piece[-1:]
        # What ends the head is no event: its line breaks are those of HTTP.
    reported.append({"events": events, "bytes": size})


def main() -> None:
    port, readers, dead = (int(number) for number in sys.argv[1:4])
    until = time.monotonic() + float(sys.argv[4])
    reported: list[dict] = []
    threads = [threading.Thread(target=read, args=(port, until, reported)) for _ in range(readers)]
    for thread in threads:
        thread.start()
    silent = [ask(port, until, DEAD_BYTES) for _ in range(dead)]
    for thread in threads:
        thread.join()
    for stream in silent:
        stream.close()
    print(json.dumps({"readers": reported, "dead": len(silent)}))


if __name__ == "__main__":
    main()
