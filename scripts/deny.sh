#!/usr/bin/env bash
# Checks all dependencies against deny.toml: banned crates, licenses, sources, known vulnerabilities.
# Uses an installed cargo-deny; otherwise builds VERSION into the target directory, once, for a few
# minutes. The advisory database comes from GitHub: if it is unreachable, that check is skipped and
# the last line says so.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.20.2
tools="${CARGO_TARGET_DIR:-target}/tools"

if ! command -v cargo-deny >/dev/null; then
    export PATH="$PWD/$tools/bin:$tools/bin:$PATH"
fi
if ! command -v cargo-deny >/dev/null; then
    echo "cargo-deny is missing: building $VERSION into $tools" >&2
    # The dependencies of tools stay apart from the workspace's. Symbols take a fifth of the time.
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$tools/build" cargo install --quiet --debug --locked --root "$tools" "cargo-deny@$VERSION"
    rm -rf "$tools/build"
fi

cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
if timeout 60 cargo deny --log-level off fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check --disable-fetch advisories
else
    echo "advisories not checked: the advisory database on GitHub is unreachable" >&2
fi
