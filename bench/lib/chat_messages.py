"""What a message costs the generator over one transport beside another, in turn."""

import dataclasses
import pathlib
import statistics
import sys
import tempfile

from lib import machine
from lib.process import CLIENT_CORE, BenchError, Server, errors, measure, throng

USERS = 64
TEXT = "x" * 100
# Where the server speaks and users listen: so many messages a second, each to all of them.
SPOKEN_PER_S = 400
SLACK_SECONDS = 60
FEW_SOCKETS = 200
SETTLE_SECONDS = 30

ECHO = ("echo", "--threads", "1")
RAW = ("echo", "--raw", "--threads", "1")
CHAT = ("chat", "--threads", "1")
# A server of the bench's own, in Python.
SOCKETIO = ("socketio",)

SCENARIO = """
name: chat-messages
target: {scheme}://127.0.0.1:{port}
options: {{ loops: 1 }}
messages:
  said: {{ when: {{ /sent_at_ms: {{ exists: true }} }}, sent_at: /sent_at_ms, as: said }}
sessions:
  user:
{steps}
  speaker:
    - ws: /chat/socket
    - forever: [ {{ pace: {pause} }}, {{ send: {{ message: {text} }}, as: spoken }} ]
arrivals:
  - {{ users: {users}, for: {seconds}s, session: user }}
"""
SPEAKER = "  - { at: 500ms, session: speaker }\n"


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of having messages: the server, the steps, and what is counted."""

    name: str
    server: tuple[str, ...]
    steps: str
    counted: str
    # Users only listen, and somebody speaks.
    listens: bool = False

    def scenario(self, port: int, seconds: int) -> str:
        text = SCENARIO.format(
            scheme="tcp" if self.server is RAW else "http", port=port, users=USERS, text=TEXT,
            pause=f"{1_000_000 // SPOKEN_PER_S}us", seconds=seconds,
            steps="\n".join(f"    {line}" for line in self.steps.strip().splitlines()))
        return text + SPEAKER if self.listens else text


WEBSOCKET_ECHO = Way("WebSocket, there and back", ECHO, f"""
- ws: /echo
- forever: [ {{ send: {TEXT}, reply: {{}}, as: counted }} ]
""", "counted")

TCP_ECHO = Way("framed TCP, there and back", RAW, f"""
- tcp:
  framing: {{ length: 4 }}
- forever: [ {{ send: {TEXT}, reply: {{}}, as: counted }} ]
""", "counted")

WEBSOCKET_HEARD = Way("WebSocket, received", CHAT, """
- ws: /chat/socket
- think: 24h
""", "said", True)

SSE_HEARD = Way("server-sent events, received", CHAT, """
- sse: /chat/stream
- think: 24h
""", "said", True)

PHOENIX = Way("Phoenix: join, push", CHAT, f"""
- ws: {{ path: /socket/websocket, protocol: phoenix }}
- join: "room:u${{user}}"
- forever:
    - push: {{ event: speak, payload: {{ message: {TEXT} }} }}
      reply: {{}}
      as: counted
""", "counted")

PHOENIX_BY_HAND = Way("Phoenix by hand", CHAT, f"""
- ws: /socket/websocket?vsn=2.0.0
- send: '["1","1","room:u${{user}}","phx_join",{{}}]'
  reply: {{ when: {{ /3: phx_reply }} }}
- set: {{ n: 1 }}
- forever:
    - set: {{ n: "${{n + 1}}" }}
    - send: '["1","${{n}}","room:u${{user}}","speak",{{"message":"{TEXT}"}}]'
      reply: {{ when: {{ /3: phx_reply, /1: "${{n}}" }} }}
      as: counted
""", "counted")

CABLE = Way("ActionCable: join, perform", CHAT, f"""
- ws: {{ path: /cable, protocol: actioncable }}
- join: ChatChannel
  params: {{ room: "u${{user}}" }}
- forever:
    - perform: {{ action: speak, data: {{ message: {TEXT} }} }}
      reply: {{ when: {{ /message: {{ exists: true }} }} }}
      as: counted
