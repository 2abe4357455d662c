"""Tools that take a program: the programs stand in bench/peer-scripts/."""

import json
import re

from lib.install import SCRIPTS
from lib.peers.base import CALL, MESSAGE_BYTES, PROTO, PROTOS, Load, Outcome, Peer

# So many users take turns where a tool needs one of its users for each request under way. In a
# stall of 1 s at 500/s there are 500 under way.
ENOUGH_USERS = 600


class K6(Peer):
    name = "k6"
    variants = {"http": ("",), "idle": ("ws", "websockets"), "echo": ("ws", "websockets"),
                "stall": ("64 VUs", f"{ENOUGH_USERS} VUs"), "grpc": ("",)}
    cannot = {"h2": "no HTTP/2 without TLS"}

    def command(self, load: Load) -> list[str]:
        return [*self.tool.command, "run", "--quiet", "--no-usage-report", "--address", "",
                str(SCRIPTS / "k6.js")]

    def environment(self, load: Load) -> dict[str, str]:
        sockets = load.kind in ("idle", "echo")
        users = int(load.variant.split()[0]) if load.kind == "stall" else load.users
        return {
            "KIND": f"{load.kind}-{load.variant}" if sockets else load.kind,
            "URL": load.ws if sockets else load.http if load.kind == "grpc" else load.path,
            "USERS": str(users), "SECONDS": str(load.seconds), "RATE": str(load.rate),
            "BYTES": str(MESSAGE_BYTES), "OUT": str(load.file("out.json")),
            "PROTOS": str(PROTOS), "PROTO": PROTO, "CALL": CALL,
        }

    def read(self, load: Load, printed: str) -> Outcome:
        metrics = json.loads(load.file("out.json").read_text())["metrics"]
        names = {"med": "p50", "p(90)": "p90", "p(95)": "p95", "p(99)": "p99", "max": "max"}
        if load.kind == "echo":
            return Outcome(metrics["ws_msgs_received"]["values"]["count"])
        if load.kind == "grpc":
            trend, checked = metrics["grpc_req_duration"]["values"], metrics["checks"]["values"]
            return Outcome(checked["passes"], checked["fails"], {names[name]: trend[name] for name in names})
        count = metrics["http_reqs"]["values"]["count"]
        failed = metrics["http_req_failed"]["values"]["passes"]
        trend = metrics["http_req_duration"]["values"]
        return Outcome(count, failed, {names[name]: trend[name] for name in names})


class Locust(Peer):
    name = "locust"
    stretch = 2
    variants = {"http": ("fast", "requests"), "idle": ("",), "echo": ("",), "stall": ("",)}

    def command(self, load: Load) -> list[str]:
        return [*self.tool.command, "-f", str(SCRIPTS / "locustfile.py"), "--headless", "--json",
                "--loglevel", "ERROR", "-u", str(load.users), "-r", str(load.users),
                "-t", f"{load.seconds}s"]

    def environment(self, load: Load) -> dict[str, str]:
        sockets = load.kind in ("idle", "echo")
        return {
            "KIND": f"http-{load.variant}" if load.kind == "http" else load.kind,
            "URL": load.ws if sockets else load.http, "USERS": str(load.users),
            # The rate of idle users is that of `-r`.
            "RATE": str(load.rate if load.kind == "stall" else 0), "BYTES": str(MESSAGE_BYTES),
        }

    def read(self, load: Load, printed: str) -> Outcome:
        start = printed.index("[\n")
        reported = json.JSONDecoder().raw_decode(printed[start:])[0][0]
        times = sorted((float(ms), count) for ms, count in reported["response_times"].items())
        latency = {name: ranked(times, share) for name, share in
                   (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))}
        latency["max"] = reported["max_response_time"]
        return Outcome(reported["num_requests"] - reported["num_failures"], reported["num_failures"], latency)


def ranked(times: list[tuple[float, int]], share: float) -> float:
    """A percentile of values with counts, by nearest rank."""
    rank, seen = share * sum(count for _, count in times), 0
    for value, count in times:
        seen += count
        if seen >= rank:
            return value
    return 0.0


