"""A Socket.IO server (Engine.IO 4 over WebSocket) that acknowledges every event, and nothing else.

As little as the protocol's texts ask for (https://socket.io/docs/v4/socket-io-protocol/), so that what
is measured is the client. Prints its port, and ends with its standard input.
"""

import asyncio
import base64
import hashlib
import re
import sys

# RFC 6455, section 1.3.
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
OPEN = b'0{"sid":"bench","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100000}'
EVENT = re.compile(rb"42(\d+)\[")


def frame(text: bytes) -> bytes:
    """A text message of less than 126 bytes, as a server sends it."""
    return bytes((0x81, len(text))) + text


class Peer(asyncio.Protocol):
    """One client."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.waiting = b""
        self.upgraded = False

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        if not self.upgraded:
            head, end, self.waiting = self.waiting.partition(b"\r\n\r\n")
            if not end:
                self.waiting = head
                return
            key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)[1]
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
            self.upgraded = True
            self.transport.write(
                b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                b"sec-websocket-accept: " + accept + b"\r\n\r\n" + frame(OPEN))
        self.messages()

    def messages(self) -> None:
        """Answers every whole message; the bench sends none of 64 KiB and more."""
        while len(self.waiting) >= 2:
            size, at = self.waiting[1] & 0x7F, 2
            if size == 126:
                size, at = int.from_bytes(self.waiting[2:4], "big"), 4
            end = at + 4 + size
            if len(self.waiting) < end:
                return
            mask, body = self.waiting[at:at + 4], self.waiting[at + 4:end]
            kind, self.waiting = self.waiting[0] & 0x0F, self.waiting[end:]
            if kind == 8:
                self.transport.close()
                return
            pad = (mask * (size // 4 + 1))[:size]
            self.answer((int.from_bytes(body, "big") ^ int.from_bytes(pad, "big"))
                        .to_bytes(size, "big"))

    def answer(self, text: bytes) -> None:
        if event := EVENT.match(text):
            self.transport.write(frame(b"43" + event[1] + b'[{"id":7}]'))
        elif text.startswith(b"40"):
            self.transport.write(frame(b'40{"sid":"bench"}'))


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Peer, "127.0.0.1", 0, backlog=1024)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
