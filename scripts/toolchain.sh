#!/usr/bin/env bash
# Sees to it that Throng can be built here, or says what is missing and how to get it.
set -euo pipefail

need=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")

if ! command -v cargo >/dev/null; then
    echo "Rust is missing: install $need or newer with https://rustup.rs" >&2
    exit 1
fi
have=$(rustc --version | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$need" "$have" | sort -V | head -n 1)" != "$need" ]; then
    echo "Rust $have is too old: Throng needs $need; 'rustup update' brings it" >&2
    exit 1
fi
# The compiler links with cc, and the TLS library builds some C and assembly.
if ! command -v cc >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "a C compiler is missing: installing gcc and libc6-dev" >&2
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev >/dev/null
    else
        echo "a C compiler is missing: on Debian, 'sudo apt-get install gcc libc6-dev'" >&2
        exit 1
    fi
fi
