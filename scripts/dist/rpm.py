"""An RPM package of the static binary, its manual pages and completions (RPM package format 4, rpm.org/docs).

A package is a lead, which only old programs read; a header of signatures, here of digests; the header with all that is said
of the package and its files; and the files, as a cpio archive that is compressed.
"""

import hashlib
import struct

import archive
from archive import Entry

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# Numbers of processors in the lead.
LEAD_MACHINES = {"amd64": 1, "arm64": 19}
RELEASE = "1"
DESCRIPTION = """\
Throng runs virtual users against real-time systems over HTTP,
server-sent events, WebSocket, MQTT, gRPC and TCP, records every operation
and judges the result. If the generator was the limit, the run cannot pass."""
COMPLETIONS = {
    "throng.bash": "usr/share/bash-completion/completions/throng",
    "_throng": "usr/share/zsh/site-functions/_throng",
    "throng.fish": "usr/share/fish/vendor_completions.d/throng.fish",
}
DOC, LICENSES, OWN = "usr/share/doc/throng", "usr/share/licenses/throng", "usr/share/throng"

# Types of a header's values.
INT16, INT32, STRING, BIN, STRINGS, TRANSLATED = 3, 4, 6, 7, 8, 9
MAGIC = b"\x8e\xad\xe8\x01\0\0\0\0"
REGION_OF_SIGNATURES, REGION = 62, 63
LESS_OR_EQUAL, EQUAL, OF_RPM = 2 | 8, 8, 1 << 24
FLAG_DOC, FLAG_LICENSE = 2, 128
SHA256 = 8
# What rpm must know of to read the package.
FEATURES = [
    ("CompressedFileNames", "3.0.4-1"),
    ("FileDigests", "4.6.0-1"),
    ("PayloadFilesHavePrefix", "4.0-1"),
    ("PayloadIsXz", "5.2-1"),
]


def contents(what):
    """The files, and the directories that are the package's own, sorted by path."""
    entries = [
        Entry("usr/bin/throng", what.binary, 0o755),
        Entry(DOC, mode=0o755),
        Entry(f"{DOC}/CHANGELOG.md", what.changelog),
        Entry(LICENSES, mode=0o755),
        Entry(f"{LICENSES}/LICENSE", what.license),
        Entry(f"{LICENSES}/THIRD-PARTY-LICENSES", what.licenses),
        Entry(OWN, mode=0o755),
        Entry(f"{OWN}/ci", mode=0o755),
    ]
    entries += [Entry(f"usr/share/man/man1/{name}.gz", archive.gz(page)) for name, page in what.man.items()]
    entries += [Entry(COMPLETIONS[name], text) for name, text in what.completions.items()]
    entries += [Entry(f"{OWN}/ci/{name}", text, 0o755) for name, text in what.scripts.items()]
    return sorted(entries, key=lambda entry: entry.path)


def mode(entry):
    """With the kind of file, as stat(2) has it."""
    return (0o040000 if entry.data is None else 0o100000) | entry.mode


def cpio(entries, mtime):
    """An archive of cpio's format "newc", which ends with an entry of a fixed name."""
    out = bytearray()
    end = Entry("TRAILER!!!", b"", 0)
    for number, entry in enumerate([*entries, end], 1):
        is_end = entry is end
        name = (entry.path if is_end else f"./{entry.path}").encode() + b"\0"
        data = entry.data or b""
        # Inode, mode, owner, group, links, time, size, device and its parts, length of the name, no checksum.
        fields = [number, mode(entry), 0, 0, 1, mtime, len(data), 0, 0, 0, 0, len(name), 0]
        if is_end:
            fields[:6] = [0, 0, 0, 0, 1, 0]
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def encoded(kind, values):
    """The bytes of a value, and how many values they are."""
    if kind == INT16:
        return struct.pack(f">{len(values)}H", *values), len(values)
    if kind == INT32:
        return struct.pack(f">{len(values)}I", *values), len(values)
    if kind == BIN:
        return values, len(values)
    if kind in (STRING, TRANSLATED):
        return values.encode() + b"\0", 1
    return b"".join(value.encode() + b"\0" for value in values), len(values)


def header(tags, region):
    """A header of tags, by number: (type, value). Its region covers all of them."""
    index, store = b"", bytearray()
    widths = {INT16: 2, INT32: 4}
    for tag, (kind, values) in sorted(tags.items()):
        store += bytes(-len(store) % widths.get(kind, 1))
        data, count = encoded(kind, values)
        index += struct.pack(">IIII", tag, kind, len(store), count)
        store += data
    entries_count = len(tags) + 1
    # The region's value is an entry like those of the index, which leads back to the index's beginning.
    trailer = struct.pack(">IIiI", region, BIN, -16 * entries_count, 16)
    index = struct.pack(">IIII", region, BIN, len(store), 16) + index
    store += trailer
    return MAGIC + struct.pack(">II", entries_count, len(store)) + index + bytes(store)


