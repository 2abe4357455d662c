#!/usr/bin/env bash
# Other people's clients against `throng serve chat`: the JavaScript clients of Phoenix and Rails,
# and a browser. Installs what is missing, by name and in the versions of the lock file.
set -euo pipefail
cd "$(dirname "$0")/.."

# Makes a program available by a package of Debian's.
need() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$1 is missing: on Debian, 'sudo apt-get install $2'" >&2
        exit 1
    fi
    echo "$1 is missing: installing $2" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}
need node nodejs
need npm npm
need chromium chromium

cargo build --quiet --locked --package throng
npm ci --prefix tests/clients --no-audit --no-fund --silent
cd tests/clients
exec node --test --test-reporter=spec
