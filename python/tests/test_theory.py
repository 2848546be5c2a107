"""The theory: the same bits as the command, and the shapes of NumPy."""

import pickle

import numpy as np
import pytest
import remanent as rm


def same(table, rows):
    """The columns of a table are the fields of the command's rows, bit for bit."""
    assert set(table.columns) == set(rows[0])
    for key in table.columns:
        mine, theirs = np.atleast_1d(table[key]), [row[key] for row in rows]
        if mine.dtype.kind == "f":
            expected = np.array([np.nan if x is None else x for x in theirs], dtype=float)
            assert mine.tobytes() == expected.tobytes(), key
        else:
            assert mine.tolist() == theirs, key


def test_single_is_the_commands_json(command_json):
    alpha = np.linspace(0.1, 3, 13)
    text = ",".join(repr(float(x)) for x in alpha)
    same(rm.theory.single(alpha=alpha, beta=20), command_json("theory", "single", "--alpha", text, "--beta", 20))
    same(
        rm.theory.single(alpha=alpha, branch="all", prior="uniform"),
        command_json("theory", "single", "--alpha", text, "--branch", "all", "--prior", "uniform"),
    )


def test_broken_symmetry_is_the_commands_json(command_json):
    rows = command_json("theory", "single", "--alpha", "0.5,1.0", "--beta", 40, "--rsb", 1)
    same(rm.theory.single(alpha=[0.5, 1.0], beta=40, rsb=1), rows)


def test_constrained_is_the_commands_json(command_json):
    rows = command_json("theory", "constrained", "--alpha", 1, "--q-star", "0.3,0.6")
    same(rm.theory.constrained(alpha=1, q_star=[0.3, 0.6]), rows)
    by_text = rm.theory.constrained(alpha=1, q_star="0.3:0.6:0.3")
    assert by_text == rm.theory.constrained(alpha=1, q_star=[0.3, 0.6])


def test_a_chain_is_the_commands_json(command_json):
    mine = rm.theory.chain(alpha=[2, 3, 3], beta=20, r0=0.5, gamma=1)
    theirs = command_json("theory", "chain", "--alpha", "2,3,3", "--beta", 20, "--r0", 0.5, "--gamma", 1)["tasks"]
    assert mine.eps_by_task.tolist() == [task["eps_by_task"] for task in theirs]
    assert mine.tasks[1].q_d == theirs[1]["q_d"] and mine.tasks[1].shape == ()
    assert mine.final_errors.tolist() == theirs[-1]["eps_by_task"]


def test_chains_broadcast_and_scan(command_json):
    gamma = np.array([0.0, 0.5, 1.0])
    mine = rm.theory.chain(alpha=[2, 1], r0=0.5, gamma=gamma[:, None])
    theirs = command_json("theory", "chain", "--alpha", "2,1", "--r0", 0.5, "--scan", "gamma=0,0.5,1")
    assert mine.shape == (3, 2) and mine.eps_by_task.shape == (3, 2, 2)
    assert mine.eps_by_task.tolist() == [[t["eps_by_task"] for t in row["tasks"]] for row in theirs]
    assert rm.theory.chain(alpha=[2, 1], r0=0.5, scan={"gamma": gamma}) == mine
    grid = rm.theory.chain(alpha=[2, 1], gamma=gamma[:2, None], r0=np.array([0.1, 0.5])[:, None, None])
    assert grid.shape == (2, 2, 2)
    assert grid.eps_by_task[1, 1].tolist() == mine.eps_by_task[1].tolist()
    map_ = rm.theory.chain(alpha=[2, 1], r0=0.5, scan={"r0": [0.1, 0.5], "gamma": gamma[:2]})
    assert map_ == grid


@pytest.mark.parametrize(
    ("function", "arguments", "flags"),
    [
        ("branches", {"beta": 20, "alpha": (1.4, 2.0)}, ["branches", "--beta", "20", "--alpha", "1.4:2"]),
        ("phase_diagram", {"beta": [10, 20]}, ["phase-diagram", "--beta", "10,20"]),
        ("tune", {"alpha": [1, 1], "r0": 0.5, "gamma": [0, 0.1, 1]}, ["tune", "--alpha", "1,1", "--r0", "0.5", "--gamma", "0,0.1,1"]),
    ],
)
def test_other_questions_are_the_commands_json(command_json, function, arguments, flags):
    assert getattr(rm.theory, function)(**arguments).json == command_json("theory", *flags)


