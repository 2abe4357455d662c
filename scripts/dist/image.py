"""A container image without a daemon: an OCI image layout as a tar, for one or several architectures.

It follows the OCI image specification 1.1: `oci-layout`, `index.json`, and blobs named by their digest. The
image holds the static binary, certificates, and directories that any user may write to; no shell.
"""

import datetime
import hashlib
import json

import archive
from archive import Entry

# Nobody's name on common systems; `--user` may give any other.
USER = 65532
TYPE = "application/vnd.oci.image"
PASSWD = f"root:x:0:0::/root:/nonexistent\nthrong:x:{USER}:{USER}::/work:/nonexistent\n"
GROUP = f"root:x:0:\nthrong:x:{USER}:\n"


def encoded(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layout:
    """Collects blobs and writes the layout."""

    def __init__(self, mtime):
        self.mtime = mtime
        self.blobs = {}

    def add(self, data, media_type, **more):
        """Adds a blob and returns its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def layer(self, entries):
        """Adds a layer; returns its descriptor and the digest of the uncompressed tar."""
        plain = archive.tar(entries, self.mtime)
        descriptor = self.add(archive.gz(plain), f"{TYPE}.layer.v1.tar+gzip")
        return descriptor, "sha256:" + hashlib.sha256(plain).hexdigest()

    def tar(self, index):
        entries = [
            Entry("oci-layout", encoded({"imageLayoutVersion": "1.0.0"})),
            Entry("index.json", encoded(index)),
        ]
        entries += [Entry(f"blobs/sha256/{digest}", data) for digest, data in self.blobs.items()]
        return archive.tar(entries, self.mtime)


def base(certificates):
    """What a static program still needs of a system."""
    return [
        Entry("etc/group", GROUP.encode()),
        Entry("etc/passwd", PASSWD.encode()),
        Entry("etc/ssl/certs/ca-certificates.crt", certificates),
        Entry("tmp", mode=0o1777),
        Entry("work", mode=0o1777, owner=USER),
    ]


def program(what):
    doc = "usr/share/doc/throng"
    return [
        Entry("usr/bin/throng", what.binary, 0o755),
        Entry(f"{doc}/LICENSE", what.license),
        Entry(f"{doc}/THIRD-PARTY-LICENSES", what.licenses),
    ]


def config(what, diff_ids, created, labels):
    platform = {"architecture": what.architecture, "os": "linux"}
    if what.architecture == "arm64":
        platform["variant"] = "v8"
    history = [{"created": created, "created_by": "scripts/dist"} for _ in diff_ids]
    return platform, {
        **platform,
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", "HOME=/work"],
            "Entrypoint": ["/usr/bin/throng"],
            "Cmd": ["help"],
            "WorkingDir": "/work",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": history,
    }


def image(programs, certificates, revision, mtime):
    """The layout as bytes: one manifest for each program, in an index that the tag names."""
    version = programs[0].version
    created = datetime.datetime.fromtimestamp(mtime, datetime.UTC)
    created = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "throng",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    layout = Layout(mtime)
    manifests = []
    for what in programs:
        layers = [layout.layer(base(certificates)), layout.layer(program(what))]
        platform, settings = config(what, [diff for _, diff in layers], created, labels)
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{TYPE}.manifest.v1+json",
            "config": layout.add(encoded(settings), f"{TYPE}.config.v1+json"),
            "layers": [descriptor for descriptor, _ in layers],
        }
        descriptor = layout.add(encoded(manifest), manifest["mediaType"], platform=platform)
        manifests.append(descriptor)
    index = {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json", "manifests": manifests}
    # The second is how podman and containerd name what they load.
    name = {
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": f"localhost/throng:{version}",
    }
    top = layout.add(encoded(index), index["mediaType"], annotations=name)
    return layout.tar({**index, "manifests": [top]})
