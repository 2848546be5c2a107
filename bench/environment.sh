# Sourced by the benchmarks: a virtual environment with PyTorch under target/, in $venv.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
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

# torch.compile needs a C++ compiler; without one the compiled variants are left out.
if ! command -v "${CXX:-g++}" >/dev/null; then
    echo "no C++ compiler: the compiled variants are left out; on Debian or Ubuntu: sudo apt install g++" >&2
fi
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$target/bench-inductor}"

# Builds our side with these arguments of cargo build, unless another program is timed or help is asked for.
build_ours() {
    local -a cargo=()
    while [[ "$1" != -- ]]; do
        cargo+=("$1")
        shift
    done
    for argument in "$@"; do
        case "$argument" in --ours | --ours=* | -h | --help) return ;; esac
    done
    (cd "$root" && cargo build --release "${cargo[@]}" >&2)
}
