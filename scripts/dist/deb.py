"""A Debian package of the static binary, its manual pages and completions (deb(5), deb-control(5))."""

import hashlib

import archive
from archive import Entry

# Without a dependency: the binary is static.
CONTROL = """\
Package: throng
Version: {version}
Section: net
Priority: optional
Architecture: {architecture}
Installed-Size: {kib}
Recommends: ca-certificates
Maintainer: Throng maintainers <maintainers@throng.invalid>
Description: {title}
 Throng runs virtual users against real-time systems over HTTP/1.1,
 server-sent events, WebSocket and TCP, records every operation and judges
 the result. The verdict begins with the generator: if it was the limit, the
 run cannot pass.
"""
COPYRIGHT = """\
Throng is licensed under the Apache License, version 2.0, which is in
/usr/share/common-licenses/Apache-2.0 on Debian. The libraries in it have
the licenses below.

"""
COMPLETIONS = {
    "throng.bash": "usr/share/bash-completion/completions/throng",
    "_throng": "usr/share/zsh/vendor-completions/_throng",
    "throng.fish": "usr/share/fish/vendor_completions.d/throng.fish",
}


def contents(what):
    """The files that the package installs."""
    doc = "usr/share/doc/throng"
    entries = [
        Entry("usr/bin/throng", what.binary, 0o755),
        Entry(f"{doc}/copyright", COPYRIGHT.encode() + what.licenses),
        Entry(f"{doc}/changelog.gz", archive.gz(what.changelog)),
    ]
    for name, page in what.man.items():
        entries.append(Entry(f"usr/share/man/man1/{name}.gz", archive.gz(page)))
    for name, text in what.completions.items():
        entries.append(Entry(COMPLETIONS[name], text))
    for name, text in what.scripts.items():
        entries.append(Entry(f"usr/share/throng/ci/{name}", text, 0o755))
    return entries


def package(what, mtime):
    """The package as bytes."""
    entries = contents(what)
    fields = {
        "version": what.version,
        "architecture": what.architecture,
        "title": "load-testing laboratory for real-time systems",
        "kib": sum(-(-len(entry.data) // 1024) for entry in entries),
    }
    sums = [
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {entry.path}\n"
        for entry in sorted(entries, key=lambda entry: entry.path)
    ]
    control = [
        Entry("control", CONTROL.format(**fields).encode()),
        Entry("md5sums", "".join(sums).encode()),
    ]
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", archive.xz(archive.tar(control, mtime, "./"))),
        ("data.tar.xz", archive.xz(archive.tar(entries, mtime, "./"))),
    ]
    return archive.ar(members, mtime)
