#!/usr/bin/env bash
# Fuzzes every target for so many seconds: scripts/fuzz.sh SECONDS. Needs nightly Rust and cargo-fuzz.
# What is found lands in fuzz/artifacts; a minimized copy belongs into fuzz/corpus, which `make test`
# replays.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "nightly Rust is missing: rustup toolchain install nightly" >&2
    exit 1
fi
if ! command -v cargo-fuzz >/dev/null; then
    echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz" >&2
    exit 1
fi
for target in fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    echo "$name: $1 s" >&2
    # New inputs go to fuzz/found; the kept corpus changes by hand.
    mkdir -p "found/$name"
    cargo +nightly fuzz run --fuzz-dir . "$name" "found/$name" "corpus/$name" -- -max_total_time="$1" -max_len=65536
done
