#!/usr/bin/env bash
# Does with a small static program what `make dist` does with Throng, in seconds: packs it twice, compares, installs and uses
# each package, checks the list of parts, and signs and publishes without publishing if minisign is there. It shows that
# packages are right, not what is in them. Exit code 77: it cannot be tried here, for the stated reason.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() { echo "NOT RUN: $1" >&2 && exit 77; }

machine=$(uname -m)
case $machine in x86_64 | aarch64) ;; *) skip "there are no packages for $machine" ;; esac
unshare --user --map-root-user --mount --net --pid --fork true 2>/dev/null || skip "there are no namespaces without root"
python3 -c 'import ensurepip' 2>/dev/null || skip "python3 has no venv"
[ -d web/node_modules ] || skip "the page's packages are not installed: scripts/web.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$(scripts/version.py)
cc -static -O1 -s "-DVERSION=\"$version\"" -o "$scratch/throng" scripts/dist/stand-in.c 2>/dev/null || skip "no static program can be built"
cp "$scratch/throng" "$scratch/throng.debug"
mkdir -p "$scratch/docs/man" "$scratch/docs/completions"
echo ".TH throng 1" >"$scratch/docs/man/throng.1"
for name in throng.bash _throng throng.fish; do
    echo "# nothing" >"$scratch/docs/completions/$name"
done

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
for pass in first second; do
    python3 -B scripts/dist/pack.py "$scratch/$pass" "$scratch/docs" LICENSE "$machine-unknown-linux-musl=$scratch/throng"
done
diff "$scratch/first/SHA256SUMS" "$scratch/second/SHA256SUMS"
echo "packaged twice: the same bytes"
python3 -B scripts/dist/smoke.py "$scratch/first"
python3 -B scripts/dist/check_sbom.py "$scratch/first"
if command -v minisign >/dev/null; then
    minisign -G -W -p "$scratch/test.pub" -s "$scratch/test.key" >/dev/null
    scripts/dist/sign.sh "$scratch/first" "$scratch/test.key"
    THRONG_PUBLIC_KEY=$scratch/test.pub scripts/dist/publish.sh release --dry-run "$scratch/first"
else
    echo "NOT RUN: signatures, since minisign is not installed"
fi
echo "the packages are right"
