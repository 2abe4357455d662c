#!/usr/bin/env bash
# Fuzzes every target for a number of seconds, and prints the executions of each.
#
#   scripts/fuzz.sh [SECONDS] [--jobs N] [--by changes|coverage] [--count] [TARGET]...
#
# SECONDS is that of the environment, or 60; N is 2. With nightly Rust and cargo-fuzz inputs are searched by coverage, one
# target after the other; those of at most 512 bytes have most of the time, since they run some ten times as often.
# FUZZ_SANITIZER=none finds no errors of memory, but panics, hangs and excessive allocation, in a fraction of the time.
# Without these, or by --by changes, inputs are random changes of the kept corpus, which follow from FUZZ_SEED, or else from
# a random seed: many more executions, in one process that checks its arithmetic and assertions.
#
# --count adds a row for each target to fuzz/executions.csv. Of these the test `executions_of_fuzzers_are_those_that_were_counted`
# makes the table of docs/promises.md with UPDATE=1. What is found lands in fuzz/artifacts; a minimized copy belongs into
# fuzz/corpus, which `make test` replays.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

# Bash counts in SECONDS by itself, from the value of the environment on.
seconds=$(printenv SECONDS || echo 60)
jobs=2
by=
count=
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --jobs) jobs=$2 && shift ;;
    --by) by=$2 && shift ;;
    --count) count=yes ;;
    [0-9]*) seconds=$1 ;;
    *) targets+=("$1") ;;
    esac
    shift
done
if [ -z "$by" ]; then
    by=changes
    if cargo +nightly --version >/dev/null 2>&1 && command -v cargo-fuzz >/dev/null; then
        by=coverage
    fi
fi

# Lines of a target, its executions, its seconds, and what was found.
results=$(mktemp)
log=$(mktemp)
conclude() {
    awk '{ sum[$1] += $2; found[$1] += $4; total += $2 }
        END { for (target in sum) printf "%-20s %15.0f %s\n", target, sum[target], found[target] ? "FAILED" : "" | "sort"
              close("sort"); printf "%-20s %15.0f executions\n", "all", total }' "$results"
    if [ -n "$count" ]; then
        # Changes of what is compiled would not be those of the revision.
        build=$(git rev-parse --short=12 HEAD)
        git diff --quiet HEAD -- .. ':!executions.csv' || build=$build+
        awk -v date="$(date -u +%F)" -v build="$build" -v by="$by" '
            { count[$1] += $2; time[$1] += $3; found[$1] += $4 }
            END { for (target in count) printf "%s,%s,%s,%s,%.0f,%.0f,%d\n", date, build, by, target, time[target],
                      count[target], found[target] | "sort" }' "$results" >>executions.csv
    fi
    rm -f "$results" "$log"
}
trap conclude EXIT

# What measures on this machine comes first.
idle=(nice -n 19)
if command -v ionice >/dev/null; then
    idle+=(ionice -c 3)
fi

if [ "$by" = changes ]; then
    seed=${FUZZ_SEED:-$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')}
    echo "random changes, FUZZ_SEED=$seed" >&2
    # The same versions as those of the program.
    [ -e Cargo.lock ] || cp ../Cargo.lock Cargo.lock
    "${idle[@]}" cargo build --release --no-default-features --bin changes >&2
    "${idle[@]}" "${CARGO_TARGET_DIR:-target}/release/changes" "$seconds" "$jobs" "$seed" "${targets[@]}" |
        tee -a "$results" >&2
    exit
fi

if [ ${#targets[@]} -eq 0 ]; then
    for target in fuzz_targets/*.rs; do
        targets+=("$(basename "$target" .rs)")
    done
fi
for name in "${targets[@]}"; do
    echo "$name: $seconds s" >&2
    # New inputs go to fuzz/found; the kept corpus changes by hand.
    mkdir -p "found/$name"
    ended=0
    for limits in "$((seconds - seconds / 4)) 512" "$((seconds / 4)) 65536"; do
        read -r time max_len <<<"$limits"
        [ "$time" -gt 0 ] || continue
        "${idle[@]}" cargo +nightly fuzz run --sanitizer "${FUZZ_SANITIZER:-address}" --fuzz-dir . "$name" "found/$name" \
            "corpus/$name" -- -max_total_time="$time" -max_len="$max_len" -print_final_stats=1 2>&1 |
            tee "$log" >&2 || ended=$?
        awk -v name="$name" -v time="$time" -v found="$((ended != 0))" \
            '/^stat::number_of_executed_units:/ { print name, $2, time, found }' "$log" >>"$results"
        [ "$ended" -eq 0 ] || exit "$ended"
    done
done
