#!/usr/bin/env bash
# Compares an update of a network with PyTorch and NumPy. Arguments go to compare.py: see --help.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/../environment.sh"
build_ours -p remanent-network --example step_time -- "$@"

exec "$venv/bin/python" "$here/compare.py" "$@"
