"""Servers of Debian's packages, with a configuration of their own and a log of requests. All but what their files have
is served by the application in Go behind them."""

import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from servers import LARGE, MUCH, REQUESTS_MAX, WORD, Server, free_port, listens, output, program

READY_MAX_S = 60


class Daemon(Server):
    """`backend`: the port of the application in Go."""

    def __init__(self, folder: pathlib.Path, tls: dict, is_short: bool, backend: int) -> None:
        super().__init__(folder, tls, is_short)
        self.backend = backend
        self.plain, self.plain2, self.secure = free_port(), free_port(), free_port()
        self.log = folder / "access.log"
        root = folder / "html"
        root.mkdir()
        for name, text in [("hello", WORD), ("large", LARGE), ("packed", MUCH)]:
            (root / name).write_text(text)

    def config(self, text: str) -> pathlib.Path:
        path = self.folder / "config"
        path.write_text(text)
        return path

    def spawn(self, *command) -> None:
        with open(self.folder / "output", "wb") as log:
            self.process = subprocess.Popen(
                # It ends with this script, even if that is killed.
                ["setpriv", "--pdeathsig", "TERM", *(str(part) for part in command)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
            )
        end = time.monotonic() + READY_MAX_S
        while not all(listens(port) for port in (self.plain, self.plain2, self.secure)):
            if self.process.poll() is not None or time.monotonic() > end:
                said = "".join(path.read_text() for path in self.folder.glob("[eo][ru]*") if path.is_file())
                raise RuntimeError(f"{self.name} does not start: {said[-500:]}")
            time.sleep(0.05)
        self.served_at(self.plain, self.plain2, self.secure)

    def counts(self) -> collections.Counter:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        found = re.findall(r"(HTTP/\d(?:\.\d)?) [0-9]+ (?:https?://[^/]+)?(/\w+)$", text, re.MULTILINE)
        return collections.Counter(f"{protocol} {path}" for protocol, path in found)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Nginx(Daemon):
    name = "nginx"
    program = "nginx"
    lacks = ("WebSocket 2",)

    def version(self) -> str:
        return re.search(r"nginx/([\d.]+)", output(program("nginx"), "-v"))[1]

    def start(self) -> None:
        user = "user root;" if os.geteuid() == 0 else ""
        temporary = "".join(f"{part}_temp_path {self.folder};" for part in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi",
        ))
        limits = f"keepalive_timeout {self.idle_s};"
        limits += f" keepalive_requests {REQUESTS_MAX};" if self.is_short else " keepalive_requests 1000000;"
        behind = (
            f"proxy_pass http://127.0.0.1:{self.backend}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
            "proxy_set_header Connection $upgrade;"
        )
        config = self.config(f"""
{user} daemon off; worker_processes 2; pid {self.folder}/pid; error_log {self.folder}/error.log;
events {{ worker_connections 2048; }}
http {{
  log_format short '$server_protocol $status $uri'; access_log {self.log} short; {temporary}
  map $http_upgrade $upgrade {{ default upgrade; '' ''; }}
  default_type application/json; gzip on; gzip_types application/json; client_max_body_size 8m; {limits}
  ssl_certificate {self.tls['certificate']}; ssl_certificate_key {self.tls['key']};
  server {{
    listen 127.0.0.1:{self.plain}; listen 127.0.0.1:{self.plain2} http2; listen 127.0.0.1:{self.secure} ssl http2;
    root {self.folder}/html;
    location = /trailers {{ alias {self.folder}/html/hello; add_trailer x-end yes; }}
    location /echo {{ {behind} }} location /slow {{ {behind} }} location /ws {{ {behind} }}
  }}
}}
""")
        self.spawn(program("nginx"), "-p", self.folder, "-c", config)


