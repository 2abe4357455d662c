#!/usr/bin/env bash
# Runs every test of the workspace, other people's clients, and the pages in a browser. The last line
# sums them up:
#   N passed, N failed, N skipped
# A few tests that fail run once more, alone: they wait for real servers, and other tests may have taken
# the time that these had to answer. Which ones needed that is reported, and should be fixed.
# A test that lacks data or a server counts as skipped; the lines before say which and why. Fails if
# any test fails and if no test ran. Arguments go to cargo test, and only that runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

missing=$(scripts/services --missing)
if [ -n "$missing" ]; then
    answer=no
    if [ -t 0 ] && [ -t 2 ]; then
        read -r -p "Some tests need servers: $missing. Install them now? [y/N] " answer
    fi
    case $answer in
    [yY]*) scripts/services --install ;;
    *) echo "not installed: $missing; 'make test-deps' installs them, until then their tests are skipped" >&2 ;;
    esac
fi

log=$(mktemp)
units=$(mktemp)
alone=$(mktemp)
# With more failures than this, something is wrong that time does not cure.
ALONE_MAX=12
repeated=0
# Tests append a line to this file when they skip (tests/needs.rs).
THRONG_SKIPPED=$(mktemp)
export THRONG_SKIPPED
trap 'rm -f "$log" "$units" "$alone" "$THRONG_SKIPPED"' EXIT

# Integration tests mostly wait, for runs, servers and timeouts: more of them at once than cores.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(nproc)))}"

# The tests beside the code compute, and know no clock but a virtual one: they take the time that the
# integration tests leave. Not those that wait for databases and disks, which answer in time or fail.
# There are no tests in documentation, which tidy checks.
units() {
    local aside='case $0 in */market-* | */bus-* | */queue-* | */fleet-* | */workers-*) exec "$0" "$@" ;; esac; exec nice -n 19 "$0" "$@"'
    cargo test --config "target.'cfg(unix)'.runner = ['sh', '-c', '''$aside''']" \
        --workspace --locked --no-fail-fast --lib --bins >"$units" 2>&1
}

# Runs the tests that failed again, if they are few and no program ended in mid-test. Fails as they do.
repeat_alone() {
    local names its
    mapfile -t names < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sort)
    [ "${#names[@]}" -gt 0 ] && [ "${#names[@]}" -le "$ALONE_MAX" ] || return 1
    [ "$(grep -c '^error: test failed' "$log")" = "$(grep -c '^test result: FAILED' "$log")" ] || return 1
    echo "again, alone: ${names[*]}"
    cargo test --workspace --locked --no-fail-fast --lib --bins --test '*' \
        -- --exact --test-threads=1 "${names[@]}" >"$alone" 2>&1
    its=$?
    grep -E '^test |panicked|^error' "$alone"
    repeated=$(sed -n 's/^test \(.*\) \.\.\. ok$/\1/p' "$alone" | sort -u | wc -l)
    return "$its"
}

if [ $# -gt 0 ]; then
    cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
elif ! cargo test --workspace --locked --no-run --tests; then
    status=1
else
    units &
    cargo test --workspace --locked --no-fail-fast --test '*' 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    wait $!
    its=$?
    [ "$status" -ne 0 ] || status=$its
    tee -a "$log" <"$units"
    if [ "$status" -ne 0 ] && repeat_alone; then
        status=0
    fi
    for more in clients pages; do
        "scripts/$more.sh" 2>&1 | tee -a "$log"
        its=${PIPESTATUS[0]}
        [ "$status" -ne 0 ] || status=$its
    done
fi

# "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …"; of the clients
# "ℹ pass 12", "ℹ fail 0", "ℹ cancelled 0", "ℹ skipped 0"; of the pages
# "Tests  1 failed | 12 passed | 3 skipped (16)"
read -r passed failed skipped < <(awk '
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
            if ($i == "ignored;") skipped += $(i - 1)
        }
    }
    /^ℹ (pass|fail|cancelled|skipped) [0-9]+$/ {
        if ($2 == "pass") passed += $3
        if ($2 == "fail" || $2 == "cancelled") failed += $3
        if ($2 == "skipped") skipped += $3
    }
    /^ +Tests  / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed") passed += $(i - 1)
            if ($i == "failed") failed += $(i - 1)
            if ($i == "skipped") skipped += $(i - 1)
        }
    }
    END { print passed + 0, failed + 0, skipped + 0 }
' "$log")

# To cargo a test that skipped has passed. A test that skipped in part and failed stays failed.
unseen=0
while read -r name; do
    if grep -qE "^test (.*::)?$name \.\.\. ok$" "$log"; then
        unseen=$((unseen + 1))
    fi
done < <(sed -n 's/^SKIPPED: \([^ ]*\): .*/\1/p' "$THRONG_SKIPPED" | sort -u)
passed=$((passed - unseen + repeated))
failed=$((failed - repeated))
skipped=$((skipped + unseen))
sort -u "$THRONG_SKIPPED" >&2
sed -n 's/^test \(.*\) \.\.\. FAILED$/FAILED, alone too: \1/p' "$alone" | sort -u

if [ "$status" -eq 0 ] && [ "$passed" -eq 0 ]; then
    echo "no test ran" >&2
    status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
