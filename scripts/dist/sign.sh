#!/usr/bin/env bash
# Signs the checksums of a release, or checks them, by minisign:
#
#     scripts/dist/sign.sh DIST KEY            writes DIST/SHA256SUMS.minisig with the secret key in the file KEY
#     scripts/dist/sign.sh --check DIST PUB    fails unless the signature is that of PUB, and every file has its checksum
#
# A key is made once: minisign -G -p throng.pub -s throng.key. The first file is committed, the second is kept by whoever
# publishes.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v minisign >/dev/null || { echo "minisign is not installed: on Debian, 'sudo apt-get install minisign'" >&2 && exit 69; }
if [ "$1" = --check ]; then
    minisign -V -q -p "$3" -m "$2/SHA256SUMS"
    (cd "$2" && sha256sum --check --quiet --strict SHA256SUMS)
    echo "signed: $(minisign -V -Q -p "$3" -m "$2/SHA256SUMS")"
else
    minisign -S -s "$2" -m "$1/SHA256SUMS" -t "throng $(scripts/version.py) $(git rev-parse HEAD)"
fi
