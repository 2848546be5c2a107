#!/usr/bin/env bash
# Writes docs/reference/*.md from the help of the program.
#
#     docs/reference.sh [PROGRAM]            write the pages
#     docs/reference.sh --check [PROGRAM]    fail if they are not current
#
# PROGRAM is target/release/remanent by default.
set -euo pipefail
check=no
if [[ "${1:-}" == --check ]]; then
    check=yes
    shift
fi
docs=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-$docs/../target/release/remanent}")
pages=$(mktemp -d)
trap 'rm -r "$pages"' EXIT
export COLUMNS=100

# The subcommands that the help of a command lists.
subcommands() {
    "$program" "$@" --help |
        awk '/^Commands:/ { on = 1; next } on && /^$/ { exit } on && /^  [a-z]/ && $1 != "help" { print $1 }'
}

# The help of a command and of its subcommands, as sections.
sections() {
    printf '%s remanent%s\n\n```text\n' "$1" "${2:+ ${*:2}}"
    "$program" "${@:2}" --help | sed 's/[[:space:]]*$//'
    printf '```\n'
    local name
    [[ $# -lt 2 ]] || for name in $(subcommands "${@:2}"); do
        printf '\n'
        sections "#$1" "${@:2}" "$name"
    done
}

sections '#' >"$pages/remanent.md"
for name in $(subcommands); do
    sections '#' "$name" >"$pages/$name.md"
done

if [[ "$check" == yes ]]; then
    diff -rq "$docs/reference" "$pages" || {
        echo "docs/reference is not current: run docs/reference.sh" >&2
        exit 1
    }
else
    rm -rf "$docs/reference"
    cp -r "$pages" "$docs/reference"
    chmod 755 "$docs/reference"
fi
