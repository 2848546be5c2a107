#!/usr/bin/env bash
# Compares the perceptron simulator with PyTorch. Arguments go to compare.py: see --help.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$here/../environment.sh"
build_ours -- "$@"

exec "$venv/bin/python" "$here/compare.py" "$@"
