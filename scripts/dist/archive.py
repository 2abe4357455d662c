"""Archives whose bytes depend on their contents only: entries in order, owned by root, all of one time."""

import gzip
import io
import lzma
import tarfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A file, or a directory if it has no data."""

    path: str
    data: bytes | None = None
    mode: int = 0o644
    owner: int = 0


def with_parents(entries):
    """The entries and the directories that lead to them, sorted by path."""
    all_by_path = {entry.path: entry for entry in entries}
    for entry in entries:
        parts = entry.path.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            all_by_path.setdefault(path, Entry(path, mode=0o755))
    return [all_by_path[path] for path in sorted(all_by_path)]


def tar(entries, mtime, prefix="", has_folders=True):
    """An uncompressed tar of the entries, with the directories that lead to them unless these are left out."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in with_parents(entries) if has_folders else entries:
            info = tarfile.TarInfo(prefix + entry.path)
            info.mtime, info.mode = mtime, entry.mode
            info.uid = info.gid = entry.owner
            info.uname = info.gname = "root" if entry.owner == 0 else ""
            if entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def gz(data):
    """As `gzip -9n` does: without a name or time."""
    return gzip.compress(data, 9, mtime=0)


def xz(data):
    return lzma.compress(data, check=lzma.CHECK_CRC64, preset=6)


def ar(members, mtime):
    """An archive of ar(5), as deb(5) wants it: names of at most 16 bytes, owned by root."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{mtime:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out
