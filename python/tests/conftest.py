"""What the tests share: the command of the wheel, and small runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def command():
    """Runs the installed command and gives its output."""
    program = Path(sys.executable).with_name("remanent")
    start = [str(program)] if program.exists() else [sys.executable, "-m", "remanent"]

    def run(*arguments, check=True, **more):
        return subprocess.run([*start, *map(str, arguments)], capture_output=True, text=True, check=check, **more)

    return run


@pytest.fixture(scope="session")
def command_json(command):
    """The JSON that the command prints."""

    def run(*arguments):
        return json.loads(command(*arguments, "--format", "json", "--quiet").stdout)

    return run


@pytest.fixture(scope="session")
def digits_run(tmp_path_factory):
    """A short training on the built-in digits."""
    import remanent as rm

    out = tmp_path_factory.mktemp("runs") / "digits"
    return rm.train(preset="digits", hidden=[32], epochs=2, seeds=2, out=out)


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