""", "counted")

CABLE_BY_HAND = Way("ActionCable by hand", CHAT, rf"""
- ws: {{ path: /cable, subprotocols: [actioncable-v1-json, actioncable-unsupported] }}
- expect: {{ when: {{ /type: welcome }} }}
- send: '{{"command":"subscribe","identifier":"{{\"channel\":\"ChatChannel\",\"room\":\"u${{user}}\"}}"}}'
  reply: {{ when: {{ /type: confirm_subscription }} }}
- forever:
    - send: '{{"command":"message","identifier":"{{\"channel\":\"ChatChannel\",\"room\":\"u${{user}}\"}}","data":"{{\"action\":\"speak\",\"message\":\"{TEXT}\"}}"}}'
      reply: {{ when: {{ /message/message: {{ exists: true }} }} }}
      as: counted
""", "counted")

SOCKETIO_EMIT = Way("Socket.IO: join, emit", SOCKETIO, f"""
- ws: {{ path: /socket.io/, protocol: socket.io }}
- join: /
- forever:
    - emit: {{ event: speak, args: {{ message: {TEXT} }} }}
      reply: {{}}
      as: counted
""", "counted")

SOCKETIO_BY_HAND = Way("Socket.IO by hand", SOCKETIO, f"""
- ws: /socket.io/?EIO=4&transport=websocket
- expect: {{ when: {{ regex: "^0" }} }}
- send: "40"
  reply: {{ when: {{ regex: "^40" }} }}
- set: {{ n: 0 }}
- forever:
    - set: {{ n: "${{n + 1}}" }}
    - send: '42${{n}}["speak",{{"message":"{TEXT}"}}]'
      reply: {{ when: {{ regex: "^43" }} }}
      as: counted
""", "counted")

# Each beside what it is held against, by the name of its goal.
PAIRS = {
    "sse": (SSE_HEARD, WEBSOCKET_HEARD),
    "tcp": (TCP_ECHO, WEBSOCKET_ECHO),
    "phoenix": (PHOENIX, PHOENIX_BY_HAND),
    "actioncable": (CABLE, CABLE_BY_HAND),
    "socketio": (SOCKETIO_EMIT, SOCKETIO_BY_HAND),
}


def serving(way: Way) -> Server:
    """The way's server, fresh, on the other core."""
    if way.server is SOCKETIO:
        path = pathlib.Path(__file__).with_name("socketio.py")
        return Server.of([sys.executable, str(path)])
    return Server(*way.server)


def cost(way: Way, seconds: int) -> dict:
    """CPU of the whole generator for each message of one run, start and end included."""
    # The sockets of the run before must not slow this one down.
    machine.settle(FEW_SOCKETS, SETTLE_SECONDS)
    with tempfile.TemporaryDirectory() as folder, serving(way) as server:
        file = pathlib.Path(folder, "scenario.yaml")
        file.write_text(way.scenario(server.port, seconds))
        summary, spent = throng(pathlib.Path(folder, "runs"), str(file),
                                seconds_max=seconds + SLACK_SECONDS, core=CLIENT_CORE)
    count = measure(summary, way.counted)["count"]
    if errors(summary) or not count:
        raise BenchError(f"{way.name}: {errors(summary)} errors in {count} messages")
    cpu = spent["user_s"] + spent["system_s"]
    return {"messages": count, "cpu_s": cpu, "cpu_us": cpu / count * 1e6}


def pairs(times: int, seconds: int, only: list[str]) -> dict[str, list[dict]]:
    """Every pair so many times in turn; the first turn warms caches and clocks, and is not kept."""
    rows: dict[str, list[dict]] = {name: [] for name in only}
    for turn in range(times + 1):
        for name in only:
            ours, other = (cost(way, seconds) for way in PAIRS[name])
            if turn > 0:
                rows[name].append({"ours": ours, "other": other})
    for name, kept in rows.items():
        ratio = statistics.median(row["ours"]["cpu_us"] / row["other"]["cpu_us"] for row in kept)
        print(f"  {name}: {ratio:.3f}", flush=True)
    return rows
