"""A server on loopback that answers every request with what it was, and remembers each."""

import collections
import http.server
import json
import re
import threading
import urllib.parse

BODY_BYTES_MAX = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Clients that wait for acknowledgements of small writes are not what is measured here.
    disable_nagle_algorithm = True
    timeout = 30

    def log_message(self, *_parts) -> None:
        pass

    def parse_request(self) -> bool:
        sound = super().parse_request()
        # Whatever the method is called, it is answered.
        setattr(self, f"do_{self.command}", self.answer)
        return sound

    def answer(self) -> None:
        body = self.body()
        path, _, query = self.path.partition("?")
        kind = self.headers.get("content-type", "").split(";")[0]
        shown = body.decode("latin-1")
        if kind.startswith("multipart"):
            # Boundaries of forms are drawn, and names of headers may be written either way (RFC 2045 section 2).
            shown = re.sub(r"(?m)^--\S+\r?$", "--", shown)
            shown = re.sub(r"(?m)^content-[\w-]+:", lambda found: found[0].lower(), shown, flags=re.IGNORECASE)
        self.server.requests[(self.command, self.path, kind, shown)] += 1
        status = re.fullmatch(r"/status/(\d{3})", path)
        code = int(status[1]) if status else 200
        text = json.dumps({
            "args": dict(urllib.parse.parse_qsl(query)), "data": shown, "method": self.command,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "form": dict(urllib.parse.parse_qsl(shown)) if kind == "application/x-www-form-urlencoded" else {},
            "url": f"http://{self.headers.get('host', '')}{self.path}",
        }).encode()
        self.send_response(code)
        if code >= 200 and code not in (204, 304):
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD" and code not in (204, 304):
            self.wfile.write(text)

    def body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(min(int(self.headers.get("content-length") or 0), BODY_BYTES_MAX))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: collections.Counter = collections.Counter()
        self.port = self.server_address[1]

    def __enter__(self) -> "Server":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_request) -> None:
        """A client that goes away is none of ours."""

    def take(self) -> collections.Counter:
        """The requests since the last call: method, target, type and text of the body."""
        taken, self.requests = self.requests, collections.Counter()
        return taken
