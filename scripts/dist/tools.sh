#!/usr/bin/env bash
# Installs what scripts/dist/requirements.txt names, by checksum, below the target directory; prints where.
set -euo pipefail
cd "$(dirname "$0")/../.."

list=scripts/dist/requirements.txt
sum=$(sha256sum "$list" | cut -c 1-12)
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools/dist-$sum
if ! [ -e "$tools/complete" ]; then
    rm -rf "$tools"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --require-hashes --only-binary :all: \
        --target "$tools" --requirement "$list" >&2
    touch "$tools/complete"
fi
echo "$tools"
