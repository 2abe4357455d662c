"""Tsung: its scenarios are XML, its results the log of its controller."""

import re

from lib.peers.base import MESSAGE_BYTES, Load, Outcome, Peer

FRAME = """<?xml version="1.0"?>
<!DOCTYPE tsung SYSTEM "/usr/share/tsung/tsung-1.0.dtd">
<tsung loglevel="error" version="1.0">
  <clients><client host="localhost" use_controller_vm="true" maxusers="60000"/></clients>
  <servers><server host="127.0.0.1" port="{port}" type="tcp"/></servers>
  <load duration="{seconds}" unit="second">
    <arrivalphase phase="1" duration="{arrive}" unit="second">
      <users arrivalrate="{rate}" unit="second"{limit}/>
    </arrivalphase>
  </load>
  <sessions><session name="s" probability="100" type="{kind}">{steps}</session></sessions>
</tsung>
"""
GET = '<request><http url="{path}" method="GET" version="1.1"/></request>'
OPEN = '<request><websocket type="connect" path="/echo"/></request>'
SEND = '<request><websocket type="message" frame="text" ack="parse">{text}</websocket></request>'
# More rounds than any measurement has time for; it has no loop without end.
ROUNDS = 100_000_000


def rounds(step: str) -> str:
    """A step, again and again."""
    return f'<for from="1" to="{ROUNDS}" var="i">{step}</for>'


class Tsung(Peer):
    name = "tsung"
    variants = {"http": ("",), "idle": ("",), "echo": ("",), "stall": ("",)}

    def command(self, load: Load) -> list[str]:
        steps = {
            "http": rounds(GET.format(path="/hello")),
            "stall": GET.format(path="/"),
            "idle": f'{OPEN}<thinktime value="{load.seconds}"/>',
            "echo": OPEN + rounds(SEND.format(text="x" * MESSAGE_BYTES)),
        }[load.kind]
        open_load = load.kind == "stall"
        text = FRAME.format(
            port=load.port, steps=steps,
            # It starts nobody in the first instant, so closed loads get a second more.
            seconds=load.seconds + (0 if open_load else 1),
            arrive=load.seconds, rate=load.rate or load.users,
            limit="" if open_load else f' maxnumber="{load.users}"',
            kind="ts_http" if load.kind in ("http", "stall") else "ts_websocket")
        return [*self.tool.command, "-f", load.write("tsung.xml", text), "-F",
                "-I", "127.0.0.1", "-l", str(load.file("log")), "start"]

    def read(self, load: Load, printed: str) -> Outcome:
        """From lines such as `stats: request 26240 0.74 0.45 12.1 0.2 0.74 26240`.

        They are count, mean, deviation, largest and least of an interval, then mean and count
        of what was before it; times are milliseconds. There are no percentiles.
        """
        text = next(load.folder.glob("log/*/tsung.log")).read_text()
        lines = re.findall(r"stats: request (\d+) ([\d.e+-]+) ([\d.e+-]+) ([\d.e+-]+)", text)
        count = sum(int(line[0]) for line in lines)
        # Opening is a request, too.
        opened = load.users if load.kind == "echo" else 0
        worst = max((float(line[3]) for line in lines), default=0.0)
        return Outcome(count - opened, 0, {"max": worst})
