#!/usr/bin/env bash
# Builds the page that reports are drawn by, web/dist, where its sources are newer than it. Installs
# Node where that is missing, and what the page is made of by the lock file.
#   scripts/web.sh          builds
#   scripts/web.sh check    types, lint and unit tests, then builds
set -euo pipefail
cd "$(dirname "$0")/.."

# Makes a program available by a package of Debian's.
need() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$1 is missing: on Debian, 'sudo apt-get install $2'; or build without the page by" \
            "'cargo build --no-default-features'" >&2
        exit 1
    fi
    echo "$1 is missing: installing $2" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}
need node nodejs
need npm npm

cd web
# npm leaves a copy of the lock file that it installed by.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.package-lock.json
fi
if [ "${1:-}" = check ]; then
    npm run --silent check
    npm run --silent test
fi
if [ ! -e dist/page.js ] || [ -n "$(find src package-lock.json vite.config.ts -newer dist/page.js -print -quit)" ]; then
    npm run --silent build -- --logLevel warn
fi
