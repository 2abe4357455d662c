"""npm packages of the static binary: one for each processor, and one that names them and starts the right one.

npm installs the packages of `optionalDependencies` whose `os` and `cpu` are its own. Nothing is downloaded by a script.
"""

import json
import pathlib

import archive
from archive import Entry

# As Node calls them (`process.arch`).
PROCESSORS = {"amd64": "x64", "arm64": "arm64"}
SHIM = pathlib.Path(__file__).parent / "npm-shim.js"
README = """\
# Throng

Throng load-tests real-time systems over HTTP, server-sent events, WebSocket, MQTT, gRPC and TCP, and judges the results.
These packages are its static binary for Linux, with manual pages and completions.

```
npx {package} run http://127.0.0.1:8080/ --rate 500/s --duration 10s
```

Documentation: {url}
"""
# The time that `npm pack` gives each file. npm itself does so, for packages of the same bytes.
MTIME = 499162500


def platform_name(what, names):
    return f"{names['npm']['scope']}/linux-{PROCESSORS[what.architecture]}"


def manifest(fields, names):
    common = {
        "description": "Load-testing laboratory for real-time systems",
        "license": "Apache-2.0",
        "repository": {"type": "git", "url": f"git+{names['repository']['url']}.git"},
        "os": ["linux"],
    }
    return Entry("package.json", (json.dumps({**fields, **common}, indent=2) + "\n").encode())


def packed(name, version, entries):
    """The archive as `npm pack` names it."""
    file = f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    return file, archive.gz(archive.tar(entries, MTIME, "package/", has_folders=False))


def platform(what, names):
    """The package with the binary: its file's name and bytes."""
    name = platform_name(what, names)
    fields = {"name": name, "version": what.version, "cpu": [PROCESSORS[what.architecture]]}
    entries = [
        manifest({**fields, "preferUnplugged": True}, names),
        Entry("bin/throng", what.binary, 0o755),
        Entry("LICENSE", what.license),
        Entry("THIRD-PARTY-LICENSES", what.licenses),
    ]
    return packed(name, what.version, entries)


def package(programs, names):
    """The package that people install: its file's name and bytes."""
    first, name = programs[0], names["npm"]["package"]
    fields = {
        "name": name,
        "version": first.version,
        "bin": {"throng": "bin/throng.js"},
        "man": [f"./man/{page}" for page in first.man],
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform_name(what, names): first.version for what in programs},
    }
    readme = README.format(package=name, url=names["repository"]["url"])
    shim = SHIM.read_text().replace("@SCOPE@", names["npm"]["scope"])
    entries = [
        manifest(fields, names),
        Entry("bin/throng.js", shim.encode(), 0o755),
        Entry("LICENSE", first.license),
        Entry("README.md", readme.encode()),
    ]
    entries += [Entry(f"man/{page}", text) for page, text in first.man.items()]
    entries += [Entry(f"completions/{shell}", text) for shell, text in first.completions.items()]
    return packed(name, first.version, entries)
