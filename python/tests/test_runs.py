"""Experiments: the same cells and numbers as the program, resumable and interruptible."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import remanent as rm

SMALL = {"n": 60, "alpha": [1, 1], "r0": 0.5, "epochs": 10, "seeds": 3}
FLAGS = ["--n", 60, "--alpha", "1,1", "--r0", 0.5, "--epochs", 10, "--seeds", 3]
#: What depends on the machine.
TIMES = {"seconds", "wall_seconds", "epochs_per_second", "seconds_per_step", "threads", "models"}


def timeless(value):
    if isinstance(value, dict):
        return {key: timeless(entry) for key, entry in value.items() if key not in TIMES}
    return [timeless(entry) for entry in value] if isinstance(value, list) else value


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_simulation_is_that_of_the_program(command_json, tmp_path):
    theirs = command_json("simulate", *FLAGS, "--out", tmp_path / "theirs")
    mine = rm.simulate(**SMALL, out=tmp_path / "mine")
    assert timeless(mine.json) == timeless(theirs)
    assert contents(tmp_path / "mine/records") == contents(tmp_path / "theirs/records")
    assert timeless(rm.simulate(**SMALL).json) == timeless(theirs)
    # The program continues a run of Python, and the other way round.
    again = command_json("simulate", *FLAGS, "--out", tmp_path / "mine")
    assert timeless(again) == timeless(theirs)


def test_a_training_is_that_of_the_program(command_json, digits_run, tmp_path):
    out = tmp_path / "theirs"
    theirs = command_json("train", "--preset", "digits", "--hidden", 32, "--epochs", 2, "--seeds", 2, "--out", out)
    assert timeless(digits_run.json) == timeless(theirs)
    for folder in ("records", "models"):
        assert contents(digits_run.directory / folder) == contents(out / folder)


def test_results_have_arrays_and_tables(digits_run):
    assert digits_run.accuracy.shape == (3, 3)
    assert digits_run.accuracy[0, 0] == digits_run.json["hard"]["accuracy_matrix"][0][0]["mean"]
    assert (digits_run.accuracy_matrix("sampled", "standard_error") >= 0).all()
    history = digits_run.history
    assert history.epoch.tolist() == [1, 2, 3, 4, 5, 6] and history.uncertainty.shape == (6, 2)
    assert len(digits_run.to_pandas()) == 36 and digits_run.config["hidden"] == [32]
    assert "accuracy" in repr(digits_run) and "<svg" in digits_run._repr_html_()
    assert len(digits_run.plot().get_lines()) >= 3
    with pytest.raises(ValueError, match="one of stochastic"):
        digits_run.accuracy_matrix("best")


def test_a_run_is_loaded(digits_run, tmp_path):
    loaded = rm.load_run(digits_run.directory)
    assert loaded.kind == "train" and np.array_equal(loaded.accuracy, digits_run.accuracy)
    assert loaded.history == digits_run.history
    assert loaded.model(1).widths == [64, 32, 10] and len(loaded.case.json["trials"]) == 2
    with pytest.raises(ValueError, match="trial 2 is not done"):
        loaded.model(2)
    run = rm.simulate(**SMALL, out=tmp_path / "s")
    loaded = rm.load_run(tmp_path / "s")
    assert loaded.history == run.history and np.array_equal(loaded.errors, run.errors)
    with pytest.raises(ValueError, match="has no models"):
        loaded.model()


def test_cases_and_comparison_with_the_theory():
    run = rm.simulate(**SMALL, scan={"gamma": [0, 1]}, compare="theory")
    assert [case.label for case in run.cases] == ["gamma = 0", "gamma = 1"]
    assert run.cases[0].comparison.theory.dtype == float and run.cases[1].config["gamma"] == [1.0]
    with pytest.raises(ValueError, match="2 cases"):
        run.history
    assert run.table.shape[0] > 0 and len(run.plot().get_lines()) == 4


def test_configurations_are_those_of_the_program(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("n = 60\nalpha = [1, 1]\nr0 = 0.5\nepochs = 50\nseeds = 3\n[quick]\nepochs = 10\n")
    expected = rm.simulate(**SMALL).errors
    assert np.array_equal(rm.simulate(config=path, quick=True).errors, expected)
    table = {"n": 60, "alpha": [1, 1], "r0": 0.5, "epochs": 50, "seeds": 3}
    assert np.array_equal(rm.simulate(config=table, epochs=10).errors, expected)


def test_other_experiments():
    bound = rm.bound(epochs=20, seeds=2)
    assert bound.kind == "bound" and bound.table.shape[0] > 0
    time_ = rm.convergence_time(alpha=[1.0, 2.0], n=50, epochs=1500)
    assert time_.table.shape[0] == 2


def test_progress_is_told():
    told = []
    rm.simulate(**SMALL, progress=lambda done, total: told.append((done, total)))
    assert told and told[-1][0] == told[-1][1] and told == sorted(told)


def test_an_error_in_the_progress_stops_the_run(tmp_path):
    def fail(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rm.simulate(n=1000, alpha=[2, 2], epochs=3000, seeds=4, out=tmp_path / "a", progress=fail)


def test_an_earlier_run_is_not_lost(tmp_path):
    rm.simulate(**SMALL, out=tmp_path / "a")
    with pytest.raises(ValueError, match="holds another experiment"):
        rm.simulate(**(SMALL | {"n": 70}), out=tmp_path / "a")
    rm.simulate(**(SMALL | {"n": 70}), out=tmp_path / "a", fresh=True)


# A shell that runs these tests in the background has interrupts ignored.
LISTEN = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"

INTERRUPTED = LISTEN + """
import sys, remanent as rm
print("ready", flush=True)
try:
    rm.train(preset="digits", hidden=[64], epochs=400, evaluate="task", out=sys.argv[1], progress=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


def test_ctrl_c_saves_within_a_second(tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    while not (out / "plans").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.7)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    # A second, and some more for a machine with other work.
    assert time.perf_counter() - start < 1.5
    assert process.wait(20) == 7
    assert list((out / "checkpoints").iterdir())
    options = {"preset": "digits", "hidden": [64], "epochs": 400, "evaluate": "task"}
    resumed = rm.train(**options, out=out)
    assert len(list((out / "records").iterdir())) == 1 and not list((out / "checkpoints").iterdir())
    assert timeless(resumed.json) == timeless(rm.train(**options).json)


def test_ctrl_c_in_the_theory(tmp_path):
    program = LISTEN + (
        "import numpy as np, remanent as rm\nprint('ready', flush=True)\n"
        "try:\n    rm.theory.single(alpha=np.linspace(0.1, 3, 2000), beta=np.linspace(5, 50, 40)[:, None])\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True); import os; os._exit(0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.perf_counter() - start < 1.5
    process.wait(20)


def test_the_command_is_in_the_wheel(command, tmp_path):
    assert command("--version").stdout.strip() == f"remanent {rm.__version__}"
    assert "Usage: remanent" in command("--help").stdout
    wrong = command("theory", "single", "--alpha", "x", check=False)
    assert wrong.returncode == 2 and "error" in wrong.stderr
    assert json.loads(command("theory", "single", "--alpha", "1", "--format", "json").stdout)[0]["branch"] == "poor"


def test_ctrl_c_in_the_command(tmp_path):
    out = tmp_path / "run"
    arguments = ["train", "--preset", "digits", "--hidden", "64", "--epochs", "400", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "remanent", *arguments], stderr=subprocess.PIPE, text=True)
    while not (out / "plans").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert "repeat the command to continue" in process.stderr.read()
    assert os.listdir(out / "checkpoints")
