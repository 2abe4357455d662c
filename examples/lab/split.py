"""Answers /round after 1,000 × (SET, GET) and one DEL of all keys, one after the other.

    python3 split.py HOST PORT REDIS-URL
"""

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KEYS = [f"key-{number}" for number in range(1_000)]


class Redis:
    """A connection that waits for each reply before the next command."""

    def __init__(self, host, port, password):
        connection = socket.create_connection((host, port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self.replies = connection, connection.makefile("rb")
        if password:
            self.call("AUTH", password)

    def call(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word.encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.connection.sendall(b"".join(parts))
        line = self.replies.readline().rstrip()
        if line[:1] == b"-" or not line:
            raise OSError(f"Redis: {line.decode()}")
        if line[:1] == b"$" and line != b"$-1":
            return self.replies.read(int(line[1:]) + 2)[:-2].decode()
        return line[1:].decode()

    def round(self):
        for key in KEYS:
            self.call("SET", key, "value of " + key)
            if self.call("GET", key) != "value of " + key:
                raise OSError(f"Redis lost {key}")
        self.call("DEL", *KEYS)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/round":
            redis = Redis(store.hostname, store.port, store.password)
            redis.round()
            redis.connection.close()
        self.send_response(200)
        self.send_header("content-length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *_):
        pass


host, port, url = sys.argv[1:]
store = urlsplit(url)
ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
