#!/usr/bin/env bash
# Lints Throng without its features and with each of them alone. Then builds it without any and runs
# that: it must judge a run, and say of each verb that it lacks how to get it. The same with the built-in targets alone,
# of what these lack.
set -euo pipefail
cd "$(dirname "$0")/.."

# The example is named so that cargo chooses features of dependencies as for the tests. They are then
# built once for all: alone, Throng's dependencies would have other features.
# The systems that need databases come with the feature that has them, and not as members of the workspace: the other
# systems must compile without databases.
selected=(--quiet --locked --workspace --exclude ads --exclude queue --bin throng --example compare_speed
    --no-default-features)

# A name before `=` in the table of features.
names=$(sed -n '/^\[features\]/,/^$/s/^\([a-z]*\) = .*/\1/p' crates/app/throng/Cargo.toml | grep -vx default)
for name in "" $names; do
    echo "throng with ${name:-no feature}" >&2
    cargo clippy "${selected[@]}" ${name:+--features "throng/$name"} -- -D warnings
done

work=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server"
    rm -rf "$work"
}
trap cleanup EXIT

# The last one must not stay there: it would be taken for the one with all features.
cargo build "${selected[@]}" --features throng/targets
mv "${CARGO_TARGET_DIR:-target}/debug/throng" "$work/targets"
cargo build "${selected[@]}"
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

# expect CODE TEXT ARGUMENTS: what `program` exits with and prints.
program=./throng
expect() {
    local code=0
    "$program" "${@:3}" >said 2>&1 || code=$?
    if [ "$code" != "$1" ] || ! grep -q "$2" said; then
        cat said >&2
        echo "$program ${*:3}: exit code $code, expected $1 and '$2'" >&2
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

program=./targets
for system in market chat; do
    sed "s|^target: .*|target: $system|; s|get: /|get: /healthz|" scenario.yaml >"$system.yaml"
    expect 0 "PASSED" run "$system.yaml"
done
for arguments in "ads" "queue" "balancer --to http://h" "chat --store chat.sqlite" "market --store mysql://u:p@h/d" \
    "market --store env:STORE --cache redis://h" "market --store memory --bus nats://h"; do
    # Its words are arguments.
    # shellcheck disable=SC2086
    expect 64 "built without" serve $arguments
    # shellcheck disable=SC2086
    expect 64 "features systems" serve $arguments
done
sed "s|^target: .*|target: ads|" scenario.yaml >ads.yaml
expect 69 "built without the ads" run ads.yaml
echo "throng with targets: market and chat run in memory" >&2
