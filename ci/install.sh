#!/usr/bin/env bash
# Puts a version of throng into PATH for the next steps of a GitHub job: ci/install.sh VERSION. One that is there
# already is used. THRONG_DOWNLOAD is the address of the releases.
set -euo pipefail

version=$1
if command -v throng >/dev/null && [ "$(throng -V)" = "throng $version" ]; then
    exit 0
fi
name=throng-$version-$(uname -m)-unknown-linux-musl
folder=${RUNNER_TEMP:-/tmp}/throng
mkdir -p "$folder"
cd "$folder"
for file in "$name.tar.gz" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --remote-name "$THRONG_DOWNLOAD/v$version/$file"
done
grep -F "  $name.tar.gz" SHA256SUMS | sha256sum --check --quiet
tar -xzf "$name.tar.gz"
echo "$folder/$name" >>"$GITHUB_PATH"
