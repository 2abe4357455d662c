#!/usr/bin/env bash
# Lints and builds Throng without its features, and runs that: it must judge a run, and say of each verb that it lacks
# how to get it. With all features it is linted and tested with the workspace.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lints.sh

# The example is named so that cargo chooses features of dependencies as for the tests. They are then
# built once for all: alone, Throng's dependencies would have other features.
# The systems that need databases come with the feature that has them, and not as members of the workspace: the other
# systems must compile without databases.
selected=(--quiet --locked --workspace --exclude ads --exclude queue --bin throng --example compare_speed
    --no-default-features
    # The engine is built once more, without JavaScript. Here it makes a run of a second.
    --config profile.dev.package.engine.opt-level=0)

work=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server"
    rm -rf "$work"
}
trap cleanup EXIT

cargo build "${selected[@]}"
# It must not stay there: it would be taken for the one with all features.
mv "${CARGO_TARGET_DIR:-target}/debug/throng" "$work/throng"

# Any server: this program has none.
node -e '
    const server = require("http").createServer((_, response) => response.end("good evening"));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
' >"$work/port" &
server=$!
for _ in {1..100}; do
    [ ! -s "$work/port" ] || break
    sleep 0.1
done

cd "$work"
cat >scenario.yaml <<YAML
target: http://127.0.0.1:$(cat port)
sessions:
  reader:
    - get: /
      as: read
arrivals:
  - { constant: 50/s, for: 1s }
thresholds:
  - error_rate < 1%
  - p99(read) < 10s
YAML

# expect CODE TEXT ARGUMENTS: what it exits with and prints.
expect() {
    local code=0
    ./throng "${@:3}" >said 2>&1 || code=$?
    if [ "$code" != "$1" ] || ! grep -q "$2" said; then
        cat said >&2
        echo "throng ${*:3}: exit code $code, expected $1 and '$2'" >&2
        exit 1
    fi
}
expect 0 "PASSED" run scenario.yaml
expect 0 "PASSED" show last
expect 1 "FAILED" run scenario.yaml --set 'thresholds=["count(read) > 1000000"]'
for verb in "import scenario.xml" "model access.log -o model" "reproduce thesis results" "serve chat" "ui" \
    "fleet status --nats nats://h" "protos http://h"; do
    # Its words are arguments.
    # shellcheck disable=SC2086
    expect 64 "built without" $verb
done
echo "throng without features: runs are judged" >&2
