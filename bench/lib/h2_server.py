"""nginx as a server of HTTP/2 without TLS: a short text, as fast as one core answers."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from lib.forwarders import NGINX_FOLDERS, PEERS, Peer
from lib.held import free_port
from lib.install import apt, find
from lib.process import SERVER_CORE, Server

# A process may have 20,000 files open, and the kernel does not spread connections quite evenly.
CONNECTIONS_OF_WORKER = 15_000
CONFIG = """\
daemon off;
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 19000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    http2_max_concurrent_streams {streams};
""" + NGINX_FOLDERS + """\
    server {{
        listen 127.0.0.1:{port} http2 reuseport backlog=4096;
        location / {{ return 200 "hello, world"; }}
    }}
}}
"""


@contextlib.contextmanager
def h2_server(streams: int, connections: int) -> Iterator[Server]:
    """A server that allows so many requests at once on each connection, and has room for so many connections."""
    apt(PEERS["nginx"], pathlib.Path())
    with tempfile.TemporaryDirectory(prefix="throng-bench-") as folder:
        # nginx's worker is another user.
        pathlib.Path(folder).chmod(0o711)
        port, config = free_port(), pathlib.Path(folder, "config")
        workers = 1 + connections // CONNECTIONS_OF_WORKER
        config.write_text(CONFIG.format(folder=folder, port=port, streams=streams, workers=workers))
        with Peer([find("nginx"), "-p", folder, "-c", str(config)], port, folder, SERVER_CORE) as server:
            yield server
