#!/usr/bin/env bash
# Times the theory away from beta = 20. Arguments go to compare.py: see --help.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$here/../.."
cargo build --quiet --release -p remanent-theory --example times
exec python3 "$here/compare.py" --program "this=target/release/examples/times" "$@"
