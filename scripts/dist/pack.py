#!/usr/bin/env python3
"""Packages binaries: scripts/dist/pack.py OUT DOCS CERTIFICATES TARGET=BINARY…

DOCS holds `man/` and `completions/`. OUT gets, for each target, a tar, packages for Debian, RPM, Python and npm, the list of
parts, and what a debugger needs (BINARY.debug); of all targets a container image, the npm package that chooses among
them, and recipes for Homebrew and Nix; and SHA256SUMS. The names of packages are those of names.toml.
SOURCE_DATE_EPOCH is the time of every file. Two calls with the same arguments write the same bytes.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import archive
import deb
import image
import npm
import parts
import recipes
import rpm
import sbom
import wheel
from archive import Entry
from names import NAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SCRIPTS = ["comment.py", "compare-run.sh", "duet-run.sh", "lib.sh", "store-baseline.sh"]
# The sizes that users were promised.
BINARY_BYTES_MAX = 30_000_000
IMAGE_BYTES_MAX = 40_000_000


@dataclass
class Program:
    """What is packaged for one target."""

    target: str
    architecture: str
    version: str
    binary: bytes
    symbols: bytes
    man: dict
    completions: dict
    license: bytes
    licenses: bytes
    changelog: bytes
    scripts: dict
    sbom: bytes


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def program(target, binary, docs, mtime):
    throng, others = parts.of(ROOT, target)
    return Program(
        target=target,
        architecture=ARCHITECTURES[target.split("-")[0]],
        version=throng.version,
        binary=pathlib.Path(binary).read_bytes(),
        symbols=pathlib.Path(f"{binary}.debug").read_bytes(),
        man=files(docs / "man"),
        completions=files(docs / "completions"),
        license=(ROOT / "LICENSE").read_bytes(),
        licenses=sbom.licenses(others),
        changelog=(ROOT / "CHANGELOG.md").read_bytes(),
        # What the templates for CI call.
        scripts={name: (ROOT / "ci" / name).read_bytes() for name in SCRIPTS},
        sbom=sbom.cyclonedx(throng, others, target, mtime),
    )


def tarball(what, name, mtime):
    """The binary and its documents in one folder."""
    entries = [
        Entry(f"{name}/throng", what.binary, 0o755),
        Entry(f"{name}/LICENSE", what.license),
        Entry(f"{name}/THIRD-PARTY-LICENSES", what.licenses),
        Entry(f"{name}/CHANGELOG.md", what.changelog),
        Entry(f"{name}/README.md", (ROOT / "README.md").read_bytes()),
    ]
    entries += [Entry(f"{name}/man/{page}", text) for page, text in what.man.items()]
    entries += [Entry(f"{name}/completions/{shell}", text) for shell, text in what.completions.items()]
    entries += [Entry(f"{name}/ci/{script}", text, 0o755) for script, text in what.scripts.items()]
    return archive.gz(archive.tar(entries, mtime))


def packages(programs, certificates, revision, mtime):
    """All files of a release as (name, bytes)."""
    archives = []
    for what in programs:
        name = f"throng-{what.version}-{what.target}"
        archives.append((what, f"{name}.tar.gz", tarball(what, name, mtime)))
        yield f"throng_{what.version}_{what.architecture}.deb", deb.package(what, mtime)
        yield rpm.name(what), rpm.package(what, NAMES, mtime)
        yield wheel.package(what, NAMES, mtime)
        yield npm.platform(what, NAMES)
        yield f"{name}.cdx.json", what.sbom
        yield f"{name}.debug", what.symbols
    yield from (named[1:] for named in archives)
    yield npm.package(programs, NAMES)
    yield "throng.rb", recipes.formula(archives, NAMES)
    # Nix takes a flake from an archive with one folder.
    flake = [Entry("throng/flake.nix", recipes.flake(archives, NAMES))]
    yield "throng-flake.tar.gz", archive.gz(archive.tar(flake, mtime))
    yield f"throng-{programs[0].version}-oci.tar", image.image(programs, certificates, revision, mtime)


def check_sizes(programs, written):
    too_large = [p.target for p in programs if len(p.binary) > BINARY_BYTES_MAX]
    too_large += [name for name, data in written if name.endswith("-oci.tar") and len(data) > IMAGE_BYTES_MAX]
    if too_large:
        sys.exit(f"larger than promised: {', '.join(too_large)}")


def main(out, docs, certificates, *binaries):
    mtime = int(os.environ["SOURCE_DATE_EPOCH"])
    out, docs = pathlib.Path(out), pathlib.Path(docs)
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    pairs = [pair.split("=", 1) for pair in binaries]
    programs = [program(target, binary, docs, mtime) for target, binary in pairs]
    written = list(packages(programs, pathlib.Path(certificates).read_bytes(), revision, mtime))
    check_sizes(programs, written)
    out.mkdir(parents=True)
    sums = ""
    for name, data in sorted(written):
        (out / name).write_bytes(data)
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
    (out / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main(*sys.argv[1:])
