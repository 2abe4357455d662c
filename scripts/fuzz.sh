#!/usr/bin/env bash
# Fuzzes every target for a number of seconds: scripts/fuzz.sh SECONDS. With nightly Rust and cargo-fuzz inputs are
# searched by coverage; without them the kept corpus is replayed with a number of random changes instead.
# What is found lands in fuzz/artifacts; a minimized copy belongs into fuzz/corpus, which `make test`
# replays.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

if ! cargo +nightly --version >/dev/null 2>&1 || ! command -v cargo-fuzz >/dev/null; then
    echo "without nightly Rust and cargo-fuzz (cargo install --locked cargo-fuzz): random changes only" >&2
    cd ..
    # Some hundred variants a second of the slowest target.
    export FUZZ_VARIANTS=$(($1 * 200))
    exec cargo test --release --locked --workspace -- corpus:: fuzzing:: no_head_panics
fi
for target in fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    echo "$name: $1 s" >&2
    # New inputs go to fuzz/found; the kept corpus changes by hand.
    mkdir -p "found/$name"
    cargo +nightly fuzz run --fuzz-dir . "$name" "found/$name" "corpus/$name" -- -max_total_time="$1" -max_len=65536
done
