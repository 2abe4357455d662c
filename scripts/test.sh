#!/usr/bin/env bash
# Runs every test of the workspace, other people's clients, and the pages in a browser, and adds the
# summaries up in one last line:
#   N passed, N failed, N skipped
# Fails where any of them does, and where there was no test at all. With arguments, which are
# cargo's, its tests alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT

cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ $# -eq 0 ]; then
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

if [ "$status" -eq 0 ] && [ "$passed" -eq 0 ]; then
    echo "no test has run" >&2
    status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
