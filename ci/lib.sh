# What the scripts of this folder have in common; they read it.
# shellcheck shell=bash

# The first line of a comment identifies it, so that the next build replaces it: begin FILE SCENARIO
begin() {
    # shellcheck disable=SC2016 # quotes of Markdown
    printf '<!-- throng: %s -->\n# Load test `%s`\n\n' "$2" "$2" >"$1"
}

# The machine in words: what makes the times of two machines different.
machine() {
    local model memory_kib
    model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    memory_kib=$(sed -n 's/^MemTotal:[[:space:]]*\([0-9]*\).*/\1/p' /proc/meminfo)
    printf '%s, %s, %s cores, %s GiB\n' "$(uname -m)" "${model:-unknown processor}" "$(nproc)" \
        "$(((memory_kib + 524288) / 1048576))"
}

# A short name for a machine in words.
fingerprint() {
    printf '%s' "$1" | sha256sum | cut -c 1-12
}

# What the kernel counts: microseconds since the start, those of them in which some task waited for a core (pressure stall
# information), ticks of all cores, and those of them that a hypervisor withheld. 0 where it does not say.
contention() {
    local now waited ticks
    now=$(date +%s%N)
    waited=$(sed -n 's/^some .*total=//p' /proc/pressure/cpu 2>/dev/null || true)
    ticks=$(awk '/^cpu / { for (i = 2; i <= 9; i++) all += $i; printf "%.0f %s\n", all, $9 }' /proc/stat)
    echo "$((now / 1000)) ${waited:-0} $ticks"
}

# The share in percent, rounded, of one count in another between two of these lines: share BEFORE AFTER WHOLE PART
share() {
    awk -v before="$1" -v after="$2" -v whole="$3" -v part="$4" 'BEGIN {
        split(before, b, " "); split(after, a, " ")
        all = a[whole] - b[whole]
        printf "%.0f\n", (all > 0 ? 100 * (a[part] - b[part]) / all : 0)
    }'
}

# The middle one of whole numbers, or the lower of two.
median() {
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}
