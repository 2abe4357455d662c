"""Unpacks the artefacts of a release with the tools that users have: tar, dpkg-deb, and the digests of OCI."""

import hashlib
import json
import subprocess
import tarfile

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def architectures(artefact):
    """The architectures whose program is in this file; none if it holds no program."""
    name = artefact.name
    if name.endswith(".deb"):
        return [name.removesuffix(".deb").rsplit("_", 1)[1]]
    if name.endswith(".tar.gz"):
        return [a for a, machine in MACHINES.items() if f"-{machine}-" in name]
    if name.endswith("-oci.tar"):
        with tarfile.open(artefact) as archive:
            return [m["platform"]["architecture"] for m in manifests(archive)]
    return []


def into(folder, artefact, architecture):
    """Unpacks it; returns the path of the program from that folder."""
    if artefact.name.endswith(".deb"):
        subprocess.run(["dpkg-deb", "--extract", artefact, folder], check=True)
        return "/usr/bin/throng"
    if artefact.name.endswith(".tar.gz"):
        subprocess.run(["tar", "-xzf", artefact, "-C", folder], check=True)
        return f"/{artefact.name.removesuffix('.tar.gz')}/throng"
    return layers(folder, artefact, architecture)


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
    """Unpacks the layers of an image; returns its entry point."""
    with tarfile.open(artefact) as archive:
        chosen = next(m for m in manifests(archive) if m["platform"]["architecture"] == architecture)
        manifest = json.loads(blob(archive, chosen))
        settings = json.loads(blob(archive, manifest["config"]))
        for layer in manifest["layers"]:
            subprocess.run(["tar", "-xz", "-C", folder], input=blob(archive, layer), check=True)
    return settings["config"]["Entrypoint"][0]