def test_arguments_broadcast_like_numpys():
    alpha, beta = np.array([0.5, 1.0, 1.7]), np.array([10.0, 20.0])
    grid = rm.theory.single(alpha=alpha[:, None], beta=beta)
    assert grid.shape == grid.eps.shape == (3, 2)
    for j, at in enumerate(beta):
        assert np.array_equal(grid.eps[:, j], rm.theory.single(alpha=alpha, beta=at).eps)
    assert np.array_equal(grid.beta, np.broadcast_to(beta, (3, 2)))
    words = rm.theory.single(alpha=1.7, branch=np.array(["poor", "good"]))
    assert words.branch.tolist() == ["poor", "good"] and words.shape == (2,)
    with pytest.raises(ValueError, match="do not broadcast together: alpha \\(3,\\), beta \\(2,\\)"):
        rm.theory.single(alpha=alpha, beta=beta)


def test_a_scalar_gives_scalars():
    one = rm.theory.single(alpha=1.0)
    assert one.shape == () and isinstance(one.eps, float) and one.branch == "poor"
    assert one.eps == rm.theory.single(alpha=[1.0]).eps[0] == rm.theory.single(alpha=np.float64(1)).eps


@pytest.mark.parametrize("array", [
    np.array([1, 2]), np.array([1, 2], dtype=">f8"), np.array([1, 9, 2], dtype="f4")[::2], [1, 2], (1.0, 2),
    np.array([1, 2], dtype=object), np.asfortranarray([1.0, 2.0]), range(1, 3), np.array([1, 2], dtype=np.uint8),
])
def test_any_array_of_numbers(array):
    assert rm.theory.single(alpha=array).eps.tolist() == rm.theory.single(alpha=[1.0, 2.0]).eps.tolist()


def test_tables_are_shown_pickled_and_framed():
    s = rm.theory.single(alpha=[0.5, 1.0], beta=[[10], [20]])
    assert pickle.loads(pickle.dumps(s)) == s
    frame = s.to_pandas()
    assert frame.shape == (4, 21) and frame["eps"].tolist() == s.eps.ravel().tolist()
    assert "shape (2, 2)" in repr(s) and "<table>" in s._repr_html_()
    assert s.at((0, 1)).eps == s.eps[0, 1] and "eps" in dir(s)
    with pytest.raises(AttributeError, match="the columns are alpha"):
        s.epss
    ax = s.plot()
    assert ax.get_xlabel() == "alpha" and len(ax.get_lines()) == 2
    chain = rm.theory.chain(alpha=[2, 1], r0=0.5)
    assert chain.to_pandas()["eps_by_task_2"].tolist() == chain.eps_by_task[:, 1].tolist()
    branches = rm.theory.branches(beta=20)
    assert branches.plot().get_ylabel() == "eps" and len(branches.to_pandas()) == len(branches.rows.alpha)
    assert "folds" in repr(branches) and "<table>" in branches._repr_html_()


def test_what_does_not_converge_is_a_value_with_a_warning():
    with pytest.warns(rm.ConvergenceWarning, match="no solution"):
        s = rm.theory.single(alpha=[1.0, 1.7], branch="middle")
    assert s.termination.tolist() == ["no_solution", "converged"] and np.isnan(s.eps[0]) and s.eps[1] > 0


def test_threads_change_no_bit():
    before = rm.theory.single(alpha=[0.5, 1.7])
    try:
        rm.set_threads(1)
        assert rm.threads() == 1 and rm.theory.single(alpha=[0.5, 1.7]) == before
    finally:
        rm.set_threads()
    with pytest.raises(ValueError, match="between 1 and 1024"):
        rm.set_threads(0)


def test_stationary_streams_are_arrays_over_a_scan():
    one = rm.theory.stationary(alpha=1.0, r0=0.8, rho=0.5)
    assert isinstance(one.memory, np.ndarray) and one.memory[0] == one.state.eps
    scan = {"rho": [0.3, 0.5], "alpha": [0.5, 1.0, 2.0]}
    grid = rm.theory.stationary(alpha=1.0, r0=0.8, scan=scan)
    assert grid.eps.shape == grid.horizon.shape == (2, 3) and grid.horizon.dtype.kind == "i"
    assert grid.memory.shape[:2] == (2, 3)
    back = min(len(one.memory), grid.memory.shape[-1])
    assert np.array_equal(grid.memory[1, 1, :back], one.memory[:back])
    assert np.isnan(grid.memory[1, 1, len(one.memory):]).all()
    assert grid.rho[1, 0] == 0.5 and grid.alpha[0, 2] == 2.0
