#!/usr/bin/env bash
# Checks the documentation: every relative link of every Markdown file leads to a file, pages of the book
# link to pages of the book, all pages are in SUMMARY.md, and docs/reference is current.
#
#     docs/check.sh [PROGRAM]    PROGRAM is target/release/remanent by default
set -euo pipefail
cd "$(dirname "$0")/.."
failures=0
fail() {
    echo "$1" >&2
    failures=$((failures + 1))
}

while read -r file; do
    while read -r link; do
        target=${link%%#*}
        [[ -z "$target" || "$target" == *://* ]] && continue
        path=$(dirname "$file")/$target
        [[ -e "$path" ]] || fail "$file: no file at $link"
        if [[ "$file" == docs/* && "$(realpath -m "$path")" != "$PWD"/docs/* ]]; then
            fail "$file: $link is outside the book; write it as \`path\` instead"
        fi
    done < <(sed '/^```/,/^```/d' "$file" | grep -oP '\]\(\K[^)\s]+' || true)
done < <(git ls-files --cached --others --exclude-standard '*.md')

for page in $(cd docs && find . -name '*.md' -printf '%P\n' | sort); do
    [[ "$page" == SUMMARY.md ]] || grep -qF "($page)" docs/SUMMARY.md || fail "docs/$page: not in docs/SUMMARY.md"
done

docs/reference.sh --check "$@" || failures=$((failures + 1))
[[ "$failures" == 0 ]]
