"""Tools that measure: each runs for some seconds, and gives the files that it wrote and its own summary."""

import dataclasses
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
from collections.abc import Callable

import tools
from report import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from lib import install

REQUESTS, CONNECTIONS, SECONDS = 600, 4, 4
# A busy machine takes its time; a tool that hangs must not hold the check for ever.
RUN_SECONDS_MAX = 1_200
# Those that `make bench-peers` does not install.
OTHERS = {
    "vegeta": {"from": "go", "package": "github.com/tsenart/vegeta/v12", "version": "v12.13.0", "program": "vegeta"},
    "pytest-benchmark": {"from": "pip", "package": "pytest-benchmark", "version": "5.3.1", "program": "pytest",
                         "with": ["pytest==9.2.0"]},
    "HdrHistogram": {"from": "pip", "package": "hdrhistogram", "version": "0.10.8", "program": "python"},
}


class Unavailable(Exception):
    """Why a tool is not to be had here."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A file of a tool, and what the tool itself says of it."""

    tool: str
    form: str
    path: pathlib.Path
    count: int
    failed: int
    # Milliseconds: `mean`, `p50`, `p95`, as far as the tool says them.
    figures: dict[str, float]
    # The last digit of the tool's figures, or the width of its buckets.
    digit_ms: float
    # What its digits leave open of larger figures, as a share.
    rounding: float = 0.0
    # The operations whose figures these are: `response`: all, `succeeded`: those that did.
    of: str = "response"
    # All times in milliseconds, of a tool that takes a percentile between two of them, where Throng takes the nearest rank.
    # Its figure is compared with these two times, and Throng's with the nearest rank.
    rows: tuple[float, ...] = ()


def tool(name: str) -> tuple[tuple[str, ...], str]:
    """The command of a tool, and its version."""
    if name in OTHERS:
        entry, home = OTHERS[name], install.TOOLS / name
        program = home / ("bin" if entry["from"] == "pip" else "") / entry["program"]
        try:
            if not program.exists():
                home.mkdir(parents=True, exist_ok=True)
                install.MANAGERS[entry["from"]](entry, home)
        except install.CannotInstall as error:
            raise Unavailable(str(error)) from None
        return (str(program),), f"{name} {entry['version'].lstrip('v')}"
    found = install.install(name)
    if not found.ready:
        raise Unavailable(found.reason)
    # Debian's own part of a version says nothing of the tool.
    return found.command, f"{name} {found.version.lstrip('v').split('-')[0]}"


def call(*command: object, may_fail: bool = False, **more) -> str:
    """Runs a program to its end, and gives what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
                          stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0 and not may_fail:
        raise RuntimeError(f"{command[0]}: {(done.stdout + done.stderr)[-800:]}")
    return done.stdout


def percentile(values: list[float], share: float) -> float:
    """The nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def figures(values: list[float]) -> dict[str, float]:
    return {"mean": statistics.fmean(values), "p50": percentile(values, 0.5), "p95": percentile(values, 0.95)}


