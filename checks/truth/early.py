"""Cases of `cases.py` in which a server sends what a step causes before, with and after the answer to that step.

Each plays 10,000 messages, a third of them in each order. The server counts what it sent; nobody waits for a message
that came.
"""

import asyncio
import json
import shutil
import urllib.parse

from bed import HERE, Bed, Cases, require, serving
from peer import Peer, answer, head, receive, text, upgrade, upgraded

CASES = Cases()
case = CASES.case
USERS, LOOPS = 100, 100
MESSAGES = USERS * LOOPS
# From the message to the answer, or from the answer to the message.
GAP_S = 0.002


class Orders:
    """The order of message and answer follows from the message's number."""

    def __init__(self) -> None:
        self.pushed = 0

    async def play(self, number: int, push, reply) -> None:
        def counted() -> None:
            self.pushed += 1
            push()

        first, second = (reply, counted) if number % 3 == 2 else (counted, reply)
        first()
        if number % 3 != 1:
            await asyncio.sleep(GAP_S)
        second()


def played(bed: Bed, target: str, opening: str, steps: str, pushed, closing="", more="", files=None) -> str:
    """100 users who take a hundred messages each. `steps` cause the message `m${n}` and expect it as `said`; `pushed`:
    how many the server has sent."""
    run = bed.run(
        f"""
name: early
target: {target}
sessions:
  visitor:
{opening}
    - set: {{ n: 0 }}
    - loop: {LOOPS}
      steps:
        - set: {{ n: "${{n + 1}}" }}
{steps}
    - close: {closing}
arrivals: [ {{ constant: {USERS // 2}/s, for: 2s }}, {{ hold: 60s, until: done }} ]
thresholds: [ "count(said) == {MESSAGES}", "errors == 0", "failed(sessions) == 0" ]
{more}
""",
        files=files,
    )
    require(bool(run.findings), f"no run: {(run.err or run.out)[-500:]}")
    sent = pushed()
    require(sent == MESSAGES, f"the server sent {sent} messages")
    taken, late = run.measure("said"), run.measure("said").get("errors_by_kind", {})
    require(taken["count"] == MESSAGES and not late, f"{taken['count']} of {MESSAGES} were taken, but {late}")
    failed = [result["text"] for result in run.summary["thresholds"] if not result["passed"]]
    require(not failed, f"{failed}; findings: {run.codes}")
    return f"{taken['count']} of {sent} messages were taken"


EXPECT = '{ when: { /mark: "m${n}" }, within: 5s, as: said }'


def with_requests(bed: Bed, opening: str) -> str:
    """The steps are requests, and the messages come over an event stream or a WebSocket."""
    orders, pushes = Orders(), {}

    async def server(_, reader, writer):
        while True:
            request = await head(reader)
            path, _, query = request.split(" ", 2)[1].partition("?")
            query = dict(urllib.parse.parse_qsl(query))
            if path == "/stream":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
                pushes[query["user"]] = lambda mark: writer.write(f"data: {json.dumps({'mark': mark})}\n\n".encode())
                await reader.read()
                return
            if path == "/socket":
                writer.write(upgraded(request))
                pushes[query["user"]] = lambda mark: writer.write(text({"mark": mark}))
                await receive(reader)
                return
            number = int(query["number"])
            push = lambda: pushes[query["user"]](f"m{number}")
            await orders.play(number, push, lambda: writer.write(answer(b"ok")))

    steps = f'        - post: "/speak?user=${{user}}&number=${{n}}"\n        - expect: {EXPECT}'
    with Peer(server) as peer:
        return played(bed, f"http://127.0.0.1:{peer.port}", opening, steps, lambda: orders.pushed)


@case
def early_on_event_streams(bed: Bed) -> str:
    """An event beside the response to the request that causes it."""
    return with_requests(bed, '    - sse: "/stream?user=${user}"')


@case
def early_on_websockets(bed: Bed) -> str:
    """A message beside the response to the request that causes it."""
    return with_requests(bed, '    - ws: "/socket?user=${user}"')


def on_channel(bed: Bed, server, opening: str, steps: str, orders: Orders) -> str:
    """`server(reader, writer)` plays one connection, whose handshake is done."""

    async def connected(_, reader, writer):
        await upgrade(reader, writer)
        await server(reader, writer)

    with Peer(connected) as peer:
        return played(bed, f"http://127.0.0.1:{peer.port}", opening, steps, lambda: orders.pushed)


@case
def early_on_socketio(bed: Bed) -> str:
    """An event beside the acknowledgement of the event that causes it."""
    orders = Orders()

    async def server(reader, writer):
        writer.write(text('0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}'))
        await receive(reader)
        writer.write(text('40{"sid":"y"}'))
        while True:
            # 42 is an event, behind it the number under which it is acknowledged.
            packet = (await receive(reader)).decode()
            if not packet.startswith("42"):
                continue
            number, _, body = packet[2:].partition("[")
            _, said = json.loads("[" + body)
            event = text("42" + json.dumps(["after", {"mark": f"m{said['n']}"}]))
            acknowledgement = text(f'43{number}["ok"]')
            await orders.play(int(said["n"]), lambda: writer.write(event), lambda: writer.write(acknowledgement))

    opening = "    - ws: { path: /socket.io/, protocol: socket.io }\n    - join: /"
    steps = '        - emit: { event: state, args: { n: "${n}" } }\n          reply: {}\n'
    steps += '        - expect: { when: { event: after, /mark: "m${n}" }, within: 5s, as: said }'
    return on_channel(bed, server, opening, steps, orders)


