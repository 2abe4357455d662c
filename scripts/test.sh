#!/usr/bin/env bash
# Runs every test of the workspace, then those of the pages in a browser, and adds their summaries up
# in one last line:
#   N passed, N failed, N skipped
# Fails where one of them does, and where there was no test at all. With arguments, which are cargo's,
# its tests alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT

cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ $# -eq 0 ]; then
    scripts/pages.sh 2>&1 | tee -a "$log"
    pages=${PIPESTATUS[0]}
    [ "$status" -ne 0 ] || status=$pages
fi

# "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …", and of the pages
# "Tests  1 failed | 12 passed | 3 skipped (16)"
read -r passed failed skipped < <(awk '
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
            if ($i == "ignored;") skipped += $(i - 1)
        }
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
