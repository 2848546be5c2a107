"""Wrong arguments: the exceptions of Python with the words of the command line. Nothing panics."""

import warnings

import numpy as np
import pytest
import remanent as rm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ({"alpha": -1}, ["--alpha", "-1"]),
        ({"alpha": 1, "beta": 1e9}, ["--alpha", "1", "--beta", "1e9"]),
        ({"alpha": 1e5}, ["--alpha", "1e5"]),
        ({}, []),
    ],
)
def test_the_words_are_those_of_the_command(command, arguments, flags):
    told = command("theory", "single", *flags, check=False)
    assert told.returncode == 2
    with pytest.raises(ValueError) as error:
        rm.theory.single(**arguments)
    assert told.stderr.strip() == f"error: {error.value}"


def test_a_wrong_run_is_refused_with_the_words_of_the_command(command, tmp_path):
    told = command("simulate", "--alpha", "1", "--n", "0", "--out", tmp_path / "a", check=False)
    with pytest.raises(ValueError) as error:
        rm.simulate(alpha=1, n=0)
    assert told.stderr.strip() == f"error: {error.value}"


@pytest.mark.parametrize(
    ("function", "arguments", "error", "told"),
    [
        (rm.theory.single, {"alpa": 1}, TypeError, "did you mean 'alpha'"),
        (rm.theory.single, {"alpha": 1, "branch": "god"}, ValueError, "did you mean 'good'"),
        (rm.theory.single, {"alpha": "1:2"}, ValueError, "from:to:step"),
        (rm.theory.single, {"alpha": []}, ValueError, "alpha = \\[\\] cannot be used"),
        (rm.theory.single, {"alpha": object()}, TypeError, "alpha = <object"),
        (rm.theory.single, {"alpha": 1j}, TypeError, "a list of numbers"),
        (rm.theory.single, {"alpha": True}, TypeError, "a list of numbers"),
        (rm.theory.single, {"alpha": [1, None]}, TypeError, "a list of numbers"),
        (rm.theory.single, {"alpha": float("nan")}, ValueError, "alpha = NaN is out of range"),
        (rm.theory.chain, {"alpha": [1, 1]}, ValueError, "r0 is missing"),
        (rm.theory.chain, {"alpha": [1, 1], "r0": [0, 0, 0]}, ValueError, "r0 has 3 values"),
        (rm.theory.chain, {"alpha": [1, 1], "r0": 0, "scan": 3}, TypeError, "a dictionary of lists"),
        (rm.theory.chain, {"alpha": [1, 1], "r0": 0, "scan": {"omega": 1}}, ValueError, "omega"),
        (rm.theory.branches, {"beta": [1, 2]}, ValueError, "branches takes one beta"),
        (rm.simulate, {"alpha": 1, "lerner": "sgd"}, TypeError, "did you mean 'learner'"),
        (rm.simulate, {"alpha": 1, "learner": "sdg"}, ValueError, "did you mean 'sgd'"),
        (rm.simulate, {"alpha": 1, "n": 1.5}, ValueError, "a whole number"),
        (rm.simulate, {"alpha": 1, "n": 2**70}, ValueError, "out of range"),
        (rm.simulate, {"alpha": 1, "seeds": 0}, ValueError, "seeds = 0"),
        (rm.simulate, {"alpha": 1, "scan": {"gama": [1]}}, TypeError, "did you mean 'gamma'"),
        (rm.simulate, {"config": "missing.toml"}, FileNotFoundError, "missing.toml"),
        (rm.train, {}, ValueError, "stream is missing"),
        (rm.train, {"stream": "permuted:mnst:2"}, ValueError, "did you mean"),
        (rm.train, {"preset": "digits", "checkpoint_every": -1}, ValueError, "checkpoint_every"),
        (rm.load_run, {"directory": "nowhere"}, FileNotFoundError, "nowhere"),
        (rm.Model.load, {"path": "nowhere.rbin"}, FileNotFoundError, "there is no file or directory"),
    ],
)
def test_errors_are_those_of_python(function, arguments, error, told):
    with pytest.raises(error, match=told):
        function(**arguments)


def test_missing_data_names_the_command_that_gets_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="remanent data get mnist"):
        rm.train(stream="permuted:mnist:2", data_dir=tmp_path)


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "a.rbin"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be used"):
        rm.Model.load(path)
    with pytest.raises(FileNotFoundError, match="not a run directory"):
        rm.load_run(tmp_path)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3),
    st.complex_numbers(), st.sampled_from([object(), np.nan, np.datetime64("2020"), np.float16(1), "0.1:2:0.5"]),
)
shapes = st.sampled_from([(), (0,), (1,), (3,), (2, 2), (0, 3), (2, 1, 2)])
arrays = st.builds(
    lambda shape, dtype, start: np.full(shape, start).astype(dtype)[..., ::-1] if shape else np.array(start, dtype),
    shapes,
    st.sampled_from(["f8", ">f4", "i8", "u1", "f2", "O", "?", "U3", "c16", "S2"]),
    st.sampled_from([1, 0, -1, 2]),
)
anything = st.one_of(scalars, arrays, st.lists(scalars, max_size=3), st.dictionaries(st.text(max_size=2), scalars, max_size=2))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["single", "constrained", "chain", "tune", "branches"]),
    st.dictionaries(st.sampled_from(["alpha", "beta", "q_star", "r0", "gamma", "branch", "rsb", "prior", "scan"]), anything, max_size=4),
)
def test_no_argument_panics(name, arguments):
    if arguments.get("rsb") is not None or name in ("tune", "branches"):
        # Valid questions of these kinds are long; an invalid alpha is refused before anything is computed.
        arguments["alpha"] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(rm.theory, name)(**arguments)
        except (ValueError, TypeError) as error:
            assert "internal error" not in str(error)


def test_a_list_of_nothing_is_refused():
    with pytest.raises((ValueError, TypeError)):
        rm.theory.chain(alpha=[1, 1], rsb=[None])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(["alpha", "n", "epochs", "lr", "learner", "batch", "seeds", "gamma", "scan", "config"]), anything, max_size=4))
def test_no_argument_of_a_simulation_panics(arguments):
    arguments["r0"] = "nonsense"
    with pytest.raises((ValueError, TypeError, OSError)) as error:
        rm.simulate(**arguments)
    assert "internal error" not in str(error.value)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(x=anything, how=st.one_of(st.just("hard"), st.text(max_size=3)), draws=anything)
def test_no_argument_of_a_model_panics(digits_run, x, how, draws):
    try:
        digits_run.model().predict_proba(x, how, draws)
    except (ValueError, TypeError) as error:
        assert "internal error" not in str(error)
