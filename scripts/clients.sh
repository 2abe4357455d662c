#!/usr/bin/env bash
# Other people's clients against `throng serve chat`: the JavaScript clients of Phoenix and Rails,
# and a browser; and Throng beside Socket.IO's own client against a Socket.IO server, and against a
# server that compresses. Installs what is missing, by name and in the versions of the lock file.
# What cannot be had, for want of rights or of a network, is not tested; that is said, and counted
# as skipped.
#   scripts/clients.sh              installs and tests
#   scripts/clients.sh --install    only installs
set -euo pipefail
cd "$(dirname "$0")/.."

# Makes a program available by a package of Debian's.
need() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$1 is missing: on Debian, 'sudo apt-get install $2'" >&2
        return 1
    fi
    echo "$1 is missing: installing $2" >&2
    apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}

# Ends with the line that scripts/test.sh counts.
skip() {
    echo "skipped: other people's clients, since $1" >&2
    echo "ℹ skipped $(ls tests/clients/*.test.js | wc -l)"
    exit 0
}

need node nodejs || skip "there is no node"
need npm npm || skip "there is no npm"
# npm leaves a copy of the lock file that it installed by.
installed=tests/clients/node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ tests/clients/package-lock.json -nt "$installed" ]; then
    install=(npm ci --prefix tests/clients --no-audit --no-fund --silent)
    if ! "${install[@]}"; then
        npm ping >/dev/null 2>&1 || skip "npm cannot reach its registry"
        # It can: whatever is wrong is ours.
        "${install[@]}" --loglevel=error
    fi
    touch "$installed"
fi
# The browser's tests say themselves that they are skipped.
need chromium chromium || true
[ "${1:-}" != --install ] || exit 0
# With the tests, as these are built: alone its dependencies would have other features, and be
# built again.
cargo build --quiet --locked --workspace --bin throng --test it
CHROMIUM=$(command -v chromium || true)
export CHROMIUM
cd tests/clients
exec node --test --test-reporter=spec
