"""All loads for Locust; which one, and how much of it, the environment says."""

import os
import time

from locust import FastHttpUser, HttpUser, User, constant_throughput, task
from websocket import create_connection

KIND = os.environ["KIND"]
URL = os.environ["URL"]
USERS = int(os.environ["USERS"])
RATE = float(os.environ.get("RATE", "0"))
TEXT = "x" * int(os.environ.get("BYTES", "100"))


def ask(user):
    """One request, under one name."""
    user.client.get("/hello" if KIND.startswith("http") else "/", name="request")


class Socket(User):
    """A WebSocket that waits for ever, or that is answered message by message."""

    abstract = True

    def on_start(self):
        self.socket = create_connection(URL)

    def on_stop(self):
        self.socket.close()


if KIND in ("http-fast", "stall"):

    class Fast(FastHttpUser):
        host, tasks = URL, [ask]
        if RATE:
            # Each user its part, so that all together give the rate.
            wait_time = constant_throughput(RATE / USERS)

elif KIND == "http-requests":

    class Requests(HttpUser):
        host, tasks = URL, [ask]

elif KIND == "idle":

    class Idle(Socket):
        @task
        def wait(self):
            self.socket.recv()

else:

    class Echo(Socket):
        @task
        def send(self):
            begun = time.perf_counter()
            self.socket.send(TEXT)
            text = self.socket.recv()
            self.environment.events.request.fire(
                request_type="ws", name="request", response_length=len(text), exception=None,
                response_time=(time.perf_counter() - begun) * 1000, context={})
