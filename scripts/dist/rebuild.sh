#!/usr/bin/env bash
# Builds a target from a copy of the committed sources at another path, with a target directory of its own, and
# compares: scripts/dist/rebuild.sh TARGET BINARY
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$1 binary=$2
TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
copy=$(mktemp -d "$TARGET_DIR/rebuild-XXXXXX")
trap 'rm -rf "$copy"' EXIT

git archive --format=tar HEAD | tar -x -C "$copy"
mkdir -p "$copy/web/dist"
cp web/dist/* "$copy/web/dist/"
again=$(CARGO_TARGET_DIR="$copy/target" "$copy/scripts/dist/build.sh" "$target" | tail -n 1)
cmp "$binary" "$again"
echo "built twice: the same bytes  $target"
