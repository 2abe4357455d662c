"""examples/incident.yaml for Locust. It has no open load: each user makes a visit every two seconds."""

import os
import random

import gevent
from locust import FastHttpUser, constant_throughput, task


class Buyer(FastHttpUser):
    host = os.environ["URL"]
    wait_time = constant_throughput(0.5)

    def on_start(self):
        # All begin at once, and are not to visit at once.
        gevent.sleep(random.uniform(0, 2))

    @task
    def visit(self):
        self.client.get("/browse", name="browse")
        self.think()
        self.client.get("/search?q=tea", name="search")
        self.think()
        self.client.post("/checkout", json={"item": "tea"}, name="checkout")

    def think(self):
        gevent.sleep(random.expovariate(2))
