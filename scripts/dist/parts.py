"""What a binary is made of: the crates that cargo links for a target, the page's packages, and C code."""

import base64
import json
import pathlib
import re
import subprocess
import tomllib
from dataclasses import dataclass, field

LICENSE_FILES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$", re.IGNORECASE)


@dataclass
class Part:
    """A package that is in the binary."""

    name: str
    version: str
    purl: str
    license: str
    hash: tuple | None = None
    ours: bool = False
    texts: list = field(default_factory=list)
    needs: set = field(default_factory=set)

    @property
    def ref(self):
        return self.purl


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def spdx(text):
    """The SPDX expression of what old manifests write with a slash."""
    return re.sub(r"\s*/\s*", " OR ", text or "NOASSERTION")


def clarified(root):
    """The licenses of crates that state none in their manifest, as deny.toml has them."""
    deny = tomllib.loads((root / "deny.toml").read_text())
    return {entry["crate"]: entry["expression"] for entry in deny["licenses"].get("clarify", [])}


def license_texts(folder):
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENSE_FILES.match(path.name))
    return [path.read_text(errors="replace").strip() for path in files]


def crates(root, target):
    """By name and version: all crates that the binary links, and which of them each needs."""
    metadata = json.loads(
        run("cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}", cwd=root)
    )
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    known = {(p["name"], p["version"]): p for p in metadata["packages"]}
    tree = run(
        "cargo", "tree", "--locked", "--package=throng", "--edges=normal", f"--target={target}",
        "--prefix=depth", "--format= {p}", cwd=root,
    )
    known_licenses = clarified(root)
    found, above = {}, []
    for line in tree.splitlines():
        depth, name, version = line.split()[:3]
        key = (name, version.removeprefix("v"))
        part = found.get(key) or crate(known[key], sums[key], known_licenses)
        found[key] = part
        del above[int(depth):]
        if above:
            above[-1].needs.add(part.ref)
        above.append(part)
    return found


def crate(package, checksum, known_licenses):
    name, version = package["name"], package["version"]
    ours = package["source"] is None
    return Part(
        name=name,
        version=version,
        purl=f"pkg:cargo/{name}@{version}",
        license=spdx(package["license"] or known_licenses.get(name)),
        hash=("SHA-256", checksum) if checksum else None,
        ours=ours,
        texts=[] if ours else license_texts(pathlib.Path(package["manifest_path"]).parent),
    )


def page(root):
    """The packages whose code is in the page of reports."""
    lock = json.loads((root / "web/package-lock.json").read_text())
    parts = []
    for path, package in lock["packages"].items():
        if not path or package.get("dev"):
            continue
        name = path.removeprefix("node_modules/")
        kind, _, digest = package["integrity"].partition("-")
        parts.append(Part(
            name=name,
            version=package["version"],
            purl=f"pkg:npm/{name}@{package['version']}",
            license=package["license"],
            hash=(kind.upper().replace("SHA", "SHA-"), base64.b64decode(digest).hex()),
            texts=license_texts(root / "web" / path),
        ))
    return parts


def sqlite(root, target):
    """SQLite, whose C source is in the crate that binds it."""
    metadata = json.loads(
        run("cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}", cwd=root)
    )
    package = next(p for p in metadata["packages"] if p["name"] == "libsqlite3-sys")
    header = pathlib.Path(package["manifest_path"]).parent / "sqlite3/sqlite3.h"
    version = re.search(r'#define SQLITE_VERSION\s+"([^"]+)"', header.read_text()).group(1)
    return Part("sqlite", version, f"pkg:generic/sqlite@{version}", "blessing")


def standard_library(root):
    """Rust's standard library, with the musl that the toolchain ships."""
    version = run("rustc", "--version", cwd=root).split()[1]
    part = Part("rust-std", version, f"pkg:generic/rust-std@{version}", "MIT OR Apache-2.0")
    part.texts = [
        "Rust's standard library is licensed under MIT or Apache-2.0; its unwinder LLVM's libunwind under Apache-2.0\n"
        "WITH LLVM-exception; musl, the C library that is linked with it, under MIT:\n"
        "Copyright © 2005-2020 Rich Felker, et al."
    ]
    return part


def of(root, target):
    """All parts of the binary for a target: Throng itself first, the others by name."""
    found = crates(root, target)
    throng = next(part for part in found.values() if part.name == "throng")
    others = [part for part in found.values() if part is not throng]
    others += [*page(root), sqlite(root, target), standard_library(root)]
    throng.needs |= {part.ref for part in others if not part.purl.startswith("pkg:cargo/")}
    return throng, sorted(others, key=lambda part: part.ref)
