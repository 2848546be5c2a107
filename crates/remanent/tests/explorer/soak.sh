#!/usr/bin/env bash
# Soak of the explorer: MINUTES of requests, broken connections and a run that is being written; prints the memory of
# the server every minute. The exit code is 1 if it crashed, or if its memory grew by more than half after the first
# tenth. Usage: soak.sh PROGRAM [MINUTES, default 120]
set -euo pipefail
program=$1
minutes=${2:-120}
folder=$(mktemp -d)
clean_up() {
    kill "$server" "$run" 2>/dev/null || true
    # The run saves its cells before it ends.
    wait "$server" "$run" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT
"$program" serve --port 0 --quiet --runs "$folder/runs" >"$folder/url" &
server=$!
for _ in $(seq 100); do [[ -s "$folder/url" ]] && break; sleep 0.1; done
url=$(head -n 1 "$folder/url")
"$program" simulate --alpha 1 --n 300 --epochs 100000000 --seeds 2 --checkpoint-every 1 --quiet --out "$folder/runs/growing" 2>/dev/null &
run=$!
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$server/status"; }
end=$((SECONDS + minutes * 60))
tenth=$((SECONDS + minutes * 6))
next=0
first=''
asked=0
while ((SECONDS < end)); do
    beta=$((5 + asked % 40)).$((asked % 97))
    curl -sf "${url}api/runs" >/dev/null
    curl -sf "${url}api/run/growing" >/dev/null || true
    curl -sf "${url}api/theory/chain?alpha=1,1&r0=0.5&beta=$beta" >/dev/null
    # Clients that go away in the middle of an answer.
    curl -s --max-time 0.2 "${url}api/theory/branches?beta=$beta" >/dev/null || true
    curl -s --max-time 1.2 "${url}api/events" >/dev/null || true
    curl -s "${url}api/theory/single?alpha=x$asked" >/dev/null
    asked=$((asked + 6))
    kill -0 "$server" || { echo "the server has ended" >&2; exit 1; }
    if ((SECONDS >= tenth)) && [[ -z $first ]]; then first=$(memory); fi
    if ((SECONDS >= next)); then
        echo "$((SECONDS / 60)) min: $asked requests, $(memory) kB"
        next=$((SECONDS + 60))
    fi
done
last=$(memory)
echo "$asked requests in $minutes min; memory $first kB after the first tenth, $last kB at the end"
((last <= first + first / 2)) || { echo "the memory of the server grows" >&2; exit 1; }