@case
def early_on_actioncable(bed: Bed) -> str:
    """What `subscribed` transmits, beside the confirmation of the subscription."""
    orders = Orders()

    async def server(reader, writer):
        writer.write(text({"type": "welcome"}))
        while True:
            command = json.loads(await receive(reader))
            if command["command"] != "subscribe":
                continue
            identifier = command["identifier"]
            number = int(json.loads(identifier)["n"])
            message = text({"identifier": identifier, "message": {"mark": f"m{number}"}})
            confirmation = text({"identifier": identifier, "type": "confirm_subscription"})
            await orders.play(number, lambda: writer.write(message), lambda: writer.write(confirmation))

    opening = "    - ws: { path: /cable, protocol: actioncable }"
    steps = '        - join: RoomChannel\n          params: { n: "${n}" }\n'
    return on_channel(bed, server, opening, f"{steps}        - expect: {EXPECT}\n        - leave:", orders)


@case
def early_on_phoenix(bed: Bed) -> str:
    """A broadcast beside the reply to the push that causes it."""
    orders = Orders()

    async def server(reader, writer):
        while True:
            joined, number, topic, event, payload = json.loads(await receive(reader))
            reply = text([joined, number, topic, "phx_reply", {"status": "ok", "response": {}}])
            if event != "speak":
                writer.write(reply)
                continue
            said = text([None, None, topic, "said", {"mark": f"m{payload['n']}"}])
            await orders.play(int(payload["n"]), lambda: writer.write(said), lambda: writer.write(reply))

    opening = '    - ws: { path: /socket/websocket, protocol: phoenix }\n    - join: "room:${user}"'
    steps = '        - push: { event: speak, payload: { n: "${n}" } }\n          reply: {}\n'
    return on_channel(bed, server, opening, f"{steps}        - expect: {EXPECT}", orders)


async def packet(reader) -> tuple[int, bytes]:
    """An MQTT packet: its first byte, and what is behind its length."""
    (first,) = await reader.readexactly(1)
    length, shift = 0, 0
    while True:
        (byte,) = await reader.readexactly(1)
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return first, await reader.readexactly(length)


@case
def early_on_mqtt(bed: Bed) -> str:
    """A user's own message of QoS 2: before PUBREC, with PUBCOMP and after it (MQTT 3.1.1 §4.3.3)."""
    orders = Orders()

    async def broker(_, reader, writer):
        waiting = {}
        while True:
            first, body = await packet(reader)
            kind = first >> 4
            if kind == 1:
                writer.write(bytes([0x20, 2, 0, 0]))
            elif kind == 3:
                at = 2 + int.from_bytes(body[:2], "big")
                name, topic, payload = body[at : at + 2], body[:at], body[at + 2 :]
                number = int(json.loads(payload)["mark"][1:])
                own = topic + payload
                message = lambda own=own: writer.write(bytes([0x30, len(own)]) + own)
                if number % 3:
                    writer.write(bytes([0x50, 2]) + name)
                    waiting[name] = (number, message)
                else:
                    await orders.play(number, message, lambda: writer.write(bytes([0x50, 2]) + name))
            elif kind == 6:
                done = lambda name=body[:2]: writer.write(bytes([0x70, 2]) + name)
                if body[:2] in waiting:
                    await orders.play(*waiting.pop(body[:2]), done)
                else:
                    done()
            elif kind == 8:
                writer.write(bytes([0x90, 3]) + body[:2] + b"\0")
            elif kind == 12:
                writer.write(bytes([0xD0, 0]))
            elif kind == 14:
                return

    opening = '    - mqtt:\n      client_id: "user-${user}"\n    - subscribe: "rooms/${user}"'
    steps = '        - publish: { topic: "rooms/${user}", payload: { mark: "m${n}" }, qos: 2 }\n'
    steps += '        - expect: { when: { topic: "rooms/${user}", /mark: "m${n}" }, within: 5s, as: said }'
    with Peer(broker) as peer:
        return played(bed, f"mqtt://127.0.0.1:{peer.port}", opening, steps, lambda: orders.pushed)


@case
def early_on_grpc(bed: Bed) -> str:
    """A message of a call beside the response to the request that causes it, over one connection of HTTP/2."""
    if not shutil.which("node"):
        return "skipped: there is no node"
    opening = "    - grpc: truth.Push/Watch"
    steps = f'        - post: "/speak?number=${{n}}"\n        - expect: {EXPECT}'
    more = "grpc: { protos: [calls.proto] }"
    files = {"calls.proto": (HERE / "calls.proto").read_text()}
    with serving("node", HERE / "calls.mjs") as server:
        pushed = lambda: server.stop()["pushed"]
        return played(bed, f"http://127.0.0.1:{server.port}", opening, steps, pushed, "cancel", more, files)
