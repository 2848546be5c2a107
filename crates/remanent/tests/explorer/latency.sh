#!/usr/bin/env bash
# How fast the explorer answers while a slider moves: median milliseconds and processor milliseconds of the questions
# of each panel, one after another at neighbouring values of beta. In a browser, with drawing:
#
#     REMANENT_ONLY='comes at once' cargo test --release -p remanent --test explorer -- --nocapture
#
# Usage: latency.sh PROGRAM [REQUESTS, default 15]
set -euo pipefail
program=$1
count=${2:-15}
folder=$(mktemp -d)
"$program" serve --port 0 --quiet --runs "$folder/runs" >"$folder/url" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [[ -s "$folder/url" ]] && break; sleep 0.1; done
url=$(head -n 1 "$folder/url")
ticks() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
measure() { # NAME QUESTION
    local before
    before=$(ticks)
    for i in $(seq 0 $((count - 1))); do
        beta=$(awk "BEGIN { print 15 + 0.37 * $i }")
        curl -sf -o "$folder/answer" -w '%{time_total}\n' "${url}api/theory/$2&detail=outline&beta=$beta"
    done | sort -n >"$folder/times"
    awk -v name="$1" -v cpu="$((($(ticks) - before) * 1000 / $(getconf CLK_TCK) / count))" \
        '{ all[NR] = 1000 * $1 } END { printf "%-10s median %4.0f ms, fastest %4.0f ms, processor %3d ms\n", name, all[int((NR + 1) / 2)], all[1], cpu }' \
        "$folder/times"
}
measure branches 'branches?alpha=0.05:3'
measure chain 'chain?alpha=2,2&r0=0.5&gamma=1'
measure gamma 'chain?alpha=2,2&r0=0.5&scan=gamma%3D0,0.1,1,10'
