"""Answers to digest challenges in their session forms and with hashed user names, by hashlib.

Writes testdata/golden/digest.json; the formulas are those of RFC 7616, sections 3.4.1 to 3.4.4.
"""

import hashlib
import json
import pathlib
import platform

USER, PASSWORD, METHOD, URI = "Mufasa", "Circle of Life", "GET", "/dir/index.html"
REALM, NONCE = "http-auth@example.org", "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"


def digest(name, text):
    return hashlib.new(name, text.encode()).hexdigest()


def case(algorithm, name, userhash):
    challenge = f'Digest realm="{REALM}", qop="auth", algorithm={algorithm}, nonce="{NONCE}"'
    if userhash:
        challenge += ", userhash=true"
    user = digest(name, f"{USER}:{REALM}") if userhash else USER
    key = digest(name, f"{USER}:{REALM}:{PASSWORD}")
    cnonces = ["00c0ffee00c0ffee", "0123456789abcdef"]
    if algorithm.endswith("-sess"):
        key = digest(name, f"{key}:{NONCE}:{cnonces[0]}")
    request_digest = digest(name, f"{METHOD}:{URI}")
    answers = []
    for count, cnonce in enumerate(cnonces, 1):
        response = digest(name, f"{key}:{NONCE}:{count:08x}:{cnonce}:auth:{request_digest}")
        answers.append({"cnonce": cnonce, "response": response, "username": f'username="{user}"'})
    return {"challenge": challenge, "answers": answers}


def main():
    cases = [
        case("MD5-sess", "md5", False),
        case("SHA-256-sess", "sha256", False),
        case("SHA-256", "sha256", True),
    ]
    golden = {"by": f"Python {platform.python_version()}, hashlib", "cases": cases}
    path = pathlib.Path(__file__).parents[2] / "testdata/golden/digest.json"
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
