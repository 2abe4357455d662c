"""Real servers, each with ports for HTTP with and without TLS, and a count of what it served."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
LARGE = "x" * 1_999_997 + "END"
MUCH = json.dumps({"word": "moon", "much": "much " * 500})
WORD = '{"word":"moon"}'
# Idle connections are kept for this long: by servers that should, and by those whose clients should notice.
KEPT_S, SHORT_S = 60, 1
# Requests of a connection of a server whose connections end soon, where it has such a limit.
REQUESTS_MAX = 3


def load(path: pathlib.Path):
    """A script without an extension as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


services = load(HERE.parents[1] / "scripts/services")
program, free_port, listens = services.program, services.free_port, services.listens


def output(*command) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


class Spoken:
    """A process that obeys lines on standard input, and answers each by a line."""

    def __init__(self, command: list, log: pathlib.Path) -> None:
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=log.parent,
            )

    def line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the server ended")
        return line

    def obey(self, order: str) -> dict:
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        return json.loads(self.line())

    def stop(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Server:
    """A server. `urls` has those that speak HTTP by version and TLS, such as `("2", True)`."""

    name = ""
    # Which content codings it uses, and what it cannot be configured to do.
    codings = ("gzip",)
    lacks = ()

    def __init__(self, folder: pathlib.Path, tls: dict, is_short: bool) -> None:
        self.folder, self.tls, self.is_short = folder, tls, is_short
        self.idle_s = SHORT_S if is_short else KEPT_S
        self.urls = {}
        folder.mkdir(parents=True)
        # Workers of other users read it.
        folder.chmod(0o755)

    def version(self) -> str:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def counts(self) -> collections.Counter:
        """Requests by protocol and path, as `HTTP/2.0 /hello`."""
        raise NotImplementedError

    def reload(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def served_at(self, plain1: int, plain2: int, tls: int) -> None:
        self.urls = {
            ("1.1", False): f"http://127.0.0.1:{plain1}", ("2", False): f"http://127.0.0.1:{plain2}",
            ("1.1", True): f"https://127.0.0.1:{tls}", ("2", True): f"https://127.0.0.1:{tls}",
        }


class Node(Server):
    name = "Node"
    codings = ("gzip", "deflate", "br")

    def version(self) -> str:
        return output("node", "--version").strip().lstrip("v")

    def start(self) -> None:
        ports = [free_port() for _ in range(3)]
        files = [self.tls["certificate"], self.tls["key"]]
        self.spoken = Spoken(["node", HERE / "node.js", *ports, *files, self.idle_s * 1000], self.folder / "output")
        self.spoken.line()
        self.served_at(*ports)

    def counts(self) -> collections.Counter:
        return collections.Counter(self.spoken.obey("counts"))

    def reload(self) -> None:
        self.spoken.obey("restart")

    def stop(self) -> None:
        self.spoken.stop()


class Go(Server):
    name = "Go"
    codings = ("gzip", "deflate")
    # Its library for WebSockets takes upgrades alone.
    lacks = ("WebSocket 2",)
    binary = None

    def version(self) -> str:
        return re.search(r"go([\d.]+)", output("go", "version"))[1]

    def start(self) -> None:
        options = ["-idle", f"{self.idle_s}s"]
        files = ["-cert", self.tls["certificate"], "-key", self.tls["key"]]
        self.spoken = [
            Spoken([self.binary, "http", *options], self.folder / "plain"),
            Spoken([self.binary, "http", *options, *files], self.folder / "tls"),
        ]
        plain, secure = (int(own.line()) for own in self.spoken)
        self.port = plain
        self.served_at(plain, plain, secure)

    def counts(self) -> collections.Counter:
        return sum((collections.Counter(own.obey("counts")) for own in self.spoken), collections.Counter())

    def reload(self) -> None:
        for own in self.spoken:
            own.obey("restart")

    def stop(self) -> None:
        for own in self.spoken:
            own.stop()


def certificate(folder: pathlib.Path) -> dict:
    """Files of an authority, and of a certificate of its for 127.0.0.1."""
    maker = services.Servers(str(folder))
    maker.make_certificate()
    for path in maker.tls.values():
        # Servers that give up their rights read them again when they are reloaded.
        os.chmod(path, 0o644)
    return maker.tls


def build_go(folder: pathlib.Path) -> pathlib.Path:
    binary = folder / "interop-go"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=HERE / "go", check=True)
    return binary


@contextlib.contextmanager
def running(server: Server):
    try:
        server.start()
        yield server
    finally:
        with contextlib.suppress(AttributeError):
            server.stop()
