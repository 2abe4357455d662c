"""A server that stands for the hosts of scripts: it answers like httpbin where a path is one of httpbin's, and with a small
page elsewhere. It counts what it gets."""

import base64
import collections
import hashlib
import http.server
import json
import re
import struct
import threading
import urllib.parse

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Stand-in</title></head><body>
<h1>Collection of simple web-pages</h1><a href="/news.php">news</a>
<form action="/login.php" method="post"><input type="hidden" name="csrftoken" value="abc123">
<input name="login" value=""><input name="password" type="password"><input type="submit" value="Go"></form>
<ul><li class="on">one</li><li>two</li></ul></body></html>"""
BODY_MAX = 16 << 20
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments) -> None:
        """Nothing is printed."""

    def answer(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        length = min(int(self.headers.get("content-length") or 0), BODY_MAX)
        body = self.rfile.read(length) if length else b""
        self.server.note(self.command, self.path)
        if self.headers.get("upgrade", "").lower() == "websocket":
            self.echo()
            return
        status, headers, text = self.content(url, body)
        payload = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def content(self, url: urllib.parse.SplitResult, body: bytes) -> tuple[int, list, str]:
        as_json = ("Content-Type", "application/json")
        path = url.path
        cookies = dict(pair.strip().split("=", 1) for pair in self.headers.get("cookie", "").split(";") if "=" in pair)
        if found := re.fullmatch(r"/status/(\d{3})", path):
            return int(found[1]), [], ""
        if found := re.fullmatch(r"/(?:relative-|absolute-)?redirect/(\d+)", path):
            count = int(found[1])
            place = "/get" if count <= 1 else f"/redirect/{count - 1}"
            return 302, [("Location", place)], ""
        if path == "/redirect-to":
            query = urllib.parse.parse_qs(url.query)
            return 302, [("Location", query.get("url", ["/get"])[0])], ""
        if path == "/cookies/set":
            pairs = urllib.parse.parse_qsl(url.query)
            return 302, [("Set-Cookie", f"{name}={value}; Path=/") for name, value in pairs] + [("Location", "/cookies")], ""
        if path == "/cookies/delete":
            names = [name for name, _ in urllib.parse.parse_qsl(url.query, keep_blank_values=True)]
            gone = [("Set-Cookie", f"{name}=; Max-Age=0; Path=/") for name in names]
            return 302, [*gone, ("Location", "/cookies")], ""
        if path == "/cookies":
            return 200, [as_json], json.dumps({"cookies": cookies})
        if found := re.fullmatch(r"/(?:hidden-)?basic-auth/([^/]+)/([^/]+)", path):
            wanted = "Basic " + base64.b64encode(f"{found[1]}:{found[2]}".encode()).decode()
            if self.headers.get("authorization") != wanted:
                return 401, [("WWW-Authenticate", 'Basic realm="site"')], ""
            return 200, [as_json], json.dumps({"authenticated": True, "user": found[1]})
        if path in {"/get", "/post", "/put", "/patch", "/delete", "/anything", "/headers", "/ip", "/user-agent"}:
            return 200, [as_json], json.dumps(self.described(url, body))
        if path == "/html":
            return 200, [("Content-Type", "text/html; charset=utf-8")], PAGE
        if path.endswith((".json", "/json")) or path.startswith(("/api/", "/public/", "/posts", "/crocodiles")):
            return 200, [as_json], json.dumps({"id": 1, "name": "Bert", "items": [{"id": 1}, {"id": 2}], "token": "t"})
        return 200, [("Content-Type", "text/html; charset=utf-8")], PAGE

    def described(self, url: urllib.parse.SplitResult, body: bytes) -> dict:
        text = body.decode(errors="replace")
        kind = self.headers.get("content-type", "")
        form = {}
        if kind.startswith("application/x-www-form-urlencoded"):
            found = urllib.parse.parse_qs(text, keep_blank_values=True)
            form = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
        try:
            value = json.loads(text) if text else None
        except ValueError:
            value = None
        return {
            "args": dict(urllib.parse.parse_qsl(url.query)), "data": "" if form else text, "form": form, "files": {},
            "headers": dict(self.headers.items()), "json": value, "origin": "127.0.0.1",
            "url": f"http://{self.headers.get('host')}{self.path}", "method": self.command,
            "user-agent": self.headers.get("user-agent", ""),
        }

    def echo(self) -> None:
        """Sends back each message of a WebSocket until it is closed."""
        key = self.headers.get("sec-websocket-key", "")
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        self.send_response(101)
        for name, value in [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]:
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return
            kind, length = head[0] & 15, head[1] & 127
            if length == 126:
                length = struct.unpack(">H", self.rfile.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.rfile.read(8))[0]
            mask = self.rfile.read(4) if head[1] & 128 else bytes(4)
            data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(min(length, BODY_MAX))))
            answer = {9: 10, 8: 8}.get(kind, kind)
            size = bytes([len(data)]) if len(data) < 126 else bytes([126]) + struct.pack(">H", len(data) & 65535)
            if kind != 10:
                self.wfile.write(bytes([128 | answer]) + size + data)
            if kind == 8:
                return


class Site(http.server.ThreadingHTTPServer):
    """Serves at a free port of 127.0.0.1 until it is closed."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: collections.Counter = collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def note(self, method: str, target: str) -> None:
        with self.lock:
            self.requests[f"{method} {target}"] += 1

    def take(self) -> collections.Counter:
        """What it got since this was last called."""
        with self.lock:
            taken, self.requests = self.requests, collections.Counter()
        return taken

    def handle_error(self, _request, _client_address) -> None:
        """A client that closes early is none of its errors."""
