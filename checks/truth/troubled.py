#!/usr/bin/env python3
"""A target with one known trouble: the server of examples/incident.py with other scripts.

    troubled.py TROUBLE [--seed N] [--log FILE]

Prints its addresses, serves until its standard input closes, and prints then what it answered. Service times vary about
their medians, as those of a server do.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))

from incident import Answer, Request, Server, serve

# The length of a run.
SECONDS = 45
MEDIAN_S = {"/browse": 0.004, "/search": 0.020, "/checkout": 0.010}
# Of the logarithm of service times.
SPREAD = 0.25
STALL_EVERY_S, STALL_FOR_S = 7.0, 0.3
# The first one is not at the first request.
STALL_FIRST_S = STALL_EVERY_S / 2
# The last of them is not answered: the connection is closed.
REQUESTS_A_CONNECTION = 50
LEAK_A_SECOND = 0.1


@dataclasses.dataclass(frozen=True)
class Trouble:
    """What is planted, and what is to be said of it."""

    # The step that suffers; `None`: all of them.
    step: str | None
    # A window of each time that it lasts, in seconds.
    windows: tuple[tuple[float, float], ...]
    # The code of the finding that names it, and in what its incident is worse, if it is one.
    code: str
    kind: str | None = None
    # The tag whose operations alone suffer.
    tag: str | None = None
    # True if requests of all steps are treated so, and only `step` suffers.
    everywhere: bool = False
    ports_count: int = 1

    @property
    def begin_s(self) -> float:
        """When it begins; 0 if it lasts through the whole run."""
        return self.windows[0][0]

    def lasts(self, at_s: float) -> bool:
        return any(begin_s <= at_s < end_s for begin_s, end_s in self.windows)

    def has(self, request: Request) -> bool:
        is_meant = self.everywhere or self.step in (None, request.path.removeprefix("/"))
        return is_meant and self.lasts(request.at_s)


TO_THE_END = float("inf")
WHOLE = ((0.0, TO_THE_END),)
TROUBLES = {
    "none": Trouble(None, (), ""),
    "one_endpoint": Trouble("search", ((15, 27),), "incident", "response"),
    "one_tag": Trouble("checkout", ((12, 26),), "incident", "response", tag="region=sydney"),
    "one_server": Trouble("checkout", ((15, 33),), "incident", "response", ports_count=4),
    "after_20_s": Trouble("checkout", ((20, TO_THE_END),), "incident", "errors"),
    "error_bursts": Trouble("checkout", ((9, 11), (19, 22), (33, 35)), "incident", "errors"),
    "fast_errors": Trouble("search", ((15, 27),), "incident", "errors"),
    "slow_leak": Trouble("checkout", WHOLE, "response-grows"),
    "step": Trouble("search", ((25, TO_THE_END),), "incident", "response"),
    "periodic_stall": Trouble(None, WHOLE, "periodic-stall"),
    "closed_after_50": Trouble("checkout", WHOLE, "keep-alive-closed", everywhere=True),
}
# Of `errors_alike`: the targets' paths, and what is answered.
ALIKE = {
    "/": Answer(0.002),
    "/my": Answer(0.002, 401, '{"error":"missing or invalid token"}'),
    # Longer than what is kept of it.
    "/nope": Answer(0.002, 404, '{"error":"no such path","help":"' + "x" * 5000 + '"}'),
    "/fail": Answer(0.002, 500, '{"error":"boom"}'),
}


class Script:
    """Answers with a trouble."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.trouble = name, TROUBLES[name]
        self.random = random.Random(seed)
        # The port of the server that is slow, known with the first request to it.
        self.slow_port = None

    def __call__(self, request: Request) -> Answer:
        took_s = MEDIAN_S[request.path] * self.random.lognormvariate(0, SPREAD)
        if not self.trouble.has(request):
            return Answer(took_s)
        return getattr(self, self.name)(request, took_s)

    def one_endpoint(self, _: Request, took_s: float) -> Answer:
        return Answer(9 * took_s)

    def one_tag(self, request: Request, took_s: float) -> Answer:
        return Answer(8 * took_s if "region=sydney" in request.target else took_s)

    def one_server(self, request: Request, took_s: float) -> Answer:
        self.slow_port = self.slow_port or request.port
        return Answer(20 * took_s if request.port == self.slow_port else took_s)

    def after_20_s(self, _: Request, took_s: float) -> Answer:
        return self.failing(0.2, took_s, took_s)

    def error_bursts(self, _: Request, took_s: float) -> Answer:
        return self.failing(0.6, took_s, took_s)

    def fast_errors(self, _: Request, took_s: float) -> Answer:
        return self.failing(0.3, 0.0, took_s)

    def slow_leak(self, request: Request, took_s: float) -> Answer:
        return Answer((1 + LEAK_A_SECOND * request.at_s) * took_s)

    def step(self, _: Request, took_s: float) -> Answer:
        return Answer(2 * took_s)

    def periodic_stall(self, request: Request, took_s: float) -> Answer:
        since_s = (request.at_s - STALL_FIRST_S) % STALL_EVERY_S
        return Answer(max(0.0, STALL_FOR_S - since_s) + took_s)

    def closed_after_50(self, request: Request, took_s: float) -> Answer:
        # A GET is sent again; a POST fails.
        return Answer(took_s, None if request.turn == REQUESTS_A_CONNECTION else 200)

    def failing(self, share: float, error_s: float, took_s: float) -> Answer:
        if self.random.random() < share:
            return Answer(error_s, 503, '{"error":"no connection left in the pool"}')
        return Answer(took_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trouble", choices=[*TROUBLES, "errors_alike"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", metavar="FILE")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(open(args.log, "w")) if args.log else None
        if args.trouble == "errors_alike":
            script, ports_count = lambda request: ALIKE[request.path], 1
        else:
            script, ports_count = Script(args.trouble, args.seed), TROUBLES[args.trouble].ports_count
        asyncio.run(serve(Server(script, log), "127.0.0.1", [0] * ports_count, True))


if __name__ == "__main__":
    main()
