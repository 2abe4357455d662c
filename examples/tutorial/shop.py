#!/usr/bin/env python3
"""The shop of docs/tutorial.md: a login, a catalogue, a cart and orders. Python's standard library only.

    python3 examples/tutorial/shop.py                          # on port 8000
    python3 examples/tutorial/shop.py --port 8001 --version 2

    POST /login      {"user": …, "password": …}   200 {"token": …}; 401, 403
    GET  /products                                200 {"products": [{"id": …, "price": …}, …]}
    POST /cart       {"product": ID}              201 {"items": …, "total": …}; 401, 404
    POST /orders                                  201 {"order": …, "total": …}; 401, 409

/cart and /orders require the header `Authorization: Bearer TOKEN`. Errors are {"error": TEXT}.

One order is written at a time, which takes 20 ms: the shop cannot take more than 50 a second. Version 2 sends a
mail before it writes the next order, and takes half as many.
"""

import argparse
import http.server
import itertools
import json
import secrets
import threading
import time

PASSWORDS = {"ann": "a1", "bob": "b2", "cy": "c3", "dan": "d4"}
EXPIRED = {"dan"}
PRODUCTS = {"p1": 2900, "p2": 4500, "p3": 900}
WRITE_SECONDS = 0.02
MAIL_SECONDS = 0.02


class Refused(Exception):
    """A request that the shop answers with an error."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Shop:
    """The state of the shop. All of it is in memory."""

    def __init__(self, version):
        self.order_seconds = WRITE_SECONDS + (MAIL_SECONDS if version >= 2 else 0)
        self.carts = {}
        self.numbers = itertools.count(1)
        self.ledger = threading.Lock()

    def login(self, user, password):
        if PASSWORDS.get(user) != password:
            raise Refused(401, "wrong user or password")
        if user in EXPIRED:
            raise Refused(403, f"the password of {user} has expired")
        token = secrets.token_hex(8)
        self.carts[token] = []
        return {"token": token}

    def products(self):
        return {"products": [{"id": name, "price": price} for name, price in PRODUCTS.items()]}

    def add(self, token, product):
        if product not in PRODUCTS:
            raise Refused(404, f"no product {product}")
        cart = self.cart(token)
        cart.append(product)
        return {"items": len(cart), "total": total(cart)}

    def order(self, token):
        cart = self.cart(token)
        if not cart:
            raise Refused(409, "the cart is empty")
        with self.ledger:
            time.sleep(self.order_seconds)
            number = next(self.numbers)
        answer = {"order": number, "total": total(cart)}
        cart.clear()
        return answer

    def cart(self, token):
        if token not in self.carts:
            raise Refused(401, "no valid token")
        return self.carts[token]


def total(cart):
    return sum(PRODUCTS[product] for product in cart)


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection, in a thread of its own."""

    protocol_version = "HTTP/1.1"
    # Head and body leave in one packet, at once.
    wbufsize = -1
    disable_nagle_algorithm = True
    shop = None

    def do_GET(self):
        self.answer({"/products": lambda body, token: (200, self.shop.products())})

    def do_POST(self):
        self.answer({
            "/login": lambda body, token: (200, self.shop.login(body.get("user"), body.get("password"))),
            "/cart": lambda body, token: (201, self.shop.add(token, body.get("product"))),
            "/orders": lambda body, token: (201, self.shop.order(token)),
        })

    def answer(self, routes):
        try:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path not in routes:
                raise Refused(404, "no such page")
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, value = routes[self.path](self.parsed(text), token)
        except Refused as refused:
            status, value = refused.status, {"error": str(refused)}
        text = json.dumps(value).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def parsed(self, text):
        try:
            body = json.loads(text or "{}")
        except ValueError:
            raise Refused(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refused(400, "the body is no JSON object")
        return body

    def log_message(self, *_):
        """A line for each request would be what a load test measures."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        """Clients may leave at any time."""


def main():
    parser = argparse.ArgumentParser(description="The shop of Throng's tutorial.")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free port")
    parser.add_argument("--version", type=int, default=1, choices=[1, 2])
    args = parser.parse_args()
    Handler.shop = Shop(args.version)
    server = Server(("127.0.0.1", args.port), Handler)
    print(f"shop {args.version} listens on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
