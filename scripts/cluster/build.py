"""Builds the programs of a small Kubernetes from Go modules."""

import os
import re
import subprocess

KUBERNETES = "1.37.2"
HELM = "v3.22.0"
PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def go(*arguments, cwd=None, **environment):
    """Runs go; its output goes where ours does."""
    return subprocess.run(["go", *arguments], check=True, cwd=cwd, env={**os.environ, "GOFLAGS": "-p=2", **environment})


def module_folder(name, version):
    """Where the sources of a module are, once they are here."""
    go("mod", "download", f"{name}@v{version}", cwd="/")
    cache = subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip()
    return os.path.join(cache, f"{name}@v{version}")


def kubernetes(folder):
    """Builds the programs of the control plane into `folder`/bin, unless they are there.

    The release's own module takes its parts from folders of its repository. Those parts are published as modules of
    their own: release 1.X.Y has them as 0.X.Y.
    """
    folder = os.path.abspath(folder)
    out = os.path.join(folder, "bin")
    os.makedirs(out, exist_ok=True)
    missing = [name for name in PROGRAMS if not os.path.exists(os.path.join(out, name))]
    if missing:
        write_module(folder, module_folder("k8s.io/kubernetes", KUBERNETES))
        packages = [f"k8s.io/kubernetes/cmd/{name}" for name in missing]
        version = "-X k8s.io/component-base/version.gitVersion=v" + KUBERNETES
        # Without symbols, and without what needs a C compiler.
        go("build", "-mod=mod", "-trimpath", f"-ldflags=-s -w {version}", "-o", out + "/", *packages,
           cwd=folder, CGO_ENABLED="0")
    return out


def write_module(folder, sources):
    with open(os.path.join(sources, "go.mod")) as file:
        text = file.read()
    parts = re.findall(r"^\t(k8s\.io/\S+) => \./staging/", text, re.MULTILINE)
    parts_version = "v0." + KUBERNETES.split(".", 1)[1]
    language = re.search(r"^go (\S+)$", text, re.MULTILINE).group(1)
    lines = [
        "module throng.test/cluster", f"go {language}", f"require k8s.io/kubernetes v{KUBERNETES}",
        *(f"replace {part} => {part} {parts_version}" for part in parts),
    ]
    with open(os.path.join(folder, "go.mod"), "w") as file:
        file.write("\n".join(lines) + "\n")


def helm(folder):
    """Builds helm into `folder`/bin, unless it is there."""
    out = os.path.join(folder, "bin")
    if not os.path.exists(os.path.join(out, "helm")):
        go("install", f"helm.sh/helm/v3/cmd/helm@{HELM}", cwd="/", GOBIN=os.path.abspath(out))
