#!/usr/bin/env bash
# Builds what a release consists of into dist/: for x86-64 and arm64 a static binary in a tar, in packages for Debian,
# RPM, Python and npm, and the list of its parts; a container image of both, recipes for Homebrew and Nix, and
# SHA256SUMS. Each is installed offline and run in a namespace that holds nothing else. Everything is packaged twice and must be the same bytes; with REBUILD=1 the binaries are built
# twice as well, the second time from a copy of the sources at another path.
#
#     scripts/dist.sh [x86_64|aarch64 …]      both if none is named; this machine's own is always built
#
# Needs cargo, rustup, python3 with venv and pip, Node with npm, dpkg, rpm and unshare; qemu-user-static to run the other
# processor's. What is not run for lack of one is said.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=dist
host=$(uname -m)
case $host in x86_64 | aarch64) ;; *) echo "make dist runs on x86-64 and arm64 only" >&2 && exit 1 ;; esac

wanted=("$@")
[ $# -gt 0 ] || wanted=(x86_64 aarch64)
others=()
for cpu in "${wanted[@]}"; do
    case $cpu in
    "$host") ;;
    x86_64 | aarch64) others+=("$cpu") ;;
    *) echo "unknown processor: $cpu" >&2 && exit 1 ;;
    esac
done

if [ -n "$(git status --porcelain)" ]; then
    echo "warning: the tree has changes that are in no commit; nobody can rebuild this" >&2
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

scripts/web.sh
binaries=()
for cpu in "$host" "${others[@]}"; do
    target=$cpu-unknown-linux-musl
    binary=$(scripts/dist/build.sh "$target" | tail -n 1)
    binaries+=("$target=$binary")
    if [ -n "${REBUILD:-}" ]; then
        scripts/dist/rebuild.sh "$target" "$binary"
    fi
done

scratch=$(mktemp -d "$TARGET_DIR/dist-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# What the program says about itself is the same on every processor.
throng=${binaries[0]#*=}
mkdir "$scratch/docs" "$scratch/docs/completions"
"$throng" man "$scratch/docs/man"
"$throng" completions bash >"$scratch/docs/completions/throng.bash"
"$throng" completions zsh >"$scratch/docs/completions/_throng"
"$throng" completions fish >"$scratch/docs/completions/throng.fish"

certificates=$(scripts/dist/tools.sh)/certifi/cacert.pem
for pass in first second; do
    python3 -B scripts/dist/pack.py "$scratch/$pass" "$scratch/docs" "$certificates" "${binaries[@]}"
done
if ! diff "$scratch/first/SHA256SUMS" "$scratch/second/SHA256SUMS"; then
    echo "packaging twice gave different bytes" >&2
    exit 1
fi
echo "packaged twice: the same bytes"

python3 -B scripts/dist/smoke.py "$scratch/first"
rm -rf "$out"
mv "$scratch/first" "$out"
(cd "$out" && sha256sum --check --quiet SHA256SUMS && ls -l)
for pair in "${binaries[@]}"; do
    stat -L -c "%s bytes  ${pair%%=*}" "${pair#*=}"
done
