"""The peers, one class each: how it is started with a load, and how its output is read."""

from lib.peers.base import CONNECTIONS, FILES, KINDS, Load, Outcome, Peer
from lib.peers.native import Ab, Autocannon, Fortio, Ghz, H2load, Hey, Oha, Wrk
from lib.peers.scripted import K6, Artillery, Gatling, Locust
from lib.peers.tsung import Tsung

PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (Wrk, Ab, H2load, Fortio, Oha, Autocannon, Ghz, Hey, Tsung, K6, Gatling, Locust,
                 Artillery)
}

__all__ = ["CONNECTIONS", "FILES", "KINDS", "PEERS", "Load", "Outcome", "Peer"]
