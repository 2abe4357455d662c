#!/usr/bin/env bash
# Builds and serves two commits of a repository on this machine, runs them in pairs until it is certain whether the new one
# is slower (throng duet), and writes a comment for a pull or merge request. The GitHub Action and the GitLab template call
# it; it works in any clone with throng in PATH.
#
#     THRONG_SCENARIO    the scenario's file in the new commit, or a URL; its target is replaced
#     THRONG_SERVE       command that serves the commit in its directory on 127.0.0.1:$PORT, in the foreground
#     THRONG_BUILD       command that builds it there (none)
#     THRONG_BASE        the old commit (the first parent of HEAD); the new one is the working tree as it is
#     THRONG_BUDGET      minutes for all pairs (10)
#     THRONG_DIFFERENCE  the smallest difference that matters (5%)
#     THRONG_DUET_ARGS   more arguments of throng duet, such as --primary 95 or --set hold=5s
#     THRONG_PORTS       the ports of the old and the new commit (18080 18081)
#     THRONG_START       seconds until a server must accept connections (60)
#     THRONG_OUT         directory for comment.md, comparison.html and .xml, the servers' logs, and the runs in duet
#                        (.throng)
#
# Exit codes: 0 not slower, 1 slower or more errors, 2 not decided within the budget, 64 and above those of throng, or of
# what cannot be built or served (69).
set -euo pipefail
# shellcheck source=ci/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scenario=${THRONG_SCENARIO:?names the scenario}
serve=${THRONG_SERVE:?is the command that serves a commit}
build=${THRONG_BUILD:-}
base=${THRONG_BASE:-HEAD^}
# So forges call the commit before the first one of a branch.
[ -n "${base//0/}" ] || base=HEAD^
budget=${THRONG_BUDGET:-10}
difference=${THRONG_DIFFERENCE:-5%}
start_s=${THRONG_START:-60}
out=${THRONG_OUT:-.throng}
read -ra ports <<<"${THRONG_PORTS:-18080 18081}"
read -ra duet_args <<<"${THRONG_DUET_ARGS:-}"

mkdir -p "$out"
out=$(cd "$out" && pwd)
comment=$out/comment.md
rm -rf "$comment" "$out"/duet "$out"/comparison.*
begin "$comment" "$scenario"

unavailable=69
give_up() {
    printf '❌ %s; see the log of the job.\n' "$1" | tee -a "$comment" >&2
    exit "$unavailable"
}

old=$(mktemp -d)
servers=()
clean_up() {
    for server in ${servers[@]+"${servers[@]}"}; do
        # Each is the leader of a group of its own: what the command started ends with it.
        kill -- "-$server" 2>/dev/null || true
    done
    git worktree remove --force "$old/tree" 2>/dev/null || true
    rm -rf "$old"
}
trap clean_up EXIT

# A clone of CI often has the newest commit alone.
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || git fetch --quiet --depth 1 origin "$base" ||
    give_up "there is no commit $base"
base=$(git rev-parse --verify --quiet "$base^{commit}" || git rev-parse FETCH_HEAD)
git worktree add --quiet --detach "$old/tree" "$base" || give_up "the commit $base cannot be checked out"

trees=("$old/tree" "$PWD")
names=("old" "new")
for which in 0 1; do
    if [ -n "$build" ]; then
        echo "--- build of the ${names[which]} commit"
        (cd "${trees[which]}" && bash -c "$build") || give_up "the ${names[which]} commit cannot be built"
    fi
done
set -m
for which in 0 1; do
    (cd "${trees[which]}" && PORT=${ports[which]} exec bash -c "$serve") </dev/null >"$out/${names[which]}.log" 2>&1 &
    servers+=($!)
done
set +m
deadline=$((SECONDS + start_s))
for which in 0 1; do
    until (exec 3<>"/dev/tcp/127.0.0.1/${ports[which]}") 2>/dev/null; do
        kill -0 "${servers[which]}" 2>/dev/null && ((SECONDS < deadline)) || {
            tail -n 20 "$out/${names[which]}.log" >&2
            give_up "the ${names[which]} commit does not serve port ${ports[which]}"
        }
        sleep 0.2
    done
done

decided=0
throng duet "$scenario" --target "http://127.0.0.1:${ports[0]}/" --target "http://127.0.0.1:${ports[1]}/" \
    --budget "${budget}m" --difference "$difference" --dir "$out/duet" \
    --markdown "$out/comparison.md" --junit "$out/comparison.xml" --html "$out/comparison.html" \
    ${duet_args[@]+"${duet_args[@]}"} || decided=$?
if [ -e "$out/comparison.md" ]; then
    printf 'The working tree against %s, in pairs on %s.\n\n' "$(git rev-parse --short "$base")" "$(machine)" >>"$comment"
    cat "$out/comparison.md" >>"$comment"
else
    # shellcheck disable=SC2016 # quotes of Markdown
    printf '❌ `throng duet` ended with exit code %d; see the log of the job.\n' "$decided" >>"$comment"
fi
exit "$decided"