class Apache(Daemon):
    name = "Apache"
    program = "apache2"
    codings = ("gzip", "br")
    lacks = ("trailers",)
    modules = (
        "mpm_event", "authz_core", "mime", "alias", "ssl", "http2", "proxy", "proxy_http",
        "proxy_wstunnel", "filter", "deflate", "brotli", "setenvif", "socache_shmcb",
    )

    def version(self) -> str:
        return re.search(r"Apache/([\d.]+)", output(program("apache2"), "-v"))[1]

    def start(self) -> None:
        modules = "".join(
            f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in self.modules
        )
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        requests = REQUESTS_MAX if self.is_short else 0
        behind = f"http://127.0.0.1:{self.backend}"
        config = self.config(f"""
{modules}{user}ServerName localhost
ServerRoot {self.folder}
DefaultRuntimeDir {self.folder}
PidFile {self.folder}/pid
TypesConfig /dev/null
ErrorLog {self.folder}/error.log
LogFormat "%H %>s %U" short
CustomLog {self.log} short
Listen 127.0.0.1:{self.plain}
Listen 127.0.0.1:{self.plain2}
Listen 127.0.0.1:{self.secure}
KeepAlive On
KeepAliveTimeout {self.idle_s}
MaxKeepAliveRequests {requests}
StartServers 2
ThreadsPerChild 64
MaxRequestWorkers 512
Protocols h2 h2c http/1.1
H2WebSockets on
DocumentRoot {self.folder}/html
ForceType application/json
<Directory {self.folder}/html>
  Require all granted
  SetOutputFilter BROTLI_COMPRESS;DEFLATE
</Directory>
ProxyPass /echo {behind}/echo
ProxyPass /slow {behind}/slow
ProxyPass /ws ws://127.0.0.1:{self.backend}/ws
<VirtualHost 127.0.0.1:{self.secure}>
  SSLEngine on
  SSLCertificateFile {self.tls['certificate']}
  SSLCertificateKeyFile {self.tls['key']}
</VirtualHost>
""")
        self.spawn(program("apache2"), "-DFOREGROUND", "-f", config)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGUSR1)

    def counts(self) -> collections.Counter:
        # It calls the version 2 so.
        found = super().counts()
        return collections.Counter({name.replace("HTTP/2 ", "HTTP/2.0 "): count for name, count in found.items()})


class H2o(Daemon):
    name = "h2o"
    program = "h2o"
    codings = ("gzip", "br")
    lacks = ("trailers", "WebSocket 2")

    def version(self) -> str:
        return re.search(r"h2o version ([\d.]+)", output(program("h2o"), "-v"))[1]

    def start(self) -> None:
        user = "user: root\n" if os.geteuid() == 0 else ""
        behind = "\n".join(
            f'      "/{name}": {{ proxy.reverse.url: "http://127.0.0.1:{self.backend}/{name}", proxy.websocket: ON }}'
            for name in ("echo", "slow", "ws")
        )
        config = self.config(f"""
{user}pid-file: {self.folder}/pid
error-log: {self.folder}/error.log
access-log: {{ path: {self.log}, format: "%H %s %U" }}
num-threads: 2
http1-request-timeout: {self.idle_s}
http2-idle-timeout: {self.idle_s}
compress: [ gzip, br ]
file.mime.setdefaulttype: application/json
file.mime.settypes: {{ "application/json": {{ extensions: [ ".json" ], is_compressible: YES }} }}
listen: {{ host: 127.0.0.1, port: {self.plain} }}
hosts:
  "127.0.0.1":
    listen: &secure
      host: 127.0.0.1
      port: {self.secure}
      ssl: {{ certificate-file: {self.tls['certificate']}, key-file: {self.tls['key']} }}
    paths:
{behind}
      "/": {{ file.dir: {self.folder}/html }}
""")
        self.plain2 = self.plain
        self.spawn(program("h2o"), "-m", "master", "-c", config)

    def counts(self) -> collections.Counter:
        found = super().counts()
        return collections.Counter({re.sub(r"HTTP/2 ", "HTTP/2.0 ", name): count for name, count in found.items()})


class HaProxy(Daemon):
    name = "HAProxy"
    program = "haproxy"
    codings = ("gzip", "deflate")

    def version(self) -> str:
        return re.search(r"version ([\d.]+)", output(program("haproxy"), "-v"))[1]

    def start(self) -> None:
        pem = self.folder / "both.pem"
        pem.write_text("".join(pathlib.Path(self.tls[part]).read_text() for part in ("certificate", "key")))
        self.plain2 = self.plain
        config = self.config(f"""
global
  log stdout format raw local0
  hard-stop-after 20s
defaults
  mode http
  log global
  log-format "%HV %ST %HP"
  timeout connect 10s
  timeout server 30s
  timeout tunnel 60s
  timeout client 60s
  timeout http-keep-alive {self.idle_s}s
frontend all
  bind 127.0.0.1:{self.plain}
  bind 127.0.0.1:{self.secure} ssl crt {pem} alpn h2,http/1.1
  default_backend go
backend go
  compression algo gzip raw-deflate deflate
  compression type application/json text/plain
  compression offload
  server go 127.0.0.1:{self.backend}
""")
        self.log = self.folder / "output"
        self.spawn(program("haproxy"), "-W", "-db", "-f", config)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGUSR2)


PROXIES = (Nginx, Apache, H2o, HaProxy)


def install() -> None:
    """Installs those of Debian's that are missing. What cannot be installed is left out of the tables."""
    missing = [kind.program for kind in PROXIES if program(kind.program) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        # Their packages would start servers of their own.
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
