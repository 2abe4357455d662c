#!/usr/bin/env python3
"""Throng's version, which stands in `Cargo.toml` and must be the same wherever else it is written.

    scripts/version.py            prints it; fails if another place has another one
    scripts/version.py X.Y.Z      writes it everywhere
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
NUMBER = r"(\d+\.\d+\.\d+)"
SHAPE = re.compile(NUMBER)
# Files that name the version, and the texts around it.
PLACES = {
    "action.yml": [rf"description: The version of Throng\.\n    default: {NUMBER}"],
    "ci/gitlab/throng.yml": [rf"THRONG_VERSION: {NUMBER}"],
    "deploy/ci/github.yml": [rf"ref: v{NUMBER}"],
    "deploy/ci/gitlab.yml": [rf"THRONG_VERSION: {NUMBER}"],
    "deploy/cloud-init/agent.yaml": [rf"throng_version={NUMBER}"],
    "deploy/helm/throng/Chart.yaml": [rf"(?m:^version): {NUMBER}", rf"appVersion: {NUMBER}"],
    "deploy/opentofu/variables.tf": [rf"such as {NUMBER}"],
    "docs/ci.md": [rf"throng@v{NUMBER}", rf"without `/v{NUMBER}`"],
    "docs/deploying.md": [rf"throng-{NUMBER}-oci", rf"example/throng:{NUMBER}", rf"throng_version={NUMBER}"],
    "docs/installing.md": [rf"throng-{NUMBER}-oci", rf"localhost/throng:{NUMBER}"],
    "examples/market/compose.yml": [rf"image: throng:{NUMBER}"],
}
GOLDEN = [rf'app.kubernetes.io/version: "{NUMBER}"', rf"helm.sh/chart: throng-{NUMBER}", rf"/throng:{NUMBER}"]


def places():
    """Each file with the patterns that find the version in it."""
    found = {ROOT / name: patterns for name, patterns in PLACES.items()}
    for path in sorted((ROOT / "testdata/deploy").iterdir()):
        present = [pattern for pattern in GOLDEN if re.search(pattern, path.read_text())]
        found[path] = present
    return found


def of_workspace(manifest):
    return tomllib.loads(manifest)["workspace"]["package"]["version"]


def own_packages(lock):
    """The names of packages of the lock file that come from no registry."""
    return [package["name"] for package in tomllib.loads(lock)["package"] if "source" not in package]


def own_version(name):
    """The pattern that finds the version of a package of ours in the lock file."""
    return rf'\[\[package\]\]\nname = "{re.escape(name)}"\nversion = "{NUMBER}"\n(?!source)'


def written(text, pattern, version):
    """The text with that version wherever the pattern finds one."""

    def exchange(match):
        begin, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:begin] + version + match[0][end:]

    return re.sub(pattern, exchange, text)


def check():
    version = of_workspace((ROOT / "Cargo.toml").read_text())
    wrong = []
    lock = (ROOT / "Cargo.lock").read_text()
    all_patterns = {ROOT / "Cargo.lock": [own_version(name) for name in own_packages(lock)], **places()}
    for path, patterns in all_patterns.items():
        text = path.read_text()
        for pattern in patterns:
            named = re.findall(pattern, text)
            if not named:
                wrong.append(f"{path.relative_to(ROOT)}: nothing is like {pattern}")
            wrong += [f"{path.relative_to(ROOT)}: {other}" for other in named if other != version]
    manifests = sorted(ROOT.glob("crates/*/*/Cargo.toml"))
    wrong += [
        f"{path.relative_to(ROOT)}: not `version.workspace = true`"
        for path in manifests
        if "\nversion.workspace = true\n" not in path.read_text()
    ]
    if wrong:
        sys.exit(f"the version is {version}, but:\n  " + "\n  ".join(wrong))
    print(version)


def write(version):
    if not SHAPE.fullmatch(version):
        sys.exit(f"{version!r} is no version: X.Y.Z")
    manifest, lock = ROOT / "Cargo.toml", ROOT / "Cargo.lock"
    manifest.write_text(written(manifest.read_text(), rf'\[workspace\.package\]\nversion = "{NUMBER}"', version))
    text = lock.read_text()
    for name in own_packages(text):
        text = written(text, own_version(name), version)
    lock.write_text(text)
    for path, patterns in places().items():
        text = path.read_text()
        for pattern in patterns:
            text = written(text, pattern, version)
        path.write_text(text)
    check()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    else:
        check()
