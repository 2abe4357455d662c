# Sourced by scripts that build: the compiler is then clippy's, which lints the workspace while it compiles it, and a
# warning is an error. Lints and tests share one build so; `cargo clippy` alone would check every dependency once more.
# shellcheck shell=bash
driver=$(rustc --print sysroot)/bin/clippy-driver
if [ -x "$driver" ]; then
    export RUSTC_WORKSPACE_WRAPPER=$driver
    # What `cargo clippy -- -D warnings` sets for it.
    export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
else
    echo "not linted: clippy is missing; 'rustup component add clippy' brings it" >&2
    [ "${PROOFS:-}" != all ] || exit 1
fi
