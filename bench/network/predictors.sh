#!/usr/bin/env bash
# Times the predictors of a binary network: images per second, beside the products of numbers that a network
# of the same widths needs. Arguments go to the example predictor_time. Prints Markdown:
#
#     bench/network/predictors.sh --images 10000 --draws 100 --rounds 3 > bench/network/predictors.md
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
(cd "$root" && cargo build --release -p remanent-network --example predictor_time >&2)

processor="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
echo "Processor: ${processor:-unknown}, family $(sed -n 's/^cpu family[^:]*: //p' /proc/cpuinfo | head -1)," \
    "model $(sed -n 's/^model\t[^:]*: //p' /proc/cpuinfo | head -1)."
echo "Compiler: $(rustc --version). Commit: $(git -C "$root" rev-parse --short HEAD)."
echo "Load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) cores."
exec "${CARGO_TARGET_DIR:-$root/target}/release/examples/predictor_time" "$@"