class Artillery(Peer):
    name = "artillery"
    stretch = 2
    variants = {"http": ("",), "idle": ("",), "echo": ("",), "stall": ("",)}

    def command(self, load: Load) -> list[str]:
        script = load.write("artillery.json", json.dumps(self.script(load)))
        return [*self.tool.command, "run", "--quiet", "--output", str(load.file("out.json")),
                script]

    def environment(self, load: Load) -> dict[str, str]:
        return {"SECONDS": str(load.seconds), "ARTILLERY_DISABLE_TELEMETRY": "true"}

    def script(self, load: Load) -> dict:
        """Its scenario; JSON is YAML, too."""
        sockets = load.kind in ("idle", "echo")
        config = {"target": load.ws if sockets else load.http,
                  "processor": str(SCRIPTS / "artillery.cjs")}
        # Users of a closed load come within a second; it starts none at once.
        config["phases"] = [{"duration": 1, "arrivalCount": load.users}]
        get = {"get": {"url": "/hello" if load.kind == "http" else "/"}}
        if load.kind == "http":
            flow = [{"loop": [get], "whileTrue": "more"}]
        elif load.kind == "stall":
            flow = [get]
            config["phases"] = [{"duration": load.seconds, "arrivalRate": load.rate}]
        elif load.kind == "idle":
            flow = [{"think": load.seconds}]
            config["phases"] = [{"duration": max(1, load.users // load.rate),
                                 "arrivalCount": load.users}]
        else:
            send = {"payload": "x" * MESSAGE_BYTES, "capture": {"regexp": "x", "as": "reply"}}
            flow = [{"loop": [{"send": send}], "whileTrue": "more"}]
        scenario = {"flow": flow, **({"engine": "ws"} if sockets else {})}
        return {"config": config, "scenarios": [scenario]}

    def read(self, load: Load, printed: str) -> Outcome:
        reported = json.loads(load.file("out.json").read_text())["aggregate"]
        counters = reported["counters"]
        failed = sum(n for name, n in counters.items() if name.startswith("errors."))
        if load.kind == "echo":
            return Outcome(counters["websocket.messages_received"], failed)
        times = reported["summaries"]["http.response_time"]
        latency = {name: times[name] for name in ("p50", "p90", "p95", "p99", "max")}
        return Outcome(counters["http.codes.200"], failed, latency)


class Gatling(Peer):
    name = "gatling"
    # Starting, compiling while it runs and writing reports are most of a short run.
    stretch = 4
    variants = {"http": ("",), "idle": ("",), "echo": ("",), "stall": ("",)}

    def command(self, load: Load) -> list[str]:
        java, *rest = self.tool.command
        sockets = load.kind in ("idle", "echo")
        wants = {"kind": load.kind, "users": load.users, "seconds": load.seconds,
                 "per_second": load.rate, "bytes": MESSAGE_BYTES,
                 "url": f"ws://127.0.0.1:{load.port}" if sockets else load.http,
                 "gatling.charting.indicators.percentile2": 90,
                 "gatling.data.console.light": "true",
                 "gatling.data.enableAnalytics": "false"}
        # Its controller waits for its writers on a pool of a thread for each core: pinned to one
        # core it would wait for ever, so it gets two.
        return [java, "-XX:ActiveProcessorCount=2", "-Xmx1G", "-XX:+UseG1GC",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                *(f"-D{name}={value}" for name, value in wants.items()), *rest,
                "-s", "bench.Load", "-rf", str(load.folder)]

    def read(self, load: Load, printed: str) -> Outcome:
        text = next(load.folder.glob("*/js/stats.js")).read_text()
        wanted = {"http": "request", "stall": "request", "echo": "send"}[load.kind]
        # A script and no JSON, but its figures all look alike.
        stats = text[text.index(f'"name": "{wanted}"'):]
        reported = {name: (number(ok), number(ko)) for name, ok, ko in re.findall(
            r'"(\w+)": {\s*"total": "[^"]*",\s*"ok": "([^"]*)",\s*"ko": "([^"]*)"',
            stats[:stats.index('"group1"')])}
        done, failed = reported["numberOfRequests"]
        names = {"percentiles1": "p50", "percentiles2": "p90", "percentiles3": "p95",
                 "percentiles4": "p99", "maxResponseTime": "max"}
        return Outcome(done, failed, {names[name]: reported[name][0] for name in names})


def number(text: str) -> int:
    """Gatling's way to write a number: a dash where there is none."""
    return 0 if text == "-" else int(text.replace(",", ""))
