#!/usr/bin/env bash
# Fuzzes every target for a number of seconds: scripts/fuzz.sh SECONDS. With nightly Rust and cargo-fuzz inputs are
# searched by coverage; those of at most 512 bytes have most of the time, since they run some ten times as often.
# FUZZ_SANITIZER=none finds no errors of memory, but panics, hangs and excessive allocation, in a fraction of the time.
# Without nightly the kept corpus is replayed with a number of random changes instead, which follow from FUZZ_SEED, or
# else from a random seed. At the end, also after a crash, the executions of each target are printed. What is found
# lands in fuzz/artifacts; a minimized copy belongs into fuzz/corpus, which `make test` replays.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

counts=$(mktemp)
log=$(mktemp)
# Lines of a target and a number. A target may run several times.
print_counts() {
    awk '{ sum[$1] += $2; total += $2 }
        END { for (target in sum) printf "%-20s %15.0f\n", target, sum[target] | "sort"
              close("sort"); printf "%-20s %15.0f executions\n", "all", total }' "$counts"
    rm -f "$counts" "$log"
}
trap print_counts EXIT

if ! cargo +nightly --version >/dev/null 2>&1 || ! command -v cargo-fuzz >/dev/null; then
    echo "without nightly Rust and cargo-fuzz (cargo install --locked cargo-fuzz): random changes only" >&2
    cd ..
    # Some hundred variants a second of the slowest target.
    export FUZZ_VARIANTS=$(($1 * 200))
    export FUZZ_SEED=${FUZZ_SEED:-$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')}
    export FUZZ_COUNTS=$counts
    echo "FUZZ_SEED=$FUZZ_SEED, $FUZZ_VARIANTS variants of each file" >&2
    cargo test --release --locked --workspace -- corpus:: fuzzing:: no_head_panics
    exit
fi
for target in fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    echo "$name: $1 s" >&2
    # New inputs go to fuzz/found; the kept corpus changes by hand.
    mkdir -p "found/$name"
    ended=0
    for limits in "$(($1 - $1 / 4)) 512" "$(($1 / 4)) 65536"; do
        read -r seconds max_len <<<"$limits"
        [ "$seconds" -gt 0 ] || continue
        cargo +nightly fuzz run --sanitizer "${FUZZ_SANITIZER:-address}" --fuzz-dir . "$name" "found/$name" "corpus/$name" -- \
            -max_total_time="$seconds" -max_len="$max_len" -print_final_stats=1 2>&1 | tee "$log" >&2 || ended=$?
        awk -v name="$name" '/^stat::number_of_executed_units:/ { print name, $2 }' "$log" >>"$counts"
        [ "$ended" -eq 0 ] || exit "$ended"
    done
done
