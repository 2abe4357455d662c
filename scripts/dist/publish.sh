#!/usr/bin/env bash
# Publishes what `make dist` wrote, once it is signed, in one place:
#
#     scripts/dist/publish.sh WHERE [--dry-run] [DIST]
#
#     release     files of a release of GitHub, by gh                   GH_TOKEN
#     pypi        the wheels, by uv                                     UV_PUBLISH_TOKEN, or the workflow's identity
#     npm         the packages with binaries, then the one for people   NODE_AUTH_TOKEN, which ~/.npmrc names
#     container   the image of both processors, by skopeo               `skopeo login` before
#     homebrew    the formula, pushed to its repository by git          the right to push
#
# Names of packages and owners are those of names.toml. With --dry-run nothing leaves this machine, and what cannot be tried
# without a network or a tool is said.
set -euo pipefail
cd "$(dirname "$0")/../.."

where=$1
shift
dry=
[ "${1:-}" != --dry-run ] || { dry=yes && shift; }
dist=$(realpath "${1:-dist}")
key=${THRONG_PUBLIC_KEY:-throng.pub}
version=$(scripts/version.py)
name() { scripts/dist/names.py "$@"; }

scripts/dist/sign.sh --check "$dist" "$key"
if [ -z "$dry" ] && grep -q OWNER scripts/dist/names.toml; then
    echo "scripts/dist/names.toml still has OWNER in it" >&2
    exit 64
fi

case $where in
release)
    files=("$dist"/*)
    if [ -n "$dry" ]; then
        printf "would be uploaded to v$version: %s\n" "${files[@]##*/}"
    else
        gh release create "v$version" --verify-tag --title "Throng $version" --notes-file <(scripts/dist/notes.py "$version") "${files[@]}"
    fi
    ;;
pypi)
    uv=$(scripts/tool.sh uv)/uv
    arguments=(publish --publish-url "$(name pypi index)")
    # The token is not read in a dry run; without any, uv prompts.
    [ -z "$dry" ] || arguments+=(--dry-run --token none)
    "$uv" "${arguments[@]}" "$dist"/*.whl
    ;;
npm)
    main=$dist/$(name npm package)-$version.tgz
    binaries=()
    for file in "$dist"/*.tgz; do
        [ "$file" = "$main" ] || binaries+=("$file")
    done
    # Whoever installs the last one finds the others.
    for file in "${binaries[@]}" "$main"; do
        npm publish --access public --registry "$(name npm registry)" ${dry:+--dry-run} "$file"
    done
    ;;
container)
    image=$(name container image)
    to=(docker://"${image,,}:$version")
    if [ -n "$dry" ]; then
        command -v skopeo >/dev/null || { echo "NOT RUN: skopeo is not installed" && exit 0; }
        scratch=$(mktemp -d)
        trap 'rm -rf "$scratch"' EXIT
        to=(oci:"$scratch/image:$version")
    fi
    skopeo copy --quiet --insecure-policy --all "oci-archive:$dist/throng-$version-oci.tar" "${to[@]}"
    echo "copied the image to ${to[0]}"
    ;;
homebrew)
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    if [ -n "$dry" ]; then
        git init --quiet "$scratch/tap"
    else
        git clone --quiet --depth 1 "$(name homebrew tap)" "$scratch/tap"
    fi
    mkdir -p "$scratch/tap/Formula"
    cp "$dist/throng.rb" "$scratch/tap/Formula/throng.rb"
    git -C "$scratch/tap" add Formula/throng.rb
    git -C "$scratch/tap" -c user.name=throng -c user.email=maintainers@throng.invalid commit --quiet --message "Throng $version"
    [ -n "$dry" ] || git -C "$scratch/tap" push --quiet
    git -C "$scratch/tap" show --stat --oneline HEAD
    ;;
*)
    echo "unknown place: $where" >&2
    exit 64
    ;;
esac
