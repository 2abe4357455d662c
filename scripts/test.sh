#!/usr/bin/env bash
# Runs every test of the workspace and adds the binaries' summaries up in one last line:
#   N passed, N failed, N skipped
# Fails where cargo does, and where there was no test at all.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Tests of probes ask real servers; where these cannot be installed, such tests say so and pass.
scripts/services --install

log=$(mktemp)
trap 'rm -f "$log"' EXIT

cargo test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

# "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …"
read -r passed failed skipped < <(awk '
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
            if ($i == "ignored;") skipped += $(i - 1)
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
