"""Installs the artefacts of a release into an empty folder, offline, with the tools that users have: tar, dpkg, rpm, pip, npm;
and the digests of OCI."""

import base64
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# As Node and npm call them.
PROCESSORS = {"amd64": "x64", "arm64": "arm64"}


@dataclass(frozen=True)
class Installed:
    """A program that was installed into a folder."""

    # As a path of that folder, which stands for the root directory.
    program: str
    # Needs more of the system than the folder has, such as Node.
    needs_system: bool = False


class MissingToolError(Exception):
    """What installs such an artefact is not on this machine."""


def architectures(artefact):
    """The architectures whose program is in this file, or is installed with it; none if there is no program."""
    name = artefact.name
    if name.endswith(".deb"):
        return [name.removesuffix(".deb").rsplit("_", 1)[1]]
    if name.endswith((".rpm", ".whl")):
        return [a for a, machine in MACHINES.items() if name[:-4].endswith(machine)]
    if name.endswith(".tar.gz"):
        return [a for a, machine in MACHINES.items() if f"-{machine}-" in name]
    if name.endswith(".tgz"):
        return list(platform_packages(artefact))
    if name.endswith("-oci.tar"):
        with tarfile.open(artefact) as archive:
            return [m["platform"]["architecture"] for m in manifests(archive)]
    return []


def into(folder, artefact, architecture):
    """Installs it; says where the program is. Raises MissingToolError."""
    if artefact.name.endswith(".deb"):
        return debian(folder, artefact)
    if artefact.name.endswith(".rpm"):
        need("rpm")
        # Root of a user namespace may write its database, and change its root directory for scripts, of which there are none.
        command = ["unshare", "--user", "--map-root-user", "rpm", "--root", folder, "--ignorearch", "--install", artefact]
        quietly(command)
        return Installed("/usr/bin/throng")
    if artefact.name.endswith(".whl"):
        return wheel(folder, artefact, architecture)
    if artefact.name.endswith(".tgz"):
        return npm(folder, artefact, architecture)
    if artefact.name.endswith(".tar.gz"):
        subprocess.run(["tar", "-xzf", artefact, "-C", folder], check=True)
        return Installed(f"/{artefact.name.removesuffix('.tar.gz')}/throng")
    return layers(folder, artefact, architecture)


def need(program):
    if shutil.which(program) is None:
        raise MissingToolError(f"{program} is not installed")


def quietly(command, **more):
    """Runs it; shows what it says only if it fails."""
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}:\n{ended.stdout}")


def is_own(architecture):
    return MACHINES[architecture] == platform.machine()


def debian(folder, artefact):
    need("dpkg")
    database = folder / "var/lib/dpkg"
    for name in ("info", "triggers", "updates"):
        (database / name).mkdir(parents=True)
    for name in ("available", "status"):
        (database / name).touch()
    force = ["--force-not-root", "--force-architecture"]
    quietly(["dpkg", f"--root={folder}", "--log=/dev/null", *force, "--install", artefact])
    return Installed("/usr/bin/throng")


def wheel(folder, artefact, architecture):
    """Into an environment of its own; one of another processor into a folder, as pip prepares those."""
    environment = folder / "venv"
    quietly([sys.executable, "-m", "venv", environment])
    pip = [environment / "bin/python", "-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--no-index"]
    if is_own(architecture):
        quietly([*pip, artefact])
        return Installed("/venv/bin/throng")
    system = ["--platform", f"manylinux_2_17_{MACHINES[architecture]}", "--only-binary", ":all:"]
    quietly([*pip, *system, "--target", folder / "other", artefact])
    return Installed("/other/bin/throng")


def platform_packages(artefact):
    """The files beside an npm package that hold the binaries for it, by architecture."""
    with tarfile.open(artefact) as archive:
        manifest = json.load(archive.extractfile("package/package.json"))
    found = {}
    for name, version in manifest.get("optionalDependencies", {}).items():
        architecture = next(a for a, processor in PROCESSORS.items() if name.endswith(f"-{processor}"))
        found[architecture] = artefact.parent / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    return found


