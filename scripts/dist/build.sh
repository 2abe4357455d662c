#!/usr/bin/env bash
# Builds the static binary of one target: scripts/dist/build.sh TARGET, such as aarch64-unknown-linux-musl.
# C is compiled by zig and linked by Rust's own linker, so that no compiler or libc of this machine takes part.
# The last line is the path of the binary; beside it, with the ending .debug, is what a debugger needs of it.
# CARGO_BUILD_ARGS goes to cargo build.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$1
ROOT=$PWD
TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export ROOT CARGO_TARGET_DIR=$TARGET_DIR
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
here=$ROOT/scripts/dist

tools=$("$here/tools.sh")
export ZIG=$tools/ziglang/zig
export ZIG_TARGET=${target/-unknown-/-}
export ZIG_GLOBAL_CACHE_DIR=$TARGET_DIR/tools/zig-cache ZIG_LOCAL_CACHE_DIR=$TARGET_DIR/tools/zig-cache

if ! [ -d "$(rustc --print target-libdir --target "$target")" ]; then
    rustup target add "$target" >&2
fi

name=${target//-/_}
export "CC_$name=$here/zig-cc" "AR_$name=$here/zig-ar"
export "CARGO_TARGET_${name^^}_LINKER=rust-lld"
# Paths of this machine are in messages of panics, and would make every machine's binary another one.
unit=$'\x1f'
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$CARGO_HOME/registry/src=/cargo"
CARGO_ENCODED_RUSTFLAGS+="$unit--remap-path-prefix=$ROOT=/throng"
CARGO_ENCODED_RUSTFLAGS+="$unit--remap-path-prefix=$TARGET_DIR=/throng/target"
# Addresses that are relocated at the start take a bit each instead of 24 bytes.
CARGO_ENCODED_RUSTFLAGS+="$unit-Clink-arg=--pack-dyn-relocs=relr"
export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0

# shellcheck disable=SC2086 # several arguments
cargo build --profile dist --locked --package throng --bin throng --target "$target" ${CARGO_BUILD_ARGS:-} >&2
built=$TARGET_DIR/$target/dist/throng
binary=$TARGET_DIR/$target/dist/stripped/throng
objcopy=$(rustc --print target-libdir)/../bin/rust-objcopy
mkdir -p "${binary%/*}"
"$objcopy" --only-keep-debug --compress-debug-sections=zlib "$built" "$binary.debug"
# A debugger finds that file by its name and checksum.
"$objcopy" --strip-all --add-gnu-debuglink="$binary.debug" "$built" "$binary"
echo "$binary"
