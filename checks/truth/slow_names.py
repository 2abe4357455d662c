"""A name server on 127.0.0.1:53 that answers after three seconds: every name is 127.0.0.1, for as many seconds.

    slow_names.py [TTL]
"""

import socket
import struct
import sys
import threading

DELAY_S = 3.0
TTL_S = int(sys.argv[1]) if len(sys.argv) > 1 else 60
ADDRESS = 1


def answer(server: socket.socket, query: bytes, client) -> None:
    end = query.index(b"\0", 12) + 5
    kind = struct.unpack("!H", query[end - 4 : end - 2])[0]
    count = 1 if kind == ADDRESS else 0
    reply = query[:2] + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0) + query[12:end]
    if count:
        reply += struct.pack("!HHHIH4B", 0xC00C, ADDRESS, 1, TTL_S, 4, 127, 0, 0, 1)
    server.sendto(reply, client)


def main() -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    print("ready", flush=True)
    while True:
        query, client = server.recvfrom(512)
        threading.Timer(DELAY_S, answer, (server, query, client)).start()


if __name__ == "__main__":
    main()
