#!/usr/bin/env bash
# Goes through what a machine can do of the release checklist (docs/releasing.md), from end to end, without publishing:
#
#     scripts/dist/dry-run.sh            builds everything twice by `make dist REBUILD=1`, an hour or two of CPU
#     scripts/dist/dry-run.sh DIST       takes what was built before
#
# It signs with a key that it makes for itself. Everything that is printed is also in target/dry-run.log. Ends with what was
# not run for lack of a tool; fails at the first step that fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

mkdir -p "${CARGO_TARGET_DIR:-target}"
log=$(realpath "${CARGO_TARGET_DIR:-target}")/dry-run.log
if [ -z "${THRONG_DRY_RUN:-}" ]; then
    code=0
    THRONG_DRY_RUN=yes "$0" "$@" 2>&1 | tee "$log" || code=$?
    echo "log: $log"
    exit "$code"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
step() { printf '\n== %s  %s\n' "$(date -u +%H:%M:%S)" "$1"; }

version=$(scripts/version.py)
commit=$(git rev-parse HEAD)
step "Throng $version at $commit, $(date -u +%F), $(uname -srm), $(rustc --version 2>/dev/null || echo 'no Rust')"
if [ -n "$(git status --porcelain)" ]; then
    echo "NOT RUN: a release needs a tree without changes"
fi
if ! scripts/dist/notes.py "$version" >"$scratch/notes"; then
    echo "NOT RUN: the release's notes: CHANGELOG.md still has them as [Unreleased]"
fi

if [ $# -gt 0 ]; then
    step "Packages of $1"
    dist=$1
    python3 -B scripts/dist/smoke.py "$dist"
    echo "NOT RUN: the reproducible build, since packages are given"
else
    step "Build twice, package twice, install and use: make dist REBUILD=1"
    make dist REBUILD=1
    dist=dist
fi
# What is signed is a copy: `make dist` writes no signature.
cp -r "$dist" "$scratch/dist"
dist=$scratch/dist

step "Sizes"
(cd "$dist" && stat -c '%10s  %n' -- *)

step "Commit"
tar=("$dist"/throng-"$version"-"$(uname -m)"-unknown-linux-musl.tar.gz)
tar -xzf "${tar[0]}" -C "$scratch"
said=$("$scratch/$(basename "${tar[0]}" .tar.gz)/throng" --version)
echo "$said"
[[ "$said" == "throng $version ("*")" ]] || { echo "the binary does not name its commit" >&2 && exit 1; }
named=${said#*(}
[[ "$commit" == "${named%)}"* ]] || echo "NOT RUN: a binary of this commit; it is of ${named%)}"

step "Lists of parts"
python3 -B scripts/dist/check_sbom.py "$dist"

step "Checksums and signature, with a key for this run"
minisign -G -W -p "$scratch/test.pub" -s "$scratch/test.key" >/dev/null
scripts/dist/sign.sh "$dist" "$scratch/test.key"
scripts/dist/sign.sh --check "$dist" "$scratch/test.pub"
# Neither other checksums nor another file are accepted.
cp -r "$dist" "$scratch/other"
echo "0  throng" >>"$scratch/other/SHA256SUMS"
! scripts/dist/sign.sh --check "$scratch/other" "$scratch/test.pub" >/dev/null 2>&1 || { echo "other checksums are accepted" >&2 && exit 1; }
cp "$dist/SHA256SUMS" "$scratch/other/SHA256SUMS"
echo >>"$scratch/other/throng.rb"
! scripts/dist/sign.sh --check "$scratch/other" "$scratch/test.pub" >/dev/null 2>&1 || { echo "another file is accepted" >&2 && exit 1; }
echo "other checksums, and another file, are refused"

export THRONG_PUBLIC_KEY=$scratch/test.pub
for where in release pypi npm container homebrew; do
    step "Publish, dry: $where"
    scripts/dist/publish.sh "$where" --dry-run "$dist"
done

step "The README where Rust is not installed"
scripts/first-hour.sh "$dist" || [ $? = 77 ]

step "From nothing to the first verdict"
python3 -B scripts/dist/first_verdict.py "$dist"

step "Done"
# The log is written while this reads it; what this step prints is not looked for.
grep -nE 'NOT RUN|NOT CHECKED|NO LOAD' "$(realpath "${CARGO_TARGET_DIR:-target}")/dry-run.log" || echo "everything was run"
