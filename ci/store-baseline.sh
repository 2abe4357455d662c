#!/usr/bin/env bash
# Makes the runs of ci/compare-run.sh the next baseline of this machine, keeps those of other machines, and says where the
# figures of all builds have changed (throng trend): a build that is slower by little passes, and ten of them do not.
#
#     THRONG_BASELINE  directory of the baselines (.throng/baseline), with a directory for each machine; its history has what
#                      the first run of each build says of itself
#     THRONG_RESULTS   directory of the runs (.throng/results)
#     THRONG_OUT       directory for trend.txt (.throng)
#
# The trend is a warning: the build has been judged.
set -euo pipefail

baseline=${THRONG_BASELINE:-.throng/baseline}
results=${THRONG_RESULTS:-.throng/results}
out=${THRONG_OUT:-.throng}
# Hosted runners have a few kinds of machines. Those that were not met for long are gone.
machines_max=8
# A trend looks at no more.
history_max=200

# The newest of these stay: keep NUMBER PATH…
keep() {
    local number=$1
    shift
    printf '%s\n' "$@" | sort -r | tail -n "+$((number + 1))" | while IFS= read -r old; do rm -rf "$old"; done
}

mkdir -p "$baseline" "$out"
shopt -s nullglob
for machine in "$results"/*/; do
    stored=$baseline/$(basename "$machine")
    next=$(mktemp -d "$baseline/next.XXXXXX")
    cp -r "$machine." "$next"
    mkdir "$next/history"
    if [ -d "$stored/history" ]; then
        cp -r "$stored/history/." "$next/history"
    fi
    # The runs of a build are alike for other reasons than its code: one of them counts.
    first=("$machine"*/run.json)
    if ((${#first[@]} > 0)); then
        run=$(dirname "${first[0]}")
        mkdir -p "$next/history/$(basename "$run")"
        cp "$run"/run.json "$run"/summary.json "$next/history/$(basename "$run")"
    fi
    keep "$history_max" "$next/history"/*/
    rm -rf "$stored"
    mv "$next" "$stored"
    worse=0
    throng trend "$stored/history" >"$out/trend.txt" || worse=$?
    cat "$out/trend.txt"
    if ((worse == 1)); then
        echo "warning: the figures of the last builds became worse" >&2
    fi
done
# By the time at which they were stored.
machines=("$baseline"/*/)
if ((${#machines[@]} > machines_max)); then
    find "$baseline" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn |
        tail -n "+$((machines_max + 1))" | cut -d ' ' -f 2- | while IFS= read -r old; do rm -rf "$old"; done
fi
