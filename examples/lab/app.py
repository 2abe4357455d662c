"""A small web application: a page with a counter that PostgreSQL keeps. `own.yaml` runs it in a lab.

    app.py ADDRESS PORT POSTGRES-URL
"""

import ctypes
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

libpq = ctypes.CDLL("libpq.so.5")
for name, result in {"PQconnectdb": ctypes.c_void_p, "PQexec": ctypes.c_void_p, "PQgetvalue": ctypes.c_char_p}.items():
    getattr(libpq, name).restype = result
libpq.PQgetvalue.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
for name in "PQexec", "PQstatus", "PQresultStatus", "PQclear":
    getattr(libpq, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p][: 2 if name == "PQexec" else 1]
own = threading.local()


def query(statement):
    """The first value of the result; each thread has a connection."""
    if getattr(own, "connection", None) is None or libpq.PQstatus(own.connection) != 0:
        own.connection = libpq.PQconnectdb(sys.argv[3].encode())
    result = libpq.PQexec(own.connection, statement)
    # Commands and rows.
    if libpq.PQresultStatus(result) not in (1, 2):
        raise OSError("the database refuses")
    value = libpq.PQgetvalue(result, 0, 0)
    libpq.PQclear(result)
    return value


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            status, body = 200, query(b"UPDATE visits SET number = number + 1 RETURNING number")
        except OSError as error:
            status, body = 503, str(error).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


query(b"CREATE TABLE IF NOT EXISTS visits (number BIGINT)")
query(b"INSERT INTO visits SELECT 0 WHERE NOT EXISTS (SELECT FROM visits)")
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Page).serve_forever()
