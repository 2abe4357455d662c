"""Tools that are all command line: one line in, one text or JSON out."""

import json
import re

from lib.peers.base import CALL, CONNECTIONS, MESSAGE_BYTES, PROTO, PROTOS, Load, Outcome, Peer, percentiles

NO_WEBSOCKET = "no WebSocket"
NO_OPEN_LOAD = "no open load"


def number(pattern: str, printed: str) -> int:
    """The number that a pattern catches; a tool that does not say it has failed."""
    found = re.search(pattern, printed)
    if not found:
        raise ValueError(f"its output says nothing like {pattern!r}")
    return int(found.group(1).replace(",", ""))


def after_brace(printed: str) -> dict:
    """The JSON in an output that may begin with other lines."""
    return json.loads(printed[printed.index("{"):])


class Wrk(Peer):
    name = "wrk"
    variants = {"http": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET, "stall": NO_OPEN_LOAD}

    def command(self, load: Load) -> list[str]:
        return [*self.tool.command, "-t1", f"-c{load.users}", f"-d{load.seconds}s", load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        return Outcome(number(r"(\d+) requests in", printed))


class Ab(Peer):
    name = "ab"
    variants = {"http": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET, "stall": NO_OPEN_LOAD}

    def command(self, load: Load) -> list[str]:
        # -n after -t: alone, -t means at most 50,000 requests. It is given up after -s seconds
        # without an answer that it understands: it speaks HTTP/1.0 and must be told that the
        # connection is kept.
        return [*self.tool.command, "-k", "-q", "-s", "5", "-c", str(load.users),
                "-t", str(load.seconds), "-n", "10000000", load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        return Outcome(number(r"Complete requests:\s+(\d+)", printed),
                       number(r"Failed requests:\s+(\d+)", printed))


class H2load(Peer):
    name = "h2load"
    variants = {"http": ("",), "stall": ("",), "h2": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET}

    def command(self, load: Load) -> list[str]:
        version = [f"-c{CONNECTIONS}", f"-m{load.streams}"] if load.kind == "h2" else ["--h1", f"-c{load.users}"]
        command = [*self.tool.command, *version, "-t1", f"-D{load.seconds}"]
        if load.rate:
            # It has no percentiles, but a log: start, status and microseconds of each request.
            command += [f"--rps={load.rate / load.users}", f"--log-file={load.file('log')}"]
        return [*command, load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        done = number(r"(\d+) succeeded", printed)
        if not load.rate:
            return Outcome(done)
        lines = load.file("log").read_text().splitlines()
        return Outcome(done, 0, percentiles(int(line.split()[2]) / 1e3 for line in lines))


class Fortio(Peer):
    name = "fortio"
    variants = {"http": ("",), "stall": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET}

    def command(self, load: Load) -> list[str]:
        return [*self.tool.command, "load", "-quiet", "-qps", str(load.rate),
                "-c", str(load.users), "-t", f"{load.seconds}s", "-p", "50,90,95,99",
                "-json", str(load.file("out.json")), load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        reported = json.loads(load.file("out.json").read_text())
        histogram, codes = reported["DurationHistogram"], reported["RetCodes"]
        done = codes.get("200", 0)
        latency = {f"p{p['Percentile']:.0f}": p["Value"] * 1e3 for p in histogram["Percentiles"]}
        latency["max"] = histogram["Max"] * 1e3
        return Outcome(done, sum(codes.values()) - done, latency)


class Oha(Peer):
    name = "oha"
    variants = {"http": ("",), "stall": ("", "corrected"), "h2": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET}

    def command(self, load: Load) -> list[str]:
        connections = ["-c", str(load.users)]
        if load.kind == "h2":
            connections = ["--http2", "-c", str(CONNECTIONS), "-p", str(load.streams)]
        command = [*self.tool.command, "--no-tui", "--output-format", "json",
                   "--wait-ongoing-requests-after-deadline", *connections, "-z", f"{load.seconds}s"]
        if load.rate:
            command += ["-q", str(load.rate)]
        if load.variant == "corrected":
            command += ["--latency-correction"]
        return [*command, load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        reported = after_brace(printed)
        done = reported["statusCodeDistribution"].get("200", 0)
        known = reported["latencyPercentiles"]
        latency = {name: known[name] * 1e3 for name in ("p50", "p90", "p95", "p99")}
        latency["max"] = reported["summary"]["slowest"] * 1e3
        return Outcome(done, sum(reported["errorDistribution"].values()), latency)


class Autocannon(Peer):
    name = "autocannon"
    variants = {"http": ("",), "stall": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET}

    def command(self, load: Load) -> list[str]:
        command = [*self.tool.command, "--json", "-c", str(load.users), "-d", str(load.seconds)]
        if load.rate:
            command += ["-R", str(load.rate)]
        return [*command, load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        reported = after_brace(printed)
        # It has 97.5 % beside 90 %, and no 95 %.
        latency = {name: reported["latency"][name] for name in ("p50", "p90", "p99", "max")}
        return Outcome(reported["2xx"], reported["errors"] + reported["non2xx"], latency)


class Ghz(Peer):
    name = "ghz"
    variants = {"grpc": ("",)}

    def command(self, load: Load) -> list[str]:
        return [*self.tool.command, "--insecure", "--import-paths", str(PROTOS), "--proto", str(PROTOS / PROTO),
                "--call", CALL, "--data", json.dumps({"text": "x" * MESSAGE_BYTES}),
                "--concurrency", str(load.users), "--connections", str(load.users),
                "--duration", f"{load.seconds}s", "--duration-stop", "wait",
                "--format", "json", "--output", str(load.file("out.json")), f"127.0.0.1:{load.port}"]

    def read(self, load: Load, printed: str) -> Outcome:
        reported = json.loads(load.file("out.json").read_text())
        done = reported["statusCodeDistribution"].get("OK", 0)
        known = {row["percentage"]: row["latency"] / 1e6 for row in reported["latencyDistribution"]}
        latency = {f"p{share}": known[share] for share in (50, 90, 95, 99)} | {"max": reported["slowest"] / 1e6}
        return Outcome(done, reported["count"] - done, latency)


class Hey(Peer):
    name = "hey"
    variants = {"http": ("",), "stall": ("",)}
    cannot = {"idle": NO_WEBSOCKET, "echo": NO_WEBSOCKET}

    def command(self, load: Load) -> list[str]:
        command = [*self.tool.command, "-cpus", "1", "-c", str(load.users), "-z",
                   f"{load.seconds}s"]
        if load.rate:
            # Its rate is for each of its users.
            command += ["-q", str(load.rate / load.users)]
        return [*command, load.path]

    def read(self, load: Load, printed: str) -> Outcome:
        latency = {f"p{share}": float(seconds) * 1e3 for share, seconds in
                   re.findall(r"(50|90|95|99)%+ in ([\d.]+) secs", printed)}
        slowest = re.search(r"Slowest:\s+([\d.]+) secs", printed)
        if slowest:
            latency["max"] = float(slowest.group(1)) * 1e3
        return Outcome(number(r"\[200\]\s+(\d+) responses", printed), 0, latency)