def npm(folder, artefact, architecture):
    """Into a prefix. Node starts the program; that of another processor is found without Node."""
    need("npm")
    prefix = folder / "npm"
    prefix.mkdir()
    binary = platform_packages(artefact)[architecture]
    packages = [artefact.resolve(), binary.resolve()]
    # Neither settings nor a cache of this machine.
    home = {"HOME": str(folder), "PATH": os.environ["PATH"], "npm_config_cache": str(folder / "npm-cache")}
    command = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", prefix]
    if not is_own(architecture):
        # A package for another processor is refused unless forced.
        command += ["--force", "--cpu", PROCESSORS[architecture]]
    quietly([*command, *packages], env=home, cwd=prefix)
    if is_own(architecture):
        return Installed("/npm/node_modules/.bin/throng", needs_system=True)
    found = next(prefix.glob("node_modules/@*/linux-*/bin/throng"))
    return Installed("/" + str(found.relative_to(folder)))


def blob(archive, descriptor):
    """A blob, if its size and digest are those of its descriptor."""
    kind, digest = descriptor["digest"].split(":")
    data = archive.extractfile(f"blobs/{kind}/{digest}").read()
    if len(data) != descriptor["size"] or hashlib.new(kind, data).hexdigest() != digest:
        raise ValueError(f"{descriptor['digest']} is another blob")
    return data


def manifests(archive):
    """The descriptors of the manifests that the image's index names."""
    top = json.load(archive.extractfile("index.json"))["manifests"][0]
    return json.loads(blob(archive, top))["manifests"]


def layers(folder, artefact, architecture):
    """Unpacks the layers of an image, and takes its entry point."""
    with tarfile.open(artefact) as archive:
        chosen = next(m for m in manifests(archive) if m["platform"]["architecture"] == architecture)
        manifest = json.loads(blob(archive, chosen))
        settings = json.loads(blob(archive, manifest["config"]))
        for layer in manifest["layers"]:
            subprocess.run(["tar", "-xz", "-C", folder], input=blob(archive, layer), check=True)
    return Installed(settings["config"]["Entrypoint"][0])


def recipes(folder: pathlib.Path):
    """Checks the recipes for other package managers: that they fetch the archives by their checksums, and their syntax if
    there is a program that knows it. Yields what was seen."""
    archives = [path for path in folder.iterdir() if path.name.endswith("-musl.tar.gz")]
    with tarfile.open(folder / "throng-flake.tar.gz") as archive:
        flake = archive.extractfile("throng/flake.nix").read()
    checkers = [
        ("throng.rb", (folder / "throng.rb").read_bytes(), ["ruby", "-c"]),
        ("flake.nix", flake, ["nix-instantiate", "--parse", "-"]),
    ]
    for name, text, checker in checkers:
        for archive in archives:
            digest = hashlib.sha256(archive.read_bytes())
            forms = [digest.hexdigest().encode(), base64.b64encode(digest.digest())]
            if archive.name.encode() not in text or not any(form in text for form in forms):
                sys.exit(f"{name} does not fetch {archive.name} by its checksum")
        seen = f"{name}: the checksums are those of the archives"
        if shutil.which(checker[0]) is None:
            yield f"{seen}; SYNTAX NOT CHECKED: {checker[0]} is not installed"
        else:
            with tempfile.TemporaryDirectory() as state:
                # Nix wants to write there, wherever it is.
                nix = {f"NIX_{name}_DIR": f"{state}/{name.lower()}" for name in ("LOCALSTATE", "LOG", "STATE", "STORE")}
                subprocess.run(checker, input=text, stdout=subprocess.DEVNULL, check=True, env={**os.environ, **nix})
            yield f"{seen}, and {checker[0]} reads it"
