#!/usr/bin/env bash
# Follows the README from its beginning as somebody without Rust does: in a root directory that has Python and no compiler,
# offline, it runs the README's command to install, its server and its first runs.
#
#     scripts/first-hour.sh [FOLDER]             installs from the packages in FOLDER (dist)
#     scripts/first-hour.sh --program BINARY     packs this binary as a wheel first
#
# The root is a new one of this distribution, by debootstrap, as root with a network (kept in the target directory); else, or
# with ROOT=borrowed, it is an empty one that has /usr and /etc of this machine, read-only, and nobody's home. Runs are made
# short, and limits on times wide: this is about the commands. Exit code 77: it cannot be tried here, for the stated reason.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "NOT RUN: $1" >&2 && exit 77; }

# The rest runs in namespaces of its own, with loopback only, as root of a user namespace unless it is root.
if [ "${1:-}" != --inside ]; then
    for tool in unshare python3; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir -p "$scratch/work/packages"
    if [ "${1:-}" = --program ]; then
        strip -o "$scratch/throng" "$2" 2>/dev/null || cp "$2" "$scratch/throng"
        python3 -B scripts/dist/try_wheel.py "$scratch/throng" "$scratch/work/packages"
        rm "$scratch/throng"
        echo "packed $2 as a wheel"
    else
        packages=("${1:-dist}"/*.whl)
        [ -e "${packages[0]}" ] || skip "${1:-dist} has no wheel: make dist writes them"
        cp "${packages[@]}" "$scratch/work/packages"
    fi
    python3 -B scripts/dist/readme.py "$scratch/work"

    fresh=
    if [ "${ROOT:-}" != borrowed ] && [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
        . /etc/os-release
        fresh=$(realpath -m "${CARGO_TARGET_DIR:-target}")/first-hour/$VERSION_CODENAME
        if ! [ -e "$fresh/complete" ]; then
            rm -rf "$fresh"
            mkdir -p "$fresh"
            more=()
            [ "$ID" != ubuntu ] || more=("--components=main,universe")
            if debootstrap --variant=minbase --include=python3-venv,ca-certificates ${more[@]+"${more[@]}"} "$VERSION_CODENAME" \
                "$fresh" >"$scratch/log" 2>&1; then
                touch "$fresh/complete"
            else
                tail -n 3 "$scratch/log" >&2
                rm -rf "$fresh"
                fresh=
            fi
        fi
    fi
    if [ -n "$fresh" ]; then
        echo "in a new root of $VERSION_CODENAME"
    else
        /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || skip "/usr/bin/python3 has no venv"
        echo "in a root with /usr of this machine"
    fi
    namespaces=(unshare --mount --net --pid --fork --kill-child)
    [ "$(id -u)" = 0 ] || namespaces+=(--user --map-root-user)
    "${namespaces[@]}" true 2>/dev/null || skip "there are no namespaces"
    "${namespaces[@]}" "$0" --inside "$scratch" "$fresh"
    exit
fi

scratch=$2 fresh=$3
python3 -B -c 'import sys; sys.path.insert(0, "scripts/dist"); import smoke; smoke.raise_loopback()'
root=$scratch/root
mkdir "$root"
mount -t tmpfs none "$root"
if [ -n "$fresh" ]; then
    cp -a "$fresh/." "$root"
else
    for name in etc usr; do
        mkdir "$root/$name"
        mount --rbind "/$name" "$root/$name"
        mount -o remount,bind,ro "$root/$name" 2>/dev/null || true
    done
    # Links into /usr, or directories on old systems.
    for path in /bin /sbin /lib /lib32 /lib64; do
        if [ -L "$path" ]; then
            cp -P "$path" "$root$path"
        elif [ -d "$path" ]; then
            mkdir "$root$path"
            mount --rbind "$path" "$root$path"
        fi
    done
fi
mkdir -p "$root"/{dev,proc,tmp,work}
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind "$scratch/work" "$root/work"
exec env -i PATH=/work/venv/bin:/usr/bin:/bin HOME=/work PIP_NO_INDEX=1 PIP_FIND_LINKS=/work/packages \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    "$(command -v chroot)" "$root" /bin/bash -euc 'cd /work && . ./follow.sh'
