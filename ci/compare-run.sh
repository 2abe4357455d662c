#!/usr/bin/env bash
# Runs a scenario several times, compares the runs with those of a baseline, and writes a comment for a pull or merge
# request. The GitHub Action and the GitLab template call it; it works on any machine with throng in PATH.
#
#     THRONG_SCENARIO      the scenario's file, or a URL
#     THRONG_RUNS          how many runs (5); fewer than 4 are decided by a weaker rule
#     THRONG_SEED          the first run's seed is this times 1000 plus 1 (1): other builds give other numbers
#     THRONG_ARGS          more arguments of throng run, such as --set hold=30s
#     THRONG_COMPARE_ARGS  more arguments of throng compare, such as --tolerance 5%
#     THRONG_BASELINE      directory with the baseline's runs (.throng/baseline); if there are none, nothing is compared
#     THRONG_RESULTS       directory for the runs (.throng/results), which is emptied first
#     THRONG_OUT           directory for comment.md, and comparison.html and .xml (.throng)
#
# Exit codes: 0 passed, 1 the comparison or a threshold failed, 2 not decided, 64 and above those of throng.
set -euo pipefail

scenario=${THRONG_SCENARIO:?names the scenario}
runs=${THRONG_RUNS:-5}
seed=${THRONG_SEED:-1}
baseline=${THRONG_BASELINE:-.throng/baseline}
results=${THRONG_RESULTS:-.throng/results}
out=${THRONG_OUT:-.throng}
read -ra run_args <<<"${THRONG_ARGS:-}"
read -ra compare_args <<<"${THRONG_COMPARE_ARGS:-}"

mkdir -p "$out"
rm -rf "$results"
mkdir -p "$results"
comment=$out/comment.md
rm -f "$comment" "$out"/comparison.*

# The first line identifies the comment, so that the next build replaces it.
begin() {
    # shellcheck disable=SC2016 # quotes of Markdown
    printf '<!-- throng: %s -->\n# Load test `%s`\n\n' "$scenario" "$scenario" >"$comment"
}

passed=0 failed=0 untrusted=0
for ((i = 1; i <= runs; i++)); do
    echo "--- run $i of $runs"
    code=0
    throng run "$scenario" --set "seed=$((seed * 1000 + i))" --runs "$results" \
        ${run_args[@]+"${run_args[@]}"} || code=$?
    case $code in
    0) passed=$((passed + 1)) ;;
    1) failed=$((failed + 1)) ;;
    2) untrusted=$((untrusted + 1)) ;;
    *)
        begin
        # shellcheck disable=SC2016 # quotes of Markdown
        printf '❌ `throng run` ended with exit code %d; see the log of the job.\n' "$code" >>"$comment"
        exit "$code"
        ;;
    esac
done

begin
if ((failed > 0)); then
    echo "❌ Thresholds failed in $failed of $runs runs." >>"$comment"
elif ((untrusted == 0)); then
    echo "✅ All $runs runs passed." >>"$comment"
fi
if ((untrusted > 0)); then
    echo "⚠️ $untrusted of $runs runs cannot be trusted: the generator was the limit, or they ended early." >>"$comment"
fi
echo >>"$comment"

compared=0
shopt -s nullglob
before=("$baseline"/*/) now=("$results"/*/)
if ((${#before[@]} == 0)); then
    echo "There is no baseline yet, so nothing is compared." >>"$comment"
else
    throng compare "${now[@]%/}" --baseline "${before[@]%/}" --markdown "$out/comparison.md" \
        --junit "$out/comparison.xml" --html "$out/comparison.html" \
        ${compare_args[@]+"${compare_args[@]}"} || compared=$?
    if [ -e "$out/comparison.md" ]; then
        cat "$out/comparison.md" >>"$comment"
    else
        # shellcheck disable=SC2016 # quotes of Markdown
        printf '❌ `throng compare` ended with exit code %d; see the log of the job.\n' "$compared" >>"$comment"
    fi
fi

if ((compared > 2)); then
    exit "$compared"
elif ((compared == 1 || failed > 0)); then
    exit 1
elif ((compared == 2 || untrusted > 0)); then
    exit 2
fi
