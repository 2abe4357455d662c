#!/usr/bin/env bash
# Lints every Python file of the repository by ruff.toml. Where ruff cannot be had, that is said; with PROOFS=all, as in
# the workflow, it is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! tools=$(scripts/tool.sh ruff); then
    echo "Python not linted: ruff cannot be had" >&2
    [ "${PROOFS:-}" != all ] || exit 1
    exit 0
fi
# Programs of Python have no suffix.
{
    git ls-files '*.py'
    git grep --cached -lIE '^#!/usr/bin/env python3$'
} | sort -u | xargs "$tools/ruff" check --quiet
