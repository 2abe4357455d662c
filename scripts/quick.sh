#!/usr/bin/env bash
# Builds Throng for a first look: the quick profile compiles in less than half the time of a release, and the example
# needs no database. The first time the page of reports is built beside the crates that do not
# need it; `report` waits for it (crates/results/report/build.rs).
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
    cargo build --profile quick --locked --package throng --no-default-features --features quick
}

if [ -e web/dist/page.js ]; then
    scripts/web.sh
    build
    exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
    scripts/web.sh || true
    touch "$scratch/ended"
} &
THRONG_PAGE_ENDED=$scratch/ended build
wait
