"""A client of Kubernetes' API: one token, JSON, no library."""

import json
import ssl
import urllib.error
import urllib.request

TIMEOUT_S = 10


class Refused(Exception):
    """What the server answered instead."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class Api:
    def __init__(self, url, token):
        self.url, self.token = url, token
        # The server makes its certificate itself, and listens on loopback.
        self.context = ssl._create_unverified_context()

    def call(self, method, path, body=None, kind="application/json"):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self.context) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")[:400]) from None
        try:
            return json.loads(text)
        except ValueError:
            return text.decode()

    def get(self, path):
        return self.call("GET", path)

    def create(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def patch_status(self, path, status):
        return self.patch(path + "/status", {"status": status})

    def delete(self, path, **options):
        return self.call("DELETE", path, options or None)
