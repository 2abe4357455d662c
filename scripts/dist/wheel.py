"""Python wheels of the static binary: `pip install` puts it beside the interpreter (binary distribution format 1.0).

No Python is in them. The binary is a script of the wheel, manual pages and completions are its data, which go to `share` of
the environment.
"""

import base64
import csv
import hashlib
import io
import time
import zipfile

from archive import Entry

# A static binary runs with any libc. Installers compare their system's with these, the oldest that they know.
PLATFORMS = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Load-testing laboratory for real-time systems
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD-PARTY-LICENSES
Keywords: load testing,performance,benchmark,http,websocket,sse,mqtt,grpc
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Testing :: Traffic Generation
Project-URL: Repository, {url}
Project-URL: Changes, {url}/blob/main/CHANGELOG.md
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: throng\nRoot-Is-Purelib: false\n"
COMPLETIONS = {
    "throng.bash": "bash-completion/completions/throng",
    "_throng": "zsh/site-functions/_throng",
    "throng.fish": "fish/vendor_completions.d/throng.fish",
}
DESCRIPTION = """\
# Throng

Throng load-tests real-time systems over HTTP, server-sent events, WebSocket, MQTT, gRPC and TCP, and judges the results.
This package is its static binary for Linux, with manual pages and completions.

```
throng run http://127.0.0.1:8080/ --rate 500/s --duration 10s
```

Documentation: {url}
"""


def platforms(what):
    return [f"{platform}_{MACHINES[what.architecture]}" for platform in PLATFORMS]


def contents(what, distribution, names):
    """The files of the wheel but its RECORD."""
    url = names["repository"]["url"]
    fields = {"name": names["pypi"]["package"], "version": what.version, "url": url}
    metadata = METADATA.format(description=DESCRIPTION.format(url=url), **fields)
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms(what))
    data, info = f"{distribution}.data", f"{distribution}.dist-info"
    entries = [Entry(f"{data}/scripts/throng", what.binary, 0o755)]
    entries += [Entry(f"{data}/data/share/man/man1/{page}", text) for page, text in what.man.items()]
    entries += [Entry(f"{data}/data/share/{COMPLETIONS[name]}", text) for name, text in what.completions.items()]
    # The format recommends that what is about the wheel comes last: it can then be changed without moving the rest.
    entries += [
        Entry(f"{info}/METADATA", metadata.encode()),
        Entry(f"{info}/WHEEL", (WHEEL + tags).encode()),
        Entry(f"{info}/licenses/LICENSE", what.license),
        Entry(f"{info}/licenses/THIRD-PARTY-LICENSES", what.licenses),
    ]
    return entries


def record(entries, path):
    """The list of all files with their digests; it is in the list, without one."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=")
        rows.writerow([entry.path, f"sha256={digest.decode()}", len(entry.data)])
    rows.writerow([path, "", ""])
    return Entry(path, out.getvalue().encode())


def zipped(entries, mtime, level):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, time.gmtime(mtime)[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            # A regular file with this mode; the host is Unix on whatever system this runs.
            info.external_attr, info.create_system = (0o100000 | entry.mode) << 16, 3
            archive.writestr(info, entry.data)
    return out.getvalue()


def package(what, names, mtime, level=9):
    """The wheel's name and bytes."""
    distribution = f"{names['pypi']['package'].replace('-', '_')}-{what.version}"
    entries = contents(what, distribution, names)
    entries.append(record(entries, f"{distribution}.dist-info/RECORD"))
    return f"{distribution}-py3-none-{'.'.join(platforms(what))}.whl", zipped(entries, mtime, level)