def files(entries, mtime):
    """Tags of the files. Their paths are names in a list of directories."""
    directories = sorted({"/" + entry.path.rpartition("/")[0] + "/" for entry in entries})
    count = len(entries)

    def flags(path):
        return FLAG_LICENSE if path.startswith(LICENSES + "/") else FLAG_DOC if path.startswith((DOC, "usr/share/man")) else 0

    return {
        1028: (INT32, [len(entry.data or b"") for entry in entries]),
        1030: (INT16, [mode(entry) for entry in entries]),
        1033: (INT16, [0] * count),
        1034: (INT32, [mtime] * count),
        1035: (STRINGS, ["" if e.data is None else hashlib.sha256(e.data).hexdigest() for e in entries]),
        1036: (STRINGS, [""] * count),
        1037: (INT32, [flags(entry.path) for entry in entries]),
        1039: (STRINGS, ["root"] * count),
        1040: (STRINGS, ["root"] * count),
        # Everything is verified.
        1045: (INT32, [0xFFFFFFFF] * count),
        1095: (INT32, [1] * count),
        1096: (INT32, list(range(1, count + 1))),
        1097: (STRINGS, [""] * count),
        1116: (INT32, [directories.index("/" + entry.path.rpartition("/")[0] + "/") for entry in entries]),
        1117: (STRINGS, [entry.path.rpartition("/")[2] for entry in entries]),
        1118: (STRINGS, directories),
        5011: (INT32, [SHA256]),
    }


def about(what, names, mtime, entries, payload):
    """All tags of the header."""
    machine = MACHINES[what.architecture]
    return {
        100: (STRINGS, ["C"]),
        1000: (STRING, "throng"),
        1001: (STRING, what.version),
        1002: (STRING, RELEASE),
        1004: (TRANSLATED, "Load-testing laboratory for real-time systems"),
        1005: (TRANSLATED, DESCRIPTION),
        1006: (INT32, [mtime]),
        1007: (STRING, "throng"),
        1009: (INT32, [sum(len(entry.data or b"") for entry in entries)]),
        1014: (STRING, "Apache-2.0"),
        1015: (STRING, "Throng maintainers <maintainers@throng.invalid>"),
        1016: (TRANSLATED, "Applications/Internet"),
        1020: (STRING, names["repository"]["url"]),
        1021: (STRING, "linux"),
        1022: (STRING, machine),
        # A package with this name of its sources is one of binaries.
        1044: (STRING, f"throng-{what.version}-{RELEASE}.src.rpm"),
        1047: (STRINGS, ["throng"]),
        1048: (INT32, [OF_RPM | LESS_OR_EQUAL] * len(FEATURES)),
        1049: (STRINGS, [f"rpmlib({name})" for name, _ in FEATURES]),
        1050: (STRINGS, [version for _, version in FEATURES]),
        1064: (STRING, "4.14.0"),
        1112: (INT32, [EQUAL]),
        1113: (STRINGS, [f"{what.version}-{RELEASE}"]),
        1124: (STRING, "cpio"),
        1125: (STRING, "xz"),
        1126: (STRING, "6"),
        1132: (STRING, f"{machine}-linux"),
        5046: (STRINGS, ["ca-certificates"]),
        5047: (STRINGS, [""]),
        5048: (INT32, [0]),
        5062: (STRING, "utf-8"),
        5092: (STRINGS, [hashlib.sha256(payload).hexdigest()]),
        5093: (INT32, [SHA256]),
        **files(entries, mtime),
    }


def signatures(head, payload, payload_bytes):
    """Digests of the header and of all. The signature of a release is that of its checksums."""
    tags = {
        269: (STRING, hashlib.sha1(head, usedforsecurity=False).hexdigest()),
        273: (STRING, hashlib.sha256(head).hexdigest()),
        1000: (INT32, [len(head) + len(payload)]),
        1004: (BIN, hashlib.md5(head + payload, usedforsecurity=False).digest()),
        1007: (INT32, [payload_bytes]),
    }
    found = header(tags, REGION_OF_SIGNATURES)
    return found + bytes(-len(found) % 8)


def name(what):
    return f"throng-{what.version}-{RELEASE}.{MACHINES[what.architecture]}.rpm"


def package(what, names, mtime):
    """The package as bytes."""
    entries = contents(what)
    plain = cpio(entries, mtime)
    payload = archive.xz(plain)
    head = header(about(what, names, mtime, entries, payload), REGION)
    title = f"throng-{what.version}-{RELEASE}".encode()
    lead = struct.pack(">4sBBhh66shh16x", b"\xed\xab\xee\xdb", 3, 0, 0, LEAD_MACHINES[what.architecture], title, 1, 5)
    return lead + signatures(head, payload, len(plain)) + head + payload
