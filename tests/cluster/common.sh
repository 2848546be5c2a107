# What the tests of shared runs have in common. To be sourced, with the program as first argument.
set -euo pipefail
program=$(realpath "${1:-target/release/remanent}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A worker that shows no sign of life for this long is dead: short, so that tests need not wait.
export REMANENT_STALE_AFTER=${REMANENT_STALE_AFTER:-3}

say() { printf '%s\n' "$*" >&2; }
skip() { say "SKIPPED: $*"; }
fail() {
    say "FAILED: $*"
    exit 1
}

# The small runs of these tests: perceptrons, and networks with models.
simulate="simulate --n 400 --alpha 1,1 --epochs 60 --record-every 20 --seeds 3 --scan gamma=0,0.5,1,2 --checkpoint-every 0.05"
train="train --stream permuted:digits:2 --hidden 16 --epochs 1 --train-images 200 --test-images 50 --seeds 3 --scan gamma=0.1,1 --checkpoint-every 0.05"
reproduce="reproduce 1 3d --quick --seeds 2"

# finish COMMAND DIR: the same command without --shard: summary, plot or report.
finish() {
    case "$1" in
    reproduce*) "$program" $1 --quiet --out "$2" --report "$2.page" --format csv >"$2.csv" ;;
    *) "$program" $1 --quiet --out "$2" --plot "$2.svg" --format csv >"$2.csv" ;;
    esac
}

# Everything that must not depend on who computed it: without times, progress and plans, which hold estimates
# of times.
digest() {
    (cd "$1" && find . -type f ! -name 'times.csv' ! -name progress.json ! -name summary.json ! -path '*/slurm/*' ! -path './plot.svg' \
        ! -path '*/times/*' ! -path '*/plans/*' -print0 | sort -z | xargs -0 sha256sum)
    case "$2" in
    # The seconds of a figure are in its table.
    reproduce*) cut -d, -f1,2,4- "$1.csv" | sha256sum ;;
    *) sha256sum <"$1.svg" && sha256sum <"$1.csv" ;;
    esac
}

# same COMMAND DIR REFERENCE WHAT
same() {
    digest "$2" "$1" >"$2.sums"
    digest "$3" "$1" >"$3.sums"
    diff "$3.sums" "$2.sums" >&2 || fail "$4: other bytes than in one process on one thread"
    [[ ! -e "$2/claims" && ! -e "$2/workers" ]] || fail "$4: claims or workers are left"
    say "ok: $4"
}
