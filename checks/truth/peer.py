"""A server whose every byte is decided by a coroutine: for targets that break the rules."""

import asyncio
import base64
import hashlib
import json
import struct
import threading

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


class Peer:
    """Plays `script(peer, reader, writer)` to every connection, on a thread with a loop of its own; behind TLS if there
    is a context for it."""

    def __init__(self, script, tls=None) -> None:
        self.script = script
        self.tls = tls
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self) -> "Peer":
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, *_) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def serve(self) -> None:
        async def connected(reader, writer):
            try:
                await self.script(self, reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            finally:
                writer.close()

        async def listen():
            server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=4096, ssl=self.tls)
            self.port = server.sockets[0].getsockname()[1]
            self.ready.set()

        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(listen())
        self.loop.run_forever()


async def head(reader) -> str:
    """The head of a request."""
    return (await reader.readuntil(b"\r\n\r\n")).decode()


def answer(body: bytes) -> bytes:
    return OK % (len(body), body)


async def upgrade(reader, writer) -> str:
    """Answers the handshake of a WebSocket; the request's head."""
    text = await head(reader)
    writer.write(upgraded(text))
    return text


def upgraded(text: str) -> bytes:
    """The answer to a request for a WebSocket (RFC 6455 §4.2.2)."""
    fields = dict(line.split(": ", 1) for line in text.split("\r\n")[1:] if ": " in line)
    fields = {name.lower(): value for name, value in fields.items()}
    key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    offered = fields.get("sec-websocket-protocol")
    chosen = f"sec-websocket-protocol: {offered.split(',')[0].strip()}\r\n" if offered else ""
    begin = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    return f"{begin}sec-websocket-accept: {accept}\r\n{chosen}\r\n".encode()


def text(message) -> bytes:
    """A frame with a text, or with JSON."""
    data = (message if isinstance(message, str) else json.dumps(message)).encode()
    length = len(data)
    if length < 126:
        return bytes([0x81, length]) + data
    if length < 1 << 16:
        return bytes([0x81, 126]) + struct.pack(">H", length) + data
    return bytes([0x81, 127]) + struct.pack(">Q", length) + data


async def receive(reader) -> bytes:
    """The payload of the client's next frame; close frames end the connection."""
    first, second = await reader.readexactly(2)
    length = second & 127
    if length == 126:
        (length,) = struct.unpack(">H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack(">Q", await reader.readexactly(8))
    mask = await reader.readexactly(4)
    data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await reader.readexactly(length)))
    if first & 15 == 8:
        raise ConnectionResetError
    return data
