#!/usr/bin/env bash
# Builds the documentation as a site with search: site/html in the target directory. Uses an installed mdbook
# of VERSION; otherwise builds it into the target directory, once, for a few minutes.
#
# The book's sources are a copy of all pages at their places in the repository, with the files that they link
# to, so that every link of the repository works in the site.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.4.52
target="${CARGO_TARGET_DIR:-target}"
tools="$target/tools"
site="$target/site"

export PATH="$PWD/$tools/bin:$tools/bin:$PATH"
if [ "$(mdbook --version 2>/dev/null)" != "mdbook v$VERSION" ]; then
    echo "mdbook $VERSION is missing: building it into $tools" >&2
    # The dependencies of tools stay apart from the workspace's.
    CARGO_TARGET_DIR="$tools/build" cargo install --quiet --debug --locked --root "$tools" "mdbook@$VERSION"
    rm -rf "$tools/build"
fi

rm -rf "$site"
mkdir -p "$site/src"
scripts/site.py "$site/src"
mv "$site/src/book.toml" "$site/book.toml"
mdbook build "$site"
# The site's own links, as mdbook has written them.
scripts/site.py --check "$site/html"
echo "$site/html/index.html"
