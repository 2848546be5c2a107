#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment, and runs its tests, mypy, stubtest and the notebooks.
# Needs Python 3.10 or later. MPI is tested if mpirun is there, or can be installed.
set -euo pipefail
cd "$(dirname "$0")"

target=${CARGO_TARGET_DIR:-$PWD/../target}
venv=$target/python-venv
wheels=$target/python-wheels

if ! command -v mpirun >/dev/null && [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq >&2 && apt-get install -qq -y --no-install-recommends openmpi-bin libopenmpi-dev >&2 || true
fi

rm -rf "$venv" "$wheels"
python3 -m venv "$venv"
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip install -r requirements-test.txt
"$venv/bin/maturin" build --release --interpreter "$venv/bin/python" --out "$wheels" --target-dir "$target" >&2
pip install "$(echo "$wheels"/remanent-*.whl)[all]"
if ! command -v mpirun >/dev/null || ! pip install mpi4py; then
    echo "no MPI: the test with two MPI processes is skipped" >&2
fi

# Away from the sources: what is tested is what is installed.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests examples "$work"
cp pyproject.toml "$work"
cd "$work"
"$venv/bin/python" -m pytest -q --durations=5
# Types, beside the notebooks.
types() {
    for what in "-p remanent" tests/typing_sample.py; do
        "$venv/bin/python" -m mypy --strict --python-executable "$venv/bin/python" $what
    done
    "$venv/bin/python" -m mypy.stubtest remanent --mypy-config-file pyproject.toml --allowlist tests/stubtest-allowlist.txt
}
(set -e; types) & checking=$!
"$venv/bin/python" examples/execute.py
wait "$checking"
