#!/usr/bin/env bash
# Compares an update of a network with PyTorch and NumPy. Arguments go to compare.py: see --help.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
venv="$target/bench-venv"

make_environment() {
    if ! command -v python3 >/dev/null; then
        echo "python3 is missing; on Debian or Ubuntu: sudo apt install python3 python3-venv" >&2
        exit 1
    fi
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "python3 cannot make virtual environments; on Debian or Ubuntu: sudo apt install python3-venv" >&2
        exit 1
    fi
    mkdir -p "$target"
    python3 -m venv "$venv"
}

[[ -x "$venv/bin/python" ]] || make_environment
if ! "$venv/bin/python" -c 'import numpy, torch' 2>/dev/null; then
    echo "installing PyTorch into $venv" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy torch >&2
fi

# torch.compile needs a C++ compiler; without one the compiled variant fails and is left out.
if ! command -v "${CXX:-g++}" >/dev/null; then
    echo "no C++ compiler: the compiled variant is left out; on Debian or Ubuntu: sudo apt install g++" >&2
fi
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$target/bench-inductor}"

build=yes
for argument in "$@"; do
    case "$argument" in --ours | --ours=* | -h | --help) build=no ;; esac
done
if [[ "$build" == yes ]]; then
    (cd "$root" && cargo build --release -p remanent-network --example step_time >&2)
fi

exec "$venv/bin/python" "$here/compare.py" "$@"
