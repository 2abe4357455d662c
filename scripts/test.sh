#!/usr/bin/env bash
# All checks of a change, then every test: of the workspace by nextest (.config/nextest.toml), of other people's clients,
# and of the pages in a browser. Prints the ten slowest tests; the last line sums all up:
#   N passed, N failed, N skipped
# A test that lacks data or a server counts as skipped; the lines before say which and why. Fails if any check or test
# fails and if no test ran. Arguments go to nextest, and only that runs.
#
# Lints and tests share one build (scripts/lints.sh). What is installed, what Node checks and the start of databases that
# tests share (testkit::services) go beside that build; builds for other targets go beside the tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# As root on Debian what tests need is installed, elsewhere only after a question at a terminal.
install=no
missing=$(scripts/services --missing)
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing what some tests need: $missing" >&2
        install=yes
    elif [ -t 0 ] && [ -t 2 ]; then
        read -r -p "Some tests need servers: $missing. Install them now? [y/N] " install
    fi
    case $install in
    [yY]*) install=yes ;;
    *) echo "not installed: $missing; 'make test-deps' installs them, until then their tests are skipped" >&2 ;;
    esac
fi

work=$(mktemp -d)
# PostgreSQL's user copies its files from here.
chmod 755 "$work"
log=$work/log
# Tests append a line to this file when they skip (testkit::needs).
export THRONG_SKIPPED=$work/skipped
# What servers are made of once (scripts/services).
export THRONG_SERVICES_MADE=$work/made
mkdir "$THRONG_SERVICES_MADE"
touch "$log" "$THRONG_SKIPPED"
trap 'rm -rf "$work"' EXIT
# The build waits for the page of reports with the crate that takes it in (crates/results/report/build.rs).
export THRONG_PAGE_ENDED=$work/page-ended

. scripts/lints.sh

# One after the other: Debian's installer runs once at a time.
beside() {
    local its=0
    scripts/web.sh || its=1
    touch "$THRONG_PAGE_ENDED"
    [ "$install" != yes ] || scripts/services --install
    touch "$work/installed"
    # What cannot be installed is reported by the tests that need it.
    scripts/clients.sh --install || true
    scripts/tool.sh cargo-nextest >/dev/null || true
    for check in "web.sh check" python.sh deny.sh; do
        # Its words are arguments.
        # shellcheck disable=SC2086
        scripts/$check || its=1
    done
    return "$its"
}

build() {
    cargo fmt --all --check || return
    # Examples and benches are linted, too.
    cargo test --workspace --locked --no-run --all-targets --quiet || return
    scripts/features.sh
}

# For other targets, in the time that tests leave: in a folder of its own, as the tests' build would wait for it.
cross() {
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/cross
    nice -n 19 scripts/bare.sh && nice -n 19 scripts/musl.sh
}

# Servers that tests share start beside the build, once what is missing is installed. They end with their input, which this
# script holds.
coproc SERVERS {
    until [ -e "$work/installed" ]; do
        [ -d "$work" ] || exit
        sleep 0.2
    done
    exec scripts/services mysql postgres redis nginx
}
# The shell forgets a coprocess that has ended.
servers=$SERVERS_PID answers=${SERVERS[0]} orders=${SERVERS[1]}

stop_servers() {
    eval "exec $orders>&-"
    wait "$servers"
}

if [ $# -gt 0 ]; then
    touch "$work/installed"
    scripts/web.sh && touch "$THRONG_PAGE_ENDED" && status=0 || exit
else
    beside >"$work/beside" 2>&1 &
    aside=$!
    build
    status=$?
    wait "$aside" || status=1
    cat "$work/beside" >&2
    if [ "$status" -ne 0 ]; then
        stop_servers
        echo "checks failed; no test ran" >&2
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    fi
fi

profile=default
[ -z "${CI:-}" ] || profile=ci
# nextest keeps it below the workspace, wherever the target directory is.
report=target/nextest/$profile/junit.xml
rm -f "$report"
if tools=$(scripts/tool.sh cargo-nextest); then
    export PATH="$tools:$PATH"
    test=(cargo nextest run --profile "$profile")
    # Those that mostly wait, and beside them, at the lowest priority, those that compute (.config/nextest.toml).
    export NEXTEST_TEST_THREADS="${NEXTEST_TEST_THREADS:-$((16 + $(nproc)))}"
else
    echo "without cargo-nextest: by cargo test, which repeats no test and does not say which are slow" >&2
    test=(cargo test --no-fail-fast)
fi
test+=(--workspace --locked --tests)

if read -r services <&"$answers"; then
    export THRONG_SERVICES=$services
fi
if [ $# -gt 0 ]; then
    "${test[@]}" "$@"
    status=$?
else
    cross >"$work/cross" 2>&1 &
    crossing=$!
    "${test[@]}" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    wait "$crossing" || status=1
    cat "$work/cross" >&2
    # Afterwards: a browser takes the time that servers have to answer in.
    for more in clients pages; do
        "scripts/$more.sh" 2>&1 | tee -a "$log"
        its=${PIPESTATUS[0]}
        [ "$its" -eq 0 ] || status=1
    done
fi
stop_servers

reports=()
[ ! -e "$report" ] || reports=("$report")
scripts/results.py "$THRONG_SKIPPED" "$log" "${reports[@]}" || status=1
exit "$status"