def k6(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("k6")
    script = space / "k6.js"
    script.write_text(
        f"import http from 'k6/http';\nexport const options = {{ vus: {CONNECTIONS}, iterations: {REQUESTS},\n"
        f"  summaryTrendStats: ['avg', 'p(50)', 'p(95)'] }};\nexport default () => {{ http.get('{url}/x'); }};\n")
    call(*command, "run", "--quiet", "--no-usage-report", "--address", "", "--out", f"json={space / 'k6.json'}",
         "--out", f"csv={space / 'k6.csv'}", "--summary-export", space / "summary.json", script)
    metrics = json.loads((space / "summary.json").read_text())["metrics"]
    times = metrics["http_req_duration"]
    own = {"mean": times["avg"], "p50": times["p(50)"], "p95": times["p(95)"]}
    count, failed = metrics["http_reqs"]["count"], metrics["http_req_failed"]["passes"]
    points = map(json.loads, (space / "k6.json").read_text().splitlines())
    rows = tuple(point["data"]["value"] for point in points
                 if point["type"] == "Point" and point["metric"] == "http_req_duration")
    # The CSV has six digits behind the point, and so has the summary.
    return [Measured(version, form, space / f"k6.{form.lower()}", count, failed, own, 1e-6, rows=rows)
            for form in ("JSON", "CSV")]


def vegeta(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("vegeta")
    (space / "targets").write_text(f"GET {url}/x\n")
    rate = REQUESTS // SECONDS
    call(*command, "attack", "-targets", space / "targets", "-rate", rate, "-duration", f"{SECONDS}s",
         "-output", space / "results.bin")
    summary = json.loads(call(*command, "report", "-type", "json", space / "results.bin"))
    latencies = summary["latencies"]
    # Its percentiles are estimates by a t-digest.
    own = {"mean": latencies["mean"] / 1e6, "p50": latencies["50th"] / 1e6, "p95": latencies["95th"] / 1e6}
    failed = summary["requests"] - sum(
        count for code, count in summary["status_codes"].items() if 200 <= int(code) < 400)
    found = []
    for form in ("json", "csv"):
        path = space / f"vegeta.{form}"
        call(*command, "encode", "--to", form, "--output", path, space / "results.bin")
        found.append(Measured(version, form.upper(), path, summary["requests"], failed, own, 0.1, 0.01))
    return found


def hey(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("hey")
    text = call(*command, "-n", REQUESTS, "-c", CONNECTIONS, "-o", "csv", f"{url}/x")
    (space / "hey.csv").write_text(text)
    # It prints a summary or this table. Times have four digits behind the point of seconds.
    rows = [line.split(",") for line in text.strip().splitlines()[1:]]
    times = [float(row[0]) * 1e3 for row in rows]
    failed = sum(row[6] == "503" for row in rows)
    return [Measured(version, "CSV (its own rows)", space / "hey.csv", REQUESTS, failed, figures(times), 0.001)]


def h2load(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("h2load")
    text = call(*command, "--h1", "-n", REQUESTS, "-c", CONNECTIONS, "--log-file", space / "h2load.log", f"{url}/x")
    counts = [int(count) for count in re.search(
        r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text).groups()]
    mean = re.search(r"time for request:\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)", text)
    own = {"mean": float(mean[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[mean[2]]}
    return [Measured(version, "log", space / "h2load.log", sum(counts), counts[2] + counts[3], own, 0.01)]


def fortio(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("fortio")
    call(*command, "load", "-quiet", "-qps", 0, "-n", REQUESTS, "-c", CONNECTIONS, "-r", "0.0001", "-p", "50,95",
         "-allow-initial-errors", "-access-log-file", space / "fortio.log", "-json", space / "fortio.json", f"{url}/x",
         may_fail=True)
    summary = json.loads((space / "fortio.json").read_text())
    times = summary["DurationHistogram"]
    own = {"mean": times["Avg"] * 1e3}
    own |= {f"p{entry['Percentile']:.0f}": entry["Value"] * 1e3 for entry in times["Percentiles"]}
    failed = sum(count for code, count in summary["RetCodes"].items() if code != "200")
    # Its buckets are 0.1 ms wide, and wider from 2 ms on.
    return [Measured(version, "log", space / "fortio.log", times["Count"], failed, own, 0.1, 0.1)]


def ghz(_url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("ghz")
    throng = os.environ.get("THRONG", str(ROOT / "target/release/throng"))
    server = subprocess.Popen([throng, "serve", "grpc", "--listen", "0", "--until-stdin-closes"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = re.search(r"127\.0\.0\.1:\d+", server.stdout.readline())[0]
        delays = (3, 3, 3, 3, 3, 3, 8, 8, 8, 20)
        calls = [{"delay_ms": delay} | ({"status": 5} if place == 4 else {}) for place, delay in enumerate(delays)]
        call(*command, "--insecure", "--proto", ROOT / "examples/grpc/echo.proto", "--call", "throng.echo.Echo.Say",
             "-n", REQUESTS, "-c", CONNECTIONS, "-d", json.dumps(calls), "-O", "json", "-o", space / "ghz.json", address)
    finally:
        server.stdin.close()
        server.wait(timeout=30)
    summary = json.loads((space / "ghz.json").read_text())
    failed = summary["count"] - summary["statusCodeDistribution"].get("OK", 0)
    own = {f"p{entry['percentage']}": entry["latency"] / 1e6 for entry in summary["latencyDistribution"]
           if entry["percentage"] in (50, 95)}
    # Its distribution is that of calls that succeeded.
    return [Measured(version, "JSON", space / "ghz.json", summary["count"], failed, own, 0.1, of="succeeded")]


def tsung(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("tsung")
    port = url.rsplit(":", 1)[1]
    (space / "tsung.xml").write_text(f"""<?xml version="1.0"?>
<!DOCTYPE tsung SYSTEM "/usr/share/tsung/tsung-1.0.dtd">
<tsung loglevel="warning" dumptraffic="protocol">
  <clients><client host="localhost" use_controller_vm="true"/></clients>
  <servers><server host="127.0.0.1" port="{port}" type="tcp"/></servers>
  <load><arrivalphase phase="1" duration="{SECONDS}" unit="second"><users arrivalrate="10" unit="second"/></arrivalphase></load>
  <sessions><session name="s" probability="100" type="ts_http">
    <for from="1" to="10" var="i"><request><http url="/x" method="GET"/></request></for>
  </session></sessions>
</tsung>
""")
    call(*command, "-f", space / "tsung.xml", "-F", "-I", "127.0.0.1", "-l", space / "log", "start")
    folder = next((space / "log").iterdir())
    log = (folder / "tsung.log").read_text()
    # `stats: request` has the mean of an interval and of all before, and how many these are.
    codes = {code: sum(map(int, re.findall(rf"^stats: {code} (\d+)", log, re.MULTILINE))) for code in (200, 503)}
    last = re.findall(r"^stats: request (\d+) (\S+) \S+ \S+ \S+ (\S+) (\d+)", log, re.MULTILINE)
    total = sum(int(count) * float(mean) for count, mean, _, _ in last) / max(1, sum(int(row[0]) for row in last))
    return [Measured(version, "log", folder / "tsung.dump", sum(codes.values()), codes[503], {"mean": total}, 0.01)]


def locust(url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("locust")
    (space / "locustfile.py").write_text(
        "from locust import HttpUser, task\nclass User(HttpUser):\n    @task\n    def get(self):\n"
        "        self.client.get('/ok')\n")
    text = call(*command, "-f", space / "locustfile.py", "--headless", "--json", "--loglevel", "ERROR",
                "-u", CONNECTIONS, "-r", CONNECTIONS, "-t", f"{SECONDS}s", "-H", url)
    (space / "locust.json").write_text(text)
    own = json.loads(text)[0]
    # Its table lags behind; the same text has the sum of whole times, and times rounded to two digits.
    mean = own["total_response_time"] / own["num_requests"]
    return [Measured(version, "JSON", space / "locust.json", own["num_requests"], own["num_failures"], {"mean": mean},
                     1.0, 0.05)]


def jmeter(url: str, space: pathlib.Path) -> list[Measured]:
    try:
        command, version = tools.jmeter(), f"JMeter {tools.JMETER}"
    except RuntimeError as error:
        raise Unavailable(str(error)) from None
    host, port = url.removeprefix("http://").split(":")
    text = "".join(f'<stringProp name="{name}">{value}</stringProp>' for name, value in [
        ("HTTPSampler.domain", host), ("HTTPSampler.port", port), ("HTTPSampler.path", "/x"),
        ("HTTPSampler.method", "GET")])
    (space / "plan.jmx").write_text(f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="p"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="g">
<stringProp name="ThreadGroup.num_threads">{CONNECTIONS}</stringProp><stringProp name="ThreadGroup.ramp_time">0</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<stringProp name="LoopController.loops">{REQUESTS // CONNECTIONS}</stringProp></elementProp></ThreadGroup><hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="get">{text}
<boolProp name="HTTPSampler.use_keepalive">true</boolProp></HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
""")
    found = []
    for form, more in (("CSV", []), ("XML", ["-Jjmeter.save.saveservice.output_format=xml"])):
        path = space / f"results.{form.lower()}.jtl"
        # Its summary of all samples is the last line that begins so.
        text = call(*command, "-n", "-t", space / "plan.jmx", "-l", path, "-j", space / "jmeter.log", *more, cwd=space)
        count, mean, failed = re.findall(
            r"summary =\s+(\d+) in .*Avg:\s+(\d+).*Err:\s+(\d+)", text)[-1]
        found.append(Measured(version, form, path, int(count), int(failed), {"mean": float(mean)}, 1.0))
    return found


def gatling(url: str, space: pathlib.Path) -> list[Measured]:
    found = []
    for version in ("3.10.5", "3.14.9"):
        home = install.TOOLS / f"gatling-{version}"
        classes = home / "project/classpath.txt"
        try:
            if not classes.exists():
                home.mkdir(parents=True, exist_ok=True)
                install.maven({"version": version}, home)
        except install.CannotInstall as error:
            raise Unavailable(str(error)) from None
        text = call("java", "-Xmx512m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dkind=http", f"-Durl={url}",
                    f"-Dusers={CONNECTIONS}", f"-Dseconds={SECONDS}", "-cp",
                    f"{home / 'project/target/classes'}:{classes.read_text().strip()}", "io.gatling.app.Gatling",
                    "-s", "bench.Load", "-rf", space / version)

        def numbers(label: str, text: str = text) -> list[float]:
            line = re.findall(rf"^> {label}.*$", text, re.MULTILINE)[-1]
            # 3.14 writes `2,130`.
            line = line[len(label):].replace(",", "")
            return [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line)]

        count, _, failed = numbers("request count")
        own = {"mean": numbers("mean response time")[0], "p50": numbers("response time 50th percentile")[0],
               "p95": numbers("response time 95th percentile")[0]}
        form = "binary" if version >= "3.13" else "text"
        log = next((space / version).rglob("simulation.log"))
        found.append(Measured(f"Gatling {version}", form, log, int(count), int(failed), own, 1.0))
    return found


def pytest_benchmark(_url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("pytest-benchmark")
    (space / "test_it.py").write_text("def test_sum(benchmark):\n    benchmark(lambda: sum(range(2000)))\n")
    call(*command, "-q", "--benchmark-json", space / "benchmark.json", "--benchmark-max-time", 1, space / "test_it.py")
    stats = json.loads((space / "benchmark.json").read_text())["benchmarks"][0]["stats"]
    own = {"mean": stats["mean"] * 1e3, "p50": stats["median"] * 1e3}
    rows = tuple(seconds * 1e3 for seconds in stats["data"])
    return [Measured(version, "JSON", space / "benchmark.json", stats["rounds"], 0, own, 1e-6, rows=rows)]


def google_benchmark(_url: str, space: pathlib.Path) -> list[Measured]:
    (space / "it.cpp").write_text(
        "#include <benchmark/benchmark.h>\nstatic void sum(benchmark::State& state) { for (auto _ : state) { long s = 0;\n"
        "for (long i = 0; i < 2000; i++) benchmark::DoNotOptimize(s += i); } }\nBENCHMARK(sum);\nBENCHMARK_MAIN();\n")
    try:
        call("g++", "-O1", "-o", space / "it", space / "it.cpp", "-lbenchmark", "-lpthread")
    except (RuntimeError, FileNotFoundError):
        raise Unavailable("needs Debian's libbenchmark-dev and g++") from None
    call(space / "it", "--benchmark_repetitions=20", "--benchmark_min_time=0.02", "--benchmark_format=console",
         f"--benchmark_out={space / 'google.json'}", "--benchmark_out_format=json")
    document = json.loads((space / "google.json").read_text())
    aggregates = {entry.get("aggregate_name"): entry["real_time"] / 1e6 for entry in document["benchmarks"]}
    own = {"mean": aggregates["mean"]}
    version = f"Google benchmark {document['context'].get('library_version', '')}".strip()
    return [Measured(version, "JSON", space / "google.json", 20, 0, own, 1e-6)]


def criterion(_url: str, space: pathlib.Path) -> list[Measured]:
    (space / "benches").mkdir()
    (space / "src").mkdir()
    (space / "src/lib.rs").write_text("")
    (space / "Cargo.toml").write_text(
        '[package]\nname = "it"\nversion = "0.1.0"\nedition = "2021"\n[dev-dependencies]\n'
        'criterion = { version = "=0.5.1", default-features = false, features = ["cargo_bench_support", "csv_output"] }\n'
        '[[bench]]\nname = "it"\nharness = false\n[workspace]\n')
    (space / "benches/it.rs").write_text(
        "use criterion::*;\nfn f(c: &mut Criterion) { c.bench_function(\"sum\", |b| b.iter(|| (0..2000u64).map(black_box)"
        ".sum::<u64>())); }\ncriterion_group!(g, f);\ncriterion_main!(g);\n")
    try:
        call("cargo", "bench", "--quiet", cwd=space, env={**os.environ, "CARGO_TARGET_DIR": str(tools.HOME / "criterion")})
    except FileNotFoundError:
        raise Unavailable("cargo is missing") from None
    folder = tools.HOME / "criterion/criterion/sum/new"
    estimates = json.loads((folder / "estimates.json").read_text())
    own = {"mean": estimates["mean"]["point_estimate"] / 1e6}
    count = len(json.loads((folder / "sample.json").read_text())["times"])
    return [Measured("criterion 0.5.1", "raw.csv", folder / "raw.csv", count, 0, own, 1e-6)]


def hdr(_url: str, space: pathlib.Path) -> list[Measured]:
    command, version = tool("HdrHistogram")
    (space / "it.py").write_text("""
import json, random
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
random.seed(1)
whole = HdrHistogram(1, 60_000_000_000, 3)
with open("it.hlog", "w") as file:
    log = HistogramLogWriter(file)
    log.output_log_format_version()
    # Its own method for this line fails.
    file.write("#[StartTime: 1700000000.000 (seconds since epoch)]\\n")
    log.output_legend()
    for second in range(3):
        part = HdrHistogram(1, 60_000_000_000, 3)
        for _ in range(400):
            part.record_value(int(random.lognormvariate(15, 1)))
        part.set_start_time_stamp(1700000000000 + second * 1000)
        part.set_end_time_stamp(1700000000000 + second * 1000 + 1000)
        log.output_interval_histogram(part)
        whole.add(part)
print(json.dumps([whole.get_total_count(), whole.get_mean_value(), whole.get_value_at_percentile(50),
                  whole.get_value_at_percentile(95)]))
""")
    count, mean, half, most = json.loads(call(*command, space / "it.py", cwd=space))
    own = {"mean": mean / 1e6, "p50": half / 1e6, "p95": most / 1e6}
    return [Measured(version, "interval log", space / "it.hlog", count, 0, own, 0.0, 1 / 1000)]


CLIENTS: dict[str, Callable[[str, pathlib.Path], list[Measured]]] = {
    "k6": k6, "Gatling": gatling, "JMeter": jmeter, "Locust": locust, "vegeta": vegeta, "hey": hey, "h2load": h2load,
    "fortio": fortio, "ghz": ghz, "Tsung": tsung, "HdrHistogram": hdr, "criterion": criterion,
    "Google benchmark": google_benchmark, "pytest-benchmark": pytest_benchmark,
}
