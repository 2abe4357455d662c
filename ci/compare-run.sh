#!/usr/bin/env bash
# Runs a scenario several times, compares the runs with those of a baseline, and writes a comment for a pull or merge
# request. The GitHub Action and the GitLab template call it; it works on any machine with throng in PATH.
#
#     THRONG_SCENARIO      the scenario's file, or a URL
#     THRONG_RUNS          how many runs (5); fewer than 4 are decided by a weaker rule
#     THRONG_BUDGET        minutes (none): no run begins that would end after them, at the pace of the runs before
#     THRONG_SEED          the first run's seed is this times 1000 plus 1 (1): other builds give other numbers
#     THRONG_ARGS          more arguments of throng run, such as --set hold=30s
#     THRONG_DIFFERENCE    the smallest difference that matters, such as 5% (none): the tolerance of the comparison
#     THRONG_COMPARE_ARGS  more arguments of throng compare, such as --primary 95
#     THRONG_BASELINE      directory with the baseline's runs, or with a directory of runs for each machine
#                          (.throng/baseline); if there are none of this machine, nothing is compared
#     THRONG_RESULTS       directory for the runs (.throng/results), which is emptied first; they are in a directory for
#                          this machine
#     THRONG_OUT           directory for comment.md, and comparison.html and .xml (.throng), and runs that were disturbed by
#                          others on the machine and made again, two at most
#
# Exit codes: 0 passed, 1 the comparison or a threshold failed, 2 not decided, 64 and above those of throng.
set -euo pipefail
# shellcheck source=ci/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scenario=${THRONG_SCENARIO:?names the scenario}
runs=${THRONG_RUNS:-5}
budget=${THRONG_BUDGET:-}
seed=${THRONG_SEED:-1}
baseline=${THRONG_BASELINE:-.throng/baseline}
machine=$(machine)
fingerprint=$(fingerprint "$machine")
all_results=${THRONG_RESULTS:-.throng/results}
results=$all_results/$fingerprint
out=${THRONG_OUT:-.throng}
read -ra run_args <<<"${THRONG_ARGS:-}"
read -ra compare_args <<<"${THRONG_COMPARE_ARGS:-}"
if [ -n "${THRONG_DIFFERENCE:-}" ] && [[ " ${THRONG_COMPARE_ARGS:-}" != *" --tolerance"* ]]; then
    compare_args+=(--tolerance "$THRONG_DIFFERENCE")
fi

mkdir -p "$out"
rm -rf "$all_results"
mkdir -p "$results"
printf '%s\n' "$machine" >"$results/machine"
comment=$out/comment.md
rm -rf "$comment" "$out"/comparison.* "$out/disturbed"
shopt -s nullglob
# As in duets: percentage points above the median that are a disturbance, and runs that are repeated at most.
waited_min=10 stolen_min=2 repeated_max=2 runs_known_min=4

# Of each run that counts: its directory, its exit code, and the shares of its time in percent in which tasks waited for a core,
# and in which a hypervisor withheld the cores.
folders=() codes=() waited=() stolen=()
longest=0

# Whether another run as long as the longest one fits into the budget.
fits() {
    [ -z "$budget" ] || ((SECONDS + longest <= 60 * budget))
}

# A run with this seed, the next of those that count: one_run SEED
one_run() {
    local code=0 begun=$SECONDS before after all
    before=$(contention)
    throng run "$scenario" --set "seed=$1" --runs "$results" ${run_args[@]+"${run_args[@]}"} || code=$?
    after=$(contention)
    if ((code > 2)); then
        begin "$comment" "$scenario"
        # shellcheck disable=SC2016 # quotes of Markdown
        printf '❌ `throng run` ended with exit code %d; see the log of the job.\n' "$code" >>"$comment"
        exit "$code"
    fi
    # The names of runs begin with the time.
    all=("$results"/*/)
    folders+=("${all[-1]%/}")
    codes+=("$code")
    waited+=("$(share "$before" "$after" 1 2)")
    stolen+=("$(share "$before" "$after" 3 4)")
    longest=$((SECONDS - begun > longest ? SECONDS - begun : longest))
}

for ((i = 1; i <= runs; i++)); do
    if ((i > 1)) && ! fits; then
        break
    fi
    echo "--- run $i of $runs"
    one_run $((seed * 1000 + i))
done
made=${#codes[@]}

# A run during which somebody else had the machine is repeated: by percentage points above the median of all runs.
repeated=()
usually_waited=$(median "${waited[@]}") usually_stolen=$(median "${stolen[@]}")
for ((i = 0; made >= runs_known_min && i < made && ${#repeated[@]} < repeated_max; i++)); do
    if ((waited[i] > usually_waited + waited_min)); then
        repeated+=("tasks waited for a core in ${waited[i]} % of its time instead of the usual $usually_waited %")
    elif ((stolen[i] > usually_stolen + stolen_min)); then
        repeated+=("a hypervisor withheld the cores for ${stolen[i]} % of its time instead of the usual $usually_stolen %")
    else
        continue
    fi
    if ! fits; then
        unset 'repeated[-1]'
        break
    fi
    echo "--- run $((i + 1)) again: ${repeated[-1]}"
    mkdir -p "$out/disturbed"
    mv "${folders[i]}" "$out/disturbed"
    one_run $((seed * 1000 + made + ${#repeated[@]}))
    codes[i]=
done

passed=0 failed=0 untrusted=0
for code in "${codes[@]}"; do
    case $code in
    0) passed=$((passed + 1)) ;;
    1) failed=$((failed + 1)) ;;
    2) untrusted=$((untrusted + 1)) ;;
    esac
done

begin "$comment" "$scenario"
if ((failed > 0)); then
    echo "❌ Thresholds failed in $failed of $made runs." >>"$comment"
elif ((untrusted == 0)); then
    echo "✅ All $passed runs passed." >>"$comment"
fi
if ((untrusted > 0)); then
    echo "⚠️ $untrusted of $made runs cannot be trusted: the generator was the limit, or they ended early." >>"$comment"
fi
if ((made < runs)); then
    echo "⏱️ $made of $runs runs fit into $budget minutes." >>"$comment"
fi
echo >>"$comment"

for why in ${repeated[@]+"${repeated[@]}"}; do
    printf '🔁 A run was disturbed and repeated: %s.\n\n' "$why" >>"$comment"
done

compared=0
# Runs that stand in the baseline's directory itself were put there by hand, and count whatever their machine is.
before=("$baseline"/*/run.json) now=("$results"/*/run.json)
if ((${#before[@]} == 0)); then
    before=("$baseline/$fingerprint"/*/run.json)
fi
others=("$baseline"/*/machine)
if ((${#before[@]} == 0 && ${#others[@]} > 0)); then
    {
        echo "There is no baseline of this machine yet ($machine), so nothing is compared. There are some of:"
        sort -u "${others[@]}" | sed 's/^/- /'
    } >>"$comment"
elif ((${#before[@]} == 0)); then
    echo "There is no baseline yet, so nothing is compared." >>"$comment"
else
    throng compare "${now[@]%/run.json}" --baseline "${before[@]%/run.json}" --markdown "$out/comparison.md" \
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
