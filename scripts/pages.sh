#!/usr/bin/env bash
# The pages of reports in a browser: real runs, their reports, Debian's Chromium. Keeps pictures of
# all pages, in light, dark, on a phone and on paper, in target/pages.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/web.sh
if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "skipped: the pages in a browser, since chromium is missing: on Debian, 'sudo apt-get install chromium'" >&2
        # As vitest says it, for scripts/results.py; at least as many as are written out.
        echo "      Tests  $(cat web/tests/*.test.ts | grep -cE '^ *(test|it)(\.|\()') skipped"
        [ "${PROOFS:-}" != all ] || exit 1
        exit 0
    fi
    echo "chromium is missing: installing it" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
# With the tests, as these are built: alone its dependencies would have other features, and be
# built again.
cargo build --quiet --locked --workspace --bin throng --test it
cd web
exec npm run --silent test:page -- --no-color
